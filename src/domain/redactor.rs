//! Takes secrets out of everything that leaves an agent.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use url::Url;

/// What stands where a secret stood.
pub const HIDDEN: &str = "(hidden)";

/// Headers whose values never leave, whoever sent them.
const SECRET_HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];

/// Parts of a query parameter's name that make its value a secret.
const SECRET_PARAMETERS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "signature",
    "credential",
];

/// Parameter names that are secret as a whole; too short to look for inside others.
const SECRET_PARAMETERS_WHOLE: &[&str] =
    &["key", "auth", "sig", "pass", "code", "jwt", "session", "sid"];

/// Whether a header's value is a secret by the header's name.
pub fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// Whether a query parameter's value is a secret by the parameter's name.
pub fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARAMETERS_WHOLE.contains(&name.as_str())
        || SECRET_PARAMETERS.iter().any(|part| name.contains(part))
}

/// The secrets of one monitor, in every form in which a server could echo them.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret that holds another goes as a whole.
    needles: Vec<String>,
}

impl Redactor {
    /// From plain secrets: each is looked for as it is, percent-encoded, as JSON text and in base64.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = BTreeSet::new();
        for secret in secrets {
            if secret.is_empty() {
                continue;
            }
            forms.insert(secret.to_owned());
            forms.insert(percent_encoded(secret));
            let quoted = serde_json::Value::from(secret).to_string();
            forms.insert(quoted.trim_matches('"').to_owned());
            // Base64 of one or two bytes would hide half of every text.
            if secret.len() > 3 {
                forms.insert(STANDARD.encode(secret));
                forms.insert(URL_SAFE_NO_PAD.encode(secret));
            }
        }
        forms.remove("");
        let mut needles: Vec<String> = forms.into_iter().collect();
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Self { needles }
    }

    /// `text` with every secret replaced.
    pub fn clean(&self, text: &str) -> String {
        self.clean_prefix(text, text.len())
    }

    /// What stands in the first `max` bytes of `text`, with every secret replaced, also one that
    /// reaches over the end of these bytes.
    pub fn clean_prefix(&self, text: &str, max: usize) -> String {
        let mut out = String::with_capacity(max.min(text.len()));
        let mut rest = text;
        while !rest.is_empty() && text.len() - rest.len() < max {
            if let Some(needle) =
                self.needles.iter().find(|needle| rest.starts_with(needle.as_str()))
            {
                out.push_str(HIDDEN);
                rest = rest.get(needle.len()..).unwrap_or_default();
                continue;
            }
            let Some(first) = rest.chars().next() else { break };
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
        out
    }

    /// A header's value: hidden as a whole for the headers that carry credentials.
    pub fn header(&self, name: &str, value: &str) -> String {
        if is_secret_header(name) {
            return HIDDEN.to_owned();
        }
        match name.eq_ignore_ascii_case("location") || name.eq_ignore_ascii_case("referer") {
            true => self.url(value),
            false => self.clean(value),
        }
    }

    /// A URL (also a relative one) without user info and without the values of secret parameters.
    pub fn url(&self, text: &str) -> String {
        let without_user = match Url::parse(text) {
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                let shown = url.as_str();
                match (shown.find("://"), shown.find('@')) {
                    (Some(scheme), Some(at)) if scheme < at => {
                        format!(
                            "{}://{HIDDEN}{}",
                            shown.get(..scheme).unwrap_or_default(),
                            shown.get(at..).unwrap_or_default()
                        )
                    }
                    _ => HIDDEN.to_owned(),
                }
            }
            _ => text.to_owned(),
        };
        self.clean(&hide_parameters(&without_user))
    }

    /// What a program printed: without the credentials of URLs and headers in it, and without values whose
    /// name says that they are secret (`DB_PASSWORD=…`).
    pub fn output(&self, text: &str) -> String {
        let lines = text.split_inclusive('\n').map(|line| {
            let header = line.split_once(':').filter(|(name, _)| {
                is_secret_header(name.trim_start_matches(['<', '>', '*', ' ', '\t']))
            });
            if let Some((name, _)) = header {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                return format!("{name}: {HIDDEN}{end}");
            }
            line.split_inclusive(char::is_whitespace).map(|word| self.word(word)).collect()
        });
        self.clean(&lines.collect::<String>())
    }

    fn word(&self, word: &str) -> String {
        let bare = word.trim_end();
        let end = word.get(bare.len()..).unwrap_or_default();
        if let Some(scheme) = bare.find("://") {
            let letter = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            let before = bare.get(..scheme).unwrap_or_default();
            let lead = before.trim_end_matches(letter).len();
            let url = bare.get(lead..).unwrap_or_default();
            let close = url.find(['"', '\'', '<', '>', ')']).unwrap_or(url.len());
            let (url, tail) = url.split_at_checked(close).unwrap_or((url, ""));
            let lead = bare.get(..lead).unwrap_or_default();
            return format!("{lead}{}{tail}{end}", self.url(url));
        }
        match bare.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret_parameter(name) => {
                format!("{name}={HIDDEN}{end}")
            }
            _ => word.to_owned(),
        }
    }

    /// JSON with secrets replaced in every text and every key.
    pub fn value(&self, value: &serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::String(text) => Value::String(self.clean(text)),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.value(item)).collect())
            }
            Value::Object(map) => Value::Object(
                map.iter().map(|(key, item)| (self.clean(key), self.value(item))).collect(),
            ),
            other => other.clone(),
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} forms)", self.needles.len())
    }
}

