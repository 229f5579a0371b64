//! What access logs of web servers have in common: the request line, nginx's parallel lists of tries, and
//! whose an outcome is (spec: fleet 1.2, 1.3, 2.7).

use super::scan::{self, List, Unit};
use crate::domain::fleet::record::{Attempt, Attribution, Escape, Fault, Outcome, Record, Text};

/// nginx's upstream variables as they stand in a line. What the format does not have is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Upstream<'a> {
    pub addr: &'a [u8],
    pub status: &'a [u8],
    pub response_time: &'a [u8],
    pub connect_time: &'a [u8],
    pub header_time: &'a [u8],
    pub response_length: &'a [u8],
    pub bytes_received: &'a [u8],
}

impl<'a> Upstream<'a> {
    /// Adds the tries to the record. The name of a group in the place of an address says that nobody
    /// could be chosen. Gives whether the last thing that happened was that.
    ///
    /// The group is not taken for the request's pool: nginx names it on these lines alone, so that a pool
    /// of its own would hold the failures without the requests that went well.
    pub fn add_to(&self, record: &mut Record<'a>) -> bool {
        let mut statuses = List::new(self.status);
        let mut times = List::new(self.response_time);
        let mut connects = List::new(self.connect_time);
        let mut headers = List::new(self.header_time);
        let mut lengths = List::new(self.response_length);
        let mut received = List::new(self.bytes_received);
        let mut ended_empty = false;
        for addr in List::new(self.addr) {
            let status = statuses.next().and_then(|status| scan::status(status).ok()?);
            let duration = times.next().unwrap_or_default();
            let (connect, header) = (connects.next(), headers.next());
            let length = lengths.next().and_then(scan::number);
            let bytes = received.next().and_then(scan::number).or(length);
            let Some(addr) = scan::present(addr) else { continue };
            ended_empty = !scan::is_instance(addr);
            if ended_empty {
                record.pool_empty = record.pool_empty.saturating_add(1);
                continue;
            }
            record.attempts.push(Attempt {
                instance: addr,
                status,
                duration_us: scan::micros(duration, Unit::Seconds),
                connect_us: connect.and_then(|connect| scan::micros(connect, Unit::Seconds)),
                bytes,
                outcome: outcome(status, connect, header, bytes),
            });
        }
        ended_empty
    }
}

/// What nginx's status of a try says. nginx writes 502 and 504 for an instance that could not be reached,
/// hung up or was too slow, just as if it had answered that: the time to connect and the bytes tell.
fn outcome(
    status: Option<u16>,
    connect: Option<&[u8]>,
    header: Option<&[u8]>,
    bytes: Option<u64>,
) -> Outcome {
    let silent = bytes == Some(0) || header == Some(b"-");
    match status {
        None | Some(499) => Outcome::Unknown,
        Some(502 | 504) if connect == Some(b"-") => Outcome::Error(Fault::Connect),
        Some(502) if silent => Outcome::Error(Fault::Reset),
        Some(504) if silent || bytes.is_none() => Outcome::Error(Fault::Timeout),
        Some(500..=599) => Outcome::Error(Fault::Status),
        Some(_) => Outcome::Ok,
    }
}

/// What an answer with this status says of the instance that is known to have given it.
pub fn answer(status: Option<u16>) -> Outcome {
    match status {
        None | Some(499) => Outcome::Unknown,
        Some(500..=599) => Outcome::Error(Fault::Status),
        Some(_) => Outcome::Ok,
    }
}

/// Whose the final outcome is. `named`: the log says who was asked, so that nobody means the server
/// itself.
pub fn attribute(record: &mut Record<'_>, named: bool, ended_empty: bool) {
    let unread = record.method.is_none();
    record.attribution = match record.status {
        Some(499) => Attribution::Client,
        _ if ended_empty => Attribution::Pool,
        _ if !record.attempts.is_empty() => Attribution::Instance,
        Some(408) => Attribution::Client,
        Some(400) if named || unread => Attribution::Client,
        // nginx's own codes: it hung up on purpose, or refused the client's headers or certificate.
        Some(444 | 494..=497) => Attribution::Proxy,
        _ if named => Attribution::Proxy,
        _ => Attribution::None,
    };
}

/// Takes the request line, and method and target from it if it has the shape `METHOD target[ VERSION]`.
/// A line of another shape is kept whole.
pub fn take_request<'a>(record: &mut Record<'a>, raw: &'a [u8], escape: Escape) {
    if raw == b"-" {
        return;
    }
    record.request = Some(Text { raw, escape });
    let Some((method, rest)) = scan::split_at_byte(raw, b' ') else { return };
    let (target, version) = match scan::split_at_byte(rest, b' ') {
        Some((target, version)) => (target, Some(version)),
        None => (rest, None),
    };
    let versioned = version.is_none_or(|v| v.starts_with(b"HTTP/") && !v.contains(&b' '));
    if is_method(method) && !target.is_empty() && versioned {
        record.method = Some(method);
        record.target = Some(Text { raw: target, escape });
    }
}

/// Letters, digits and the few signs that a method may hold.
fn is_method(word: &[u8]) -> bool {
    !word.is_empty()
        && word.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+'))
}

