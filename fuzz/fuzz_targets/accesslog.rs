//! Every reader of lines on whatever bytes: the first byte chooses the format, the rest are lines. What is
//! read is decoded and told apart, as its users do.

#![no_main]
#![allow(dead_code, reason = "the sources are included for their readers alone")]

use libfuzzer_sys::fuzz_target;

use accesslog::{Context, Format, Line, Parser, detect};

#[path = "../../src/accesslog/mod.rs"]
mod accesslog;

mod domain {
    pub mod fleet {
        #[path = "../../../../src/domain/fleet/event.rs"]
        pub mod event;
        #[path = "../../../../src/domain/fleet/record.rs"]
        pub mod record;
    }
}

const PASTED: [&str; 3] = [
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $upstream_addr $upstream_status \
     $upstream_response_time $request_time",
    "log_format j escape=json '{\"t\":$msec,\"r\":\"$request\",\"s\":$status,\"up\":\"$upstream_addr\"}';",
    "log_format n escape=none '$time_iso8601|$scheme://$host$request_uri|$status|$http_user_agent';",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, lines)) = bytes.split_first() else { return };
    let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_800_000_000_000_000 };
    let choice = usize::from(*choice) % (Format::ALL.len() + PASTED.len() + 2);
    let parser = if let Some(format) = Format::ALL.get(choice) {
        Ok(Parser::new(*format, &context))
    } else if let Some(pasted) = PASTED.get(choice - Format::ALL.len()) {
        Parser::custom(pasted, &context)
    } else if choice % 2 == 0 {
        let _whatever = detect(lines, &context);
        return;
    } else {
        Parser::custom(&String::from_utf8_lossy(lines), &context)
    };
    let Ok(mut parser) = parser else { return };
    for line in lines.split(|byte| *byte == b'\n') {
        if let Ok(Line::Request(record)) = parser.line(line) {
            let texts = [record.user, record.request, record.target, record.user_agent, record.version];
            for text in texts.into_iter().flatten() {
                assert!(text.decode().len() <= 3 * text.raw.len());
            }
            for attempt in &record.attempts {
                assert!(!attempt.instance.is_empty());
            }
        }
    }
});
