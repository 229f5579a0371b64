//! Failover groups: looks at the members' monitors as they stand, and tells of what changed. Nothing is
//! locked: a monitor's live row is read as it was last committed.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{configs, context::Context};
use crate::domain::{
    decision::{self, Live, VoteState, ballot::Ballot},
    failover::{self, Answer, Group, Override, Seen},
    ids::{LocationKey, MonitorKey},
    notice::{FailoverLine, FailoverNotice},
};
use crate::store::{
    self,
    failover::{GroupRow, OverrideRow},
};

/// A group and whom to serve now.
#[derive(Debug)]
pub struct Looked {
    pub row: GroupRow,
    pub answer: Answer,
    /// Words that stand, by member.
    pub overrides: Vec<OverrideRow>,
}

impl Looked {
    /// Names of those who are served, in the group's order.
    pub fn served(&self) -> Vec<String> {
        let members = self.row.group.members.iter().zip(&self.answer.members);
        members.filter(|(_, judged)| judged.serve).map(|(member, _)| member.name.clone()).collect()
    }

    /// What is served, in one sentence.
    pub fn sentence(&self) -> String {
        let (served, all) = (self.served().len(), self.answer.members.len());
        if self.answer.fail_open {
            let well = self.answer.members.iter().filter(|m| m.out_since.is_none()).count();
            let least = self.answer.min_members;
            let verb = if least == 1 { "is" } else { "are" };
            return format!(
                "Only {well} of {all} would be left and {least} {verb} needed, so all are served."
            );
        }
        let out: Vec<&str> = self
            .row
            .group
            .members
            .iter()
            .zip(&self.answer.members)
            .filter(|(_, judged)| !judged.serve)
            .map(|(member, _)| member.name.as_str())
            .collect();
        if out.is_empty() {
            format!("All {all} are served.")
        } else {
            format!("{served} of {all} are served; out: {}.", out.join(", "))
        }
    }
}

/// Looks at groups. A fixed number of statements, however many there are.
pub async fn look(
    conn: &mut PgConnection,
    rows: Vec<GroupRow>,
    now: Timestamp,
) -> sqlx::Result<Vec<Looked>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let one = (rows.len() == 1).then(|| rows[0].key);
    let words = store::failover::overrides(conn, one, now).await?;
    let monitors = Monitors::read(conn, &rows, now).await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let overrides: Vec<OverrideRow> =
                words.iter().filter(|word| word.group == row.key).cloned().collect();
            let said: Vec<Override> = overrides
                .iter()
                .map(|word| Override {
                    member: word.member.clone(),
                    serve: word.serve,
                    until: word.until_at.as_millisecond(),
                })
                .collect();
            let seen = monitors.seen(&row.group);
            let now = now.as_millisecond();
            let answer = failover::look(&row.group, &seen, &row.standings, &said, now);
            Looked { row, answer, overrides }
        })
        .collect())
}

/// Looks at every group, remembers what was decided, and writes down and tells what changed.
pub async fn step(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    let rows = store::failover::list(conn).await?;
    for looked in look(conn, rows, now).await? {
        let key = looked.row.key;
        if looked.answer.standings != looked.row.standings {
            store::failover::save(conn, key, &looked.answer.standings).await?;
        }
        let served = looked.served();
        let last = store::failover::last_change(conn, key).await?;
        let same = last
            .as_ref()
            .is_some_and(|last| last.served == served && last.fail_open == looked.answer.fail_open);
        if same {
            continue;
        }
        let sentence = looked.sentence();
        store::failover::add_change(conn, key, now, &served, looked.answer.fail_open, &sentence)
            .await?;
        // The first look at a new group changes nothing for anybody.
        if let Some(last) = last {
            let notice = FailoverNotice {
                group: looked.row.id,
                name: looked.row.name.clone(),
                served,
                served_before: last.served,
                fail_open: looked.answer.fail_open,
                sentence,
                members: looked.members(),
                decided_at: now,
            };
            store::outbox::insert_failover(conn, &looked.row.channels, &notice).await?;
        }
    }
    Ok(())
}

/// The members' monitors.
struct Monitors {
    keys: HashMap<Uuid, MonitorKey>,
    locations: HashMap<Uuid, LocationKey>,
    known: HashMap<MonitorKey, (Live, Vec<Ballot>)>,
}

impl Monitors {
    async fn read(
        conn: &mut PgConnection,
        rows: &[GroupRow],
        now: Timestamp,
    ) -> sqlx::Result<Self> {
        let wanted: HashSet<Uuid> =
            rows.iter().flat_map(|row| &row.group.members).map(|member| member.monitor).collect();
        let wanted: Vec<Uuid> = wanted.into_iter().collect();
        let keys = store::triage_read::keys(conn, &wanted).await?;
        let ids: Vec<i32> = keys.iter().map(|(_, key)| key.0).collect();
        let context = Context::read(conn, &ids, now).await?;
        let mut lives: HashMap<MonitorKey, String> = store::live::read(conn, &ids)
            .await?
            .into_iter()
            .map(|row| (row.monitor, row.live))
            .collect();
        let mut known = HashMap::new();
        for row in store::triage_read::configs(conn, &ids).await? {
            let Some(live) = lives.remove(&row.monitor) else { continue };
            let live: Live =
                serde_json::from_str(&live).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
            let settings = configs::settings(row)?;
            let given = settings.given(&context);
            let inputs = settings.inputs(&given, &context, now);
            let ballots = decision::ballot::ballots(&live, &inputs);
            known.insert(settings.monitor, (live, ballots));
        }
        let locations = context.locations.values().map(|row| (row.uid, row.location)).collect();
        Ok(Self { keys: keys.into_iter().collect(), locations, known })
    }

    /// What is known of each member; none where the monitor is gone.
    fn seen(&self, group: &Group) -> Vec<Option<Seen>> {
        let members = group.members.iter();
        members.map(|member| self.of(member.monitor, member.locations.as_deref())).collect()
    }

    fn of(&self, monitor: Uuid, bound: Option<&[Uuid]>) -> Option<Seen> {
        let (live, ballots) = self.known.get(self.keys.get(&monitor)?)?;
        let wanted: Option<Vec<Option<LocationKey>>> =
            bound.map(|list| list.iter().map(|id| self.locations.get(id).copied()).collect());
        let counts = |ballot: &&Ballot| {
            ballot.uncounted.is_none()
                && wanted.as_ref().is_none_or(|list| list.contains(&Some(ballot.location)))
        };
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let counted: Vec<&Ballot> = ballots.iter().filter(counts).collect();
        let down =
            |ballot: &&&Ballot| matches!(ballot.vote, VoteState::Down | VoteState::Recovering);
        Some(Seen {
            state: live.state,
            low: live.low,
            stale: live.evidence_stale,
            counted: number(counted.len()),
            down: number(counted.iter().filter(down).count()),
            bound: bound.map(|list| number(list.len())),
        })
    }
}

impl Looked {
    fn members(&self) -> Vec<FailoverLine> {
        let members = self.row.group.members.iter().zip(&self.answer.members);
        members
            .map(|(member, judged)| FailoverLine {
                name: member.name.clone(),
                address: member.address.clone(),
                weight: member.weight,
                serve: judged.serve,
                reason: judged.reason,
            })
            .collect()
    }
}
