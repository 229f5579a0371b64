//! Whatever the bytes: no reader of lines panics, and what it reads can be decoded.

use std::{fs, path::Path};

use proptest::prelude::*;
use quorate::accesslog::{Context, Format, Line, Parser, detect, generic_json::Mapping};

fn parsers() -> Vec<Parser> {
    let context = context();
    let mut parsers: Vec<_> = Format::ALL.map(|format| Parser::new(format, &context)).into();
    for pasted in [
        "$remote_addr - $remote_user [$time_local] \"$request\" $status $upstream_addr $upstream_status",
        "log_format j escape=json '{\"t\":$msec,\"r\":\"$request\",\"s\":$status,\"u\":\"$upstream_addr\"}';",
        "log_format n escape=none '$time_iso8601|$host$request_uri|$status|$http_user_agent';",
    ] {
        parsers.push(Parser::custom(pasted, &context).unwrap());
    }
    let mapping = Mapping { time: Some("a.b".to_owned()), ..Mapping::default() };
    parsers.push(Parser::mapped(&mapping, &context).unwrap());
    parsers
}

fn context() -> Context {
    let tz = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    Context { tz, now_us: 1_800_000_000_000_000 }
}

fn read_by_all(line: &[u8]) {
    for mut parser in parsers() {
        if let Ok(Line::Request(record)) = parser.line(line) {
            let texts =
                [record.user, record.request, record.target, record.user_agent, record.version];
            for text in texts.into_iter().flatten() {
                assert!(text.decode().len() <= 3 * text.raw.len(), "{text:?}");
            }
            assert!(record.attempts.iter().all(|attempt| !attempt.instance.is_empty()));
        }
    }
}

/// A few lines of each log that the tests have.
fn samples() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(path).unwrap();
        let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').filter(|l| l.len() < 1_500).collect();
        samples.extend(lines.iter().step_by(lines.len() / 6 + 1).map(|line| line.to_vec()));
    }
    samples
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_by_all(&line);
        let _whatever = detect(&line, &context());
    }

    #[test]
    fn lines_with_something_changed(
        line in proptest::sample::select(samples()),
        cut in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[\\x00\" \\\\\\[\\]{}:,/<>0-9a-\u{ff}-]"), 0..4),
    ) {
        let mut changed = line;
        for (at, byte) in changes {
            let at = at.index(changed.len() + 1);
            let until = (at + 1).min(changed.len());
            changed.splice(at..until, byte.bytes());
        }
        read_by_all(&changed);
        read_by_all(&changed[..cut.index(changed.len() + 1)]);
    }

    #[test]
    fn any_pasted_format(pasted in "[ '\"$a-z_{}=;\\[\\]\\n#\\\\]{0,60}") {
        let pasted = format!("{pasted} $time_local $status");
        if let Ok(mut parser) = Parser::custom(&pasted, &context()) {
            let _whatever = parser.line(b"x [29/Nov/2026:19:32:19 +0000] 200");
        }
    }
}
