//! What is drawn of small fleets, at 80 and 120 columns. The way is the whole one: files are read, parsed,
//! judged and drawn.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::super::plan::{self, Wanted};
use super::super::progress::Progress;
use super::super::read;
use super::super::readiness::Readiness;
use super::super::report::Report;
use super::super::source::Input;
use super::*;
use crate::accesslog::Context;
use crate::domain::fleet::settings::Settings;

/// 2026-03-05 10:00:00 UTC.
const START: i64 = 1_772_704_800;
/// Half a day later.
const NOW_US: i64 = (START + 43_200) * 1_000_000;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("quorate-draw-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn report(files: &[PathBuf], settings: &Settings) -> Report {
    let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: NOW_US };
    let inputs: Vec<Input> = files.iter().map(|file| Input::new(file)).collect();
    let planned = plan::plan(&inputs, &Wanted::Auto, None, &context).unwrap();
    // Names as they are written in an answer do not depend on the machine.
    let short = |name: String| name.rsplit('/').next().unwrap_or_default().to_owned();
    let named = planned.iter().map(|plan| (short(plan.input.name()), plan.format)).collect();
    let mut progress = Progress::new(&Term::plain(80), planned.len(), 0);
    let stop = AtomicBool::new(false);
    let outcome = read::read(planned, settings, NOW_US, &mut progress, &stop).unwrap();
    Report::new(named, outcome, settings)
}

/// Both widths, one under the other.
fn drawn(report: &Report) -> String {
    let at = |width| text(&Term::plain(width), report, NOW_US);
    let both = format!("{}\n{}\n{}", at(80), "=".repeat(80), at(120));
    for (line, width) in both.lines().zip(std::iter::repeat(120)) {
        assert!(line.chars().count() <= width || line.contains("jq"), "too wide: {line}");
    }
    both
}

/// Twenty minutes of five instances, a request each half second; `status` says what an instance answers to the
/// n-th request of a second.
fn lines(status: impl Fn(u64, u64, i64) -> u16) -> Vec<u8> {
    let mut text = String::new();
    let mut dice = 7_u64;
    for second in 0..1_200 {
        for turn in 0..10 {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let instance = turn % 5;
            let status = status(instance, dice >> 33, second);
            let ms = 20 + (dice >> 40) % 60;
            let path = ["/", "/cart", "/item/17"][(turn % 3) as usize];
            let at = jiff::Timestamp::from_second(START + second).unwrap();
            let at = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
            text.push_str(&format!(
                "198.51.100.7 - - [{at}] \"GET {path} HTTP/1.1\" {status} 5120 \"-\" \"ua\" rt=0.{ms:03} \
                 upstream=10.9.0.{}:8080 ust={status} urt=0.{ms:03}\n",
                instance + 11
            ));
        }
    }
    text.into_bytes()
}

fn usual(dice: u64) -> u16 {
    if dice.is_multiple_of(250) { 502 } else { 200 }
}

#[test]
fn one_bad_instance() {
    let folder = Folder::new("one");
    let bad = |instance, dice: u64, second| match (instance, second) {
        (2, 300..900) if dice.is_multiple_of(5) => 502,
        _ => usual(dice),
    };
    let file = folder.file("access.log", &lines(bad));
    insta::assert_snapshot!(drawn(&report(&[file], &Settings::default())));
}

#[test]
fn a_healthy_fleet() {
    let folder = Folder::new("healthy");
    let file = folder.file("access.log", &lines(|_, dice, _| usual(dice)));
    let report = report(&[file], &Settings { expected: Some(5), ..Settings::default() });
    insta::assert_snapshot!(drawn(&report));
    let term = Term { ascii: true, ..Term::plain(80) };
    assert!(text(&term, &report, NOW_US).is_ascii());
}

