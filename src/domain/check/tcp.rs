//! Kind `tcp`: a port that takes connections, with TLS and a dialogue if asked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::dialogue::{self, Step};
use super::kind::Kind;
use super::secret::{self, Filling, Secrets};
use super::shared::{self, Endpoint, IpFamily, Tls};
use super::starttls::Starttls;
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::assertion::{Assertion, Subject};
use crate::domain::fields::Fields;
use crate::domain::redactor::Redactor;

/// TLS begins with the first byte.
const SECURE: &str = "tcps";

const SUBJECTS: &[&str] =
    &["latency_ms", "banner", "cert_days_left", "cert_issuer", "cert_fingerprint"];

const FIELDS: &[&str] = &["kind", "url", "starttls", "dialogue", "tls", "ip_family", "assertions"];

/// A valid TCP check.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpCheck {
    pub endpoint: Endpoint,
    /// Comes before the dialogue.
    pub starttls: Option<Starttls>,
    pub dialogue: Vec<Step>,
    pub tls: Tls,
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
    implied: Vec<Assertion>,
    /// Values that `with_secrets` put in.
    filled: Vec<String>,
}

impl TcpCheck {
    pub(super) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let url = fields.required_string("url")?;
        let endpoint = Endpoint::parse(&url, &[SECURE, "tcp"], |_| None)?;
        let check = Self {
            starttls: Starttls::read(&mut fields)?,
            dialogue: dialogue::parse(&mut fields)?,
            tls: shared::tls(&mut fields)?,
            ip_family: shared::family(&mut fields, endpoint.ip())?,
            assertions: shared::assertions(&mut fields, SUBJECTS)?,
            implied: Vec::new(),
            filled: Vec::new(),
            endpoint,
        };
        fields.finish(FIELDS)?;
        if check.secure() && check.starttls.is_some() {
            return Err(Invalid::new(
                "starttls",
                "asks for TLS on a connection that tcps:// has encrypted already; write tcp://",
            ));
        }
        if !check.encrypted() && check.tls != Tls::default() {
            return Err(Invalid::new(
                "tls",
                "has no use on a plain connection; write tcps:// or set starttls",
            ));
        }
        let implied = shared::days_left(&check.tls);
        Ok(Self { implied, ..check })
    }

    /// TLS begins with the first byte.
    pub fn secure(&self) -> bool {
        self.endpoint.scheme == SECURE
    }

    fn encrypted(&self) -> bool {
        self.secure() || self.starttls.is_some()
    }

    /// Whether a condition looks at the first thing that the server says.
    pub fn wants_banner(&self) -> bool {
        self.assertions.iter().any(|a| matches!(a.subject(), Subject::Banner))
    }
}

impl Kind for TcpCheck {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn target(&self) -> String {
        self.endpoint.as_str().to_owned()
    }

    fn host(&self) -> String {
        self.endpoint.bare_host()
    }

    fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    fn implied(&self) -> &[Assertion] {
        &self.implied
    }

