//! Storms: what people hear of monitors that go down together (`domain::storm`), in the deciding transaction.
//!
//! Notices are queued as for any incident; this then says which of them are told with a group. It runs under one
//! advisory lock, which is taken after all row locks, so that coordinators that decide at the same time see each
//! other's groups.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    check::Check,
    fields::text_map,
    ids::MonitorKey,
    incident::Severity,
    notice::{LocationLine, Notice, NoticeKind, Prompt, StormFacts, StormLine},
    storm::{self, Down, Fate, Joined, Member, Plan, Row},
};
use crate::store::{
    self,
    outbox::NewNotice,
    storms::{Listed, MemberRow, NoticeRow},
};

/// Something that people were to hear of an incident of a monitor.
#[derive(Debug, Clone)]
pub(super) struct Happened {
    pub(super) monitor: MonitorKey,
    pub(super) incident: Uuid,
    pub(super) kind: NoticeKind,
    severity: Severity,
    /// Addresses at which it was seen to fail.
    addresses: Vec<String>,
}

impl Happened {
    pub(super) fn new(
        (monitor, incident): (MonitorKey, Uuid),
        kind: NoticeKind,
        severity: Severity,
        lines: &[LocationLine],
    ) -> Self {
        let failing = lines.iter().filter(|line| line.uncounted.is_none() && line.vote == "down");
        let addresses = failing.filter_map(|line| line.address.clone()).collect();
        Self { monitor, incident, kind, severity, addresses }
    }

    fn goes_down(&self) -> bool {
        self.severity == Severity::Down && (self.kind.begins() || self.kind == NoticeKind::Moved)
    }
}

/// Makes groups of what happened in this transaction, and arranges their notices.
pub(super) async fn group(
    conn: &mut PgConnection,
    happened: &[Happened],
    now: Timestamp,
) -> sqlx::Result<()> {
    if happened.is_empty() {
        return Ok(());
    }
    store::storms::lock(conn).await?;
    let least = store::settings_read::storm_monitors(conn).await?.unwrap_or(storm::MONITORS);
    let incidents: Vec<Uuid> = happened.iter().map(|one| one.incident).collect();
    let window = SignedDuration::from_millis(2 * storm::WITHIN);
    let mut known = store::storms::members(conn, now - window, &incidents).await?;
    let mut touched = BTreeSet::new();
    for one in happened {
        let at = known.iter().position(|row| row.incident == one.incident);
        if one.goes_down() {
            let row = went_down(conn, one, at.map(|at| known.remove(at)), now).await?;
            let grouped = row.group.is_some();
            known.push(row);
            if !grouped && least > 0 {
                gather(conn, one, &mut known, least, now).await?;
            }
        } else if let Some(at) = at
            && one.kind.ends()
        {
            known[at].over_at = Some(now);
            store::storms::save(conn, &known[at]).await?;
        }
        let own = known.iter().find(|row| row.incident == one.incident);
        touched.extend(own.and_then(|row| row.group.as_ref()).map(|(group, _)| *group));
    }
    for group in touched {
        settle(conn, group, now).await?;
    }
    Ok(())
}

/// The incident as one that is down now. It stays in its group while that goes on.
async fn went_down(
    conn: &mut PgConnection,
    one: &Happened,
    before: Option<MemberRow>,
    now: Timestamp,
) -> sqlx::Result<MemberRow> {
    let facts = store::triage_read::facts(conn, one.monitor).await?;
    let parents = store::storms::parents(conn, one.monitor).await?;
    let host = Check::parse(facts.check_spec).map(|check| check.host()).unwrap_or_default();
    let labels = text_map(&facts.labels);
    let mut group = before.as_ref().and_then(|row| row.group.clone());
    if let Some((id, _)) = &group {
        let others = store::storms::listed(conn, *id).await?;
        let goes_on = others.iter().any(|other| other.open && other.incident != one.incident);
        group = group.filter(|_| goes_on);
    }
    // A move within an incident that went down before is no second time.
    let still = before.filter(|row| row.over_at.is_none()).map(|row| row.down_at);
    let row = MemberRow {
        incident: one.incident,
        monitor: one.monitor,
        down_at: still.unwrap_or(now),
        over_at: None,
        keys: storm::keys(&host, &one.addresses, &parents, &labels, &facts.group),
        group,
    };
    store::storms::save(conn, &row).await?;
    Ok(row)
}

