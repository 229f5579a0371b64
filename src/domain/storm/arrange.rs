//! What becomes of the notices of a group, for one channel.

use uuid::Uuid;

use crate::domain::notice::NoticeKind;

/// How far a notice has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was sent, or is being sent.
    Sent,
    /// It is told with the group.
    Grouped,
    /// Nobody has tried to send it yet.
    Waiting,
}

/// One notice, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub no: i64,
    pub kind: NoticeKind,
    pub fate: Fate,
}

/// An incident of the group, with its notices to the channel, the oldest first. Updates of the group are not
/// among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub incident: Uuid,
    pub rows: Vec<Row>,
}

/// What to do with a channel's notices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The incident through which the channel hears of the group; none when it hears of none.
    pub through: Option<Uuid>,
    /// Waiting notices that are told with the group instead.
    pub grouped: Vec<i64>,
    /// The channel has to hear that something changed.
    pub update: bool,
    /// Nothing that concerns the channel is open any more.
    pub over: bool,
    /// Over, and the end has to be told through an incident that says so in none of its own notices.
    pub owes_end: bool,
}

impl Member {
    /// Whether the last that counts is no end; `grouped` are rows that are grouped by now.
    fn is_open(&self, real_only: bool, grouped: &[i64]) -> bool {
        let real = |row: &&Row| row.fate != Fate::Grouped && !grouped.contains(&row.no);
        let mut rows = self.rows.iter().filter(|row| !real_only || real(row));
        rows.next_back().is_some_and(|row| !row.kind.ends())
    }

    fn began_for_real(&self) -> bool {
        let mut sent = self.rows.iter().filter(|row| row.fate == Fate::Sent);
        sent.next_back().is_some_and(|row| !row.kind.ends())
    }
}

/// Arranges one channel's notices; `members` in the order in which they joined.
///
/// The channel hears of the group through the first incident that it was told of for good; without one, through
/// the first that waits. Everything else that waits is grouped, but for the end of an incident that the channel
/// was told of by itself: a pager that was lit is put out under the same key.
pub fn arrange(members: &[Member]) -> Plan {
    let mut plan = Plan::default();
    let waits = |member: &&Member| {
        let waiting = |row: &&Row| row.fate == Fate::Waiting && row.kind.begins();
        member.rows.iter().find(waiting).map(|row| row.no)
    };
    let lit = members.iter().find(|member| member.began_for_real());
    // What was queued first waits for nothing else.
    let first = || members.iter().filter(|m| waits(m).is_some()).min_by_key(waits);
    let Some(through) = lit.or_else(first) else { return plan };
    plan.through = Some(through.incident);
    let mut told_by_itself = lit.is_some();
    for member in members {
        let own = member.incident == through.incident;
        let lit = member.began_for_real();
        for row in member.rows.iter().filter(|row| row.fate == Fate::Waiting) {
            let keep = match (row.kind.begins(), row.kind.ends()) {
                (true, _) if own && !told_by_itself => {
                    told_by_itself = true;
                    true
                }
                (_, true) => lit && !own,
                _ => false,
            };
            if !keep {
                plan.grouped.push(row.no);
            }
        }
    }
    plan.over = members.iter().all(|member| !member.is_open(false, &[]));
    if plan.over {
        // The end of the incident that it hears through, if that is among what waits, is the end of all.
        let last = through.rows.last().filter(|row| row.kind.ends() && row.fate == Fate::Waiting);
        if let Some(last) = last {
            plan.grouped.retain(|no| *no != last.no);
        }
        plan.owes_end = through.is_open(true, &plan.grouped);
    } else {
        plan.update = !plan.grouped.is_empty();
    }
    plan
}