#[test]
fn what_is_too_short_for_a_finding_is_said_all_the_same() {
    let folder = Folder::new("short");
    let first = |name: &str, bad: fn(u64, u64, i64) -> u16, settings: &Settings| {
        let report = report(&[folder.file(name, &lines(bad))], settings);
        let term = Term::plain(400);
        text(&term, &report, NOW_US).lines().next().unwrap().to_owned()
    };
    // Half a minute in the middle of a window.
    let one = |instance, dice, second| match (instance, second) {
        (2, 610..640) => 502,
        _ => usual(dice),
    };
    let told = first("one.log", one, &Settings::default());
    assert!(told.contains("10.9.0.13:8080 failed 73 of 2,400 attempts (3.0 %)"), "{told}");
    assert!(told.ends_with("2 of 3 windows of 60 s. `--window 5` looks closer."), "{told}");
    let looked = first("closer.log", one, &Settings { window_s: 5, ..Settings::default() });
    assert!(looked.contains("One instance is bad: 10.9.0.13:8080"), "{looked}");
    let all = |_, dice: u64, _| if dice.is_multiple_of(12) { 502 } else { 200 };
    let told = first("all.log", all, &Settings::default());
    assert!(
        told.contains("5 instances failed 1,011 of 12,000 attempts (8.4 %), all of them alike;"),
        "{told}"
    );
}

#[test]
fn a_shared_cause() {
    let folder = Folder::new("shared");
    let all = |_, dice: u64, second| match second {
        600..1_200 if dice.is_multiple_of(3) => 504,
        _ => usual(dice),
    };
    let file = folder.file("access.log", &lines(all));
    insta::assert_snapshot!(drawn(&report(&[file], &Settings::default())));
}

#[test]
fn no_upstream_in_the_log() {
    let folder = Folder::new("none");
    let text = String::from_utf8(lines(|_, dice, _| usual(dice))).unwrap();
    let cut = |line: &str| format!("{}\n", line.split(" rt=").next().unwrap());
    let text: String = text.lines().take(600).map(cut).collect();
    let file = folder.file("access.log", text.as_bytes());
    insta::assert_snapshot!(drawn(&report(&[file], &Settings::default())));
}

#[test]
fn haproxy_with_state_lines() {
    let folder = Folder::new("haproxy");
    let lines = include_bytes!("../../../../tests/logs/haproxy_rfc5424.raw");
    let file = folder.file("haproxy.log", lines);
    let check = crate::domain::fleet::settings::HealthCheck {
        path: None,
        interval_s: 1.0,
        timeout_s: 1.0,
        unhealthy: 2,
        healthy: 2,
    };
    let settings = Settings { expected: Some(3), check: Some(check), ..Settings::default() };
    let report = report(&[file], &settings);
    let transitions = |name: &str| {
        let all = report.pools.iter().flat_map(|pool| &pool.instances);
        all.filter(|standing| standing.name == name)
            .map(|standing| standing.transitions)
            .sum::<u64>()
    };
    assert_eq!(
        (transitions("app/app1"), transitions("app/app2"), transitions("app/app3")),
        (8, 40, 12)
    );
    insta::assert_snapshot!(drawn(&report));
}

#[test]
fn an_empty_file() {
    let folder = Folder::new("empty");
    let file = folder.file("access.log", b"");
    insta::assert_snapshot!(drawn(&report(&[file], &Settings::default())));
}

#[test]
fn balancers_over_the_same_span_are_interleaved_by_time() {
    let folder = Folder::new("interleaved");
    let bad = |instance, dice: u64, second| match (instance, second) {
        (2, 300..900) if dice.is_multiple_of(5) => 502,
        _ => usual(dice),
    };
    let whole = lines(bad);
    let (mut even, mut odd, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let second = number / 10;
        let to = match number % 2 {
            _ if second >= 700 && number % 3 == 0 => &mut late,
            0 => &mut even,
            _ => &mut odd,
        };
        to.extend_from_slice(line);
    }
    let files = [
        folder.file("lb-3.log", &late),
        folder.file("lb-1.log", &even),
        folder.file("lb-2.log", &odd),
    ];
    let together = report(&files, &Settings::default());
    let alone = report(&[folder.file("access.log", &whole)], &Settings::default());
    assert_eq!(together.late, 0, "a window was judged before all had told of it");
    assert_eq!(together.span, alone.span);
    let told = |report: &Report| {
        let pool = &report.pools[0];
        let sums: Vec<_> = pool
            .instances
            .iter()
            .map(|standing| (standing.name.clone(), standing.cell.clone()))
            .collect();
        (sums, pool.findings.clone(), pool.ready.clone())
    };
    assert!(!alone.pools[0].findings.is_empty());
    assert_eq!(told(&together), told(&alone));
}

