//! Kind `grpc`: the standard health service, `grpc.health.v1.Health/Check`, over HTTP/2.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::headers::{self, Header};
use super::kind::Kind;
use super::secret::{self, Filling, Secrets};
use super::shared::{self, Endpoint, IpFamily, Tls, assertions, family, tls};
use super::{Check, Warning};
use crate::domain::address::Host;
use crate::domain::assertion::Assertion;
use crate::domain::fields::Fields;
use crate::domain::redactor::{Redactor, is_secret_header};
use crate::domain::{Invalid, short};

/// The subjects that a gRPC check offers.
const SUBJECTS: &[&str] =
    &["latency_ms", "header", "cert_days_left", "cert_issuer", "cert_fingerprint"];

const FIELDS: &[&str] = &["kind", "url", "service", "metadata", "tls", "ip_family", "assertions"];

const LONGEST_SERVICE: usize = 200;

/// A valid gRPC check.
#[derive(Debug, Clone, PartialEq)]
pub struct GrpcCheck {
    /// `grpc://host:port` speaks HTTP/2 in plain text, `grpcs://` in TLS.
    pub endpoint: Endpoint,
    /// Which service is asked for; empty: the server as a whole.
    pub service: String,
    pub metadata: Vec<Header>,
    pub tls: Tls,
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
    implied: Vec<Assertion>,
    /// Values that `with_secrets` put in.
    filled: Vec<String>,
}

/// The `check` object of kind `grpc` for the API document.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "describes the JSON; checks are read by hand so that refusals name their field"
)]
pub(super) struct Described {
    /// `grpc`
    #[schema(example = "grpc")]
    kind: String,
    /// `grpc://host:port` (HTTP/2 in plain text) or `grpcs://host[:port]` (TLS, 443 by default). A service may
    /// stand behind it as a path.
    #[schema(example = "grpcs://orders.example")]
    url: String,
    /// Which service is asked for; left out: the server as a whole.
    #[schema(example = "shop.orders.v1.Orders")]
    service: Option<String>,
    /// Name to value, or to a list of values, sent as headers. Values of names that end in `-bin` are base64.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
    /// `{"verify":true,"server_name":…,"min_days_left":…}`; for grpcs only.
    #[schema(value_type = Option<Object>)]
    tls: Option<Value>,
    /// `any`, `4` or `6`.
    #[schema(default = "any")]
    ip_family: Option<String>,
    /// On `latency_ms`, `header` (of the answer, trailers included), `cert_days_left`, `cert_issuer`,
    /// `cert_fingerprint`; all must hold.
    #[schema(value_type = Option<Vec<Object>>)]
    assertions: Option<Vec<Value>>,
}

impl GrpcCheck {
    pub(super) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let (url, in_url) = split(&fields.required_string("url")?);
        let endpoint =
            Endpoint::parse(&url, &["grpc", "grpcs"], |scheme| (scheme == "grpcs").then_some(443))?;
        let own = fields.string("service")?;
        if in_url.is_some() && own.is_some() {
            return Err(Invalid::new("service", "is set, and url names a service too; keep one"));
        }
        let service = service(own.or(in_url).unwrap_or_default())?;
        let given_tls = tls(&mut fields)?;
        if endpoint.scheme == "grpc" && given_tls != Tls::default() {
            return Err(Invalid::new("tls", "needs a url that begins with grpcs://"));
        }
        let ip = match endpoint.host {
            Host::Ip(ip) => Some(ip),
            Host::Name(_) => None,
        };
        let check = Self {
            metadata: metadata(&mut fields)?,
            ip_family: family(&mut fields, ip)?,
            assertions: assertions(&mut fields, SUBJECTS)?,
            implied: given_tls
                .min_days_left
                .map(Assertion::days_left_at_least)
                .into_iter()
                .collect(),
            tls: given_tls,
            filled: Vec::new(),
            endpoint,
            service,
        };
        fields.finish(FIELDS)?;
        Ok(check)
    }

    /// Whether the connection is encrypted.
    pub fn encrypted(&self) -> bool {
        self.endpoint.scheme == "grpcs"
    }

    fn sends_secrets(&self) -> bool {
        self.metadata
            .iter()
            .any(|header| secret::has_placeholder(&header.value) || is_secret_header(&header.name))
    }
}

/// The address without its path, and the service that the path names.
fn split(url: &str) -> (String, Option<String>) {
    let url = url.trim();
    let after = url.find("://").map_or(0, |at| at + 3);
    let Some(at) = url.get(after..).and_then(|rest| rest.find('/')) else {
        return (url.to_owned(), None);
    };
    let (base, path) = url.split_at(after + at);
    let path = path.trim_start_matches('/');
    (base.to_owned(), (!path.is_empty()).then(|| path.to_owned()))
}

