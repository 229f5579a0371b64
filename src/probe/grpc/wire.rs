//! The bytes of a health call. The two messages have one field each, so they are written and read by hand:
//! a library with generated code would be larger than both. Source: the gRPC project's "gRPC over HTTP2" and
//! `grpc/health/v1/health.proto`.

use std::fmt;

/// Bytes of an answer that are read: one frame of the largest message.
pub(super) const MOST_BYTES: usize = FRAME + 64 * 1024;

/// A flag and the length of the message.
const FRAME: usize = 5;

/// Names of statuses by their number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The status of a call. `Display`: `5 NOT_FOUND`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(u32);

impl Code {
    /// From the text of `grpc-status`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok().map(Self)).flatten()
    }

    pub(super) fn is_ok(self) -> bool {
        self.0 == 0
    }

    pub(super) fn is_unimplemented(self) -> bool {
        self.0 == 12
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match CODES.get(self.0 as usize) {
            Some(name) => write!(f, "{} {name}", self.0),
            None => write!(f, "status {}", self.0),
        }
    }
}

/// What a server says of a service's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Unknown,
    Serving,
    NotServing,
    ServiceUnknown,
    Other(u64),
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Health::Unknown => f.write_str("UNKNOWN"),
            Health::Serving => f.write_str("SERVING"),
            Health::NotServing => f.write_str("NOT_SERVING"),
            Health::ServiceUnknown => f.write_str("SERVICE_UNKNOWN"),
            Health::Other(number) => write!(f, "{number}, which is no state of health"),
        }
    }
}

/// Whether a content type is gRPC's: `application/grpc`, `application/grpc+proto`.
pub(super) fn is_grpc_type(text: &str) -> bool {
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/grpc" || kind.starts_with("application/grpc+")
}

/// The framed `HealthCheckRequest` for a service.
pub(super) fn question(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(0x0a);
        let mut length = service.len();
        while length >= 0x80 {
            message.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        message.push(length as u8);
        message.extend_from_slice(service.as_bytes());
    }
    let mut framed = vec![0];
    framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
    framed.extend_from_slice(&message);
    framed
}

