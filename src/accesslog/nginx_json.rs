//! nginx writing JSON: a `log_format` with `escape=json` whose keys are the user's. The usual names of
//! nginx's variables are recognised. Bytes that are no UTF-8 pass, and values that nginx left out.

use super::{
    Line, Reject,
    nginx_fields::{Fields, Variable},
    scan_json::{self, End},
    stamp::Stamps,
};
use crate::domain::fleet::record::Escape;

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let mut members = scan_json::members_of_line(line)?;
    let mut fields = Fields::escaped(Escape::Json);
    let (mut named, mut answered) = (false, false);
    for (key, value) in members.by_ref() {
        let Some(variable) = Variable::of_key(key) else { continue };
        named |= variable == Variable::UpstreamAddr;
        answered |= variable == Variable::Status;
        fields.set(variable, value.first().raw(), stamps)?;
    }
    match members.end() {
        End::Broken => return Err(Reject("the line is no JSON object")),
        End::Cut => fields.record.truncated = true,
        End::Open | End::Closed => {}
    }
    if !fields.has_time() {
        return Err(Reject("no key such as time, msec or time_local holds a time"));
    }
    if !answered {
        return Err(Reject("no key such as status holds a status"));
    }
    Ok(Line::Request(fields.finish(named)))
}

/// Whether keys are those of nginx's variables and not of anybody.
pub fn looks(line: &[u8]) -> bool {
    let Ok(members) = scan_json::members_of_line(line) else { return false };
    members.map(|(key, _)| key).any(|key| {
        key.starts_with(b"upstream_")
            || matches!(
                key,
                b"remote_addr"
                    | b"remote_user"
                    | b"body_bytes_sent"
                    | b"request_time"
                    | b"msec"
                    | b"http_user_agent"
                    | b"http_referer"
                    | b"time_local"
                    | b"time_iso8601"
                    | b"ust"
                    | b"urt"
                    | b"uct"
            )
    })
}
