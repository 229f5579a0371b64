//! Reading a DNS check: its fields, or an address `dns://…` that becomes them.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use super::{DnsCheck, NameServer, PORT, RecordType};
use crate::domain::address::Host;
use crate::domain::assertion::Assertion;
use crate::domain::check::IpFamily;
use crate::domain::check::shared::{assertions, family};
use crate::domain::fields::Fields;
use crate::domain::{Invalid, short};

/// The subjects that a DNS check offers.
const SUBJECTS: &[&str] = &["rcode", "record", "latency_ms"];

const FIELDS: &[&str] =
    &["kind", "name", "type", "server", "transport", "ip_family", "assertions", "url (instead)"];

/// The `check` object of kind `dns` for the API document.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "describes the JSON; checks are read by hand so that refusals name their field"
)]
pub(in crate::domain::check) struct Described {
    /// `dns`
    #[schema(example = "dns")]
    kind: String,
    /// What is asked for. With type PTR an address may stand here too.
    #[schema(example = "example.com")]
    name: Option<String>,
    /// `A` `AAAA` `CNAME` `MX` `NS` `TXT` `CAA` `SOA` `SRV` `PTR`
    #[serde(rename = "type")]
    #[schema(default = "A", example = "MX")]
    record: Option<String>,
    /// Host or address, with `:port` unless that is 53; left out: the agent's own resolver.
    #[schema(example = "ns1.example.com")]
    server: Option<String>,
    /// `udp` (a cut answer is fetched over TCP) or `tcp`.
    #[schema(default = "udp")]
    transport: Option<String>,
    /// `any`, `4` or `6`: of the way to a server that is given by name.
    #[schema(default = "any")]
    ip_family: Option<String>,
    /// Instead of name, type, server and transport: `dns://[server[:port]]/name?type=MX&transport=tcp`. It is
    /// given back as those.
    url: Option<String>,
    /// On `rcode`, `record` (with `quantifier` any, all or none) and `latency_ms`; all must hold.
    #[schema(value_type = Option<Vec<Object>>)]
    assertions: Option<Vec<Value>>,
}

/// What is asked of whom, as text.
#[derive(Default)]
struct Written {
    name: Option<String>,
    record: Option<String>,
    server: Option<String>,
    transport: Option<String>,
}

impl DnsCheck {
    pub(in crate::domain::check) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let written = Written {
            name: fields.string("name")?,
            record: fields.string("type")?,
            server: fields.string("server")?,
            transport: fields.string("transport")?,
        };
        let (name, record, server, tcp) = match fields.string("url")? {
            None => question(written)?,
            Some(url) => {
                if let Some(field) = written.first_field() {
                    return Err(Invalid::new(
                        "url",
                        format!("is set, and so is {field}; keep one of them"),
                    ));
                }
                // What is wrong with a part of it is wrong with the address.
                from_url(url.trim()).and_then(question).map_err(|refusal| {
                    let part = match refusal.field.as_str() {
                        "" | "url" => String::new(),
                        part => format!("the {part} "),
                    };
                    Invalid::new("url", format!("{part}{}", refusal.message))
                })?
            }
        };
        let ip_family = family(&mut fields, None)?;
        locked(ip_family, server.as_ref())?;
        let mut assertions = assertions(&mut fields, SUBJECTS)?;
        if record != RecordType::Txt {
            assertions.iter_mut().for_each(Assertion::compare_as_names);
        }
        fields.finish(FIELDS)?;
        let mut check =
            Self { name, record, server, tcp, ip_family, assertions, implied: Vec::new() };
        if !check.judges_rcode() {
            check.implied.push(Assertion::rcode_is_noerror());
        }
        Ok(check)
    }
}

impl Written {
    fn first_field(&self) -> Option<&'static str> {
        [
            ("name", &self.name),
            ("type", &self.record),
            ("server", &self.server),
            ("transport", &self.transport),
        ]
        .into_iter()
        .find(|(_, value)| value.is_some())
        .map(|(field, _)| field)
    }
}

/// A family is a choice among the addresses of a server.
fn locked(family: IpFamily, server: Option<&NameServer>) -> Result<(), Invalid> {
    let refused = |why: &str| Err(Invalid::new("ip_family", why));
    match (family, server.map(|server| &server.host)) {
        (IpFamily::Any, _) | (_, Some(Host::Name(_))) => Ok(()),
        (_, None) => {
            refused("needs a server; the agent's own resolver is reached as the agent reaches it")
        }
        (IpFamily::V4, Some(Host::Ip(IpAddr::V4(_))))
        | (IpFamily::V6, Some(Host::Ip(IpAddr::V6(_)))) => Ok(()),
        _ => refused("contradicts the address in server"),
    }
}

type Question = (String, RecordType, Option<NameServer>, bool);

fn question(written: Written) -> Result<Question, Invalid> {
    let record = match &written.record {
        None => RecordType::A,
        Some(text) => record_type(text)?,
    };
    let Some(name) = &written.name else {
        return Err(Invalid::new("name", "is missing: the name to ask for, such as example.com"));
    };
    let tcp = match written.transport.as_deref() {
        None => false,
        Some(text) if text.eq_ignore_ascii_case("udp") => false,
        Some(text) if text.eq_ignore_ascii_case("tcp") => true,
        Some(other) => {
            return Err(Invalid::given("transport", other, "is not known; use udp or tcp"));
        }
    };
    let server = written.server.as_deref().map(name_server).transpose()?;
    Ok((asked_name(name, record)?, record, server, tcp))
}