/// The client of a field that may be a list as proxies write it: the first of the list. Without port.
pub fn client(raw: &[u8]) -> Option<&[u8]> {
    let first = raw.split(|b| *b == b',').next().unwrap_or_default().trim_ascii();
    scan::present(first).map(scan::host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(upstream: &Upstream<'static>) -> (Record<'static>, bool) {
        let mut record = Record::default();
        let ended_empty = upstream.add_to(&mut record);
        (record, ended_empty)
    }

    #[test]
    fn groups_in_the_list_are_no_tries() {
        let (record, ended_empty) = tries(&Upstream {
            addr: b"app : 127.0.0.1:9102",
            status: b"502 : 502",
            response_time: b"0.000 : 0.004",
            connect_time: b"- : 0.000",
            bytes_received: b"0 : 0",
            ..Upstream::default()
        });
        assert!(!ended_empty);
        assert_eq!((record.pool_empty, record.pool), (1, None));
        let [one] = record.attempts.as_slice() else { panic!("{record:?}") };
        assert_eq!(one.instance, b"127.0.0.1:9102");
        assert_eq!((one.duration_us, one.connect_us), (Some(4_000), Some(0)));
        assert_eq!(one.outcome, Outcome::Error(Fault::Reset));

        let (record, ended_empty) = tries(&Upstream {
            addr: b"127.0.0.1:9102, app",
            status: b"502, 502",
            ..Upstream::default()
        });
        assert!(ended_empty && record.pool_empty == 1 && record.attempts.len() == 1);
    }

    #[test]
    fn how_a_try_failed() {
        let e = Outcome::Error;
        let dash: Option<&[u8]> = Some(b"-");
        let given: Option<&[u8]> = Some(b"0.000");
        for (status, connect, header, bytes, want) in [
            (Some(502), dash, None, Some(0), e(Fault::Connect)),
            (Some(504), dash, None, None, e(Fault::Connect)),
            (Some(502), given, None, Some(0), e(Fault::Reset)),
            (Some(502), None, dash, None, e(Fault::Reset)),
            (Some(502), None, None, None, e(Fault::Status)),
            (Some(502), None, None, Some(150), e(Fault::Status)),
            (Some(504), None, None, None, e(Fault::Timeout)),
            (Some(504), None, None, Some(150), e(Fault::Status)),
            (Some(500), given, None, Some(0), e(Fault::Status)),
            (Some(404), None, None, None, Outcome::Ok),
            (Some(499), None, None, Some(0), Outcome::Unknown),
            (None, dash, None, None, Outcome::Unknown),
        ] {
            assert_eq!(outcome(status, connect, header, bytes), want, "{status:?} {connect:?}");
        }
    }

    #[test]
    fn request_lines_and_what_is_none() {
        let read = |raw: &'static str| {
            let mut record = Record::default();
            take_request(&mut record, raw.as_bytes(), Escape::Backslash);
            let shown = |text: Option<Text<'_>>| text.map(Text::show);
            (shown(record.request), record.method.map(<[u8]>::to_vec), shown(record.target))
        };
        let s = |text: &str| Some(text.to_owned());
        let m = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(read("GET /a?b HTTP/1.1"), (s("GET /a?b HTTP/1.1"), m("GET"), s("/a?b")));
        assert_eq!(read("GET /old"), (s("GET /old"), m("GET"), s("/old")));
        assert_eq!(read("GET /a b c HTTP/1.1"), (s("GET /a b c HTTP/1.1"), None, None));
        assert_eq!(read("GET  / HTTP/1.1"), (s("GET  / HTTP/1.1"), None, None));
        assert_eq!(read(r"\x16\x03 \x01"), (s("\u{16}\u{3} \u{1}"), None, None));
        assert_eq!(read(""), (s(""), None, None));
        assert_eq!(read("-"), (None, None, None));
        assert_eq!(read("<BADREQ>"), (s("<BADREQ>"), None, None));
    }

    #[test]
    fn whose_outcome_it_is() {
        let whose = |status, method: Option<&'static [u8]>, tries: usize, named, ended_empty| {
            let attempts = (0..tries).map(|_| Attempt::default()).collect();
            let mut record = Record { status, method, attempts, ..Record::default() };
            attribute(&mut record, named, ended_empty);
            record.attribution
        };
        let get = Some(&b"GET"[..]);
        assert_eq!(whose(Some(499), get, 1, true, false), Attribution::Client);
        assert_eq!(whose(Some(502), get, 1, true, true), Attribution::Pool);
        assert_eq!(whose(Some(502), get, 1, true, false), Attribution::Instance);
        assert_eq!(whose(Some(304), get, 0, true, false), Attribution::Proxy);
        assert_eq!(whose(Some(400), get, 0, true, false), Attribution::Client);
        assert_eq!(whose(Some(400), get, 0, false, false), Attribution::None);
        assert_eq!(whose(Some(400), None, 0, false, false), Attribution::Client);
        assert_eq!(whose(Some(408), None, 0, false, false), Attribution::Client);
        assert_eq!(whose(Some(444), get, 0, false, false), Attribution::Proxy);
        assert_eq!(whose(Some(500), get, 0, false, false), Attribution::None);
    }

    #[test]
    fn clients_of_lists() {
        assert_eq!(client(b"10.0.0.2, 10.0.0.1"), Some(&b"10.0.0.2"[..]));
        assert_eq!(client(b"2001:db8::7"), Some(&b"2001:db8::7"[..]));
        assert_eq!(client(b"[2001:db8::7]:443"), Some(&b"2001:db8::7"[..]));
        assert_eq!(client(b"-"), None);
    }
}
