//! The mail server that every e-mail goes through.

use serde_json::{Map, Value, json};

use super::config::{only, parse_address};
use crate::domain::{Invalid, secret::Secret};

/// How mail is handed to the relay. Stored as setting `mail`, the password sealed beside it; or given
/// as `QUORATE_SMTP_URL`, which then wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    pub login: Option<Login>,
    /// Sender, as `Quorate <alerts@example.com>` or as a bare address.
    pub from: String,
    /// Certificates to trust beside the system's, PEM: a private authority.
    pub ca_pem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub password: Secret<String>,
}

/// How the connection to the mail server is protected.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MailTls {
    /// Begins in clear and must switch to TLS before anything else is said (port 587).
    Starttls,
    /// TLS from the first byte (port 465).
    #[serde(rename = "tls")]
    Implicit,
    /// In clear: only for a relay on the same machine or wire, and without a login.
    None,
}

impl MailTls {
    pub fn word(self) -> &'static str {
        match self {
            MailTls::Starttls => "starttls",
            MailTls::Implicit => "tls",
            MailTls::None => "none",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [MailTls::Starttls, MailTls::Implicit, MailTls::None].into_iter().find(|t| t.word() == word)
    }

    fn default_port(self) -> u16 {
        match self {
            MailTls::Starttls => 587,
            MailTls::Implicit => 465,
            MailTls::None => 25,
        }
    }
}