#[test]
fn what_comes_after_its_minute_was_judged_is_in_the_sums_and_opens_nothing() {
    let folder = Folder::new("late");
    let whole = lines(|_, dice, _| usual(dice));
    // The first third stands at the end.
    let third = whole.len() / 3;
    let third = third + whole[third..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let turned = [&whole[third..], &whole[..third]].concat();
    let turned = report(&[folder.file("turned.log", &turned)], &Settings::default());
    let whole = report(&[folder.file("whole.log", &whole)], &Settings::default());
    assert!(turned.late > 0);
    let attempts = |report: &Report| report.pools.iter().map(PoolReport::attempts).sum::<u64>();
    assert_eq!(attempts(&turned), attempts(&whole));
    assert_eq!(turned.span, whole.span);
}

/// Four servers behind HAProxy, six requests a second. app2 is down from second 128 on and up again 142 s
/// later; `asked`: whether it is asked all the same.
fn down_for_a_while(phase: i64, asked: bool) -> Vec<u8> {
    let mut text = String::new();
    let stamp = |ms: i64| jiff::Timestamp::from_millisecond(START * 1_000 + phase + ms).unwrap();
    let own = |ms: i64, words: &str| {
        format!("<129>1 {} lb haproxy 7 - - {words}\n", stamp(ms).strftime("%FT%T%.3fZ"))
    };
    let mut said = vec![
        (
            122_000,
            "Health check for server app/app2 failed, reason: Layer4 connection problem, info: \"Connection refused\", check duration: 0ms, status: 2/3 UP.",
        ),
        (
            128_000,
            "Server app/app2 is DOWN, reason: Layer4 connection problem, info: \"Connection refused\", check duration: 0ms. 3 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue.",
        ),
        (
            262_000,
            "Health check for server app/app2 succeeded, reason: Layer7 check passed, code: 200, check duration: 1ms, status: 1/3 DOWN.",
        ),
        (
            270_000,
            "Server app/app2 is UP, reason: Layer7 check passed, code: 200, check duration: 1ms. 4 active and 0 backup servers online. 0 sessions requeued, 0 total in queue.",
        ),
    ];
    for (turn, ms) in (0..420_000).step_by(167).enumerate() {
        while said.first().is_some_and(|(at, _)| *at <= ms) {
            let (at, words) = said.remove(0);
            text.push_str(&own(at, words));
        }
        let server = turn % 4 + 1;
        if server == 2 && (128_000..270_000).contains(&ms) && !asked {
            continue;
        }
        let status = if server == 2 && (120_000..128_000).contains(&ms) { 503 } else { 200 };
        let begun = stamp(ms - 80).strftime("%d/%b/%Y:%H:%M:%S%.3f");
        text.push_str(&format!(
            "<134>1 {} lb haproxy 7 - - 203.0.113.7:42168 [{begun}] web app/app{server} 0/0/0/80/80 {status} \
             512 - - ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"\n",
            stamp(ms).strftime("%FT%T%.3fZ")
        ));
    }
    text.into_bytes()
}

#[test]
fn a_server_that_is_up_again_is_no_zombie_wherever_the_minutes_begin() {
    let folder = Folder::new("back");
    let settings = Settings { expected: Some(4), ..Settings::default() };
    let kinds = |phase: i64, asked: bool| -> Vec<Kind> {
        let file = folder.file("haproxy.log", &down_for_a_while(phase, asked));
        let report = report(&[file], &settings);
        let pool = report.pools.iter().find(|pool| pool.name == "app").unwrap();
        let removal = &pool.removals[0];
        assert_eq!((removal.harmed, removal.client_visible), (12, 12), "of 8 s");
        pool.findings.iter().map(|finding| finding.kind).collect()
    };
    for phase in (0..60_000).step_by(3_700) {
        let found = kinds(phase, false);
        assert!(!found.contains(&Kind::Zombie), "{phase}: {found:?}");
    }
    assert!(kinds(0, true).contains(&Kind::Zombie), "asked while it is down");
}

#[test]
fn how_long_it_was_ready_is_of_the_time_that_is_known() {
    let folder = Folder::new("ready");
    let file = folder.file("haproxy.log", &down_for_a_while(0, false));
    let check = crate::domain::fleet::settings::HealthCheck {
        path: None,
        interval_s: 4.0,
        timeout_s: 1.0,
        unhealthy: 3,
        healthy: 3,
    };
    let settings = Settings { expected: Some(4), check: Some(check), ..Settings::default() };
    let report = report(&[file], &settings);
    let pool = report.pools.iter().find(|pool| pool.name == "app").unwrap();
    let [one, two, ..] = pool.instances.as_slice() else { panic!("four instances") };
    // HAProxy has told nothing of the first; of the second it has, from its first word on.
    assert_eq!((one.readiness.ready(), one.readiness.known_us), (None, 0));
    assert!(one.readiness.rotation_us > 400_000_000, "{:?}", one.readiness);
    let Readiness { ready_us, known_us, .. } = two.readiness;
    assert_eq!(known_us - ready_us, 142_000_000);
    let (_, last) = report.span.unwrap();
    assert_eq!(ready_us, last - (START + 270) * 1_000_000, "up to the last line and no further");
    let both = drawn(&report);
    let flat = both.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("back 10:04:30, 8 s after it worked again (12 s by its check)"),
        "{both}"
    );
    let (narrow, wide) = both.split_once(&"=".repeat(80)).unwrap();
    let head = |text: &str| {
        let line = text.lines().find(|line| line.contains("instance  ")).unwrap().to_owned();
        line.split_whitespace().skip_while(|word| *word != "attempts").collect::<Vec<_>>().join(" ")
    };
    assert_eq!(head(narrow), "attempts p90 share ready");
    assert!(
        narrow.contains("ready is of the time that is known; up to 100.0 % of it is not"),
        "{narrow}"
    );
    assert_eq!(head(wide), "attempts p50 p90 share ready not known restarts flaps/h");
    let row =
        |name: &str| wide.lines().find(|line| line.starts_with(&format!("   {name}"))).unwrap();
    assert!(row("app/app1").contains("  –    100.0 %"), "{wide}");
    assert!(row("app/app2").contains("51.3 %"), "{wide}");
    assert!(!wide.contains("is of the time"), "{wide}");
}