/// Looks with whom it went down together; makes a group, or puts its beginning off until it is known.
async fn gather(
    conn: &mut PgConnection,
    one: &Happened,
    known: &mut [MemberRow],
    least: u32,
    now: Timestamp,
) -> sqlx::Result<()> {
    let recent: Vec<Down<'_>> =
        known.iter().filter(|row| row.over_at.is_none()).map(down_of).collect();
    let Some(new) = recent.iter().find(|row| row.incident == one.incident) else { return Ok(()) };
    match storm::join(new, &recent, usize::try_from(least).unwrap_or(usize::MAX)) {
        Joined::Alone => {}
        Joined::Related { until, with } => {
            let until = Timestamp::from_millisecond(until).unwrap_or(now).max(now);
            let since = now - SignedDuration::from_millis(storm::WITHIN);
            let about = (one.monitor, one.incident);
            store::storms::put_off(conn, about, &with, since, until).await?;
        }
        Joined::Group { group, shared, joined } => {
            let name = storm::phrase(&shared);
            for row in known.iter_mut().filter(|row| joined.contains(&row.incident)) {
                row.group = Some((group, shared.clone()));
                store::storms::save(conn, row).await?;
            }
            let sentence = format!("It went down together with others that share {name}.");
            let nothing = json!({ "group": group });
            let (monitor, incident) = (one.monitor, one.incident);
            store::incidents::add_event(
                conn, monitor, incident, now, "grouped", None, &sentence, &nothing,
            )
            .await?;
        }
    }
    Ok(())
}

fn down_of(row: &MemberRow) -> Down<'_> {
    Down {
        incident: row.incident,
        at: row.down_at.as_millisecond(),
        keys: &row.keys,
        group: row.group.as_ref().map(|(group, shared)| (*group, shared.as_str())),
    }
}

/// Arranges the notices of a group, for each channel that has any.
async fn settle(conn: &mut PgConnection, group: Uuid, now: Timestamp) -> sqlx::Result<()> {
    let listed = store::storms::listed(conn, group).await?;
    let mut by_channel: BTreeMap<Uuid, Vec<NoticeRow>> = BTreeMap::new();
    for row in store::storms::notices(conn, group).await? {
        by_channel.entry(row.channel).or_default().push(row);
    }
    for (channel, rows) in by_channel {
        let plan = storm::arrange(&members(&listed, &rows));
        let of = Thread { listed: &listed, channel, rows: &rows };
        of.carry_out(conn, &plan, now).await?;
    }
    Ok(())
}

/// Whether it tells of something that happened to an incident; the rest is sent as it is.
fn is_event(kind: NoticeKind) -> bool {
    let moves =
        matches!(kind, NoticeKind::Moved | NoticeKind::FlapStart | NoticeKind::EvidenceWithdrawn);
    kind.begins() || kind.ends() || moves
}

/// A channel's notices by incident, as far as they tell of events.
fn members(listed: &[Listed], rows: &[NoticeRow]) -> Vec<Member> {
    let own = |incident: Uuid| {
        rows.iter().filter(move |row| row.incident == incident).filter_map(|row| {
            let kind = NoticeKind::from_word(&row.kind)?;
            let fate = match (row.grouped, row.waiting) {
                (true, _) => Fate::Grouped,
                (false, true) => Fate::Waiting,
                (false, false) => Fate::Sent,
            };
            // A reminder that was sent lights a pager as a beginning does.
            let lit = kind == NoticeKind::Reminder && fate == Fate::Sent;
            (is_event(kind) || lit).then_some(Row { no: row.no, kind, fate })
        })
    };
    listed
        .iter()
        .map(|one| Member { incident: one.incident, rows: own(one.incident).collect() })
        .collect()
}