impl MailServer {
    /// Reads `{"host","port","security","username","password","from","ca_pem"}`. A password of null is the one
    /// that `kept` has, as long as host and user stay the same.
    pub fn parse(value: &Value, kept: Option<&MailServer>) -> Result<Self, Invalid> {
        let fields = value.as_object().ok_or_else(|| Invalid::new("", "must be an object"))?;
        only(fields, &["host", "port", "security", "username", "password", "from", "ca_pem"])?;
        let host = parse_host(text(fields, "host")?.unwrap_or_default())?;
        let tls = match text(fields, "security")? {
            None => MailTls::Starttls,
            Some(word) => MailTls::from_word(word).ok_or_else(|| {
                Invalid::given("security", word, "is unknown; known are starttls, tls, none")
            })?,
        };
        let port = match fields.get("port") {
            None | Some(Value::Null) => tls.default_port(),
            Some(port) => port
                .as_u64()
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port > 0)
                .ok_or_else(|| Invalid::new("port", "must be a number from 1 to 65535"))?,
        };
        let user = text(fields, "username")?.map(str::to_owned);
        let password = text(fields, "password")?.map(Secret::from);
        let kept = kept
            .filter(|kept| kept.host == host)
            .and_then(|kept| kept.login.as_ref())
            .filter(|login| user.as_deref() == Some(&login.user))
            .map(|login| login.password.clone());
        let from = text(fields, "from")?.map(str::to_owned);
        let ca_pem = text(fields, "ca_pem")?.map(str::to_owned);
        Self { host, port, tls, login: login(user, password, kept)?, from: String::new(), ca_pem }
            .checked(from)
    }

    /// Reads `smtp://user:password@host:587?from=alerts@example.com`: STARTTLS; `smtps://` is TLS from
    /// the first byte, `?tls=none` is neither. Characters with a meaning in URLs are written `%40`.
    pub fn from_url(text: &str) -> Result<Self, Invalid> {
        const FIELD: &str = "QUORATE_SMTP_URL";
        let wrong = |message: String| Invalid::new(FIELD, message);
        let url: url::Url = text.trim().parse().map_err(|e| {
            wrong(format!("is not a URL such as smtp://user:password@smtp.example.com:587 ({e})"))
        })?;
        let mut tls = match url.scheme() {
            "smtp" => MailTls::Starttls,
            "smtps" => MailTls::Implicit,
            other => {
                return Err(wrong(format!("must begin with smtp:// or smtps://, not {other}:")));
            }
        };
        let mut from = None;
        for (name, value) in url.query_pairs() {
            match (name.as_ref(), value.as_ref()) {
                ("from", value) => from = Some(value.to_owned()),
                ("tls", word) => {
                    tls = MailTls::from_word(word).ok_or_else(|| {
                        wrong(format!("tls={word} is unknown; known are starttls, tls, none"))
                    })?;
                }
                (name, _) => {
                    return Err(wrong(format!("?{name}= is unknown; known are from and tls")));
                }
            }
        }
        let host = parse_host(url.host_str().unwrap_or_default()).map_err(|e| wrong(e.message))?;
        let user = Some(decode(url.username())).filter(|user| !user.is_empty());
        let password = url.password().map(|password| Secret::new(decode(password)));
        Self {
            host,
            port: url.port().unwrap_or(tls.default_port()),
            tls,
            login: login(user, password, None)
                .map_err(|e| wrong(format!("{}: {}", e.field, e.message)))?,
            from: String::new(),
            ca_pem: None,
        }
        .checked(from)
        .map_err(|e| wrong(format!("{}: {}", e.field, e.message)))
    }

    /// What is stored and shown; the password is not in it.
    pub fn to_json(&self) -> Value {
        json!({
            "host": self.host,
            "port": self.port,
            "security": self.tls.word(),
            "username": self.login.as_ref().map(|login| &login.user),
            "from": self.from,
            "ca_pem": self.ca_pem,
        })
    }

    /// `smtp.example.com:587`, for sentences about it.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Sets the sender (the login's address unless given) and refuses what can never work.
    fn checked(mut self, from: Option<String>) -> Result<Self, Invalid> {
        if self.tls == MailTls::None && self.login.is_some() {
            return Err(Invalid::new(
                "security",
                "none would send the password in clear; use starttls or tls, or leave the login out",
            ));
        }
        let user = self.login.as_ref().map(|login| login.user.clone());
        let from = from.or(user.filter(|user| user.contains('@'))).ok_or_else(|| {
            Invalid::new("from", "is needed: the sender, such as alerts@example.com")
        })?;
        let mailbox: lettre::message::Mailbox = from.trim().parse().map_err(|_| {
            Invalid::given("from", &from, "is not a sender such as Quorate <alerts@example.com>")
        })?;
        parse_address("from", mailbox.email.as_ref())?;
        self.from = mailbox.to_string();
        if let Some(pem) = &self.ca_pem
            && !pem.contains("-----BEGIN CERTIFICATE-----")
        {
            return Err(Invalid::new("ca_pem", "holds no certificate in PEM form"));
        }
        Ok(self)
    }
}

/// A text field, trimmed; null and empty are absent.
fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Invalid> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(_) => Err(Invalid::new(name, "must be text")),
    }
}

fn login(
    user: Option<String>,
    password: Option<Secret<String>>,
    kept: Option<Secret<String>>,
) -> Result<Option<Login>, Invalid> {
    match (user, password.or(kept)) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => Ok(Some(Login { user, password })),
        (Some(_), None) => Err(Invalid::new(
            "password",
            "is needed with a user; it is not kept when host or user change",
        )),
        (None, Some(_)) => Err(Invalid::new("username", "is needed with a password")),
    }
}

