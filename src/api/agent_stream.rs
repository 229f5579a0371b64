//! What one agent has to probe, as a stream: everything at first, then what changes, requests to probe
//! at once, and a ping so that silence means a dead line.
//!
//! Several agents of one location share its monitors by rendezvous: each stream works out its own
//! agent's share and tells it what came and what went. Marks of the [`super::hub`] say when to look; as
//! a mark that comes and goes between two looks of the hub is never seen, each ping compares what the
//! share was last made from with what is so now.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    convert::Infallible,
};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    AppState,
    agent_link::{Agent, arrived, millis_left},
    error::ApiResult,
    locations::OFFLINE,
    monitor_form,
    request::Query,
};
use crate::{
    domain::{
        check::Check,
        decision::{Live, VoteState},
        ids::MonitorKey,
        monitor::{Interval, PolicySpec, Timeout},
        rendezvous,
        secret::Secret,
    },
    protocol::{
        Assignment, AssignmentChange, AssignmentSet, Ping, ProbeNow, Purpose, Secrets, event,
    },
    store::{
        self,
        agents::KnownAgent,
        assignments::{AssignmentRow, Sharing},
        hub::Marks,
        probe_requests::OpenRequest,
    },
};

#[derive(Debug, Deserialize)]
pub struct Since {
    /// The revision that the agent has reached.
    since: Option<i64>,
}

/// `GET /agent/v1/stream`
pub async fn stream(
    State(state): State<AppState>,
    Agent(agent): Agent,
    Query(since): Query<Since>,
) -> ApiResult<Response> {
    arrived(&state, agent, state.clock.now()).await?;
    let mut marks = state.hub.marks();
    let seen = marks.borrow_and_update().clone();
    let mut stream = Stream {
        seen,
        marks,
        state,
        agent,
        rev: 0,
        held: HashSet::new(),
        shared: Sharing::default(),
        queue: VecDeque::new(),
        ping_at: Instant::now(),
    };
    stream.ping_at += stream.state.config.ping_every;
    stream.begin(since.since).await?;
    let events = stream::unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    Ok(Sse::new(events).into_response())
}

struct Stream {
    state: AppState,
    agent: KnownAgent,
    marks: watch::Receiver<Marks>,
    /// Marks at the last look.
    seen: Marks,
    /// Up to where the agent has been told.
    rev: i64,
    /// What the agent holds.
    held: HashSet<MonitorKey>,
    /// What `held` was made from.
    shared: Sharing,
    queue: VecDeque<Event>,
    ping_at: Instant,
}

/// An unsaved check as it is kept in a request, encrypted.
#[derive(Serialize, Deserialize)]
pub struct UnsavedCheck {
    pub check: serde_json::Value,
    pub secrets: BTreeMap<String, String>,
}