fn record_type(text: &str) -> Result<RecordType, Invalid> {
    let known = RecordType::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text.trim()));
    known.map(|(kind, _)| *kind).ok_or_else(|| {
        let names: Vec<&str> = RecordType::ALL.iter().map(|(_, name)| *name).collect();
        Invalid::new(
            "type",
            format!("{:?} cannot be asked for; known are {}", short(text), names.join(", ")),
        )
    })
}

/// The name in wire form. Any label that DNS can carry is taken: underscores, stars, slashes.
fn asked_name(text: &str, record: RecordType) -> Result<String, Invalid> {
    let refused = |why: String| Invalid::new("name", why);
    let text = text.trim();
    if let Ok(ip) = text.parse::<IpAddr>() {
        return match record {
            RecordType::Ptr => Ok(reverse(ip)),
            _ => Err(refused("is an address; with type PTR its name is asked for".into())),
        };
    }
    if text == "." {
        return Ok(text.to_owned());
    }
    let bare = text.strip_suffix('.').unwrap_or(text);
    if bare.is_empty() {
        return Err(refused("is empty; the root is written as a dot".into()));
    }
    let odd = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '%' | '\\' | '"' | '$' | '{' | '@' | ':' | '?' | '#')
    };
    if bare.contains(odd) {
        return Err(refused(format!("{:?} is not a name in DNS", short(text))));
    }
    let wire = match bare.is_ascii() {
        true => bare.to_ascii_lowercase(),
        false => idna::domain_to_ascii(bare)
            .map_err(|_| refused(format!("{:?} is not an international name", short(text))))?,
    };
    if wire.split('.').any(str::is_empty) {
        return Err(refused(format!("{:?} has an empty part between its dots", short(text))));
    }
    if wire.len() > 253 {
        return Err(refused("is longer than 253 characters".into()));
    }
    match wire.split('.').find(|label| label.len() > 63) {
        Some(label) => {
            Err(refused(format!("the part {:?} is longer than 63 characters", short(label))))
        }
        None => Ok(wire),
    }
}

/// `192.0.2.1` is `1.2.0.192.in-addr.arpa`.
fn reverse(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(ip) => {
            let mut name = String::new();
            for byte in ip.octets().iter().rev() {
                name.push_str(&format!("{:x}.{:x}.", byte & 15, byte >> 4));
            }
            format!("{name}ip6.arpa")
        }
    }
}

/// `192.0.2.53`, `192.0.2.53:5353`, `[2001:db8::53]:53`, `2001:db8::53`, `ns1.example.com:53`.
fn name_server(text: &str) -> Result<NameServer, Invalid> {
    let text = text.trim();
    let refused = |why: String| Invalid::new("server", why);
    let whole = |host, port| Ok(NameServer { text: text.to_owned(), host, port });
    if let Ok(ip) = text.parse::<IpAddr>() {
        return whole(Host::Ip(ip), PORT);
    }
    let (host, port) = match text.parse::<SocketAddr>() {
        Ok(address) => (address.ip().to_string(), Some(address.port().to_string())),
        Err(_) => match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host.to_owned(), Some(port.to_owned())),
            _ => (text.to_owned(), None),
        },
    };
    if host.contains(['/', '@', '{', '?', '#']) {
        return Err(refused("is a host or an address, with :port if that is not 53".into()));
    }
    let host = Host::parse(&host).map_err(&refused)?;
    let port = match port {
        None => PORT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(|| refused(format!("{:?} is not a port, 1 to 65535", short(&text))))?,
    };
    whole(host, port)
}

/// `dns:name`, `dns:///name` or `dns://server/name`, with `?type=…&transport=…` (after RFC 4501).
fn from_url(text: &str) -> Result<Written, Invalid> {
    let refused = |why: String| Invalid::new("url", why);
    let Some((scheme, rest)) = text.split_once(':') else {
        return Err(refused("needs its scheme, such as dns:///example.com?type=MX".into()));
    };
    if !scheme.eq_ignore_ascii_case("dns") {
        return Err(refused(format!(
            "{:?} is not a scheme that can be used here; use dns",
            short(scheme)
        )));
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (server, name) = match path.strip_prefix("//") {
        None => (None, path),
        Some(path) => match path.split_once('/') {
            Some((server, name)) => ((!server.is_empty()).then_some(server), name),
            None => {
                return Err(refused(
                    "names a server and nothing to ask it for; write dns://server/example.com, or dns:///example.com for the agent's own resolver".into(),
                ));
            }
        },
    };
    let mut written = Written {
        name: (!name.is_empty()).then(|| name.to_owned()),
        server: server.map(str::to_owned),
        ..Written::default()
    };
    for pair in query.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key.to_ascii_lowercase().as_str() {
            "type" => written.record = Some(value.to_owned()),
            "transport" => written.transport = Some(value.to_owned()),
            "class" if value.eq_ignore_ascii_case("in") => {}
            "class" => return Err(refused("asks for another class than IN".into())),
            _ => {
                return Err(refused(format!(
                    "{:?} is not known after the question mark; use type and transport",
                    short(key)
                )));
            }
        }
    }
    Ok(written)
}