fn parse_host(text: &str) -> Result<String, Invalid> {
    if text.is_empty() {
        return Err(Invalid::new("host", "is needed: the name of the mail server"));
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<std::net::IpAddr>().is_ok() {
        return Ok(bare.to_owned());
    }
    idna::domain_to_ascii_strict(text)
        .ok()
        .filter(|host| !host.is_empty())
        .ok_or_else(|| Invalid::given("host", text, "is not a host name such as smtp.example.com"))
}

/// Percent-decoding of one URL part; what is not valid is left as it stands.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: Value) -> Result<MailServer, Invalid> {
        MailServer::parse(&value, None)
    }

    #[test]
    fn settings_are_read_with_their_defaults_and_round_trip_without_the_password() {
        let server = parse(
            json!({"host": "smtp.example.com", "username": "a@example.com", "password": "p"}),
        )
        .unwrap();
        assert_eq!(
            (server.port, server.tls, server.from.as_str()),
            (587, MailTls::Starttls, "a@example.com")
        );
        let shown = server.to_json();
        assert!(!shown.to_string().contains("\"p\""), "{shown}");
        assert_eq!(MailServer::parse(&shown, Some(&server)).unwrap(), server);
        let implicit =
            parse(json!({"host": "::1", "security": "tls", "from": "Quorate <q@example.com>"}))
                .unwrap();
        assert_eq!((implicit.port, implicit.address().as_str()), (465, "[::1]:465"));
        assert_eq!(
            parse(json!({"host": "relay", "security": "none", "from": "q@example.com"}))
                .unwrap()
                .port,
            25
        );
    }

    #[test]
    fn a_kept_password_does_not_follow_to_another_host_or_user() {
        let server = parse(
            json!({"host": "smtp.example.com", "username": "a@example.com", "password": "p"}),
        )
        .unwrap();
        for (name, value) in [("host", "evil.example"), ("username", "b@example.com")] {
            let mut shown = server.to_json();
            shown[name] = json!(value);
            assert_eq!(MailServer::parse(&shown, Some(&server)).unwrap_err().field, "password");
        }
    }

    #[test]
    fn refusals_name_the_field() {
        let good = json!({"host": "smtp.example.com", "username": "u", "password": "p", "from": "q@example.com"});
        assert!(parse(good.clone()).is_ok());
        for (name, value, says) in [
            ("host", json!(""), "needed"),
            ("host", json!("a b"), "host name"),
            ("port", json!(0), "65535"),
            ("port", json!("587"), "number"),
            ("security", json!("ssl"), "starttls"),
            ("security", json!("none"), "in clear"),
            ("username", json!(null), "password"),
            ("password", json!(null), "user"),
            ("from", json!("nobody"), "sender"),
            ("from", json!("q@example.com\r\nBcc: x@y.example"), "sender"),
            ("ca_pem", json!("MII"), "PEM"),
            ("relay", json!(1), "known are host"),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            let invalid = parse(bad).unwrap_err();
            assert_eq!(invalid.field, name, "{invalid}");
            assert!(invalid.message.contains(says), "{invalid}");
        }
        assert_eq!(parse(json!({"host": "a.example"})).unwrap_err().field, "from");
        assert!(parse(json!([])).is_err());
    }

    #[test]
    fn the_url_form_says_the_same() {
        let server = MailServer::from_url("smtp://a%40example.com:p%2Fw@smtp.example.com").unwrap();
        assert_eq!(
            (server.port, server.tls, server.from.as_str()),
            (587, MailTls::Starttls, "a@example.com")
        );
        assert_eq!(server.login.unwrap().password.expose(), "p/w");
        let server =
            MailServer::from_url("smtps://smtp.example.com?from=Quorate%20%3Cq@example.com%3E")
                .unwrap();
        assert_eq!((server.port, server.tls), (465, MailTls::Implicit));
        assert!(server.from.contains("q@example.com") && server.login.is_none());
        let server =
            MailServer::from_url("smtp://127.0.0.1:2525?tls=none&from=q@example.com").unwrap();
        assert_eq!((server.port, server.tls), (2525, MailTls::None));
        for bad in [
            "nonsense",
            "http://a.example",
            "smtp://a.example",
            "smtp://u:p@a.example?tls=none&from=q@example.com",
            "smtp://a.example?form=q@example.com",
            "smtp://:p@a.example?from=q@example.com",
        ] {
            let invalid = MailServer::from_url(bad).unwrap_err();
            assert_eq!(invalid.field, "QUORATE_SMTP_URL", "{bad}");
            assert!(!invalid.message.contains(":p@"), "{invalid}");
        }
    }
}
