//! Kind `smtp`: a mail server that greets, answers EHLO and, unless told otherwise, offers TLS.

use serde_json::{Map, Value};

use super::kind::Kind;
use super::secret::Secrets;
use super::shared::{self, Endpoint, IpFamily, Tls};
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::address::Host;
use crate::domain::assertion::Assertion;
use crate::domain::fields::Fields;

/// TLS begins with the first byte.
const SECURE: &str = "smtps";

const SUBJECTS: &[&str] =
    &["latency_ms", "banner", "cert_days_left", "cert_issuer", "cert_fingerprint"];

const FIELDS: &[&str] = &["kind", "url", "starttls", "ehlo_name", "tls", "ip_family", "assertions"];

/// A valid SMTP check.
#[derive(Debug, Clone, PartialEq)]
pub struct SmtpCheck {
    pub endpoint: Endpoint,
    pub starttls: When,
    /// What EHLO says who is calling; without it the address that the probe comes from, in brackets.
    pub ehlo_name: Option<String>,
    pub tls: Tls,
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
    implied: Vec<Assertion>,
}

/// When a plain connection is turned into TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// A server that no longer offers TLS is a failure that nobody else would report: mail goes on in
    /// plain text.
    #[default]
    Required,
    IfOffered,
    Never,
}

impl When {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Required, "required"), (Self::IfOffered, "if_offered"), (Self::Never, "never")];

    fn parse(name: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(when, _)| *when).ok_or_else(|| {
            Invalid::given("starttls", name, "is not known; use required, if_offered or never")
        })
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}

impl SmtpCheck {
    pub(super) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let url = fields.required_string("url")?;
        let endpoint = Endpoint::parse(&url, &[SECURE, "smtp"], |scheme| {
            Some(if scheme == SECURE { 465 } else { 25 })
        })?;
        let starttls = fields.string("starttls")?;
        let secure = endpoint.scheme == SECURE;
        if secure && starttls.is_some() {
            return Err(Invalid::new(
                "starttls",
                "has no use here: smtps:// is encrypted from its first byte. Write smtp://",
            ));
        }
        let check = Self {
            starttls: match starttls {
                Some(name) => When::parse(&name)?,
                None if secure => When::Never,
                None => When::default(),
            },
            ehlo_name: ehlo_name(&mut fields)?,
            tls: shared::tls(&mut fields)?,
            ip_family: shared::family(&mut fields, endpoint.ip())?,
            assertions: shared::assertions(&mut fields, SUBJECTS)?,
            implied: Vec::new(),
            endpoint,
        };
        fields.finish(FIELDS)?;
        if !secure && check.starttls == When::Never && check.tls != Tls::default() {
            return Err(Invalid::new(
                "tls",
                "has no use on a plain connection; write smtps:// or let starttls be required",
            ));
        }
        let implied = shared::days_left(&check.tls);
        Ok(Self { implied, ..check })
    }

    /// TLS begins with the first byte.
    pub fn secure(&self) -> bool {
        self.endpoint.scheme == SECURE
    }
}

/// A host name, or an address in brackets as RFC 5321 writes them.
fn ehlo_name(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    let Some(name) = fields.string("ehlo_name")? else { return Ok(None) };
    let literal = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match literal.map(|literal| literal.strip_prefix("IPv6:").unwrap_or(literal)) {
        Some(literal) if literal.parse::<std::net::IpAddr>().is_ok() => Ok(Some(name)),
        Some(_) => Err(Invalid::given("ehlo_name", &name, "is not an address in brackets")),
        None => match Host::parse(&name).map_err(|why| Invalid::new("ehlo_name", why))? {
            Host::Name(name) => Ok(Some(name)),
            Host::Ip(ip) => Err(Invalid::new(
                "ehlo_name",
                format!("must be a name; an address stands in brackets, such as [{ip}]"),
            )),
        },
    }
}

impl Kind for SmtpCheck {
    fn name(&self) -> &'static str {
        "smtp"
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

