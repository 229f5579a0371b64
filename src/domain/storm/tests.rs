use std::collections::BTreeMap;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::domain::notice::NoticeKind::{self, Moved, Opened, Reopened, Resolved};

fn down(n: u128, at_s: i64, keys: &[&str]) -> Down<'static> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let keys = keys.leak();
    Down { incident: Uuid::from_u128(n), at: at_s * 1_000, keys, group: None }
}

fn ids(list: &[u128]) -> Vec<Uuid> {
    list.iter().map(|n| Uuid::from_u128(*n)).collect()
}

#[test]
fn three_within_a_minute_that_share_something_are_a_group() {
    let (a, b) = (down(1, 0, &["domain:x", "net:1"]), down(2, 20, &["domain:x"]));
    assert_eq!(join(&a, &[], 3), Joined::Alone);
    let two = join(&b, std::slice::from_ref(&a), 3);
    assert_eq!(two, Joined::Related { until: 60_000, with: ids(&[1]) });
    let three = join(&down(3, 60, &["net:2", "domain:x"]), &[b, a], 3);
    let group = Uuid::from_u128(1);
    let shared = "domain:x".to_owned();
    assert_eq!(three, Joined::Group { group, shared: shared.clone(), joined: ids(&[1, 2, 3]) });
    let late = join(&down(3, 61, &["domain:x"]), &[b, a], 3);
    assert_eq!(
        late,
        Joined::Related { until: 80_000, with: ids(&[2]) },
        "the first is too long ago"
    );
    // A group that is there takes whoever shares what it shares.
    let b = Down { group: Some((group, "domain:x")), ..b };
    let joins = join(&down(4, 70, &["domain:x"]), std::slice::from_ref(&b), 3);
    assert_eq!(joins, Joined::Group { group, shared, joined: ids(&[4]) });
    assert_eq!(join(&down(4, 70, &["net:1"]), &[b], 3), Joined::Alone);
}

#[test]
fn nothing_in_common_is_no_storm_however_many_they_are() {
    let list: Vec<Down<'_>> =
        (1..9).map(|n| down(n, 0, &[format!("domain:{n}").as_str()])).collect();
    assert_eq!(join(&down(9, 1, &["domain:9"]), &list, 3), Joined::Alone);
    assert_eq!(join(&down(9, 1, &[]), &list, 3), Joined::Alone);
}

#[test]
fn keys_are_registrable_domains_networks_and_what_people_chose() {
    let labels = BTreeMap::from([("team".to_owned(), "shop".to_owned())]);
    let list = |host: &str, addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|text| (*text).to_owned()).collect();
        keys(host, &addresses, &[], &BTreeMap::new(), "")
    };
    assert_eq!(
        keys("api.Shop.co.uk.", &["203.0.113.9".into()], &["gate".into()], &labels, "web"),
        ["domain:shop.co.uk", "net:203.0.113.0/24", "parent:gate", "label:team=shop", "group:web"]
    );
    assert_eq!(list("192.0.2.77", &[]), ["net:192.0.2.0/24"]);
    assert_eq!(
        list("[2001:db8:1:2::7]", &["::ffff:192.0.2.1"]),
        ["net:192.0.2.0/24", "net:2001:db8:1::/48"]
    );
    assert_eq!(list("co.uk", &[]), Vec::<String>::new(), "a suffix is nobody's");
    assert_eq!(list("", &["no address"]), Vec::<String>::new());
    assert_eq!(phrase("domain:shop.co.uk"), "the domain shop.co.uk");
}

/// One channel that hears all of a group's incidents, as the outbox would hold its notices.
struct Channel {
    members: Vec<Member>,
    next: i64,
    /// What was really sent, or waits to be: incident and kind.
    ends_owed: Vec<Uuid>,
}