/// What one channel hears of a group.
struct Thread<'a> {
    listed: &'a [Listed],
    channel: Uuid,
    rows: &'a [NoticeRow],
}

impl Thread<'_> {
    async fn carry_out(
        &self,
        conn: &mut PgConnection,
        plan: &Plan,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let through = plan.through.and_then(|id| self.listed.iter().find(|one| one.incident == id));
        let Some(through) = through else { return Ok(()) };
        // Only what concerns the channel; with one alone there is no group for it.
        let concerns = |one: &&Listed| self.rows.iter().any(|row| row.incident == one.incident);
        let list: Vec<&Listed> = self.listed.iter().filter(concerns).collect();
        if list.len() < 2 {
            return Ok(());
        }
        let name = storm::phrase(&through.shared);
        let answer = format!("told with the group that shares {name}");
        store::storms::settle(conn, &plan.grouped, "grouped", &answer, now).await?;
        let facts = facts(&list);
        let fields = json!({ "storm": facts });
        let anew = json!({ "storm": facts, "sentence": facts.sentence() });
        let is_update = |row: &&NoticeRow| row.kind == NoticeKind::GroupUpdate.word();
        let waiting = |row: &&NoticeRow| row.waiting && !plan.grouped.contains(&row.no);
        let updates = self.rows.iter().filter(is_update).filter(waiting);
        let updates: Vec<i64> = updates.map(|row| row.no).collect();
        let own = self.rows.iter().filter(|row| row.incident == through.incident);
        let unsent: Vec<i64> = own.filter(waiting).map(|row| row.no).collect();
        let unsent: Vec<i64> = unsent.into_iter().filter(|no| !updates.contains(no)).collect();
        if plan.over {
            store::storms::settle(conn, &updates, "collapsed", "told with the end", now).await?;
            store::storms::rewrite(conn, &unsent, &fields).await?;
            return match plan.owes_end {
                true => self.say(conn, through, NoticeKind::Resolved, facts, now, now).await,
                false => Ok(()),
            };
        }
        // What waits tells of all of it when it goes out.
        let told = store::storms::rewrite(conn, &unsent, &fields).await?
            + store::storms::rewrite(conn, &updates, &anew).await?;
        if told > 0 || !plan.update {
            return Ok(());
        }
        let sent = self.rows.iter().filter(|row| !row.grouped && !row.waiting);
        let last = sent.map(|row| row.at).max().unwrap_or(now);
        let due = (last + SignedDuration::from_millis(storm::UPDATE_EVERY)).max(now);
        self.say(conn, through, NoticeKind::GroupUpdate, facts, due, now).await
    }

    /// Queues a notice of the whole group, under the incident through which the channel hears of it.
    async fn say(
        &self,
        conn: &mut PgConnection,
        through: &Listed,
        kind: NoticeKind,
        storm: StormFacts,
        due: Timestamp,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let about = (through.monitor, through.incident);
        let Some(last) = store::storms::last_payload(conn, about, self.channel).await? else {
            return Ok(());
        };
        let mut payload = of_group(last, kind, storm, now)?;
        if kind.ends() {
            payload.incident.ended_at = self.listed.iter().filter_map(|one| one.ended_at).max();
            payload.incident.resolve_reason = Some("recovered".to_owned());
        }
        let notice = store::id_at(now);
        let new = NewNotice {
            notice,
            monitor: through.monitor,
            incident: through.incident,
            channel: self.channel,
            payload,
            created_at: now,
        };
        store::outbox::insert(conn, &[new]).await?;
        if due > now {
            store::storms::postpone(conn, notice, due).await?;
        }
        Ok(())
    }
}

