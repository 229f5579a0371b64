//! What every long-running process of ours has: a log, a way to end, and an answer to “are you well?”.

pub mod health;
pub mod log;

use std::{future::Future, time::Duration};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How a process ends, in two steps, and the tasks that have to end with it.
///
/// ```text
/// running ── drain ──▶ not ready, still serving ── stop ──▶ finish what is in hand ──▶ gone
///                      for the lame-duck delay              within the deadline
/// ```
///
/// Passed down from whoever starts the process; two instances in one test have one each. Cloning is
/// cheap and clones are the same shutdown.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    draining: CancellationToken,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// A shutdown of a part: it ends when this one does, and may be ended alone before that. Its tasks
    /// are its own; whoever made it waits for them.
    pub fn child(&self) -> Self {
        Self {
            draining: self.draining.child_token(),
            stopping: self.stopping.child_token(),
            tasks: TaskTracker::new(),
        }
    }

    /// Cancelled at the first step: take no new clients, but serve those who still come.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// Cancelled at the second step: finish what is in hand and return.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Runs `task` as one that [`Shutdown::finish`] waits for. It should end by itself when
    /// [`Shutdown::stopping`] is cancelled.
    pub fn spawn<F>(&self, task: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// Both steps: drains, keeps serving for `lame_duck` so that balancers notice, stops, and waits
    /// for the tasks until `deadline`. False if some were still at it then.
    pub async fn finish(&self, lame_duck: Duration, deadline: Duration) -> bool {
        self.finish_after(tokio::time::sleep(lame_duck), deadline).await
    }

    async fn finish_after(&self, lame_duck: impl Future, deadline: Duration) -> bool {
        self.draining.cancel();
        lame_duck.await;
        self.stop_now();
        tokio::time::timeout(deadline, self.tasks.wait()).await.is_ok()
    }

    /// Both steps at once, without waiting for anything.
    pub fn stop_now(&self) {
        self.draining.cancel();
        self.stopping.cancel();
        self.tasks.close();
    }
}

/// The signals that end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// What service managers and containers send.
    Terminate,
}

/// The signals that end us, taken over from the kernel's “die at once”.
#[derive(Debug)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// From here on both signals are ours to answer. Within a tokio runtime only.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns at the next signal. Safe to drop.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }

    /// Runs `work` until it returns or a signal comes; then [`Shutdown::finish`], which a second signal
    /// cuts short. `work` should return when `shutdown` stops.
    pub async fn run<T>(
        &mut self,
        shutdown: &Shutdown,
        lame_duck: Duration,
        deadline: Duration,
        work: impl Future<Output = T>,
    ) -> Ended<T> {
        tokio::pin!(work);
        let signal = tokio::select! {
            output = &mut work => return Ended::ByItself(output),
            signal = self.next() => signal,
        };
        tracing::info!(?signal, "stopping");
        // Ctrl-C means a person waits in front of it; a balancer only ever waits behind SIGTERM.
        let lame_duck = if signal == Signal::Terminate { lame_duck } else { Duration::ZERO };
        let orderly = async {
            let (finished, output) = tokio::join!(
                shutdown.finish(lame_duck, deadline),
                tokio::time::timeout(lame_duck + deadline, &mut work)
            );
            output.ok().filter(|_| finished)
        };
        tokio::select! {
            output = orderly => output.map_or(Ended::CutOff, Ended::Asked),
            signal = self.next() => {
                tracing::warn!(?signal, "a second signal; not waiting any longer");
                shutdown.stop_now();
                Ended::CutOff
            }
        }
    }
}

/// How the work of a process came to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended<T> {
    /// Without being asked, which for a service is a failure.
    ByItself(T),
    /// After a signal, everything finished.
    Asked(T),
    /// After a signal, with something unfinished at the deadline or at a second signal.
    CutOff,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_serves_on_for_the_lame_duck_delay_and_then_waits_for_its_tasks() {
        let shutdown = Shutdown::new();
        let task = shutdown.spawn({
            let stopping = shutdown.stopping().clone();
            async move {
                stopping.cancelled().await;
                tokio::task::yield_now().await;
                "finished what was in hand"
            }
        });
        let (delay_ends, delay) = tokio::sync::oneshot::channel::<()>();
        let finish = shutdown.finish_after(delay, Duration::from_secs(60));
        tokio::pin!(finish);
        assert!(futures_util::poll!(&mut finish).is_pending());
        assert!(shutdown.draining().is_cancelled() && !shutdown.stopping().is_cancelled());
        delay_ends.send(()).unwrap();
        assert!(finish.await);
        assert!(shutdown.stopping().is_cancelled() && task.is_finished());
    }

    #[tokio::test]
    async fn a_task_that_does_not_end_is_left_behind_at_the_deadline() {
        let shutdown = Shutdown::new();
        let stuck = shutdown.spawn(std::future::pending::<()>());
        assert!(!shutdown.finish(Duration::ZERO, Duration::from_millis(1)).await);
        stuck.abort();
    }

    #[tokio::test]
    async fn a_part_ends_with_the_whole_but_not_the_other_way_round() {
        let whole = Shutdown::new();
        let (one, two) = (whole.child(), whole.child());
        one.stop_now();
        assert!(!whole.draining().is_cancelled() && !two.stopping().is_cancelled());
        whole.stop_now();
        assert!(two.draining().is_cancelled() && two.stopping().is_cancelled());
    }

    #[tokio::test]
    async fn work_that_ends_by_itself_is_told_from_work_that_was_asked() {
        let mut signals = Signals::listen().unwrap();
        let shutdown = Shutdown::new();
        let second = Duration::from_secs(1);
        let ended = signals.run(&shutdown, second, second, async { 7 }).await;
        assert_eq!(ended, Ended::ByItself(7));
    }
}