/// The health in a framed `HealthCheckResponse`. The error goes on after "but": `it held no message`.
pub(super) fn answer(bytes: &[u8]) -> Result<Health, String> {
    let Some((head, message)) = bytes.split_at_checked(FRAME) else {
        return Err(match bytes.len() {
            0 => "it held no message".to_owned(),
            held => format!("its message broke off after {held} bytes"),
        });
    };
    let (flag, length) = match *head {
        [flag, a, b, c, d] => (flag, u32::from_be_bytes([a, b, c, d]) as usize),
        _ => return Err("it held no message".to_owned()),
    };
    if flag == 1 {
        return Err("its message is compressed, and no compression was offered".to_owned());
    }
    if flag != 0 {
        return Err(format!("its message begins with the unknown flag {flag}"));
    }
    if length > message.len() {
        return Err(format!("its message broke off: {} of {length} bytes", message.len()));
    }
    if length < message.len() {
        return Err("more follows its message, where one answer is due".to_owned());
    }
    let unreadable = || "its message is not a health answer".to_owned();
    let mut rest = message;
    let mut status = 0;
    while !rest.is_empty() {
        let tag = varint(&mut rest).ok_or_else(unreadable)?;
        match (tag >> 3, tag & 7) {
            (0, _) => return Err(unreadable()),
            (1, 0) => status = varint(&mut rest).ok_or_else(unreadable)?,
            // The field of the state in another form is another message.
            (1, _) => return Err(unreadable()),
            (_, form) => skip(&mut rest, form).ok_or_else(unreadable)?,
        }
    }
    Ok(match status {
        0 => Health::Unknown,
        1 => Health::Serving,
        2 => Health::NotServing,
        3 => Health::ServiceUnknown,
        other => Health::Other(other),
    })
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Passes over a field that newer servers may send.
fn skip(rest: &mut &[u8], form: u64) -> Option<()> {
    let length = match form {
        0 => return varint(rest).map(|_| ()),
        1 => 8,
        2 => usize::try_from(varint(rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    *rest = rest.get(length..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend_from_slice(&(message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(message);
        bytes
    }

    #[test]
    fn questions_are_framed_as_the_protocol_says() {
        assert_eq!(question(""), [0, 0, 0, 0, 0]);
        assert_eq!(question("a.B"), [0, 0, 0, 0, 5, 0x0a, 3, b'a', b'.', b'B']);
        let long = question(&"x".repeat(200));
        assert_eq!(&long[..8], [0, 0, 0, 0, 203, 0x0a, 0xc8, 1]);
    }

    #[test]
    fn answers_are_read_with_fields_that_nobody_knows() {
        assert_eq!(answer(&framed(&[])), Ok(Health::Unknown));
        assert_eq!(answer(&framed(&[8, 1])), Ok(Health::Serving));
        assert_eq!(answer(&framed(&[8, 2])), Ok(Health::NotServing));
        assert_eq!(answer(&framed(&[8, 3])), Ok(Health::ServiceUnknown));
        assert_eq!(answer(&framed(&[8, 9])), Ok(Health::Other(9)));
        // Unknown fields of all four forms around the state, which stands twice: the last one counts.
        let message = [
            &[8u8, 2][..],
            &[0x10, 0xff, 1],
            &[0x19, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x22, 2, b'h', b'i'],
            &[0x2d, 1, 2, 3, 4],
            &[8, 1],
        ]
        .concat();
        assert_eq!(answer(&framed(&message)), Ok(Health::Serving));
    }

    #[test]
    fn what_is_no_answer_says_why() {
        for (bytes, why) in [
            (vec![], "it held no message"),
            (vec![0, 0], "broke off after 2 bytes"),
            (vec![0, 0, 0, 0, 9, 8, 1], "broke off: 2 of 9 bytes"),
            (vec![1, 0, 0, 0, 2, 8, 1], "compressed"),
            (vec![7, 0, 0, 0, 2, 8, 1], "unknown flag 7"),
            (vec![0, 0xff, 0xff, 0xff, 0xff, 8, 1], "broke off: 2 of 4294967295"),
            ([framed(&[8, 1]), framed(&[8, 1])].concat(), "more follows"),
            (framed(&[8]), "not a health answer"),
            (framed(&[0x0a, 1, 1]), "not a health answer"),
            (framed(&[0x13]), "not a health answer"),
            (framed(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]), "not a health answer"),
            (framed(&[0xff; 12]), "not a health answer"),
            (framed(&[0, 1]), "not a health answer"),
        ] {
            let said = answer(&bytes).unwrap_err();
            assert!(said.contains(why), "{bytes:?}: {said}");
        }
    }

    #[test]
    fn statuses_are_numbers_with_names() {
        assert_eq!(Code::parse("5").unwrap().to_string(), "5 NOT_FOUND");
        assert_eq!(Code::parse("99").unwrap().to_string(), "status 99");
        assert!(Code::parse("0").unwrap().is_ok() && Code::parse("12").unwrap().is_unimplemented());
        for text in ["", "-1", "+1", "x", "4294967296", "1 "] {
            assert_eq!(Code::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn content_types_are_compared_without_their_parameters() {
        assert!(is_grpc_type("application/grpc") && is_grpc_type("Application/gRPC+proto; x=y"));
        assert!(!is_grpc_type("application/grpc-web") && !is_grpc_type("text/html"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = answer(&bytes);
            let _ = answer(&framed(&bytes));
        }

        #[test]
        fn a_good_answer_with_a_changed_byte_never_panics(at in 0usize..7, byte in any::<u8>(), status in 0u8..4) {
            let mut bytes = framed(&[8, status]);
            bytes[at] = byte;
            let _ = answer(&bytes);
        }

        #[test]
        fn every_state_is_read_back(status in any::<u64>()) {
            let mut message = vec![8];
            let mut left = status;
            while left >= 0x80 {
                message.push((left & 0x7f) as u8 | 0x80);
                left >>= 7;
            }
            message.push(left as u8);
            let expected = match status {
                0 => Health::Unknown,
                1 => Health::Serving,
                2 => Health::NotServing,
                3 => Health::ServiceUnknown,
                other => Health::Other(other),
            };
            prop_assert_eq!(answer(&framed(&message)), Ok(expected));
        }
    }
}
