//! From marks to findings: one instance shows one thing, several of one kind are one finding, and what
//! describes the same fault is told once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::judge::Subject;
use super::marks::{Mark, Marks};
use super::numbers::Numbers;
use super::outcome::Outcome;
use super::sentence;
use super::state::About;
use crate::domain::fleet::finding::{Finding, Gravity, Kind, Scope};

/// Health checks that are enough to contradict, and the share of them that passes.
const CHECKS: u64 = 10;
const PASS: f64 = 0.95;
/// A share of failures from which on it is critical.
const CRITICAL: f64 = 0.1;

/// Everything that is to be open now, in a fixed order. `to_us` is none and `found_us` 0 in all.
pub(super) fn compile(
    pool: &str,
    window_s: u32,
    marks: &Marks,
    about: &BTreeMap<String, About>,
) -> Vec<Finding> {
    let by_outcome = shown(marks);
    let mut findings = Vec::new();
    let mut contradicted: Vec<&Mark> = Vec::new();
    for members in by_outcome.values() {
        let Some(first) = members.first() else { continue };
        findings.push(finding(pool, window_s, members, marks, about));
        let fails = matches!(first.outcome, Outcome::Errors | Outcome::BlackHole | Outcome::Blank);
        if fails && first.instance().is_some() {
            contradicted.extend(members.iter().copied().filter(|mark| passes_checks(mark)));
        }
    }
    if !contradicted.is_empty() {
        findings.push(contradiction(pool, window_s, &contradicted));
    }
    findings
}

/// Who is shown for what: of each instance, and of all together, the mark of the first rank.
fn shown(marks: &Marks) -> BTreeMap<(u8, Outcome, u8), Vec<&Mark>> {
    let rank = |mark: &Mark| (mark.outcome.rank(), std::cmp::Reverse(mark.bad));
    let mut best: BTreeMap<&Subject, &Mark> = BTreeMap::new();
    for mark in marks.on() {
        // Of two alone or of one nothing more is said once peers or all say it.
        let vague = matches!(mark.subject, Subject::Differs | Subject::Pool);
        let better = |other: &Mark| {
            matches!(other.subject, Subject::Shared | Subject::Instance(_))
                && other.outcome.rank() <= mark.outcome.rank()
        };
        if vague && marks.on().any(better) {
            continue;
        }
        let best = best.entry(&mark.subject).or_insert(mark);
        if rank(mark) < rank(best) {
            *best = mark;
        }
    }
    let mut shown: BTreeMap<_, Vec<&Mark>> = BTreeMap::new();
    for mark in best.into_values() {
        let class = match mark.subject {
            Subject::Instance(_) => 0,
            Subject::Shared => 1,
            Subject::Differs => 2,
            Subject::Pool => 3,
        };
        shown.entry((mark.outcome.rank(), mark.outcome, class)).or_default().push(mark);
    }
    shown
}

fn finding(
    pool: &str,
    window_s: u32,
    members: &[&Mark],
    marks: &Marks,
    about: &BTreeMap<String, About>,
) -> Finding {
    let first = members[0];
    let instances: Vec<String> =
        members.iter().filter_map(|mark| mark.instance()).map(str::to_owned).collect();
    let scope = match first.subject {
        Subject::Shared => Scope::Shared,
        Subject::Differs => Scope::Differs,
        Subject::Pool => Scope::Pool,
        Subject::Instance(_) if members.len() > 1 => Scope::Group,
        Subject::Instance(_) => Scope::One,
    };
    let mut told = sentence::sentence(members, window_s);
    let mut evidence = evidence(members, window_s);
    let also: Vec<Value> = marks
        .on()
        .filter(|mark| members.iter().any(|shown| shown.subject == mark.subject))
        .filter(|mark| mark.outcome != first.outcome && Some(mark.outcome) != first.numbers.part)
        .map(|mark| json!({"what": name(mark.outcome), "instance": mark.instance(), "share": mark.numbers.share()}))
        .collect();
    if !also.is_empty() {
        evidence.insert("also".to_owned(), also.into());
    }
    if let Some((attribute, value)) = common(&instances, about) {
        if instances.len() > 1 {
            told.push_str(&format!(" Only they have {attribute} {value}."));
        } else {
            told.push_str(&format!(" Only it has {attribute} {value}."));
        }
        evidence.insert("common".to_owned(), json!({ attribute: value }));
    }
    Finding {
        kind: first.outcome.kind(),
        scope,
        severity: severity(members),
        pool: pool.to_owned(),
        instances,
        from_us: members.iter().map(|mark| mark.since).min().unwrap_or(first.since)
            * i64::from(window_s)
            * 1_000_000,
        found_us: 0,
        to_us: None,
        chronic: members.iter().all(|mark| mark.chronic),
        sentence: told,
        evidence: Value::Object(evidence),
    }
}

fn contradiction(pool: &str, window_s: u32, members: &[&Mark]) -> Finding {
    let each = members.iter().map(|mark| {
        json!({
            "instance": mark.instance(),
            "checks_passed": mark.probes.passed,
            "checks_failed": mark.probes.failed,
            "attempts": mark.attempts,
            "bad": mark.bad,
        })
    });
    Finding {
        kind: Kind::Contradiction,
        scope: if members.len() > 1 { Scope::Group } else { Scope::One },
        severity: if members.iter().all(|mark| mark.chronic) {
            Gravity::Info
        } else {
            Gravity::Warning
        },
        pool: pool.to_owned(),
        instances: members.iter().filter_map(|mark| mark.instance()).map(str::to_owned).collect(),
        from_us: members.iter().map(|mark| mark.since).min().unwrap_or_default()
            * i64::from(window_s)
            * 1_000_000,
        found_us: 0,
        to_us: None,
        chronic: members.iter().all(|mark| mark.chronic),
        sentence: sentence::contradiction(members),
        evidence: json!({ "each": each.collect::<Vec<Value>>() }),
    }
}

