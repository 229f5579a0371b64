//! Reading an HTTP check: every field is looked at when the monitor is saved.

use serde_json::Value;
use url::Url;

use super::{
    Auth, DEFAULT_MAX_BODY, DEFAULT_MAX_REDIRECTS, Header, HttpCheck, HttpVersion, IpFamily,
    LARGEST_MAX_BODY, Tls,
};
use crate::domain::address::Host;
use crate::domain::assertion::{Assertion, HTTP_SUBJECTS, is_header_name};
use crate::domain::check::secret;
use crate::domain::fields::{Fields, kind_of};
use crate::domain::redactor::percent_encoded;
use crate::domain::{Invalid, short};

/// The `check` object for the API document.
#[derive(utoipa::ToSchema)]
#[schema(as = Check)]
#[expect(
    dead_code,
    reason = "describes the JSON; checks are read by hand so that refusals name their field"
)]
pub(crate) struct Described {
    /// `http`
    #[schema(example = "http")]
    kind: String,
    /// http or https. `${secret:NAME}` may stand in the path and the query.
    #[schema(example = "https://shop.example/health")]
    url: String,
    #[schema(default = "GET")]
    method: Option<String>,
    /// Name to value, or to a list of values. They replace ours, `Host` and `User-Agent` included.
    #[schema(value_type = Option<Object>)]
    headers: Option<Value>,
    body: Option<String>,
    /// `{"basic":{"username":…,"password":…}}` or `{"bearer":…}`. Secrets are shown as `(hidden)`.
    #[schema(value_type = Option<Object>)]
    auth: Option<Value>,
    #[schema(default = true)]
    follow_redirects: Option<bool>,
    #[schema(default = 5, maximum = 20)]
    max_redirects: Option<u8>,
    /// `auto`, `1.1` or `2`.
    #[schema(default = "auto")]
    http_version: Option<String>,
    /// `none`, or `http://[user:password@]host:port`.
    proxy: Option<String>,
    /// `{"verify":true,"server_name":…,"min_days_left":…}`
    #[schema(value_type = Option<Object>)]
    tls: Option<Value>,
    /// `any`, `4` or `6`.
    #[schema(default = "any")]
    ip_family: Option<String>,
    /// Decoded bytes at which reading stops.
    #[schema(default = 1048576, maximum = 16777216)]
    max_body: Option<u32>,
    /// `{"on":subject, "name"|"path":…, "op":operator, "value":literal}`; all must hold.
    #[schema(value_type = Option<Vec<Object>>)]
    assertions: Option<Vec<Value>>,
}

const FIELDS: &[&str] = &[
    "kind",
    "url",
    "method",
    "headers",
    "body",
    "auth",
    "follow_redirects",
    "max_redirects",
    "http_version",
    "proxy",
    "tls",
    "ip_family",
    "max_body",
    "assertions",
];

impl HttpCheck {
    pub(in crate::domain::check) fn parse(mut fields: Fields) -> Result<Self, Invalid> {
        let (url_text, url, user) = target(&fields.required_string("url")?)?;
        let auth = match (auth(&mut fields)?, user) {
            (Some(_), Some(_)) => {
                return Err(Invalid::new(
                    "url",
                    "holds a user name, and auth is set too; keep one",
                ));
            }
            (auth, user) => auth.or(user),
        };
        let ip_family = family(&mut fields, &url)?;
        let tls = tls(&mut fields)?;
        let mut check = Self {
            method: method(&mut fields)?,
            headers: headers(&mut fields)?,
            body: body(&mut fields)?,
            auth,
            follow_redirects: fields.bool("follow_redirects")?.unwrap_or(true),
            max_redirects: fields
                .integer("max_redirects", 0..=20)?
                .map_or(DEFAULT_MAX_REDIRECTS, |n| n as u8),
            http_version: version(&mut fields)?,
            proxy: proxy(&mut fields)?,
            tls,
            ip_family,
            max_body: fields
                .integer("max_body", 1..=i64::from(LARGEST_MAX_BODY))?
                .map_or(DEFAULT_MAX_BODY, |n| n as u32),
            assertions: assertions(&mut fields)?,
            implied: Vec::new(),
            filled: Vec::new(),
            body_is_secret: false,
            url_text,
            url,
        };
        fields.finish(FIELDS)?;
        if check.auth.is_some()
            && check.headers.iter().any(|h| h.name.eq_ignore_ascii_case("authorization"))
        {
            return Err(Invalid::new(
                "auth",
                "is set, and so is the header authorization; keep one",
            ));
        }
        check.imply();
        Ok(check)
    }
}