#[test]
fn what_nobody_heard_of_is_not_known_whatever_was_said_before() {
    let folder = Folder::new("unheard");
    // The same seven minutes again an hour later, and nothing between.
    let text = [down_for_a_while(0, false), down_for_a_while(3_600_000, false)].concat();
    let report = report(&[folder.file("haproxy.log", &text)], &Settings::default());
    let pool = report.pools.iter().find(|pool| pool.name == "app").unwrap();
    let of = |name: &str| pool.instances.iter().find(|one| one.name == name).unwrap().readiness;
    let (one, two) = (of("app/app1"), of("app/app2"));
    let silent_us = 53 * 60_000_000;
    assert_eq!((one.unheard_us, two.unheard_us), (silent_us, silent_us));
    let (_, last) = report.span.unwrap();
    assert_eq!(two.known_us, last - (START + 128) * 1_000_000 - silent_us);
    assert_eq!(two.known_us - two.ready_us, 2 * 142_000_000);
    assert_eq!((one.ready(), one.not_known()), (None, Some(1.0)));
    assert!((0.79..0.83).contains(&two.not_known().unwrap()), "{two:?}");
}

#[test]
fn versions_are_told_where_more_than_one_serves() {
    let folder = Folder::new("versions");
    let told = |versions: [&str; 5]| {
        let mut text = String::new();
        for turn in 0..400 {
            let at = START + turn / 5;
            let (instance, version) = (turn % 5, versions[(turn % 5) as usize]);
            text.push_str(&format!(
                "{{\"msec\":\"{at}.{turn:03}\",\"remote\":\"203.0.113.7\",\"req\":\"GET / HTTP/1.1\",\"status\":200,\
                 \"up\":\"10.9.0.{}:80\",\"ust\":\"200\",\"urt\":\"0.020\",\"version\":\"{version}\"}}\n",
                instance + 11
            ));
        }
        let file = folder.file("access.json", text.as_bytes());
        let report = report(&[file], &Settings::default());
        drawn(&report)
    };
    let mixed = told(["1.4.2", "1.4.1", "1.4.2", "1.4.1", "1.4.2"]);
    assert_eq!(mixed.matches("   5 instances: 3 on 1.4.2, 2 on 1.4.1\n").count(), 2, "{mixed}");
    let some = told(["1.4.2", "", "1.4.2", "1.4.2", "1.4.2"]);
    let line = "   5 instances: 4 on 1.4.2; version not reported by 1\n";
    assert_eq!(some.matches(line).count(), 2, "{some}");
    let none = told([""; 5]);
    assert_eq!(none.matches("   version not reported\n").count(), 2, "{none}");
    let same = told(["1.4.2"; 5]);
    assert!(!same.contains("not reported") && !same.contains("5 instances: "), "{same}");
    assert!(same.contains("flaps/h  version"), "{same}");
}
