//! Kind `icmp`: echo requests to a host.

use serde_json::{Map, Value};

use super::kind::Kind;
use super::secret::Secrets;
use super::shared::{self, Endpoint, IpFamily, assertions, family};
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::address::Host;
use crate::domain::assertion::Assertion;
use crate::domain::fields::Fields;

/// The subjects that an ICMP check offers.
const SUBJECTS: &[&str] = &["rtt_ms", "loss_pct"];

const FIELDS: &[&str] = &["kind", "url", "count", "size", "ip_family", "assertions"];

const DEFAULT_COUNT: u16 = 3;
const DEFAULT_SIZE: u16 = 56;

/// A valid ICMP check. It holds no secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct IcmpCheck {
    /// `icmp://host`; the port is 0.
    pub endpoint: Endpoint,
    /// Requests of one attempt, 1 to 20.
    pub count: u16,
    /// Bytes after the header of ICMP, 0 to 1400.
    pub size: u16,
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
}

/// The `check` object of kind `icmp` for the API document.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "describes the JSON; checks are read by hand so that refusals name their field"
)]
pub(super) struct Described {
    /// `icmp`
    #[schema(example = "icmp")]
    kind: String,
    /// `icmp://host`
    #[schema(example = "icmp://gw.example")]
    url: String,
    /// Echo requests of one attempt.
    #[schema(default = 3, minimum = 1, maximum = 20)]
    count: Option<u16>,
    /// Bytes in each request.
    #[schema(default = 56, maximum = 1400)]
    size: Option<u16>,
    /// `any`, `4` or `6`.
    #[schema(default = "any")]
    ip_family: Option<String>,
    /// On `rtt_ms` (the mean of the replies) and `loss_pct`; all must hold.
    #[schema(value_type = Option<Vec<Object>>)]
    assertions: Option<Vec<Value>>,
}

impl IcmpCheck {
    pub(super) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let url = fields.required_string("url")?;
        let endpoint = Endpoint::parse(&url, &["icmp"], |_| Some(0))?;
        if endpoint.port != 0 {
            return Err(Invalid::new(
                "url",
                "cannot hold a port: echo requests go to a host as such",
            ));
        }
        let ip = match endpoint.host {
            Host::Ip(ip) => Some(ip),
            Host::Name(_) => None,
        };
        let check = Self {
            count: fields.integer("count", 1..=20)?.map_or(DEFAULT_COUNT, |n| n as u16),
            size: fields.integer("size", 0..=1_400)?.map_or(DEFAULT_SIZE, |n| n as u16),
            ip_family: family(&mut fields, ip)?,
            assertions: assertions(&mut fields, SUBJECTS)?,
            endpoint,
        };
        fields.finish(FIELDS)?;
        Ok(check)
    }
}

impl Kind for IcmpCheck {
    fn name(&self) -> &'static str {
        "icmp"
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

    fn with_secrets(&self, _: &Secrets) -> Result<Check, Invalid> {
        Ok(Check::Icmp(Box::new(self.clone())))
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        // There are none that could go anywhere.
        matches!(old, Check::Icmp(_))
    }

    fn lint(&self) -> Vec<Warning> {
        let only = Warning {
            code: "only_host".into(),
            message: "An answer proves that the machine is up, not that anything on it works. Watch its service too.".into(),
        };
        std::iter::once(only).chain(shared::closed_address(&self.endpoint.host)).collect()
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), "icmp".into());
        map.insert("url".into(), self.endpoint.as_str().into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        put("count", (self.count != DEFAULT_COUNT).then_some(self.count.into()));
        put("size", (self.size != DEFAULT_SIZE).then_some(self.size.into()));
        put("ip_family", shared::family_value(self.ip_family));
        put("assertions", shared::assertions_value(&self.assertions));
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(extra: Value) -> Result<Check, Invalid> {
        let mut check = json!({"kind": "icmp", "url": "icmp://gw.example"});
        check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        Check::parse(check)
    }

    #[test]
    fn what_is_written_is_given_back_and_defaults_stay_out() {
        assert_eq!(
            parse(json!({"count": 3, "size": 56, "ip_family": "any"})).unwrap().to_value(),
            json!({"kind": "icmp", "url": "icmp://gw.example"})
        );
        let full = json!({
            "kind": "icmp", "url": "icmp://[2001:db8::1]/", "count": 20, "size": 0, "ip_family": "6",
            "assertions": [{"on": "rtt_ms", "op": "le", "value": 80}, {"on": "loss_pct", "op": "lt", "value": 34}]
        });
        let check = Check::parse(full.clone()).unwrap();
        assert_eq!(check.to_value(), full);
        assert_eq!(check.host(), "2001:db8::1");
        assert!(check.secret_names().is_empty() && check.sends_secrets_where(&check));
        assert_eq!(crate::domain::check::kind_of_url("icmp://x"), Some("icmp"));
    }

    #[test]
    fn refusals_name_the_field() {
        for (extra, field) in [
            (json!({"url": "icmp://a.test:80"}), "url"),
            (json!({"url": "icmp://a.test:0"}), "url"),
            (json!({"url": "icmp://a.test/path"}), "url"),
            (json!({"url": "icmp://"}), "url"),
            (json!({"url": "a.test"}), "url"),
            (json!({"url": null}), "url"),
            (json!({"count": 0}), "count"),
            (json!({"count": 21}), "count"),
            (json!({"count": "3"}), "count"),
            (json!({"size": -1}), "size"),
            (json!({"size": 1401}), "size"),
            (json!({"url": "icmp://1.1.1.1", "ip_family": "6"}), "ip_family"),
            (json!({"port": 1}), "port"),
            (
                json!({"assertions": [{"on": "latency_ms", "op": "le", "value": 5}]}),
                "assertions[0].on",
            ),
            (
                json!({"assertions": [{"on": "loss_pct", "op": "le", "value": "5"}]}),
                "assertions[0].value",
            ),
        ] {
            let refusal = parse(extra.clone()).unwrap_err();
            assert_eq!(refusal.field, field, "{extra}: {refusal}");
        }
    }

    #[test]
    fn that_a_machine_answers_says_little() {
        let codes =
            |extra| parse(extra).unwrap().lint().into_iter().map(|w| w.code).collect::<Vec<_>>();
        assert_eq!(codes(json!({})), ["only_host"]);
        assert_eq!(codes(json!({"url": "icmp://10.0.0.1"})), ["only_host", "closed_address"]);
    }
}
