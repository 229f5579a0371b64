//! Kind `websocket`: a handshake over HTTP, and a message if one is expected.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use url::Url;

use super::dialogue;
use super::headers::{self, Header};
use super::kind::Kind;
use super::secret::{self, Filling, Secrets, take_from_query};
use super::shared::{self, IpFamily, Tls, parse_url};
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::address::Host;
use crate::domain::assertion::{Assertion, Subject, is_header_name};
use crate::domain::fields::Fields;
use crate::domain::pattern::Pattern;
use crate::domain::redactor::{Redactor, is_secret_header, is_secret_parameter};

const SCHEMES: &[&str] = &["ws", "wss"];

/// `body`, `json` and `size` look at the message.
const SUBJECTS: &[&str] = &[
    "status",
    "header",
    "body",
    "json",
    "size",
    "latency_ms",
    "cert_days_left",
    "cert_issuer",
    "cert_fingerprint",
];

const FIELDS: &[&str] =
    &["kind", "url", "headers", "subprotocol", "send", "expect", "tls", "ip_family", "assertions"];

/// A valid WebSocket check. Texts may hold `${secret:NAME}` until it is filled.
#[derive(Debug, Clone, PartialEq)]
pub struct WebsocketCheck {
    /// As written.
    url_text: String,
    /// Parsed, with `x` for every placeholder, so it is exact only in a filled check.
    url: Url,
    pub headers: Vec<Header>,
    /// The server must agree to it.
    pub subprotocol: Option<String>,
    /// One text message, as it is: what looks like an escape belongs to it.
    pub send: Option<String>,
    /// Stands in a message that the server must send.
    pub expect: Option<Pattern>,
    pub tls: Tls,
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
    implied: Vec<Assertion>,
    /// Values that `with_secrets` put in.
    filled: Vec<String>,
}

impl WebsocketCheck {
    pub(super) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let (url_text, url) = target(&fields.required_string("url")?)?;
        let ip = ip_of(&url);
        let check = Self {
            headers: own_headers(&mut fields)?,
            subprotocol: subprotocol(&mut fields)?,
            send: send(&mut fields)?,
            expect: match fields.string("expect")? {
                None => None,
                Some(text) => Some(dialogue::pattern(&text, "expect")?),
            },
            tls: shared::tls(&mut fields)?,
            ip_family: shared::family(&mut fields, ip)?,
            assertions: shared::assertions(&mut fields, SUBJECTS)?,
            implied: Vec::new(),
            filled: Vec::new(),
            url_text,
            url,
        };
        fields.finish(FIELDS)?;
        if !check.secure() && check.tls != Tls::default() {
            return Err(Invalid::new("tls", "has no use on a plain connection; write wss://"));
        }
        let mut implied = Vec::new();
        if !check.assertions.iter().any(|a| matches!(a.subject(), Subject::Status)) {
            implied.push(Assertion::status_is(101));
        }
        implied.extend(shared::days_left(&check.tls));
        Ok(Self { implied, ..check })
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn secure(&self) -> bool {
        self.url.scheme() == "wss"
    }

    /// Whether a message must come.
    pub fn wants_message(&self) -> bool {
        let about_it =
            |a: &Assertion| matches!(a.subject(), Subject::Body | Subject::Json(_) | Subject::Size);
        self.expect.is_some() || self.assertions.iter().any(about_it)
    }

    fn sends_secrets(&self) -> bool {
        let by_name = |header: &Header| is_secret_header(&header.name);
        !self.secret_names().is_empty() || self.headers.iter().any(by_name)
    }

    /// Every text that may hold placeholders.
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.url_text.as_str())
            .chain(self.headers.iter().map(|header| header.value.as_str()))
            .chain(self.send.as_deref())
    }
}

fn target(text: &str) -> Result<(String, Url), Invalid> {
    let text = text.trim();
    if text.len() > 8_000 {
        return Err(Invalid::new("url", "is longer than 8000 characters"));
    }
    let url = parse_url(text, "url", SCHEMES)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Invalid::new(
            "url",
            "cannot hold a user name; send it in the header authorization",
        ));
    }
    if url.fragment().is_some() {
        return Err(Invalid::new("url", "cannot hold a fragment (#…); RFC 6455 forbids it"));
    }
    Ok((text.to_owned(), url))
}

fn ip_of(url: &Url) -> Option<std::net::IpAddr> {
    match Host::parse(url.host_str().unwrap_or_default()) {
        Ok(Host::Ip(ip)) => Some(ip),
        _ => None,
    }
}