/// Service names are `package.Service` as a rule, but a server may use any.
fn service(name: String) -> Result<String, Invalid> {
    if name.len() > LONGEST_SERVICE {
        return Err(Invalid::new(
            "service",
            format!("is longer than {LONGEST_SERVICE} characters"),
        ));
    }
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '/' | '?' | '#' | '%');
    if name.contains(odd) || secret::has_placeholder(&name) {
        return Err(Invalid::new(
            "service",
            format!("{:?} is not the name of a service, such as shop.v1.Orders", short(&name)),
        ));
    }
    Ok(name)
}

/// What the protocol itself sets cannot be metadata.
fn metadata(fields: &mut Fields) -> Result<Vec<Header>, Invalid> {
    let headers = headers::read(fields, "metadata")?;
    for header in &headers {
        let name = header.name.to_ascii_lowercase();
        if name.starts_with("grpc-") || ["content-type", "te", "host"].contains(&name.as_str()) {
            return Err(Invalid::new(
                format!("metadata.{}", header.name),
                "is set by the protocol itself",
            ));
        }
    }
    Ok(headers)
}

impl Kind for GrpcCheck {
    fn name(&self) -> &'static str {
        "grpc"
    }

    fn target(&self) -> String {
        match self.service.as_str() {
            "" => self.endpoint.as_str().to_owned(),
            service => format!("{}/{service}", self.endpoint.as_str()),
        }
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
        for header in &self.metadata {
            // Placeholders were checked when the monitor was saved; a broken one names nothing.
            let _ = secret::names(&header.value, &mut names);
        }
        names
    }

    fn with_secrets(&self, secrets: &Secrets) -> Result<Check, Invalid> {
        let mut filled = self.clone();
        let mut filling = Filling::from(secrets);
        headers::fill(&mut filled.metadata, "metadata", &mut filling)?;
        filled.filled.extend(filling.used);
        Ok(Check::Grpc(Box::new(filled)))
    }

    fn take_inline_secrets(&mut self) -> Secrets {
        let mut taken = Secrets::new();
        headers::take_secrets(&mut self.metadata, &mut BTreeMap::new(), &mut taken);
        taken
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        let Check::Grpc(old) = old else { return false };
        let place = |check: &Self| {
            (check.endpoint.scheme.clone(), check.endpoint.host.clone(), check.endpoint.port)
        };
        place(self) == place(old) && self.tls == old.tls
    }

    fn redactor(&self) -> Redactor {
        let mut texts = self.filled.clone();
        texts.extend(headers::secret_texts(&self.metadata));
        Redactor::new(texts.iter().map(String::as_str))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.encrypted() {
            warnings.extend(shared::not_verified(&self.tls));
        } else if self.sends_secrets() {
            warnings.push(Warning {
                code: "secrets_in_plain_text".into(),
                message: "The metadata holds a secret, and grpc:// sends it unencrypted. Use grpcs:// if the server offers TLS.".into(),
            });
        }
        warnings.extend(shared::closed_address(&self.endpoint.host));
        warnings
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), "grpc".into());
        map.insert("url".into(), self.endpoint.as_str().into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        put("service", (!self.service.is_empty()).then(|| self.service.clone().into()));
        put("metadata", headers::to_value(&self.metadata));
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
    use crate::domain::secret::Secret;
    use serde_json::json;

    fn with(extra: Value) -> Value {
        let mut check = json!({"kind": "grpc", "url": "grpcs://orders.example"});
        check.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        check
    }

    fn parse(extra: Value) -> Result<Check, Invalid> {
        Check::parse(with(extra))
    }

    fn grpc(extra: Value) -> GrpcCheck {
        match parse(extra).unwrap() {
            Check::Grpc(check) => *check,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_written_is_given_back_and_defaults_stay_out() {
        assert_eq!(
            parse(json!({"service": "", "tls": {}, "metadata": {}, "ip_family": "any", "assertions": []}))
                .unwrap()
                .to_value(),
            json!({"kind": "grpc", "url": "grpcs://orders.example"})
        );
        let full = with(json!({
            "service": "shop.v1.Orders", "metadata": {"x-tenant": ["a", "b"], "authorization": "Bearer ${secret:t}"},
            "tls": {"verify": false, "server_name": "in.example", "min_days_left": 7}, "ip_family": "6",
            "assertions": [{"on": "header", "name": "x-node", "op": "exists"}, {"on": "latency_ms", "op": "le", "value": 300}]
        }));
        let check = Check::parse(full.clone()).unwrap();
        assert_eq!(check.to_value(), full);
        assert_eq!(check.target(), "grpcs://orders.example/shop.v1.Orders");
        let labels: Vec<_> = check.conditions().iter().map(|a| a.subject().label()).collect();
        assert_eq!(labels, ["cert_days_left", "header x-node", "latency_ms"]);
    }

    #[test]
    fn ports_and_services_are_read_from_the_address() {
        let read = |url: &str| {
            let check = grpc(json!({"url": url}));
            (check.endpoint.port, check.service.clone(), check.to_value()["url"].clone())
        };
        assert_eq!(read("grpcs://a.test"), (443, String::new(), json!("grpcs://a.test")));
        assert_eq!(
            read("grpc://a.test:50051/"),
            (50051, String::new(), json!("grpc://a.test:50051"))
        );
        assert_eq!(
            read(" grpc://[2001:db8::1]:1/a.B"),
            (1, "a.B".into(), json!("grpc://[2001:db8::1]:1"))
        );
        assert_eq!(grpc(json!({"url": "grpcs://Bücher.example"})).host(), "xn--bcher-kva.example");
    }

    #[test]
    fn refusals_name_the_field() {
        for (extra, field) in [
            (json!({"url": "grpc://a.test"}), "url"),
            (json!({"url": "http://a.test:1"}), "url"),
            (json!({"url": "grpc://user@a.test:1"}), "url"),
            (json!({"url": "grpc://a.test:0"}), "url"),
            (json!({"url": "grpc://a.test:1?x=1"}), "url"),
            (json!({"url": "grpc://%61.test:1"}), "url"),
            (json!({"url": "grpcs://a.test/svc", "service": "svc"}), "service"),
            (json!({"url": "grpcs://a.test/svc/Method"}), "service"),
            (json!({"service": "a b"}), "service"),
            (json!({"service": 5}), "service"),
            (json!({"service": "x".repeat(201)}), "service"),
            (json!({"service": "${secret:x}"}), "service"),
            (json!({"metadata": {"grpc-timeout": "1S"}}), "metadata.grpc-timeout"),
            (json!({"metadata": {"TE": "x"}}), "metadata.TE"),
            (json!({"metadata": {"a": "b\nc"}}), "metadata.a"),
            (json!({"metadata": []}), "metadata"),
            (json!({"url": "grpc://a.test:1", "tls": {"verify": false}}), "tls"),
            (json!({"tls": {"verfy": false}}), "tls.verfy"),
            (json!({"url": "grpcs://1.1.1.1", "ip_family": "6"}), "ip_family"),
            (json!({"method": "GET"}), "method"),
            (
                json!({"assertions": [{"on": "status", "op": "eq", "value": 200}]}),
                "assertions[0].on",
            ),
        ] {
            let refusal = parse(extra.clone()).unwrap_err();
            assert_eq!(refusal.field, field, "{extra}: {refusal}");
        }
    }

    #[test]
    fn secrets_make_the_round_and_stay_with_their_server() {
        let mut check = parse(
            json!({"metadata": {"Authorization": "Bearer hunter22", "x-own": "${secret:own}"}}),
        )
        .unwrap();
        let taken = check.take_inline_secrets();
        assert_eq!(taken.keys().collect::<Vec<_>>(), ["inline.header.authorization"]);
        assert!(!check.to_value().to_string().contains("hunter22"));
        assert_eq!(check.redacted()["metadata"]["Authorization"], HIDDEN);
        let mut all = taken;
        assert_eq!(check.with_secrets(&all).unwrap_err().field, "metadata.x-own");
        all.insert("own".into(), Secret::from("s3cret"));
        let filled = check.with_secrets(&all).unwrap();
        assert_eq!(filled.redactor().clean("hunter22 s3cret"), format!("{HIDDEN} {HIDDEN}"));
        let moved = |extra| parse(extra).unwrap().sends_secrets_where(&check);
        assert!(moved(json!({"service": "other"})));
        assert!(!moved(json!({"url": "grpcs://evil.example"})));
        assert!(!moved(json!({"url": "grpcs://orders.example:8443"})));
        assert!(!moved(json!({"url": "grpc://orders.example:443"})));
        assert!(!moved(json!({"tls": {"verify": false}})));
    }

    #[test]
    fn what_is_risky_gets_a_warning() {
        let codes =
            |extra| parse(extra).unwrap().lint().into_iter().map(|w| w.code).collect::<Vec<_>>();
        assert!(codes(json!({})).is_empty());
        assert_eq!(codes(json!({"tls": {"verify": false}})), ["tls_not_verified"]);
        assert_eq!(codes(json!({"url": "grpcs://10.0.0.1"})), ["closed_address"]);
        assert_eq!(
            codes(json!({"url": "grpc://a.test:1", "metadata": {"x": "${secret:x}"}})),
            ["secrets_in_plain_text"]
        );
    }
}