fn passes_checks(mark: &Mark) -> bool {
    let all = mark.probes.passed + mark.probes.failed;
    all >= CHECKS && mark.probes.passed as f64 >= PASS * all as f64
}

fn severity(members: &[&Mark]) -> Gravity {
    if members.iter().all(|mark| mark.chronic) {
        return Gravity::Info;
    }
    let worst = members.iter().map(|mark| match mark.outcome {
        _ if mark.numbers.warming => Gravity::Warning,
        Outcome::BlackHole => Gravity::Critical,
        Outcome::Errors | Outcome::Blank if mark.numbers.share() >= CRITICAL => Gravity::Critical,
        Outcome::Code(..400) => Gravity::Info,
        _ => Gravity::Warning,
    });
    worst.max().unwrap_or(Gravity::Warning)
}

/// What all of these have in common and nobody else has: a zone, a version, a node.
fn common<'a>(
    instances: &[String],
    about: &'a BTreeMap<String, About>,
) -> Option<(&'static str, &'a str)> {
    let first = about.get(instances.first()?)?;
    let of = |about: &'a About, which: &str| match which {
        "zone" => about.zone.as_deref(),
        "version" => about.version.as_deref(),
        _ => about.node.as_deref(),
    };
    ["version", "zone", "node"].into_iter().find_map(|which| {
        let value = of(first, which)?;
        let have = about.iter().filter(|(_, about)| of(about, which) == Some(value));
        let have: Vec<&String> = have.map(|(name, _)| name).collect();
        let others_known = about.values().any(|about| of(about, which).is_some_and(|v| v != value));
        // One alone on its node or in its zone is no news.
        let telling = instances.len() > 1 || which == "version";
        let same =
            have.len() == instances.len() && have.iter().all(|name| instances.contains(name));
        (telling && others_known && same).then_some((which, value))
    })
}

fn name(outcome: Outcome) -> String {
    match outcome {
        Outcome::Code(code) => code.to_string(),
        other => other.kind().as_str().to_owned(),
    }
}

fn evidence(members: &[&Mark], window_s: u32) -> Map<String, Value> {
    let first = members[0];
    let mut evidence = numbers(first, window_s);
    if let Outcome::Code(code) = first.outcome {
        evidence.insert("code".to_owned(), code.into());
    }
    if members.len() > 1 {
        let each = members.iter().map(|mark| {
            let mut own = numbers(mark, window_s);
            own.insert("instance".to_owned(), mark.instance().into());
            Value::Object(own)
        });
        evidence.insert("each".to_owned(), each.collect());
    }
    evidence
}

/// The numbers of one mark by name. Shares are parts of one, times in ms.
fn numbers(mark: &Mark, window_s: u32) -> Map<String, Value> {
    let Numbers { attempts, bad, peers, peers_attempts, peers_bad, expected, rho, p, .. } =
        mark.numbers;
    let numbers = &mark.numbers;
    let ms = |us: Option<f64>| us.map(|us| (us / 10.0).round() / 100.0);
    let times = if expected > 0.0 { Some(numbers.share() / expected) } else { None };
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            out.insert(name.to_owned(), value);
        }
    };
    put("attempts", attempts.into());
    put("bad", bad.into());
    put("share", numbers.share().into());
    if peers > 0 {
        put("peers", peers.into());
        put("peers_attempts", peers_attempts.into());
        put("peers_bad", peers_bad.into());
    } else {
        put("instances", numbers.instances.into());
        put("elevated", numbers.elevated.into());
        put("usual_windows", numbers.usual_windows.into());
    }
    put("expected_share", expected.into());
    put("times_expected", json!(times));
    put("rho", rho.into());
    put("p", p.into());
    put("route", json!(numbers.route));
    put("routes", json!(numbers.routes));
    let faults = [
        ("status_5xx", numbers.status),
        ("no_connection", numbers.connect),
        ("timeout", numbers.timeout),
        ("reset", numbers.reset),
    ];
    put("faults", faults.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect());
    put("codes", json!(numbers.codes));
    put("p50_ms", json!(ms(numbers.p50_us)));
    put("p90_ms", json!(ms(numbers.p90_us)));
    put(if peers > 0 { "peers_p50_ms" } else { "usual_p50_ms" }, json!(ms(numbers.peers_p50_us)));
    put(if peers > 0 { "peers_p90_ms" } else { "usual_p90_ms" }, json!(ms(numbers.peers_p90_us)));
    put("traffic_times_peers", json!(numbers.traffic));
    if numbers.wrong_code {
        put("wrong_code", true.into());
    }
    if numbers.warming {
        put("warming", true.into());
    }
    if !numbers.each.is_empty() {
        let each = numbers
            .each
            .iter()
            .map(|(instance, n, e)| json!({"instance": instance, "attempts": n, "bad": e}));
        put("each", each.collect());
    }
    put("window_s", (u64::from(window_s) * u64::from(numbers.span.max(1))).into());
    put("windows_of_last_3", mark.windows.into());
    put("attempts_so_far", mark.attempts.into());
    put("bad_so_far", mark.bad.into());
    put("part", json!(numbers.part.map(name)));
    out
}
