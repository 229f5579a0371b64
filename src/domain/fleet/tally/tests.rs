//! What is counted where, and that sums of parts are the sum of the whole.

use crate::domain::fleet::record::Fault;
use proptest::prelude::*;

use super::super::record::Text;
use super::*;

const MINUTE: i64 = 60_000_000;

fn balancer() -> SourceInfo {
    SourceInfo { id: 0, role: Role::Balancer, pool: "app".to_owned(), counts: true }
}

fn tally() -> Tally {
    Tally::new(&Settings::default())
}

fn attempt(instance: &'static str, status: u16, ms: u64) -> Attempt<'static> {
    Attempt {
        instance: instance.as_bytes(),
        status: Some(status),
        duration_us: Some(ms * 1_000),
        outcome: if status >= 500 { Outcome::Error(Fault::Status) } else { Outcome::Ok },
        ..Attempt::default()
    }
}

fn record(target: &'static str, status: u16, attempts: &[Attempt<'static>]) -> Record<'static> {
    Record {
        end_us: 10 * MINUTE + 5,
        method: Some(b"GET"),
        target: Some(Text::plain(target.as_bytes())),
        status: Some(status),
        bytes: Some(100),
        attempts: attempts.iter().copied().collect(),
        attribution: Attribution::Instance,
        ..Record::default()
    }
}

fn only(mut tally: Tally) -> Window {
    let mut taken = tally.take_all();
    assert_eq!(taken.len(), 1);
    taken.remove(0).window
}

#[test]
fn a_retried_failure_is_its_instances_and_nobody_saw_it() {
    let mut tally = tally();
    tally.add(
        &record("/pay?x=1", 200, &[attempt("a:1", 502, 120), attempt("b:1", 200, 290)]),
        &balancer(),
    );
    let window = only(tally);
    let (a, b) = (window.instance("a:1"), window.instance("b:1"));
    assert_eq!((a.attempts, a.errors(), a.rescued), (1, 1, 1));
    assert_eq!((b.attempts, b.errors(), b.rescued), (1, 0, 0));
    assert_eq!(b.latency.count(), 1);
    assert_eq!((window.pool.requests, window.pool.failed), (1, 0));
    assert!(window.cells["a:1"].contains_key("GET /pay"), "{:?}", window.cells["a:1"].keys());
}

#[test]
fn clients_and_proxies_stay_out_of_denominators_and_unknown_is_no_error() {
    let mut tally = tally();
    let unknown = Attempt { instance: b"a:1", ..Attempt::default() };
    let gone = Record { attribution: Attribution::Client, ..record("/", 499, &[unknown]) };
    tally.add(&gone, &balancer());
    tally.add(&Record { attribution: Attribution::Proxy, ..record("/", 403, &[]) }, &balancer());
    tally.add(&record("/", 200, &[attempt("a:1", 502, 1), unknown]), &balancer());
    let mut nobody = Record { attribution: Attribution::Pool, ..record("/", 502, &[]) };
    nobody.pool_empty = 1;
    tally.add(&nobody, &balancer());
    let window = only(tally);
    let a = window.instance("a:1");
    assert_eq!((a.attempts, a.unknown, a.clients, a.errors(), a.rescued), (1, 1, 1, 1, 0));
    assert_eq!(a.codes[&499], 1);
    assert_eq!(window.pool.requests, 4);
    assert_eq!((window.pool.clients, window.pool.proxies), (1, 1));
    assert_eq!((window.pool.failed, window.pool.empty), (1, 1));
}

#[test]
fn an_instances_own_log_counts_only_when_no_balancer_does() {
    let own = SourceInfo { role: Role::Instance("a:1".to_owned()), ..balancer() };
    let mut checked = record("/healthz", 200, &[]);
    checked.user_agent = Some(Text::plain(b"kube-probe/1.29+"));
    let failed = Record { attribution: Attribution::None, ..record("/x", 500, &[]) };
    for counts in [true, false] {
        let own = SourceInfo { counts, ..own.clone() };
        let mut tally = tally();
        tally.add(&checked, &own);
        tally.add(&failed, &own);
        let events = tally.take_events();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].1.what, What::Check { passed: true });
        let cell = only(tally).instance("a:1");
        assert_eq!((cell.probes_passed, cell.probes_failed), (1, 0));
        assert_eq!(cell.errors(), u64::from(counts));
        assert_eq!(cell.attempts, u64::from(counts));
    }
}

