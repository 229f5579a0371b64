//! Names of the response codes of DNS (IANA, "DNS RCODEs").

const NAMES: &[(u16, &str)] = &[
    (0, NOERROR),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (6, "YXDOMAIN"),
    (7, "YXRRSET"),
    (8, "NXRRSET"),
    (9, "NOTAUTH"),
    (10, "NOTZONE"),
    (16, "BADVERS"),
];

pub(crate) const NOERROR: &str = "NOERROR";

/// The name of a code; `RCODE11` for one without.
pub(crate) fn name(code: u16) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == code);
    known.map_or_else(|| format!("RCODE{code}"), |(_, name)| (*name).to_owned())
}

/// The name in capitals, if it is one.
pub(super) fn known(text: &str) -> Option<&'static str> {
    NAMES.iter().map(|(_, name)| *name).find(|name| name.eq_ignore_ascii_case(text.trim()))
}

/// All names, for sentences.
pub(super) fn all() -> String {
    NAMES.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}
