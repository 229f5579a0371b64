//! What a finding is called: what is wrong in a few words, for titles, the subjects of mails and lists; and
//! how its end is told. The numbers stand in the finding's sentence.

use serde_json::Value;

use super::finding::{End, Finding, Kind, Scope};

/// Longer names of instances are counted, not written out.
const MOST_NAMED: usize = 2;

/// What is wrong, without the fleet's name and without a full stop: `10.9.0.11:80 fails more than its
/// peers`, `all fail alike from a shared cause (pool shop-web-8080)`.
pub fn title(finding: &Finding) -> String {
    let told = if finding.kind.compares() { compared(finding) } else { by_states(finding) };
    let whole = matches!(finding.scope, Scope::Shared | Scope::Pool | Scope::Differs);
    match finding.pool.as_str() {
        "" => told,
        pool if whole => format!("{told} (pool {pool})"),
        _ => told,
    }
}

/// Kinds that come of comparing instances with one another, or with how they were before.
fn compared(finding: &Finding) -> String {
    let code = finding.evidence.get("code").and_then(Value::as_u64).unwrap_or_default();
    // Of one, and of several.
    let (does, do_) = match finding.kind {
        Kind::Latency => ("is slower".to_owned(), "are slower".to_owned()),
        Kind::Blank => {
            ("answers blank pages more".to_owned(), "answer blank pages more".to_owned())
        }
        Kind::CodeMix => (format!("answers {code} more"), format!("answer {code} more")),
        _ => ("fails more".to_owned(), "fail more".to_owned()),
    };
    let plain = match finding.kind {
        Kind::Latency => "are slow".to_owned(),
        Kind::Blank => "answer blank pages".to_owned(),
        Kind::CodeMix => format!("answer {code}"),
        _ => "fail".to_owned(),
    };
    let (who, one) = (names(finding), finding.instances.len() == 1);
    match (finding.scope, finding.kind) {
        (Scope::Shared, _) => {
            let number = |name: &str| finding.evidence.get(name).and_then(Value::as_u64);
            let (elevated, of) = (number("elevated"), number("instances"));
            let all = elevated.zip(of).is_none_or(|(elevated, of)| elevated >= of);
            format!("{} {plain} alike from a shared cause", if all { "all" } else { "most" })
        }
        (Scope::Differs, Kind::Latency) => "one of its two instances is slower".to_owned(),
        (Scope::Differs, _) => format!("one of its two instances {does} than the other"),
        (Scope::Pool, _) => format!("its only instance {does} than before"),
        (_, Kind::BlackHole) if one => format!("{who} fails fast and draws traffic"),
        (_, Kind::BlackHole) => format!("{who} fail fast and draw traffic"),
        (_, Kind::Contradiction) if one => format!("{who} passes its checks and fails its users"),
        (_, Kind::Contradiction) => format!("{who} pass their checks and fail their users"),
        (Scope::One, _) => format!("{who} {does} than its peers"),
        (Scope::Group, _) if one => format!("{who} {does} than the others"),
        (Scope::Group, _) => format!("{who} {do_} than the others"),
    }
}

/// Kinds that follow from the states of instances and sources.
fn by_states(finding: &Finding) -> String {
    let evidence = &finding.evidence;
    let number = |name: &str| evidence.get(name).and_then(Value::as_u64);
    let is = |name: &str| evidence.get(name).and_then(Value::as_bool);
    let who = names(finding);
    match finding.kind {
        Kind::FewReady => {
            let traffic = evidence.get("source").and_then(Value::as_str) == Some("traffic");
            let called = if traffic { "in rotation" } else { "ready" };
            match (number("ready"), number("expected")) {
                (Some(0), Some(of)) => format!("none of {of} {called}"),
                (Some(ready), Some(of)) => format!("only {ready} of {of} {called}"),
                _ => format!("fewer {called} than wanted"),
            }
        }
        Kind::LeftRotation => format!("{who} gets no traffic any more"),
        Kind::ReturnedTogether => match number("instances") {
            Some(count) => format!("{count} instances came back at once"),
            None => "instances came back at once".to_owned(),
        },
        Kind::Restart if is("crash_loop") == Some(true) => format!("{who} is in a crash loop"),
        Kind::Restart if number("last_hour").is_some_and(|n| n > 1) => {
            format!("{who} keeps restarting")
        }
        Kind::Restart => format!("{who} restarted"),
        Kind::Flapping if finding.scope == Scope::Shared => {
            "instances flap together from a shared cause".to_owned()
        }
        Kind::Flapping => format!("{who} flaps between ready and not"),
        Kind::Zombie if is("listed") == Some(false) => format!("{who} serves and is in no list"),
        Kind::Zombie => format!("{who} was taken out and still serves"),
        Kind::StaleVersion if is("newer") == Some(true) => {
            format!("{who} alone runs a newer version")
        }
        Kind::StaleVersion => format!("{who} runs an old version"),
        Kind::NoData if finding.instances.is_empty() => "no logs arrive".to_owned(),
        Kind::NoData => format!("no logs arrive from {who}"),
        Kind::SlowRemoval => format!("{who} was taken out late"),
        // The rest compares.
        _ => finding.kind.as_str().replace('_', " "),
    }
}