    fn secret_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for step in &self.dialogue {
            if let Step::Send(sent) = step {
                // Looked at when the monitor was saved.
                let _ = secret::names(sent.as_str(), &mut names);
            }
        }
        names
    }

    fn with_secrets(&self, secrets: &Secrets) -> Result<Check, Invalid> {
        let mut filled = self.clone();
        let mut filling = Filling::from(secrets);
        for (index, step) in filled.dialogue.iter_mut().enumerate() {
            if let Step::Send(sent) = step {
                sent.fill(&format!("dialogue[{index}].send"), &mut filling)?;
            }
        }
        filled.filled.extend(filling.used);
        Ok(Check::Tcp(Box::new(filled)))
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        let Check::Tcp(old) = old else { return false };
        self.endpoint.is_same(&old.endpoint) && self.starttls == old.starttls && self.tls == old.tls
    }

    fn redactor(&self) -> Redactor {
        Redactor::new(self.filled.iter().map(String::as_str))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.encrypted() {
            warnings.extend(shared::not_verified(&self.tls));
        } else {
            warnings.extend(shared::no_certificate(&self.assertions));
            if self.dialogue.is_empty() && !self.wants_banner() {
                warnings.push(Warning {
                    code: "open_port".into(),
                    message: "An open port proves only that something listens. Add a dialogue, or a condition on the banner.".into(),
                });
            }
            let sends_secret = |step: &Step| matches!(step, Step::Send(sent) if sent.has_secret());
            if self.dialogue.iter().any(sends_secret) {
                warnings.push(shared::secret_in_clear("tcps:// or starttls"));
            }
        }
        warnings.extend(shared::closed_address(&self.endpoint.host));
        warnings
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), self.name().into());
        map.insert("url".into(), self.endpoint.as_str().into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        put("starttls", self.starttls.map(|protocol| protocol.name().into()));
        put("dialogue", dialogue::to_value(&self.dialogue));
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
        let mut check = json!({"kind": "tcp", "url": "tcp://db.example:5432"});
        check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        check
    }

    fn codes(value: Value) -> Vec<String> {
        Check::parse(value).unwrap().lint().into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn what_is_written_is_given_back() {
        let least = with(json!({"ip_family": "any", "tls": {}, "dialogue": [], "assertions": []}));
        let check = Check::parse(least).unwrap();
        assert_eq!(check.to_value(), with(json!({})));
        assert_eq!((check.kind(), check.host().as_str()), ("tcp", "db.example"));
        let full = with(json!({
            "starttls": "imap", "ip_family": "6",
            "dialogue": [{"reject": "BYE"}, {"send": "a1 LOGIN x ${secret:p}\\r\\n"}, {"expect": "^a1 OK"}, {"send": "\\x00"}],
            "tls": {"server_name": "mail.example", "min_days_left": 7},
            "assertions": [{"on": "banner", "op": "contains", "value": "ready"}]
        }));
        let check = Check::parse(full.clone()).unwrap();
        assert_eq!(check.to_value(), full);
        let text = serde_json::to_string(&check).unwrap();
        assert_eq!(serde_json::from_str::<Check>(&text).unwrap(), check);
        let conditions: Vec<_> =
            check.conditions().iter().map(|condition| condition.subject().label()).collect();
        assert_eq!(conditions, ["cert_days_left", "banner"]);
    }

    #[test]
    fn refusals_name_the_field() {
        let steps = |value: Value| with(json!({"dialogue": value}));
        for (value, field) in [
            (json!({"kind": "tcp"}), "url"),
            (with(json!({"url": "tcp://db.example"})), "url"),
            (with(json!({"url": "db.example:5432"})), "url"),
            (with(json!({"url": "tls://db.example:5432"})), "url"),
            (with(json!({"url": "tcp://u:p@db.example:1"})), "url"),
            (with(json!({"url": "tcp://db.example:1/path"})), "url"),
            (with(json!({"url": "tcp://db.example:0"})), "url"),
            (with(json!({"url": "tcp://${secret:x}:1"})), "url"),
            (with(json!({"starttls": "xmpp"})), "starttls"),
            (with(json!({"url": "tcps://a.test:1", "starttls": "smtp"})), "starttls"),
            (with(json!({"tls": {"verify": false}})), "tls"),
            (with(json!({"ip_family": 5})), "ip_family"),
            (with(json!({"timeout": 5})), "timeout"),
            (
                with(json!({"assertions": [{"on": "status", "op": "eq", "value": 1}]})),
                "assertions[0].on",
            ),
            (steps(json!({})), "dialogue"),
            (steps(json!(vec![json!({"send": "x"}); 51])), "dialogue"),
            (steps(json!(vec![json!({"send": "x".repeat(30_000)}); 3])), "dialogue"),
            (steps(json!(["x"])), "dialogue[0]"),
            (steps(json!([{}])), "dialogue[0]"),
            (steps(json!([{"send": "a", "expect": "b"}])), "dialogue[0]"),
            (steps(json!([{"say": "a"}])), "dialogue[0].say"),
            (steps(json!([{"send": 5}])), "dialogue[0].send"),
            (steps(json!([{"send": ""}])), "dialogue[0].send"),
            (steps(json!([{"send": "\\q"}])), "dialogue[0].send"),
            (steps(json!([{"send": "${secret:a b}"}])), "dialogue[0].send"),
            (steps(json!([{"expect": "("}])), "dialogue[0].expect"),
            (steps(json!([{"expect": ".*"}])), "dialogue[0].expect"),
            (steps(json!([{"expect": "${secret:x}"}])), "dialogue[0].expect"),
            (steps(json!([{"expect": "a"}, {"reject": "b"}])), "dialogue[1].reject"),
            (steps(json!([{"reject": "b"}, {"send": "x"}])), "dialogue[0].reject"),
        ] {
            let refusal = Check::parse(value.clone()).unwrap_err();
            assert_eq!(refusal.field, field, "{value}: {refusal}");
        }
    }

    #[test]
    fn secrets_are_filled_in_found_again_and_stay_where_they_belong() {
        let check =
            Check::parse(with(json!({"dialogue": [{"send": "AUTH ${secret:p}\\r\\n"}]}))).unwrap();
        assert_eq!(check.secret_names().into_iter().collect::<Vec<_>>(), ["p"]);
        let refusal = check.with_secrets(&Secrets::new()).unwrap_err();
        assert_eq!(refusal.field, "dialogue[0].send");
        let filled = check.with_secrets(&[("p".to_owned(), "a\\nb".into())].into()).unwrap();
        let Check::Tcp(tcp) = &filled else { panic!("another kind") };
        let Some(Step::Send(sent)) = tcp.dialogue.first() else { panic!("another step") };
        assert_eq!(sent.bytes(), b"AUTH a\\nb\r\n");
        assert_eq!(filled.redactor().clean("got a\\nb back"), format!("got {HIDDEN} back"));
        assert_eq!(check.redacted(), check.to_value());

        let same = |extra| Check::parse(with(extra)).unwrap().sends_secrets_where(&check);
        assert!(same(json!({"url": "TCP://DB.example:5432/", "dialogue": [{"send": "x"}]})));
        assert!(!same(json!({"url": "tcp://db.example:5433"})));
        assert!(!same(json!({"url": "tcps://db.example:5432"})));
        assert!(!same(json!({"starttls": "postgres"})));
        assert!(!same(json!({"url": "tcp://evil.example:5432"})));
    }

    #[test]
    fn lint_warns_of_what_says_little() {
        assert_eq!(codes(with(json!({}))), ["open_port"]);
        assert!(codes(with(json!({"dialogue": [{"expect": "x"}]}))).is_empty());
        let banner = json!({"assertions": [{"on": "banner", "op": "exists"}]});
        assert!(codes(with(banner)).is_empty());
        assert!(codes(with(json!({"url": "tcps://a.test:1"}))).is_empty());
        let unverified = json!({"starttls": "smtp", "tls": {"verify": false}});
        assert_eq!(codes(with(unverified)), ["tls_not_verified"]);
        assert_eq!(
            codes(with(json!({
                "url": "tcp://10.0.0.1:1", "dialogue": [{"send": "${secret:a}"}],
                "assertions": [{"on": "cert_days_left", "op": "gt", "value": 3}]
            }))),
            ["no_certificate", "secret_in_clear", "closed_address"]
        );
    }
}
