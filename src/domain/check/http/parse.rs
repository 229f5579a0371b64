//! Reading an HTTP check: every field is looked at when the monitor is saved.

use serde_json::Value;
use url::Url;

use super::{
    Auth, DEFAULT_MAX_BODY, DEFAULT_MAX_REDIRECTS, HttpCheck, HttpVersion, LARGEST_MAX_BODY, ip_of,
};
use crate::domain::Invalid;
use crate::domain::assertion::{HTTP_SUBJECTS, is_header_name};
use crate::domain::check::headers::{self, header_value};
use crate::domain::check::secret;
use crate::domain::check::shared::{assertions, family, parse_url, tls, without_user};
use crate::domain::fields::Fields;
use crate::domain::redactor::percent_decoded;

/// The `check` object for the API document.
#[derive(utoipa::ToSchema)]
#[schema(as = Check)]
#[expect(
    dead_code,
    reason = "describes the JSON; checks are read by hand so that refusals name their field"
)]
pub(crate) struct Described {
    /// `http`, `tcp`, `tls`, `smtp` or `websocket`. Fields that name kinds are for those only.
    #[schema(example = "http")]
    kind: String,
    /// http: http:// or https://. tcp: tcp://host:port, or tcps:// for TLS from the first byte. tls:
    /// tls://host, port 443. smtp: smtp://host, port 25, or smtps://, port 465. websocket: ws:// or wss://.
    /// With http and websocket `${secret:NAME}` may stand in the path and the query.
    #[schema(example = "https://shop.example/health")]
    url: String,
    /// http.
    #[schema(default = "GET")]
    method: Option<String>,
    /// http, websocket. Name to value, or to a list of values. They replace ours, `Host` and `User-Agent` included.
    #[schema(value_type = Option<Object>)]
    headers: Option<Value>,
    /// http.
    body: Option<String>,
    /// http. `{"basic":{"username":…,"password":…}}` or `{"bearer":…}`. Secrets are shown as `(hidden)`.
    #[schema(value_type = Option<Object>)]
    auth: Option<Value>,
    /// http.
    #[schema(default = true)]
    follow_redirects: Option<bool>,
    /// http.
    #[schema(default = 5, maximum = 20)]
    max_redirects: Option<u8>,
    /// http. `auto`, `1.1` or `2`.
    #[schema(default = "auto")]
    http_version: Option<String>,
    /// http. `none`, or `http://[user:password@]host:port`.
    proxy: Option<String>,
    /// `{"verify":true,"server_name":…,"min_days_left":…}`; with tls `min_days_left` is 14 by default.
    #[schema(value_type = Option<Object>)]
    tls: Option<Value>,
    /// `any`, `4` or `6`.
    #[schema(default = "any")]
    ip_family: Option<String>,
    /// http. Decoded bytes at which reading stops.
    #[schema(default = 1048576, maximum = 16777216)]
    max_body: Option<u32>,
    /// tcp and tls: `smtp`, `imap`, `pop3`, `ftp` or `postgres`, whose way of asking for TLS is used. smtp:
    /// `required` (the default), `if_offered` or `never`.
    starttls: Option<String>,
    /// tcp. Steps `{"send":text}`, `{"expect":pattern}` and `{"reject":pattern}`, 50 at most.
    #[schema(value_type = Option<Vec<Object>>)]
    dialogue: Option<Vec<Value>>,
    /// smtp. Who is calling; by default the address that the probe comes from.
    ehlo_name: Option<String>,
    /// websocket. The server must agree to it.
    subprotocol: Option<String>,
    /// websocket. A text message.
    send: Option<String>,
    /// websocket. A pattern that stands in a message of the server.
    expect: Option<String>,
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
        let ip_family = family(&mut fields, ip_of(&url))?;
        let tls = tls(&mut fields)?;
        let mut check = Self {
            method: method(&mut fields)?,
            headers: headers::read(&mut fields, "headers")?,
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
            assertions: assertions(&mut fields, HTTP_SUBJECTS)?,
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
