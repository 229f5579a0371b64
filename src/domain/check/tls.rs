//! Kind `tls`: a handshake and the certificate that came with it, whatever is spoken afterwards.

use serde_json::{Map, Value};

use super::kind::Kind;
use super::secret::Secrets;
use super::shared::{self, Endpoint, IpFamily, Tls};
use super::starttls::Starttls;
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::assertion::Assertion;
use crate::domain::fields::Fields;

/// Who watches a certificate wants to hear of its end while there is time to renew it.
const DEFAULT_DAYS_LEFT: i64 = 14;

const SUBJECTS: &[&str] = &["latency_ms", "cert_days_left", "cert_issuer", "cert_fingerprint"];

const FIELDS: &[&str] = &["kind", "url", "starttls", "tls", "ip_family", "assertions"];

/// A valid TLS check.
#[derive(Debug, Clone, PartialEq)]
pub struct TlsCheck {
    pub endpoint: Endpoint,
    pub starttls: Option<Starttls>,
    /// `min_days_left` is always set.
    pub tls: Tls,
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
    implied: Vec<Assertion>,
}

impl TlsCheck {
    pub(super) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let url = fields.required_string("url")?;
        let endpoint = Endpoint::parse(&url, &["tls"], |_| Some(443))?;
        let tls = shared::tls(&mut fields)?;
        let tls = Tls { min_days_left: tls.min_days_left.or(Some(DEFAULT_DAYS_LEFT)), ..tls };
        let check = Self {
            starttls: Starttls::read(&mut fields)?,
            ip_family: shared::family(&mut fields, endpoint.ip())?,
            assertions: shared::assertions(&mut fields, SUBJECTS)?,
            implied: shared::days_left(&tls),
            endpoint,
            tls,
        };
        fields.finish(FIELDS)?;
        Ok(check)
    }
}

impl Kind for TlsCheck {
    fn name(&self) -> &'static str {
        "tls"
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
        Ok(Check::Tls(Box::new(self.clone())))
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        matches!(old, Check::Tls(old) if self.endpoint.is_same(&old.endpoint))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
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
        put("starttls", self.starttls.map(|protocol| protocol.name().into()));
        let days = self.tls.min_days_left.filter(|days| *days != DEFAULT_DAYS_LEFT);
        put("tls", shared::tls_value(&Tls { min_days_left: days, ..self.tls.clone() }));
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
        let mut check = json!({"kind": "tls", "url": "tls://a.test"});
        check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        check
    }

    #[test]
    fn what_is_written_is_given_back_and_two_weeks_are_the_default() {
        let check = Check::parse(with(json!({"tls": {"min_days_left": 14}}))).unwrap();
        assert_eq!(check.to_value(), with(json!({})));
        let conditions = check.conditions();
        assert_eq!(conditions.len(), 1);
        assert_eq!(
            conditions[0].to_value(),
            json!({"on": "cert_days_left", "op": "ge", "value": 14})
        );
        let Check::Tls(tls) = &check else { panic!("another kind") };
        assert_eq!(tls.endpoint.port, 443);
        let full = with(json!({
            "url": "tls://[2001:db8::1]:8443", "starttls": "postgres", "ip_family": "6",
            "tls": {"verify": false, "server_name": "b.test", "min_days_left": 0},
            "assertions": [{"on": "cert_issuer", "op": "contains", "value": "R3"}]
        }));
        let check = Check::parse(full.clone()).unwrap();
        assert_eq!((check.to_value(), check.host()), (full, "2001:db8::1".to_owned()));
        let old = Check::parse(with(json!({"url": "tls://a.test:443"}))).unwrap();
        assert!(Check::parse(with(json!({}))).unwrap().sends_secrets_where(&old));
        assert!(!check.sends_secrets_where(&old));
    }

    #[test]
    fn refusals_name_the_field() {
        for (extra, field) in [
            (json!({"url": "https://a.test"}), "url"),
            (json!({"url": "tls://"}), "url"),
            (json!({"url": "tls://a.test/x"}), "url"),
            (json!({"starttls": "required"}), "starttls"),
            (json!({"tls": {"min_days_left": -1}}), "tls.min_days_left"),
            (json!({"tls": true}), "tls"),
            (json!({"ip_family": "4", "url": "tls://[::1]"}), "ip_family"),
            (json!({"dialogue": []}), "dialogue"),
            (json!({"assertions": [{"on": "banner", "op": "exists"}]}), "assertions[0].on"),
        ] {
            let refusal = Check::parse(with(extra.clone())).unwrap_err();
            assert_eq!(refusal.field, field, "{extra}: {refusal}");
        }
    }

    #[test]
    fn lint_warns_of_what_proves_nothing() {
        let codes = |extra| {
            let check = Check::parse(with(extra)).unwrap();
            check.lint().into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        assert!(codes(json!({})).is_empty());
        let extra = json!({"url": "tls://127.0.0.1", "tls": {"verify": false}});
        assert_eq!(codes(extra), ["tls_not_verified", "closed_address"]);
    }
}
