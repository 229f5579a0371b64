//! Questions to the interface, through HTTP.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;
use uuid::Uuid;

/// Somebody with a token who asks.
pub(super) struct Asker {
    client: reqwest::Client,
    url: String,
    token: String,
}

/// How long requests took, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub median: f64,
    pub p95: f64,
}

impl Asker {
    pub(super) fn new(url: &str, token: &str) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).build()?;
        let url = format!("{}/api/v1/", url.trim_end_matches('/'));
        Ok(Self { client, url, token: token.to_owned() })
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.client.get(format!("{}{path}", self.url)).bearer_auth(&self.token);
        let answer = request.send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "{path}: {status}: {text}");
        serde_json::from_str(&text).context("an answer that is no JSON")
    }

    /// The report on the present window of an SLO.
    pub(super) async fn report(&self, slo: Uuid) -> anyhow::Result<()> {
        let report = self.get(&format!("slos/{slo}/report")).await?;
        ensure!(report["availability"]["ratio"].is_number(), "a report without a figure: {report}");
        Ok(())
    }

    /// All SLOs with their budgets, page by page; how many there are.
    pub(super) async fn list(&self, limit: u32) -> anyhow::Result<usize> {
        let (mut count, mut path) = (0, format!("slos?limit={limit}"));
        loop {
            let page = self.get(&path).await?;
            let items = page["items"].as_array().context("a list without items")?;
            let told = items.iter().filter(|slo| slo["now"]["budget_left"].is_number()).count();
            ensure!(told == items.len(), "an SLO without its budget");
            count += told;
            let Some(next) = page["next"].as_str() else { return Ok(count) };
            path = format!("slos?limit={limit}&cursor={next}");
        }
    }
}

/// Asks so many times, after a few that do not count.
pub(super) async fn times(
    requests: usize,
    mut ask: impl AsyncFnMut(usize) -> anyhow::Result<()>,
) -> anyhow::Result<Times> {
    const WARM_UP: usize = 10;
    let mut taken = Vec::with_capacity(requests);
    for number in 0..requests + WARM_UP {
        let begun = Instant::now();
        ask(number).await?;
        if number >= WARM_UP {
            taken.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
    }
    taken.sort_by(f64::total_cmp);
    let at = |share: usize| taken.get((taken.len() * share).div_ceil(100).saturating_sub(1));
    let all = at(50).zip(at(95)).context("no request was measured")?;
    Ok(Times { median: *all.0, p95: *all.1 })
}