#[test]
fn a_whole_address_is_the_same_route_as_its_path() {
    let mut tally = tally();
    let answered = [attempt("a:1", 200, 1)];
    for target in ["/cart?a", "https://shop.example:443/cart", "http://shop.example/cart?x=//"] {
        tally.add(&record(target, 200, &answered), &balancer());
    }
    tally.add(&record("wss://shop.example", 200, &answered), &balancer());
    let window = only(tally);
    let routes: Vec<_> =
        window.cells["a:1"].iter().map(|(r, cell)| (r.as_str(), cell.attempts)).collect();
    assert_eq!(routes, [("GET /", 1), ("GET /cart", 3)]);
}

#[test]
fn a_check_is_no_traffic_and_its_user_agent_alone_hides_nothing() {
    let mut tally = tally();
    let mut check = record("/healthz", 500, &[attempt("a:1", 500, 1)]);
    check.user_agent = Some(Text::plain(b"ELB-HealthChecker/2.0"));
    tally.add(&check, &balancer());
    let mut forged = record("/cart", 500, &[attempt("a:1", 500, 1)]);
    forged.user_agent = check.user_agent;
    tally.add(&forged, &balancer());
    let window = only(tally);
    let a = window.instance("a:1");
    assert_eq!((a.probes_failed, a.attempts, a.errors()), (1, 1, 1));
    assert_eq!(window.pool.requests, 1);
}

#[test]
fn blank_pages_are_told_by_bodies_that_can_be_compared() {
    let mut tally = tally();
    tally.add(&record("/", 200, &[attempt("a:1", 200, 1)]), &balancer());
    tally.add(&record("/", 204, &[attempt("a:1", 204, 1)]), &balancer());
    tally.add(&record("/", 206, &[attempt("a:1", 206, 1)]), &balancer());
    tally.add(
        &Record { method: Some(b"HEAD"), ..record("/", 200, &[attempt("a:1", 200, 1)]) },
        &balancer(),
    );
    assert_eq!(only(tally).instance("a:1").sizes.count(), 1);
}

#[test]
fn versions_are_told_when_they_change() {
    let own = SourceInfo { role: Role::Instance("a:1".to_owned()), ..balancer() };
    let mut tally = tally();
    for version in ["1", "1", "2"] {
        let version = Some(Text::plain(version.as_bytes()));
        tally.add(&Record { version, ..record("/", 200, &[]) }, &own);
    }
    let told: Vec<What> = tally.take_events().into_iter().map(|(_, event)| event.what).collect();
    assert_eq!(told, [What::Version("1".to_owned()), What::Version("2".to_owned())]);
}

#[test]
fn beyond_the_most_route_classes_the_rest_is_other() {
    let mut whole = tally();
    let targets: Vec<&'static str> =
        (0..MOST_ROUTES + 5).map(|i| &*Box::leak(format!("/page-{i}").into_boxed_str())).collect();
    let mut part = Tally::part(&Settings::default());
    for target in &targets {
        part.add(&record(target, 200, &[attempt("a:1", 200, 1)]), &balancer());
    }
    whole.merge(part);
    let window = only(whole);
    assert_eq!(window.cells["a:1"].len(), MOST_ROUTES + 1);
    assert_eq!(window.cells["a:1"]["other"].attempts, 5);
}

#[test]
fn redispatches_keep_the_moment_when_they_began() {
    let mut tally = tally();
    for at in [950, 120, 30, 110] {
        let mut moved = record("/", 200, &[attempt("b:1", 200, 1)]);
        moved.redispatched = true;
        moved.end_us = at * 1_000;
        tally.add(&moved, &balancer());
    }
    let taken = tally.take_all();
    assert_eq!(taken[0].redispatched, [30_000, 110_000, 950_000]);
    assert_eq!(taken[0].window.pool.redispatched, 4);
}

/// Lines of a little world: which instance, route, status, moment.
fn lines() -> impl Strategy<Value = Vec<(usize, usize, u16, i64)>> {
    let status = prop::sample::select(vec![200_u16, 204, 404, 499, 500, 502]);
    prop::collection::vec((0_usize..4, 0_usize..3, status, 0_i64..400_000_000), 0..80)
}