impl Stream {
    /// The next event; none when the stream ends: we stop, the agent was revoked, or the database is
    /// away for now, and the agent will come again.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let mut unlike = false;
            tokio::select! {
                () = self.state.hub.stopping().cancelled() => return None,
                moved = self.marks.changed() => moved.ok()?,
                () = tokio::time::sleep_until(self.ping_at) => {
                    self.ping_at = Instant::now() + self.state.config.ping_every;
                    self.queue.push_back(told(event::PING, &Ping { now: self.state.clock.now() }));
                    // The line is alive even if the database is away: the next ping asks again.
                    unlike = self.unlike_shared().await.unwrap_or_default();
                    if !unlike {
                        continue;
                    }
                }
            }
            let marks = self.marks.borrow_and_update().clone();
            match self.look(&marks, unlike).await {
                Ok(true) => self.seen = marks,
                Ok(false) => return None,
                Err(error) => {
                    tracing::warn!(agent = %self.agent.id, %error, "a stream of assignments ends");
                    return None;
                }
            }
        }
    }

    /// Everything, or what changed since a revision from which we can still tell.
    async fn begin(&mut self, since: Option<i64>) -> ApiResult<()> {
        let mut conn = self.state.pool.clone().acquire().await?;
        // The revision first: what is read after it may be newer, and is then told twice.
        let head = store::assignments::head(&mut conn).await?;
        let mine = self.mine(&mut conn).await?;
        let all: HashMap<MonitorKey, Uuid> = mine.iter().copied().collect();
        let alone = store::agents::list(&mut conn, Some(self.agent.location)).await?.len() == 1;
        let oldest = store::assignments::oldest(&mut conn).await?;
        let resume = since.filter(|since| {
            // Shares move without a revision, so only a location's only agent can resume.
            alone && *since <= head && oldest.is_some_and(|oldest| *since >= oldest - 1)
        });
        self.held = all.keys().copied().collect();
        self.rev = head;
        match resume {
            Some(since) => {
                let rows = store::assignments::since(&mut conn, since, self.agent.location).await?;
                if rows.iter().any(|row| row.kind == "location") {
                    return self.full(&mut conn, head).await;
                }
                let keys: HashSet<MonitorKey> = rows.iter().filter_map(|row| row.monitor).collect();
                let (upsert, remove) = self.split(&mut conn, &keys, &all).await?;
                self.queue.push_back(told(
                    event::CHANGE,
                    &AssignmentChange { rev: head, upsert, remove },
                ));
            }
            None => self.full(&mut conn, head).await?,
        }
        self.requests(&mut conn).await
    }

    async fn full(&mut self, conn: &mut PgConnection, rev: i64) -> ApiResult<()> {
        let keys: Vec<i32> = self.held.iter().map(|key| key.0).collect();
        let assignments = self.assignments(conn, &keys).await?;
        self.queue.push_back(told(event::SET, &AssignmentSet { rev, assignments }));
        Ok(())
    }

    /// Looks at what moved; at everything if the share is `unlike` what it should be. False when the
    /// agent may not listen any more.
    async fn look(&mut self, marks: &Marks, unlike: bool) -> ApiResult<bool> {
        let mut conn = self.state.pool.clone().acquire().await?;
        if unlike
            || marks.rev > self.rev
            || marks.online != self.seen.online
            || marks.pausing != self.seen.pausing
        {
            if !store::agents::is_good(&mut conn, self.agent.id).await? {
                return Ok(false);
            }
            let rows = store::assignments::since(&mut conn, self.rev, self.agent.location).await?;
            let rev = rows.last().map_or(self.rev, |row| row.rev).max(marks.rev);
            let mine: HashMap<MonitorKey, Uuid> = self.mine(&mut conn).await?.into_iter().collect();
            let mut touched: HashSet<MonitorKey> =
                rows.iter().filter_map(|row| row.monitor).collect();
            touched.extend(self.held.iter().filter(|key| !mine.contains_key(key)));
            touched.extend(mine.keys().filter(|key| !self.held.contains(key)));
            let (upsert, remove) = self.split(&mut conn, &touched, &mine).await?;
            self.held = mine.keys().copied().collect();
            self.rev = rev;
            if !upsert.is_empty() || !remove.is_empty() {
                self.queue
                    .push_back(told(event::CHANGE, &AssignmentChange { rev, upsert, remove }));
            }
        }
        self.requests(&mut conn).await?;
        Ok(true)
    }

    /// Whether a look is due though no mark has moved: the share was made from something else, or the
    /// agent may not listen any more.
    async fn unlike_shared(&self) -> ApiResult<bool> {
        let mut conn = self.state.pool.acquire().await?;
        Ok(self.sharing(&mut conn).await? != self.shared
            || !store::agents::is_good(&mut conn, self.agent.id).await?)
    }

    /// This agent's share of its location.
    async fn mine(&mut self, conn: &mut PgConnection) -> ApiResult<Vec<(MonitorKey, Uuid)>> {
        let now = self.state.clock.now();
        // Remembered before the monitors are read: what moves in between is found by the next ping.
        self.shared = self.sharing(conn).await?;
        let keys = store::assignments::keys(conn, self.agent.location, now).await?;
        let mine = |uid: Uuid| rendezvous::owner(uid, &self.shared.online) == Some(self.agent.id);
        Ok(keys.into_iter().filter(|(_, uid)| mine(*uid)).collect())
    }

    async fn sharing(&self, conn: &mut PgConnection) -> ApiResult<Sharing> {
        let now = self.state.clock.now();
        let offline = now.saturating_sub(OFFLINE).unwrap_or_default();
        Ok(store::assignments::sharing(conn, self.agent.location, now, offline).await?)
    }

    /// Of `keys`: what is this agent's, as it is now; and the rest, to be dropped if it was held.
    async fn split(
        &self,
        conn: &mut PgConnection,
        keys: &HashSet<MonitorKey>,
        mine: &HashMap<MonitorKey, Uuid>,
    ) -> ApiResult<(Vec<Assignment>, Vec<Uuid>)> {
        let (stay, go): (Vec<MonitorKey>, Vec<MonitorKey>) =
            keys.iter().partition(|key| mine.contains_key(key));
        let stay: Vec<i32> = stay.iter().map(|key| key.0).collect();
        let go: Vec<i32> = go.iter().map(|key| key.0).collect();
        let upsert =
            if stay.is_empty() { Vec::new() } else { self.assignments(conn, &stay).await? };
        let remove =
            if go.is_empty() { Vec::new() } else { store::assignments::uids(conn, &go).await? };
        Ok((upsert, remove.into_iter().map(|(_, uid)| uid).collect()))
    }

    async fn assignments(
        &self,
        conn: &mut PgConnection,
        keys: &[i32],
    ) -> ApiResult<Vec<Assignment>> {
        let rows = store::assignments::rows(conn, self.agent.location, keys).await?;
        let mut checks = Vec::with_capacity(rows.len());
        let mut names = HashSet::new();
        for row in &rows {
            let check = Check::parse(row.check_spec.clone()).map_err(anyhow::Error::from)?;
            let wanted = check.secret_names();
            names.extend(wanted.iter().cloned());
            checks.push(wanted);
        }
        let named = monitor_form::named(conn, &self.state, names.into_iter().collect()).await?;
        let both = rows.into_iter().zip(checks);
        both.map(|(row, wanted)| self.assignment(row, wanted, &named)).collect()
    }

    fn assignment(
        &self,
        row: AssignmentRow,
        wanted: std::collections::BTreeSet<String>,
        named: &BTreeMap<String, Secret<String>>,
    ) -> ApiResult<Assignment> {
        let mut inline =
            monitor_form::open_inline(&self.state, &row.uid.to_string(), row.sealed.as_deref())?;
        let mut secrets = BTreeMap::new();
        for name in wanted {
            let value = inline.remove(&name).or_else(|| named.get(&name).cloned());
            // One that is missing makes the agent say so, and no other monitor suffers.
            secrets.extend(value.map(|value| (name, value.into_exposed())));
        }
        let live: Live = serde_json::from_str(&row.live).map_err(anyhow::Error::from)?;
        let vote = live.vote(self.agent.location).map(|vote| vote.state);
        let spec: PolicySpec = serde_json::from_value(row.policy).map_err(anyhow::Error::from)?;
        let interval =
            Interval::from_secs(positive(row.interval_s)).map_err(anyhow::Error::from)?;
        let timeout =
            Timeout::from_secs(f64::from(row.timeout_ms) / 1_000.0).map_err(anyhow::Error::from)?;
        let slow_ms = row.slow_ms.map(positive);
        let of = usize::try_from(row.of).unwrap_or_default();
        let policy = spec.resolve(interval, timeout, slow_ms, of).map_err(anyhow::Error::from)?;
        let millis = |span: i64| u32::try_from(span).unwrap_or(u32::MAX);
        Ok(Assignment {
            monitor: row.uid,
            name: row.name,
            check_version: positive(row.check_version),
            check: row.check_spec,
            secrets: Secrets(secrets),
            interval_s: interval.secs(),
            timeout_ms: positive(row.timeout_ms),
            slow_ms,
            position: u32::try_from(row.position).unwrap_or_default(),
            of: u32::try_from(row.of).unwrap_or(1),
            fail_after: policy.fail_after,
            retry_gap_ms: millis(policy.retry_gap),
            pass_after: policy.pass_after,
            pass_gap_ms: millis(policy.pass_gap),
            vote_down: matches!(vote, Some(VoteState::Down | VoteState::Recovering)),
        })
    }

    /// Takes the requests that fall to this agent.
    async fn requests(&mut self, conn: &mut PgConnection) -> ApiResult<()> {
        let now = self.state.clock.now();
        let open = store::probe_requests::open(conn, self.agent.location, now).await?;
        if open.is_empty() {
            return Ok(());
        }
        let online = self.sharing(conn).await?.online;
        let mine = |request: &OpenRequest| {
            let work = request.monitor_uid.unwrap_or(request.uid);
            rendezvous::owner(work, &online) == Some(self.agent.id)
        };
        let ids: Vec<i64> =
            open.iter().filter(|request| mine(request)).map(|request| request.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let taken: HashSet<i64> =
            store::probe_requests::take(conn, &ids, self.agent.id).await?.into_iter().collect();
        for request in open.into_iter().filter(|request| taken.contains(&request.id)) {
            let probe = self.probe_now(request, now)?;
            self.queue.push_back(told(event::PROBE_NOW, &probe));
        }
        Ok(())
    }

    fn probe_now(&self, request: OpenRequest, now: jiff::Timestamp) -> ApiResult<ProbeNow> {
        let unsaved = match &request.sealed_check {
            None => None,
            Some(sealed) => {
                let row = request.uid.to_string();
                let place = store::probe_requests::place(&row);
                let text =
                    self.state.sealer.open_text(place, sealed).map_err(anyhow::Error::from)?;
                let unsaved: UnsavedCheck =
                    serde_json::from_str(text.expose()).map_err(anyhow::Error::from)?;
                Some(unsaved)
            }
        };
        let (check, secrets) = unsaved.map(|unsaved| (unsaved.check, unsaved.secrets)).unzip();
        Ok(ProbeNow {
            request: request.uid,
            purpose: match request.kind.as_str() {
                "confirm" => Purpose::Confirm,
                "manual" => Purpose::Manual,
                _ => Purpose::Try,
            },
            monitor: request.monitor_uid.filter(|_| check.is_none()),
            check,
            secrets: Secrets(secrets.unwrap_or_default()),
            timeout_ms: request.timeout_ms.map(positive),
            expires_in_ms: millis_left(request.expires_at, now),
        })
    }
}

fn positive(n: i32) -> u32 {
    u32::try_from(n).unwrap_or_default()
}

fn told(name: &str, data: &impl Serialize) -> Event {
    Event::default().event(name).data(serde_json::to_string(data).unwrap_or_default())
}