/// The URL as it is kept, parsed, and the credentials that stood in it.
fn target(text: &str) -> Result<(String, Url, Option<Auth>), Invalid> {
    let text = text.trim();
    if text.len() > 8_000 {
        return Err(Invalid::new("url", "is longer than 8000 characters"));
    }
    let url = parse_url(text, "url", &["http", "https"])?;
    let user = match (url.username(), url.password()) {
        ("", None) => None,
        (username, password) => Some(Auth::Basic {
            username: percent_decoded(username),
            password: percent_decoded(password.unwrap_or_default()),
        }),
    };
    if let Some(Auth::Basic { username, .. }) = &user
        && username.contains(':')
    {
        return Err(Invalid::new("url", "a user name cannot hold a colon"));
    }
    let kept = match &user {
        None => text.to_owned(),
        Some(_) => without_user(text),
    };
    let url = if user.is_some() { parse_url(&kept, "url", &["http", "https"])? } else { url };
    Ok((kept, url, user))
}

/// What stands before the path is looked at as it was typed: the URL parser itself would decode
/// `%65xample.com` and would read a placeholder as a host.
pub(super) fn parse_url(text: &str, field: &str, schemes: &[&str]) -> Result<Url, Invalid> {
    let refused = |why: String| Invalid::new(field, why);
    let names = secret::fill(text, |_| Ok("x".into()))
        .map_err(|refusal| Invalid::new(field, refusal.message))?;
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(refused(format!(
            "needs a scheme, such as {}://",
            schemes.last().unwrap_or(&"http")
        )));
    };
    if !schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(refused(format!(
            "{:?} is not a scheme that can be used here; use {}",
            short(scheme),
            schemes.join(" or ")
        )));
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if secret::has_placeholder(host) || host.contains('{') {
        return Err(refused(
            "a secret cannot stand in the host; it belongs into the path, the query or a header"
                .into(),
        ));
    }
    if host.is_empty() || host.starts_with(':') {
        return Err(refused("has no host".into()));
    }
    let bare = if host.starts_with('[') {
        host.split_inclusive(']').next().unwrap_or(host)
    } else {
        host.split(':').next().unwrap_or(host)
    };
    Host::parse(bare).map_err(|why| refused(format!("the host {why}")))?;
    let url = Url::parse(&names).map_err(|error| refused(format!("is not a URL: {error}")))?;
    if url.port() == Some(0) {
        return Err(refused("port 0 cannot be connected to".into()));
    }
    Ok(url)
}

/// The same text without `user:password@`.
pub(super) fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{tail}")
}

