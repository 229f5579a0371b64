//! What `quorate logs` says of a run, against what happened in it.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::{Value, json};

use super::{Manifest, faults::Fault, proxies::LOG_FORMAT};

/// Windows of five seconds, and everything else in proportion.
fn settings() -> Value {
    json!({
        "expected": 5, "window_s": 5, "lateness_s": 2, "warm_up_s": 20, "drain_s": 5, "settle_s": 20,
        "flap": { "window_s": 60, "from": 6, "until": 1 },
        "check": { "interval_s": 0.5, "timeout_s": 0.5, "unhealthy": 2, "healthy": 2 },
    })
}

/// A finding that must be there: its kind, its scope and the back ends it names.
type Wanted = (&'static str, &'static str, &'static [usize]);

/// What each log must tell; and the kinds that it may tell of the same back ends besides.
struct Expected {
    haproxy: &'static [Wanted],
    nginx: &'static [Wanted],
    also: &'static [&'static str],
    /// Back ends that may be named at all.
    names: &'static [usize],
    /// HAProxy's removals, by cause.
    removed: Option<(usize, &'static str)>,
    /// Whom nginx leaves out for a while because it did not answer.
    ejected: Option<usize>,
    restarts: bool,
}

const NOTHING: Expected = Expected {
    haproxy: &[],
    nginx: &[],
    also: &[],
    names: &[],
    removed: None,
    ejected: None,
    restarts: false,
};

fn expected(fault: Fault) -> Expected {
    match fault {
        Fault::None | Fault::RouteSkew => NOTHING,
        Fault::OneFails => Expected {
            haproxy: &[("errors", "one", &[3])],
            nginx: &[("errors", "one", &[3])],
            names: &[3],
            ..NOTHING
        },
        // Both go elsewhere before anybody is hurt: it is out, and nobody behaves unlike its peers.
        Fault::Refused => Expected {
            also: &["restart"],
            names: &[3],
            removed: Some((3, "check")),
            ejected: Some(3),
            ..NOTHING
        },
        Fault::BlankAndFast => Expected {
            haproxy: &[("blank", "one", &[3])],
            nginx: &[("blank", "one", &[3])],
            names: &[3],
            ..NOTHING
        },
        Fault::Slow => Expected {
            haproxy: &[("latency", "one", &[3])],
            nginx: &[("latency", "one", &[3])],
            names: &[3],
            ..NOTHING
        },
        Fault::WrongCode => Expected {
            haproxy: &[("code_mix", "one", &[3])],
            nginx: &[("code_mix", "one", &[3])],
            names: &[3],
            ..NOTHING
        },
        Fault::Flapping => Expected {
            haproxy: &[("flapping", "one", &[3])],
            names: &[3],
            removed: Some((3, "check")),
            ..NOTHING
        },
        Fault::Restart => Expected {
            haproxy: &[("restart", "one", &[3])],
            names: &[3],
            removed: Some((3, "check")),
            ejected: Some(3),
            restarts: true,
            ..NOTHING
        },
        Fault::CrashLoop => Expected {
            haproxy: &[("restart", "one", &[3]), ("flapping", "one", &[3])],
            nginx: &[("flapping", "one", &[3])],
            names: &[3],
            removed: Some((3, "check")),
            ejected: Some(3),
            restarts: true,
            ..NOTHING
        },
        Fault::Drain => Expected { names: &[3], removed: Some((3, "drain")), ..NOTHING },
        Fault::ColdStart => Expected {
            haproxy: &[("restart", "one", &[3])],
            names: &[3],
            removed: Some((3, "check")),
            ejected: Some(3),
            restarts: true,
            ..NOTHING
        },
        Fault::OldVersion => {
            Expected { nginx: &[("stale_version", "one", &[3])], names: &[3], ..NOTHING }
        }
        Fault::SharedOutage => Expected {
            haproxy: &[("errors", "shared", &[])],
            nginx: &[("errors", "shared", &[])],
            also: &["latency"],
            ..NOTHING
        },
        Fault::SharedPartly => Expected {
            haproxy: &[("errors", "shared", &[])],
            nginx: &[("errors", "shared", &[])],
            ..NOTHING
        },
        Fault::Overload => Expected {
            haproxy: &[("errors", "shared", &[])],
            nginx: &[("errors", "shared", &[])],
            also: &["latency"],
            ..NOTHING
        },
        Fault::TwoOfFive => Expected {
            haproxy: &[("errors", "group", &[2, 4])],
            nginx: &[("errors", "group", &[2, 4])],
            names: &[2, 4],
            ..NOTHING
        },
    }
}

/// What was found and when, or what is wrong with it.
pub(super) fn check(fault: Fault, dir: &Path) -> Result<String, String> {
    let manifest: Manifest =
        serde_json::from_slice(&fs::read(dir.join("manifest.json")).unwrap()).unwrap();
    let expected = expected(fault);
    let mut words = Vec::new();
    for (log, wanted) in [("haproxy.log", expected.haproxy), ("nginx.log", expected.nginx)] {
        let report = read(dir, log);
        let names: Vec<String> = (0..manifest.backends.len())
            .map(|n| match log {
                "haproxy.log" => format!("app/b{}", n + 1),
                _ => manifest.backends[n].clone(),
            })
            .collect();
        for finding in report["findings"].as_array().unwrap() {
            allowed(finding, &expected, wanted, &names)
                .map_err(|why| format!("{log}: {why}\n  {finding}"))?;
        }
        for want in wanted {
            let at = earliest(&report, want, &names, manifest.fault_us).ok_or_else(|| {
                format!("{log}: {want:?} was not found; found: {}", report["findings"])
            })?;
            words.push(format!("{log} {} after {at:.0} s", want.0));
        }
        let told = match log {
            "haproxy.log" => removals(&report, &expected, &names),
            _ => ejections(&report, &expected, &names),
        };
        words.extend(
            told.map_err(|why| format!("{log}: {why}"))?.map(|told| format!("{log} {told}")),
        );
    }
    Ok(if words.is_empty() { "nothing, as it should be".to_owned() } else { words.join(", ") })
}

fn read(dir: &Path, log: &str) -> Value {
    let set = dir.join("settings.json");
    fs::write(&set, settings().to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.arg("logs").arg(dir.join(log)).arg("--json").arg("--settings").arg(&set);
    if log == "nginx.log" {
        command.arg(dir.join("nginx_error.log")).arg("--log-format").arg(LOG_FORMAT);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = &report["files"][0];
    assert!(file["parsed"].as_u64().unwrap() > 5_000, "{file}");
    assert_eq!(file["rejected"], 0, "{file}");
    report
}

fn named(finding: &Value) -> BTreeSet<String> {
    let names = finding["instances"].as_array().unwrap().iter();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn allowed(
    finding: &Value,
    expected: &Expected,
    wanted: &[Wanted],
    names: &[String],
) -> Result<(), String> {
    let kind = finding["kind"].as_str().unwrap();
    let known = wanted.iter().any(|want| want.0 == kind) || expected.also.contains(&kind);
    if !known {
        return Err(format!("{kind} was found"));
    }
    let may: BTreeSet<String> = expected.names.iter().map(|n| names[n - 1].clone()).collect();
    if !named(finding).is_subset(&may) {
        return Err("somebody is blamed who has done nothing".to_owned());
    }
    Ok(())
}

/// Seconds from the fault until it was found: until the windows that show it had been judged.
fn earliest(report: &Value, want: &Wanted, names: &[String], fault_us: i64) -> Option<f64> {
    let (kind, scope, who) = want;
    let who: BTreeSet<String> = who.iter().map(|n| names[n - 1].clone()).collect();
    let findings = report["findings"].as_array()?.iter();
    findings
        .filter(|finding| {
            finding["kind"] == **kind && finding["scope"] == **scope && named(finding) == who
        })
        .filter_map(|finding| {
            let found: jiff::Timestamp = finding["found_at"].as_str()?.parse().ok()?;
            Some((found.as_microsecond() - fault_us) as f64 / 1e6)
        })
        .min_by(f64::total_cmp)
}

/// Nobody but the one who is left out now and then, and that he is.
fn ejections(
    report: &Value,
    expected: &Expected,
    names: &[String],
) -> Result<Option<String>, String> {
    let removals = report["removals"].as_array().unwrap();
    let Some(who) = expected.ejected else { return none(removals) };
    let right =
        |removal: &Value| removal["instance"] == names[who - 1] && removal["cause"] == "ejected";
    if removals.is_empty() || !removals.iter().all(right) {
        return Err(format!("removals, of which all should be ejections of b{who}: {removals:?}"));
    }
    Ok(Some(format!("ejected, {} ms", removals[0]["ttr_ms"])))
}

fn none(removals: &[Value]) -> Result<Option<String>, String> {
    if removals.is_empty() { Ok(None) } else { Err(format!("removals: {removals:?}")) }
}

fn removals(
    report: &Value,
    expected: &Expected,
    names: &[String],
) -> Result<Option<String>, String> {
    let removals = report["removals"].as_array().unwrap();
    let Some((who, cause)) = expected.removed else { return none(removals) };
    let name = &names[who - 1];
    let right = |removal: &Value| removal["instance"] == *name && removal["cause"] == cause;
    if removals.is_empty() || !removals.iter().all(right) {
        return Err(format!("removals, of which all should be of {name} by {cause}: {removals:?}"));
    }
    if cause == "check" {
        let ttr = removals[0]["ttr_ms"].as_f64().ok_or("a removal has no time")?;
        if !(400.0..5_000.0).contains(&ttr) {
            return Err(format!(
                "{ttr} ms from the first failure to removal, with two checks of 500 ms"
            ));
        }
    }
    let instance = report["instances"].as_array().unwrap().iter().find(|i| i["instance"] == *name);
    let restarts = &instance.ok_or("the instance is missing")?["restarts"];
    let seen = restarts["probable"].as_u64() > Some(0) || restarts["certain"].as_u64() > Some(0);
    if expected.restarts && !seen {
        return Err(format!("no restart of {name}: {restarts}"));
    }
    Ok(Some(format!("removed, {} ms", removals[0]["ttr_ms"])))
}