fn add(tally: &mut Tally, line: (usize, usize, u16, i64)) {
    let (instance, route, status, at) = line;
    let name = ["a:1", "b:1", "c:1", "d:1"][instance];
    let target = ["/", "/item/17", "/cart?x"][route];
    let other = attempt(["b:1", "c:1", "d:1", "a:1"][instance], 200, 3);
    let first = attempt(name, status, 1 + at.unsigned_abs() % 900);
    let retried = status == 502;
    let mut line = record(target, if retried { 200 } else { status }, &[first]);
    if retried {
        line.attempts.push(other);
    }
    line.pool = Some(if route == 2 { b"cart" } else { b"app" });
    line.redispatched = status == 204;
    line.end_us = at;
    tally.add(&line, &balancer());
}

proptest! {
    #[test]
    fn parts_in_any_order_are_the_whole(lines in lines(), cuts in prop::collection::vec(0_usize..80, 0..5), backwards: bool) {
        let mut whole = tally();
        for line in &lines { add(&mut whole, *line); }
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(lines.len())).collect();
        cuts.extend([0, lines.len()]);
        cuts.sort_unstable();
        let mut parts: Vec<Tally> = cuts.windows(2).map(|cut| {
            let mut part = Tally::part(&Settings::default());
            for line in &lines[cut[0]..cut[1]] { add(&mut part, *line); }
            part
        }).collect();
        let mut merged = tally();
        if backwards { parts.reverse(); }
        for part in parts { merged.merge(part); }
        if !backwards { prop_assert_eq!(merged.take_runs(), whole.take_runs()); }
        prop_assert_eq!(merged.newest_us(), whole.newest_us());
        prop_assert_eq!(merged.take_before(3), whole.take_before(3));
        prop_assert_eq!(merged.take_all(), whole.take_all());
    }

    #[test]
    fn what_was_handed_on_early_and_late_adds_up(lines in lines(), cut in 0_usize..80, before in 0_i64..7) {
        let mut whole = tally();
        for line in &lines { add(&mut whole, *line); }
        let mut pieces = tally();
        let mut sums: BTreeMap<(String, i64), Window> = BTreeMap::new();
        let cut = cut.min(lines.len());
        for (lines, before) in [(&lines[..cut], before), (&lines[cut..], i64::MAX)] {
            for line in lines { add(&mut pieces, *line); }
            for taken in pieces.take_before(before) {
                let sum = sums.entry((taken.pool, taken.window.index)).or_insert_with(|| Window::new(taken.window.index));
                sum.merge(&taken.window);
            }
        }
        let whole: BTreeMap<(String, i64), Window> =
            whole.take_all().into_iter().map(|t| ((t.pool, t.window.index), t.window)).collect();
        prop_assert_eq!(sums, whole);
    }
}

#[test]
fn requests_are_held_against_bounds_as_far_as_it_is_known() {
    let took = |ms: u64, status: u16, attribution: Attribution| Record {
        duration_us: Some(ms * 1_000),
        attribution,
        ..record("/pay", status, &[attempt("a:1", status, ms)])
    };
    let mut tally = tally();
    tally.add(&took(900, 200, Attribution::Instance), &balancer());
    tally.hold_against(&[100_000, 300_000]);
    for ms in [100, 101, 300, 301] {
        tally.add(&took(ms, 200, Attribution::Instance), &balancer());
    }
    // Failed ones are bad as they are; who went away early may have had an answer in time.
    tally.add(&took(900, 500, Attribution::Instance), &balancer());
    tally.add(&took(50, 499, Attribution::Client), &balancer());
    tally.add(&took(200, 499, Attribution::Client), &balancer());
    tally.add(&Record { duration_us: None, ..took(1, 200, Attribution::Instance) }, &balancer());
    let pool = only(tally).pool;
    assert_eq!((pool.requests, pool.failed), (9, 1));
    let timed: Vec<_> = pool.timed.iter().map(|(bound, t)| (*bound, t.judged, t.slow)).collect();
    assert_eq!(timed, [(100_000, 5, 4), (300_000, 4, 1)]);
    let mut twice = pool.clone();
    twice.merge(&pool);
    assert_eq!(twice.timed[&100_000].judged, 10);
}