fn percent_decoded(text: &str) -> String {
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

fn method(fields: &mut Fields) -> Result<String, Invalid> {
    let method = fields.string("method")?.unwrap_or_else(|| "GET".into()).to_ascii_uppercase();
    if !is_header_name(&method) || method.len() > 32 {
        return Err(Invalid::given("method", &method, "is not a method, such as GET or POST"));
    }
    if method == "CONNECT" {
        return Err(Invalid::new("method", "CONNECT asks for a tunnel, not for an answer"));
    }
    Ok(method)
}

fn headers(fields: &mut Fields) -> Result<Vec<Header>, Invalid> {
    let Some(value) = fields.take("headers") else { return Ok(Vec::new()) };
    let Value::Object(map) = value else {
        return Err(Invalid::new(
            "headers",
            format!("must be an object of names and values, not {}", kind_of(&value)),
        ));
    };
    let mut headers = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (name, value) in map {
        if name.is_empty() {
            return Err(Invalid::new("headers", "has a header with an empty name"));
        }
        let field = format!("headers.{name}");
        if !is_header_name(&name) {
            return Err(Invalid::new(field, "is not a header name"));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(Invalid::new(
                field,
                "stands twice; header names do not differ by case. Use a list of values",
            ));
        }
        if ["content-length", "transfer-encoding", "connection", "upgrade"]
            .contains(&name.to_ascii_lowercase().as_str())
        {
            return Err(Invalid::new(field, "is set by the connection itself"));
        }
        let values = match value {
            Value::Array(values) => values,
            one => vec![one],
        };
        if values.len() > 1 && name.eq_ignore_ascii_case("host") {
            return Err(Invalid::new(field, "can have one value only"));
        }
        for value in values {
            let Value::String(value) = value else {
                return Err(Invalid::new(field, format!("must be text, not {}", kind_of(&value))));
            };
            header_value(&value, &field)?;
            headers.push(Header {
                name: name.clone(),
                value: value.trim().to_owned(),
                secret: false,
            });
        }
    }
    if headers.len() > 100
        || headers.iter().map(|h| h.name.len() + h.value.len()).sum::<usize>() > 32_000
    {
        return Err(Invalid::new(
            "headers",
            "are more than 100, or longer than 32000 characters together",
        ));
    }
    Ok(headers)
}

/// Refuses what would break the header's line, and malformed placeholders.
pub(super) fn header_value(value: &str, field: &str) -> Result<(), Invalid> {
    if value.chars().any(|c| (c.is_control() && c != '\t') || c == '\u{7f}') {
        return Err(Invalid::new(field, "holds a control character or a line break"));
    }
    secret::fill(value, |_| Ok(String::new()))
        .map(|_| ())
        .map_err(|refusal| Invalid::new(field, refusal.message))
}

fn body(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    let body = fields.string("body")?;
    if let Some(body) = &body {
        if body.len() > 1 << 18 {
            return Err(Invalid::new("body", "is longer than 256 KiB"));
        }
        secret::fill(body, |_| Ok(String::new()))
            .map_err(|refusal| Invalid::new("body", refusal.message))?;
    }
    Ok(body)
}

fn auth(fields: &mut Fields) -> Result<Option<Auth>, Invalid> {
    let Some(value) = fields.take("auth") else { return Ok(None) };
    let inner = |mut auth: Fields| {
        let basic = auth.take("basic");
        let bearer = auth.string("bearer")?;
        auth.finish(&["basic", "bearer"])?;
        match (basic, bearer) {
            (Some(basic), None) => {
                let mut basic = Fields::of(basic, "basic")?;
                let read = |basic: &mut Fields| {
                    Ok((
                        basic.required_string("username")?,
                        basic.string("password")?.unwrap_or_default(),
                    ))
                };
                let (username, password) =
                    read(&mut basic).map_err(|refusal: Invalid| refusal.under("basic"))?;
                basic
                    .finish(&["username", "password"])
                    .map_err(|refusal| refusal.under("basic"))?;
                if username.contains(':') {
                    return Err(Invalid::new("basic.username", "cannot hold a colon"));
                }
                header_value(&username, "basic.username")?;
                header_value(&password, "basic.password")?;
                Ok(Auth::Basic { username, password })
            }
            (None, Some(token)) => {
                header_value(&token, "bearer")?;
                Ok(Auth::Bearer(token.trim().to_owned()))
            }
            (Some(_), Some(_)) => Err(Invalid::new("", "is basic or bearer, not both")),
            (None, None) => Err(Invalid::new("", "needs basic or bearer")),
        }
    };
    Fields::of(value, "auth")
        .and_then(|auth| inner(auth).map_err(|refusal| refusal.under("auth")))
        .map(Some)
}

fn tls(fields: &mut Fields) -> Result<Tls, Invalid> {
    let Some(value) = fields.take("tls") else { return Ok(Tls::default()) };
    let mut tls = Fields::of(value, "tls")?;
    let mut read = || {
        let server_name = match tls.string("server_name")? {
            None => None,
            Some(name) => {
                match Host::parse(&name).map_err(|why| Invalid::new("server_name", why))? {
                    Host::Name(name) => Some(name),
                    Host::Ip(_) => {
                        return Err(Invalid::new(
                            "server_name",
                            "must be a name; it is not sent for addresses",
                        ));
                    }
                }
            }
        };
        Ok(Tls {
            verify: tls.bool("verify")?.unwrap_or(true),
            server_name,
            min_days_left: tls.integer("min_days_left", 0..=3_650)?,
        })
    };
    let result = read().map_err(|refusal: Invalid| refusal.under("tls"))?;
    tls.finish(&["verify", "server_name", "min_days_left"])
        .map_err(|refusal| refusal.under("tls"))?;
    Ok(result)
}

fn version(fields: &mut Fields) -> Result<HttpVersion, Invalid> {
    match fields.string("http_version")?.as_deref() {
        None | Some("auto") => Ok(HttpVersion::Auto),
        Some("1.1") => Ok(HttpVersion::Http1),
        Some("2") => Ok(HttpVersion::Http2),
        Some(other) => {
            Err(Invalid::given("http_version", other, "is not known; use auto, 1.1 or 2"))
        }
    }
}

/// Text, or the bare number that people write in YAML.
fn family(fields: &mut Fields, url: &Url) -> Result<IpFamily, Invalid> {
    let family = match fields.take("ip_family") {
        None => IpFamily::Any,
        Some(Value::String(text)) if text == "any" => IpFamily::Any,
        Some(value) if value == "4" || value.as_u64() == Some(4) => IpFamily::V4,
        Some(value) if value == "6" || value.as_u64() == Some(6) => IpFamily::V6,
        Some(_) => return Err(Invalid::new("ip_family", "must be any, 4 or 6")),
    };
    match (family, url.host()) {
        (IpFamily::V4, Some(url::Host::Ipv6(_))) | (IpFamily::V6, Some(url::Host::Ipv4(_))) => {
            Err(Invalid::new("ip_family", "contradicts the address in url"))
        }
        _ => Ok(family),
    }
}

fn proxy(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    match fields.string("proxy")? {
        None => Ok(None),
        Some(text) if text == "none" => Ok(None),
        Some(text) => {
            let url = parse_url(text.trim(), "proxy", &["http"])?;
            if url.path() != "/" || url.query().is_some() {
                return Err(Invalid::new(
                    "proxy",
                    "is a host and a port only, such as http://proxy.example:3128",
                ));
            }
            Ok(Some(text.trim().to_owned()))
        }
    }
}

fn assertions(fields: &mut Fields) -> Result<Vec<Assertion>, Invalid> {
    let values = fields.list("assertions")?.unwrap_or_default();
    Assertion::parse_list(values, HTTP_SUBJECTS).map_err(|refusal| refusal.under("assertions"))
}

/// A secret as it stands in a URL.
pub(super) fn for_url(secret: &str) -> String {
    percent_encoded(secret)
}