impl Channel {
    fn happens(&mut self, member: usize, kind: NoticeKind) -> Plan {
        self.next += 1;
        let row = Row { no: self.next, kind, fate: Fate::Waiting };
        self.members[member].rows.push(row);
        let plan = arrange(&self.members);
        for row in self.members.iter_mut().flat_map(|member| &mut member.rows) {
            if plan.grouped.contains(&row.no) {
                row.fate = Fate::Grouped;
            }
        }
        if plan.owes_end {
            self.next += 1;
            let row = Row { no: self.next, kind: Resolved, fate: Fate::Waiting };
            let through = self.members.iter_mut().find(|m| Some(m.incident) == plan.through);
            through.unwrap().rows.push(row);
            self.ends_owed.extend(plan.through);
        }
        plan
    }

    fn send(&mut self) {
        for row in self.members.iter_mut().flat_map(|member| &mut member.rows) {
            if row.fate == Fate::Waiting {
                row.fate = Fate::Sent;
            }
        }
    }

    /// Incidents that the channel was really told of and that are not over for it.
    fn lit(&self) -> usize {
        let lit = |member: &&Member| {
            let mut real = member.rows.iter().filter(|row| row.fate != Fate::Grouped);
            real.next_back().is_some_and(|row| !row.kind.ends())
        };
        self.members.iter().filter(lit).count()
    }
}

fn channel(members: u128) -> Channel {
    let members = (1..=members).map(|n| Member { incident: Uuid::from_u128(n), rows: Vec::new() });
    Channel { members: members.collect(), next: 0, ends_owed: Vec::new() }
}

#[test]
fn the_first_is_told_and_the_rest_are_updates_until_all_are_over() {
    let mut one = channel(3);
    let first = one.happens(0, Opened);
    assert_eq!(
        (first.through, first.grouped.len(), first.update),
        (Some(Uuid::from_u128(1)), 0, false)
    );
    one.send();
    assert!(one.happens(1, Opened).update);
    assert!(one.happens(2, Opened).update);
    // The first is up again, the others are not: no end yet.
    let up = one.happens(0, Resolved);
    assert!(up.update && !up.over);
    assert!(one.happens(1, Resolved).update);
    let end = one.happens(2, Resolved);
    assert!(end.over && end.owes_end && end.through == Some(Uuid::from_u128(1)));
    assert_eq!(one.lit(), 0);
}

#[test]
fn the_own_end_of_the_first_is_the_end_of_all() {
    let mut one = channel(2);
    one.happens(0, Opened);
    one.send();
    one.happens(1, Opened);
    one.happens(1, Resolved);
    let end = one.happens(0, Resolved);
    assert!(end.over && !end.owes_end && end.grouped.is_empty());
    assert_eq!(one.lit(), 0);
}

#[test]
fn what_was_lit_by_itself_before_the_group_was_known_is_put_out_by_itself() {
    let mut one = channel(2);
    for (member, no) in [(0, 1), (1, 2)] {
        one.members[member].rows.push(Row { no, kind: Opened, fate: Fate::Sent });
    }
    one.next = 2;
    let end = one.happens(1, Resolved);
    assert!(end.grouped.is_empty() && !end.over);
    assert!(one.happens(0, Resolved).over);
    assert_eq!(one.lit(), 0);
}

proptest! {
    /// Whatever a group goes through: the channel is told while anything is open, through one incident alone,
    /// and nothing stays lit when all is over.
    #[test]
    fn nobody_is_told_twice_and_nothing_is_lost(
        steps in prop::collection::vec((0..4_usize, 0..3_u8, any::<bool>()), 1..60),
    ) {
        let mut one = channel(4);
        let mut open = [None::<bool>; 4];
        for (member, what, send) in steps {
            let kind = match (open[member], what) {
                (None, _) => Opened,
                (Some(false), _) => Reopened,
                (Some(true), 0) => Moved,
                (Some(true), _) => Resolved,
            };
            open[member] = Some(!kind.ends());
            let plan = one.happens(member, kind);
            let any = open.contains(&Some(true));
            prop_assert_eq!(plan.over, !any);
            prop_assert_eq!(one.lit(), usize::from(any), "{:?}", one.members);
            prop_assert!(!plan.update || any);
            if send {
                one.send();
            }
        }
    }
}