/// What the handshake itself says is not the monitor's to say.
fn own_headers(fields: &mut Fields) -> Result<Vec<Header>, Invalid> {
    let headers = headers::read(fields, "headers")?;
    for header in &headers {
        let name = header.name.to_ascii_lowercase();
        if name.starts_with("sec-websocket-") {
            let why = match name.as_str() {
                "sec-websocket-protocol" => "is set by subprotocol",
                _ => "is set by the handshake itself",
            };
            return Err(Invalid::new(format!("headers.{}", header.name), why));
        }
    }
    Ok(headers)
}

fn subprotocol(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    let Some(name) = fields.string("subprotocol")? else { return Ok(None) };
    if !is_header_name(&name) {
        return Err(Invalid::given(
            "subprotocol",
            &name,
            "is not the name of a protocol, such as graphql-transport-ws",
        ));
    }
    Ok(Some(name))
}

fn send(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    let Some(text) = fields.string("send")? else { return Ok(None) };
    if text.len() > 64 * 1024 {
        return Err(Invalid::new("send", "is longer than 64 KiB"));
    }
    secret::fill(&text, |_| Ok(String::new())).map_err(|refusal| refusal.under("send"))?;
    Ok(Some(text))
}

impl Kind for WebsocketCheck {
    fn name(&self) -> &'static str {
        "websocket"
    }

    fn target(&self) -> String {
        Redactor::default().url(&self.url_text)
    }

    fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }

    fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    fn implied(&self) -> &[Assertion] {
        &self.implied
    }

    fn secret_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for text in self.texts() {
            // Looked at when the monitor was saved.
            let _ = secret::names(text, &mut names);
        }
        names
    }

    fn with_secrets(&self, secrets: &Secrets) -> Result<Check, Invalid> {
        let mut filled = self.clone();
        let mut filling = Filling::from(secrets);
        headers::fill(&mut filled.headers, "headers", &mut filling)?;
        if let Some(send) = &mut filled.send {
            *send = filling.plain(send, "send")?;
        }
        filled.url_text = filling.in_url(&filled.url_text, "url")?;
        filled.url = parse_url(&filled.url_text, "url", SCHEMES)?;
        filled.filled.extend(filling.used);
        Ok(Check::Websocket(Box::new(filled)))
    }

    fn take_inline_secrets(&mut self) -> Secrets {
        let mut taken = Secrets::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        headers::take_secrets(&mut self.headers, &mut counts, &mut taken);
        self.url_text = take_from_query(&self.url_text, &mut counts, &mut taken);
        // The parsed form must not keep what the text has lost.
        if let Ok(url) = parse_url(&self.url_text, "url", SCHEMES) {
            self.url = url;
        }
        taken
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        let Check::Websocket(old) = old else { return false };
        self.url.origin() == old.url.origin() && self.tls == old.tls
    }

    fn redactor(&self) -> Redactor {
        let mut texts = self.filled.clone();
        texts.extend(headers::secret_texts(&self.headers));
        let secret_pairs = self.url.query_pairs().filter(|(name, _)| is_secret_parameter(name));
        texts.extend(secret_pairs.map(|(_, value)| value.into_owned()));
        Redactor::new(texts.iter().map(String::as_str))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !self.wants_message() {
            warnings.push(Warning {
                code: "only_handshake".into(),
                message: "Only the handshake is looked at: a server that takes connections and never says anything would pass. Expect a message.".into(),
            });
        }
        if self.secure() {
            warnings.extend(shared::not_verified(&self.tls));
        } else {
            warnings.extend(shared::no_certificate(&self.assertions));
            if self.sends_secrets() {
                warnings.push(shared::secret_in_clear("wss://"));
            }
        }
        if let Some(ip) = ip_of(&self.url) {
            warnings.extend(shared::closed_address(&Host::Ip(ip)));
        }
        warnings
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), self.name().into());
        map.insert("url".into(), self.url_text.clone().into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        put("headers", headers::to_value(&self.headers));
        put("subprotocol", self.subprotocol.clone().map(Value::from));
        put("send", self.send.clone().map(Value::from));
        put("expect", self.expect.as_ref().map(|pattern| pattern.as_str().into()));
        put("tls", shared::tls_value(&self.tls));
        put("ip_family", shared::family_value(self.ip_family));
        put("assertions", shared::assertions_value(&self.assertions));
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::redactor::HIDDEN;
    use serde_json::json;

    fn with(extra: Value) -> Value {
        let mut check = json!({"kind": "websocket", "url": "wss://live.example/feed"});
        check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        check
    }

    #[test]
    fn what_is_written_is_given_back() {
        let check = Check::parse(with(json!({"headers": {}, "tls": {}}))).unwrap();
        assert_eq!(check.to_value(), with(json!({})));
        assert_eq!(check.host(), "live.example");
        let full = with(json!({
            "url": "wss://live.example/feed?room=1", "headers": {"Origin": "https://live.example"},
            "subprotocol": "mqtt", "send": "{\"a\":\"\\n\"}", "expect": "pong", "ip_family": "4",
            "tls": {"server_name": "x.example", "min_days_left": 3},
            "assertions": [{"on": "json", "path": "$.ok", "op": "eq", "value": true}]
        }));
        let check = Check::parse(full.clone()).unwrap();
        assert_eq!(check.to_value(), full);
        let labels: Vec<_> = check.conditions().iter().map(|c| c.subject().label()).collect();
        assert_eq!(labels, ["status", "cert_days_left", "$.ok"]);
        let own = json!({"assertions": [{"on": "status", "op": "eq", "value": 426}]});
        assert_eq!(Check::parse(with(own)).unwrap().conditions().len(), 1);
    }

    #[test]
    fn refusals_name_the_field() {
        for (extra, field) in [
            (json!({"url": "https://live.example"}), "url"),
            (json!({"url": "wss://"}), "url"),
            (json!({"url": "wss://u:p@live.example"}), "url"),
            (json!({"url": "wss://live.example/#x"}), "url"),
            (json!({"url": "wss://${secret:h}/"}), "url"),
            (json!({"headers": {"Sec-WebSocket-Key": "x"}}), "headers.Sec-WebSocket-Key"),
            (json!({"headers": {"sec-websocket-protocol": "x"}}), "headers.sec-websocket-protocol"),
            (json!({"headers": {"Upgrade": "x"}}), "headers.Upgrade"),
            (json!({"headers": {"x": "a\nb"}}), "headers.x"),
            (json!({"subprotocol": "a, b"}), "subprotocol"),
            (json!({"send": 5}), "send"),
            (json!({"send": "${secret:"}), "send"),
            (json!({"send": "x".repeat(70_000)}), "send"),
            (json!({"expect": "("}), "expect"),
            (json!({"expect": ".*"}), "expect"),
            (json!({"url": "ws://a.test/", "tls": {"verify": false}}), "tls"),
            (json!({"url": "wss://127.0.0.1/", "ip_family": "6"}), "ip_family"),
            (json!({"method": "GET"}), "method"),
            (json!({"assertions": [{"on": "rcode", "op": "exists"}]}), "assertions[0].on"),
        ] {
            let refusal = Check::parse(with(extra.clone())).unwrap_err();
            assert_eq!(refusal.field, field, "{extra}: {refusal}");
        }
    }

    #[test]
    fn secrets_make_the_whole_round() {
        let mut check = Check::parse(with(json!({
            "url": "wss://live.example/?token=abcdef", "headers": {"Authorization": "Bearer t0ken"},
            "send": "{\"key\":\"${secret:k}\"}"
        })))
        .unwrap();
        let shown = check.redacted();
        let mut taken = check.take_inline_secrets();
        let names: Vec<&str> = taken.keys().map(String::as_str).collect();
        assert_eq!(names, ["inline.header.authorization", "inline.query.token"]);
        let stored = check.to_value().to_string();
        assert!(!stored.contains("abcdef") && !stored.contains("t0ken"), "{stored}");
        assert_eq!(shown["url"], format!("wss://live.example/?token={HIDDEN}"));
        assert_eq!(check.with_secrets(&taken).unwrap_err().field, "send");
        taken.insert("k".into(), "s3cret".into());
        let filled = check.with_secrets(&taken).unwrap();
        let Check::Websocket(websocket) = &filled else { panic!("another kind") };
        assert_eq!(websocket.send.as_deref(), Some("{\"key\":\"s3cret\"}"));
        assert_eq!(websocket.url().query(), Some("token=abcdef"));
        let leak = filled.redactor().clean("s3cret t0ken abcdef live");
        assert_eq!(leak, format!("{HIDDEN} {HIDDEN} {HIDDEN} live"));

        let same = |extra| Check::parse(with(extra)).unwrap().sends_secrets_where(&check);
        assert!(same(json!({"url": "wss://live.example/other"})));
        assert!(!same(json!({"url": "ws://live.example/feed"})));
        assert!(!same(json!({"url": "wss://evil.example/feed"})));
        assert!(!same(json!({"tls": {"verify": false}})));
    }

    #[test]
    fn lint_warns_of_what_says_little() {
        let codes = |extra| {
            let check = Check::parse(with(extra)).unwrap();
            check.lint().into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        assert_eq!(codes(json!({})), ["only_handshake"]);
        assert!(codes(json!({"expect": "x"})).is_empty());
        assert_eq!(
            codes(json!({"url": "ws://127.0.0.1/", "headers": {"Cookie": "sid=1"}, "expect": "x"})),
            ["secret_in_clear", "closed_address"]
        );
    }
}
