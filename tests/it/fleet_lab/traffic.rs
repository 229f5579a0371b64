//! Requests at random times, as many people make them.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::support::dice::Dice;

/// Runs until it is stopped.
pub(super) struct Traffic {
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Traffic {
    /// `rate`: requests a second to each of `urls`. `reports`: a quarter of them go to /report.
    pub(super) fn start(urls: [String; 2], rate: f64, reports: bool) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for (n, url) in urls.into_iter().enumerate() {
            tasks.spawn(send(url, rate, reports, Dice::new(77 + n as u64), stop.clone()));
        }
        Self { stop, tasks }
    }

    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn send(url: String, rate: f64, reports: bool, mut dice: Dice, stop: CancellationToken) {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .user_agent("Mozilla/5.0 (lab)")
        .build()
        .unwrap();
    let mut under_way = JoinSet::new();
    let mut next = tokio::time::Instant::now();
    loop {
        next += Duration::from_secs_f64(-(1.0 - dice.unit()).ln() / rate);
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = stop.cancelled() => break,
        }
        let n = (dice.unit() * 1_000.0) as u32;
        let kind = dice.unit();
        let request = if reports && kind < 0.25 {
            client.get(format!("{url}/report/{n}"))
        } else if kind < 0.6 {
            client.get(format!("{url}/page/{n}"))
        } else if kind < 0.85 {
            client.get(format!("{url}/api/items/{n}?page=2"))
        } else {
            client.post(format!("{url}/checkout")).body("item=1")
        };
        under_way.spawn(async move {
            if let Ok(answer) = request.send().await {
                let _ = answer.bytes().await;
            }
        });
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}