    fn with_secrets(&self, _: &Secrets) -> Result<Check, Invalid> {
        Ok(Check::Smtp(Box::new(self.clone())))
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        matches!(old, Check::Smtp(old) if self.endpoint.is_same(&old.endpoint))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        match self.starttls {
            When::Never if !self.secure() => {
                warnings.extend(shared::no_certificate(&self.assertions));
            }
            When::IfOffered => warnings.push(Warning {
                code: "tls_may_vanish".into(),
                message: "A server that stops offering TLS still passes. Let starttls be required unless plain text is meant.".into(),
            }),
            _ => {}
        }
        warnings.extend(shared::not_verified(&self.tls));
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
        let by_default = self.secure() || self.starttls == When::default();
        put("starttls", (!by_default).then(|| self.starttls.name().into()));
        put("ehlo_name", self.ehlo_name.clone().map(Value::from));
        put("tls", shared::tls_value(&self.tls));
        put("ip_family", shared::family_value(self.ip_family));
        put("assertions", shared::assertions_value(&self.assertions));
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(extra: Value) -> Value {
        let mut check = json!({"kind": "smtp", "url": "smtp://mail.example"});
        check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        check
    }

    fn smtp(extra: Value) -> SmtpCheck {
        match Check::parse(with(extra)).unwrap() {
            Check::Smtp(check) => *check,
            other => panic!("{}", other.kind()),
        }
    }

    #[test]
    fn what_is_written_is_given_back_and_tls_is_required_by_default() {
        let check = smtp(json!({"starttls": "required"}));
        assert_eq!(check.to_value(), with(json!({})));
        assert_eq!((check.endpoint.port, check.starttls), (25, When::Required));
        let secure = smtp(json!({"url": "smtps://mail.example"}));
        assert_eq!((secure.endpoint.port, secure.secure()), (465, true));
        assert_eq!(secure.to_value(), with(json!({"url": "smtps://mail.example"})));
        for extra in [
            json!({"url": "smtp://[2001:db8::1]:587", "starttls": "if_offered", "ehlo_name": "probe.example",
                   "tls": {"min_days_left": 7}, "ip_family": "6", "assertions": [{"on": "banner", "op": "contains", "value": "ESMTP"}]}),
            json!({"starttls": "never", "ehlo_name": "[192.0.2.1]"}),
            json!({"ehlo_name": "[IPv6:2001:db8::1]"}),
        ] {
            assert_eq!(smtp(extra.clone()).to_value(), with(extra));
        }
        assert_eq!(
            smtp(json!({"ehlo_name": "Bücher.example"})).ehlo_name.unwrap(),
            "xn--bcher-kva.example"
        );
    }

    #[test]
    fn refusals_name_the_field() {
        for (extra, field) in [
            (json!({"url": "mail.example"}), "url"),
            (json!({"url": "smtp://mail.example/x"}), "url"),
            (json!({"url": "imap://mail.example"}), "url"),
            (json!({"starttls": "smtp"}), "starttls"),
            (json!({"starttls": true}), "starttls"),
            (json!({"url": "smtps://mail.example", "starttls": "required"}), "starttls"),
            (json!({"ehlo_name": "a b"}), "ehlo_name"),
            (json!({"ehlo_name": ""}), "ehlo_name"),
            (json!({"ehlo_name": "a\r\nQUIT"}), "ehlo_name"),
            (json!({"ehlo_name": "[x]"}), "ehlo_name"),
            (json!({"ehlo_name": "192.0.2.1"}), "ehlo_name"),
            (json!({"starttls": "never", "tls": {"verify": false}}), "tls"),
            (json!({"from": "x"}), "from"),
            (json!({"assertions": [{"on": "body", "op": "exists"}]}), "assertions[0].on"),
        ] {
            let refusal = Check::parse(with(extra.clone())).unwrap_err();
            assert_eq!(refusal.field, field, "{extra}: {refusal}");
        }
    }

    #[test]
    fn lint_warns_of_what_says_little() {
        let codes =
            |extra| smtp(extra).lint().into_iter().map(|warning| warning.code).collect::<Vec<_>>();
        assert!(codes(json!({})).is_empty());
        assert_eq!(codes(json!({"starttls": "if_offered"})), ["tls_may_vanish"]);
        assert_eq!(codes(json!({"tls": {"verify": false}})), ["tls_not_verified"]);
        let extra = json!({"url": "smtp://10.0.0.1", "starttls": "never", "assertions": [{"on": "cert_issuer", "op": "exists"}]});
        assert_eq!(codes(extra), ["no_certificate", "closed_address"]);
    }
}
