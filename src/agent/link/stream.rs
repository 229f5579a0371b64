//! The stream of work: the full set of assignments, changes with a revision, probes on request. After a
//! break it goes on where it was.

use std::sync::Arc;

use reqwest::{Method, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::sse::{Event, Parser};
use super::{Link, Trouble};
use crate::agent::schedule::Task;
use crate::agent::time::{CoordinatorTime, boottime};
use crate::protocol::{self, Ping, ProbeNow};

/// What the stream brings.
#[derive(Debug)]
pub enum Work {
    Set {
        rev: i64,
        tasks: Vec<Task>,
    },
    Change {
        rev: i64,
        upsert: Vec<Task>,
        remove: Vec<Uuid>,
    },
    ProbeNow {
        request: ProbeNow,
        /// On the clock that counts suspend, in microseconds: not worth doing after this.
        until_us: i64,
    },
}

/// Follows the stream until `shutdown`. `since` is the revision that is known already.
pub async fn follow(
    link: Arc<Link>,
    time: Arc<CoordinatorTime>,
    mut since: Option<i64>,
    work: mpsc::Sender<Work>,
    shutdown: CancellationToken,
) {
    let mut patience = link.patience();
    loop {
        let mut connected = false;
        let trouble = tokio::select! {
            trouble = once(&link, &time, &mut since, &work, &mut connected) => trouble,
            () = shutdown.cancelled() => return,
        };
        if connected {
            patience.fine();
        }
        let pause = patience.after(&trouble);
        if patience.is_news() {
            tracing::warn!(%trouble, "the stream of assignments is cut; probing what is known");
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shutdown.cancelled() => return,
        }
    }
}

/// One connection, until it ends.
async fn once(
    link: &Link,
    time: &CoordinatorTime,
    since: &mut Option<i64>,
    work: &mpsc::Sender<Work>,
    connected: &mut bool,
) -> Trouble {
    let path = since.map_or("stream".to_owned(), |rev| format!("stream?since={rev}"));
    let request = link.request(Method::GET, &path);
    let answer = match request {
        Ok(request) => link.send(request.header(header::ACCEPT, "text/event-stream")).await,
        Err(trouble) => return trouble,
    };
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(trouble) => return trouble,
    };
    let is_stream = answer.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    if !is_stream.is_some_and(|it| it.starts_with("text/event-stream")) {
        return Trouble::Other("what answers is not a coordinator's stream".to_owned());
    }
    tracing::info!(since = ?*since, "connected to the coordinator");
    *connected = true;
    let mut parser = Parser::default();
    loop {
        let chunk = match tokio::time::timeout(link.timing.silence, answer.chunk()).await {
            Err(_) => return Trouble::Other("the stream fell silent".to_owned()),
            Ok(Err(error)) => return Trouble::Other(crate::uplink::in_words(&error)),
            Ok(Ok(None)) => return Trouble::Other("the coordinator ended the stream".to_owned()),
            Ok(Ok(Some(chunk))) => chunk,
        };
        let events = match parser.push(&chunk) {
            Ok(events) => events,
            Err(error) => return Trouble::Other(error.to_string()),
        };
        for event in events {
            match read(event, time) {
                Ok(None) => {}
                Ok(Some(item)) => {
                    let rev = item.rev();
                    if work.send(item).await.is_err() {
                        return Trouble::Other("the agent is stopping".to_owned());
                    }
                    *since = rev.or(*since);
                }
                Err(error) => {
                    // Missing a change would leave us wrong for good: begin with the whole set.
                    *since = None;
                    return Trouble::Other(format!("an event cannot be read: {error}"));
                }
            }
        }
    }
}

impl Work {
    fn rev(&self) -> Option<i64> {
        match self {
            Work::Set { rev, .. } | Work::Change { rev, .. } => Some(*rev),
            Work::ProbeNow { .. } => None,
        }
    }
}

/// Assignments stay text until each is read alone: one that this version does not understand must not
/// cost the others.
#[derive(Deserialize)]
struct Set<'a> {
    rev: i64,
    #[serde(borrow)]
    assignments: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Change<'a> {
    rev: i64,
    #[serde(borrow, default)]
    upsert: Vec<&'a RawValue>,
    #[serde(default)]
    remove: Vec<Uuid>,
}

fn read(event: Event, time: &CoordinatorTime) -> Result<Option<Work>, serde_json::Error> {
    let data = &event.data;
    Ok(match event.name.as_str() {
        protocol::event::SET => {
            let set: Set<'_> = serde_json::from_str(data)?;
            Some(Work::Set { rev: set.rev, tasks: tasks(&set.assignments) })
        }
        protocol::event::CHANGE => {
            let Change { rev, upsert, remove } = serde_json::from_str(data)?;
            Some(Work::Change { rev, upsert: tasks(&upsert), remove })
        }
        protocol::event::PROBE_NOW => match serde_json::from_str(data) {
            Ok(request) => {
                let request: ProbeNow = request;
                let until_us = boottime().saturating_add(i64::from(request.expires_in_ms) * 1_000);
                Some(Work::ProbeNow { request, until_us })
            }
            Err(error) => {
                tracing::warn!(%error, "a request to probe cannot be read");
                None
            }
        },
        protocol::event::PING => {
            if let Ok(ping) = serde_json::from_str::<Ping>(data) {
                time.hint(boottime(), ping.now);
            }
            None
        }
        // A newer coordinator may say more.
        _ => None,
    })
}

fn tasks(texts: &[&RawValue]) -> Vec<Task> {
    let mut tasks = Vec::with_capacity(texts.len());
    for text in texts {
        match serde_json::from_str::<Task>(text.get()) {
            Ok(task) => tasks.push(task),
            Err(error) => {
                tracing::error!(%error, "an assignment cannot be read and is left out; update the agent")
            }
        }
    }
    tasks
}