/// How the end of a finding is told, as a sentence.
pub fn over(finding: &Finding, end: Option<End>) -> String {
    let who = names(finding);
    let one = finding.instances.len() == 1;
    if end == Some(End::LeftRotation) {
        let gets = if one { "gets" } else { "get" };
        return format!("{who} {gets} no requests any more, so there is nothing to compare.");
    }
    // What happened at one instant is not undone by being over.
    if finding.to_us == Some(finding.from_us) {
        return finding.sentence.clone();
    }
    match finding.kind {
        _ if finding.kind.compares() => match finding.scope {
            Scope::One => format!("{who} is like its peers again."),
            Scope::Group if one => format!("{who} is like the others again."),
            Scope::Group => format!("{who} are like the others again."),
            Scope::Differs => "Its two instances are like each other again.".to_owned(),
            Scope::Shared | Scope::Pool => "It is as it was before.".to_owned(),
        },
        Kind::FewReady => "Enough instances are there again.".to_owned(),
        Kind::LeftRotation => format!("{who} gets traffic again."),
        Kind::Restart => format!("{who} has not restarted for a while."),
        Kind::Flapping if finding.instances.is_empty() => "The instances are steady.".to_owned(),
        Kind::Flapping => format!("{who} is steady."),
        Kind::Zombie => format!("{who} gets no requests out of turn any more."),
        Kind::StaleVersion => format!("{who} runs what the others run, or is gone."),
        Kind::NoData if finding.instances.is_empty() => "Logs arrive again.".to_owned(),
        Kind::NoData => format!("{who} sends logs again, or is no source any more."),
        Kind::SlowRemoval => format!("{who} is back in rotation, or gone."),
        _ => "It is over.".to_owned(),
    }
}

/// `web-1`, `web-1 and web-2`, `3 instances`.
fn names(finding: &Finding) -> String {
    match finding.instances.as_slice() {
        [] => "an instance".to_owned(),
        few if few.len() <= MOST_NAMED => few.join(" and "),
        many => format!("{} instances", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::finding::Gravity;
    use super::*;

    fn finding(kind: Kind, scope: Scope, instances: &[&str], evidence: Value) -> Finding {
        Finding {
            kind,
            scope,
            severity: Gravity::Warning,
            pool: "shop-8080".into(),
            instances: instances.iter().map(|name| (*name).to_owned()).collect(),
            from_us: 0,
            found_us: 0,
            to_us: None,
            chronic: false,
            sentence: "web-1 restarted, certain.".into(),
            evidence,
        }
    }

    fn of(kind: Kind, scope: Scope, instances: &[&str], evidence: Value) -> String {
        title(&finding(kind, scope, instances, evidence))
    }

    #[test]
    fn a_title_says_what_is_wrong_and_with_whom() {
        let none = || json!({});
        let one = |kind, evidence| of(kind, Scope::One, &["web-1"], evidence);
        assert_eq!(one(Kind::Errors, none()), "web-1 fails more than its peers");
        assert_eq!(one(Kind::Latency, none()), "web-1 is slower than its peers");
        assert_eq!(
            one(Kind::CodeMix, json!({"code": 429})),
            "web-1 answers 429 more than its peers"
        );
        assert_eq!(one(Kind::BlackHole, none()), "web-1 fails fast and draws traffic");
        assert_eq!(
            of(Kind::Errors, Scope::Group, &["a", "b"], none()),
            "a and b fail more than the others"
        );
        assert_eq!(
            of(Kind::Latency, Scope::Group, &["a", "b", "c"], none()),
            "3 instances are slower than the others"
        );
        let shared = json!({"elevated": 5, "instances": 5});
        assert_eq!(
            of(Kind::Errors, Scope::Shared, &[], shared),
            "all fail alike from a shared cause (pool shop-8080)"
        );
        let shared = json!({"elevated": 4, "instances": 5});
        assert_eq!(
            of(Kind::Latency, Scope::Shared, &[], shared),
            "most are slow alike from a shared cause (pool shop-8080)"
        );
        assert_eq!(
            of(Kind::FewReady, Scope::Pool, &[], json!({"ready": 0, "expected": 4})),
            "none of 4 ready (pool shop-8080)"
        );
        assert_eq!(one(Kind::Restart, json!({"crash_loop": true})), "web-1 is in a crash loop");
        assert_eq!(one(Kind::Restart, json!({"last_hour": 4})), "web-1 keeps restarting");
        assert_eq!(one(Kind::NoData, none()), "no logs arrive from web-1");
    }

    #[test]
    fn no_title_of_any_kind_is_only_a_name_or_a_word_of_ours() {
        for kind in Kind::ALL {
            for scope in Scope::ALL {
                for instances in [&[][..], &["web-1"], &["a", "b", "c"]] {
                    let title = of(kind, scope, instances, json!({}));
                    assert!(title.split(' ').count() >= 2, "{kind:?} {scope:?}: {title}");
                    assert!(!title.contains('_') && !title.ends_with('.'), "{title}");
                    let end = over(&finding(kind, scope, instances, json!({})), None);
                    assert!(end.ends_with('.') && !end.contains('_'), "{kind:?}: {end}");
                }
            }
        }
    }

    #[test]
    fn an_end_says_what_is_so_now_unless_it_was_over_at_once() {
        let mut one = finding(Kind::Errors, Scope::One, &["web-1"], json!({}));
        one.to_us = Some(1);
        assert_eq!(over(&one, Some(End::Over)), "web-1 is like its peers again.");
        assert!(over(&one, Some(End::LeftRotation)).starts_with("web-1 gets no requests"));
        let mut once = finding(Kind::Restart, Scope::One, &["web-1"], json!({}));
        once.to_us = Some(0);
        assert_eq!(over(&once, Some(End::Over)), "web-1 restarted, certain.");
    }
}