/// Hides the values of secret parameters in the query and in the fragment, where OAuth puts tokens.
fn hide_parameters(url: &str) -> String {
    let (before, tail) = match url.find(['?', '#']) {
        Some(at) => url.split_at(at),
        None => return url.to_owned(),
    };
    let mut out = before.to_owned();
    for piece in tail.split_inclusive(['?', '#', '&', ';']) {
        let (pair, separator) = match piece.char_indices().next_back() {
            Some((at, '?' | '#' | '&' | ';')) => piece.split_at(at),
            _ => (piece, ""),
        };
        match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret_parameter(name) => {
                out.push_str(name);
                out.push('=');
                out.push_str(HIDDEN);
            }
            _ => out.push_str(pair),
        }
        out.push_str(separator);
    }
    out
}

/// `text` as it would stand in a query.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The text with every `%41` as the byte that it stands for; what is no such pair stays.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_program_keeps_its_words_and_loses_its_secrets() {
        let redactor = Redactor::new(["qrh_abc"]);
        let output = "+ curl https://q.test/hb/qrh_abc\npg_dump \"postgres://app:pw@db/x\" failed\n\
                      > Authorization: Bearer xyz\nDB_PASSWORD=pw A=b\n  at 12:30: done";
        assert_eq!(
            redactor.output(output),
            "+ curl https://q.test/hb/(hidden)\npg_dump \"postgres://(hidden)@db/x\" failed\n\
             > Authorization: (hidden)\nDB_PASSWORD=(hidden) A=b\n  at 12:30: done"
        );
        assert_eq!(redactor.output(""), "");
        assert_eq!(redactor.output("://\u{e9}=://"), "://\u{e9}=://");
    }

    #[test]
    fn a_secret_goes_in_every_form() {
        let redactor = Redactor::new(["p@ss \"word", "user:p@ss \"word"]);
        let basic = STANDARD.encode("user:p@ss \"word");
        for echoed in ["p@ss \"word", "p%40ss%20%22word", r#"p@ss \"word"#, basic.as_str()] {
            let cleaned = redactor.clean(&format!("got <{echoed}>, thanks"));
            assert_eq!(cleaned, "got <(hidden)>, thanks");
        }
    }

    #[test]
    fn a_secret_on_the_cut_does_not_leak_its_head() {
        let redactor = Redactor::new(["hunter2hunter2"]);
        let text = format!("{}hunter2hunter2 tail", "x".repeat(10));
        assert_eq!(redactor.clean_prefix(&text, 14), format!("{}{HIDDEN}", "x".repeat(10)));
        assert_eq!(redactor.clean_prefix("äöü", 3), "äö");
    }

    #[test]
    fn credentials_in_headers_and_urls_are_hidden() {
        let redactor = Redactor::default();
        assert_eq!(redactor.header("Set-Cookie", "s=1; Path=/"), HIDDEN);
        assert_eq!(redactor.header("content-type", "text/html"), "text/html");
        assert_eq!(redactor.url("https://u:p@a.test/x?a=1"), "https://(hidden)@a.test/x?a=1");
        assert_eq!(
            redactor.url("/next?access_token=abc&page=2#id_token=zzz"),
            "/next?access_token=(hidden)&page=2#id_token=(hidden)"
        );
        assert_eq!(redactor.url("https://a.test/?key=&monkey=1"), "https://a.test/?key=&monkey=1");
        assert_eq!(
            redactor.header("Location", "https://a.test/?sig=1"),
            "https://a.test/?sig=(hidden)"
        );
    }
}