/// What a channel was told last of an incident, as what is told of the whole group.
fn of_group(
    last: serde_json::Value,
    kind: NoticeKind,
    storm: StormFacts,
    now: Timestamp,
) -> sqlx::Result<Notice> {
    let mut payload: Notice =
        serde_json::from_value(last).map_err(|e| sqlx::Error::Decode(e.into()))?;
    payload.previous_severity = Some(payload.severity);
    payload.severity = Severity::Down;
    payload.kind = kind;
    payload.collapsed = false;
    payload.decided_at = now;
    payload.sentence = storm.sentence();
    payload.locations = Vec::new();
    payload.scope = None;
    payload.incident.ended_at = None;
    payload.incident.resolve_reason = None;
    payload.storm = Some(storm);
    Ok(payload)
}

/// Tells who is at incidents of a group: each channel that heard of one of them once, through the incident by which
/// it hears of the group. An update that waits for its time is told before.
pub(super) async fn tell_acknowledged(
    conn: &mut PgConnection,
    group: Uuid,
    done: &BTreeSet<Uuid>,
    but: Option<Uuid>,
    prompt: Prompt,
    now: Timestamp,
) -> sqlx::Result<()> {
    store::storms::lock(conn).await?;
    let listed = store::storms::listed(conn, group).await?;
    let mut by_channel: BTreeMap<Uuid, Vec<NoticeRow>> = BTreeMap::new();
    for row in store::storms::notices(conn, group).await? {
        by_channel.entry(row.channel).or_default().push(row);
    }
    let rules = store::channels::rules(conn).await?;
    for rule in rules.iter().filter(|rule| rule.enabled && but != Some(rule.id)) {
        let Some(rows) = by_channel.get(&rule.id) else { continue };
        let plan = storm::arrange(&members(&listed, rows));
        let through = plan.through.and_then(|id| listed.iter().find(|one| one.incident == id));
        let concerns = rows.iter().any(|row| done.contains(&row.incident));
        let (Some(through), false, true) = (through, plan.over, concerns) else { continue };
        let about = (through.monitor, through.incident);
        let Some(last) = store::storms::last_payload(conn, about, rule.id).await? else { continue };
        let known = |one: &&Listed| rows.iter().any(|row| row.incident == one.incident);
        let list: Vec<&Listed> = listed.iter().filter(known).collect();
        let mut payload = of_group(last.clone(), NoticeKind::Acknowledged, facts(&list), now)?;
        if list.len() < 2 {
            // To this channel it is no group.
            payload = serde_json::from_value(last).map_err(|e| sqlx::Error::Decode(e.into()))?;
            (payload.kind, payload.decided_at) = (NoticeKind::Acknowledged, now);
        }
        payload.prompt = Some(prompt.clone());
        let waiting = rows.iter().filter(|row| row.waiting).map(|row| row.no);
        let waiting: Vec<i64> = waiting.collect();
        store::storms::bring_forward(conn, &waiting, now).await?;
        let (monitor, incident) = about;
        let (notice, channel) = (store::id_at(now), rule.id);
        let new = NewNotice { notice, monitor, incident, channel, payload, created_at: now };
        store::outbox::insert(conn, &[new]).await?;
    }
    Ok(())
}

/// The open ones first; at most [`storm::LISTED`] by name.
fn facts(list: &[&Listed]) -> StormFacts {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut lines: Vec<StormLine> = list
        .iter()
        .map(|one| StormLine {
            monitor: one.uid,
            name: one.name.clone(),
            severity: Severity::from_name(&one.severity).unwrap_or(Severity::Down),
            started_at: one.started_at,
            open: one.open,
        })
        .collect();
    lines.sort_by_key(|line| !line.open);
    lines.truncate(storm::LISTED);
    StormFacts {
        shared: list.first().map(|one| storm::phrase(&one.shared)).unwrap_or_default(),
        total: count(list.len()),
        open: count(list.iter().filter(|one| one.open).count()),
        monitors: lines,
    }
}
