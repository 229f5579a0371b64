//! What is asked for at each hop, and what of the monitor's headers may go there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{Method, Request, Uri};
use http_body_util::Full;
use url::Url;

use super::cookies::Jar;
use crate::domain::check::{Auth, HttpCheck};
use crate::domain::observation::Class;
use crate::domain::redactor::is_secret_header;
use crate::probe::Context;
use crate::probe::trace::Failure;

/// One request to come; redirects change it.
pub(super) struct Order<'a> {
    check: &'a HttpCheck,
    user_agent: &'a str,
    pub(super) url: Url,
    pub(super) method: Method,
    pub(super) body: Option<Bytes>,
    /// Still at the monitor's own host, so credentials may be sent.
    pub(super) at_home: bool,
    pub(super) jar: Jar,
}

impl<'a> Order<'a> {
    pub(super) fn first(check: &'a HttpCheck, ctx: &'a Context) -> Result<Self, Failure> {
        let method = Method::from_bytes(check.method.as_bytes()).map_err(|_| {
            Failure::new(Class::Internal, format!("{} is not a method.", check.method))
        })?;
        Ok(Self {
            check,
            user_agent: &ctx.0.user_agent,
            url: check.url().clone(),
            method,
            body: check.body.clone().map(Bytes::from),
            at_home: true,
            jar: Jar::default(),
        })
    }

    /// The request in the form that the connection wants: HTTP/2 and plain requests to a proxy name the
    /// whole URL, everything else the path.
    pub(super) fn request(&self, http2: bool) -> Result<Request<Full<Bytes>>, Failure> {
        let unsendable = |what: &str| {
            Failure::new(Class::Internal, format!("The request cannot be built: {what}."))
        };
        let mut headers = self.headers().ok_or_else(|| unsendable("a header"))?;
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let host = match headers.get(HOST) {
            Some(host) => host.clone(),
            None => {
                HeaderValue::from_str(&authority(&self.url)).map_err(|_| unsendable("the host"))?
            }
        };
        let proxy = self.check.proxy().filter(|_| self.url.scheme() == "http");
        let uri = if http2 {
            headers.remove(HOST);
            let host = host.to_str().map_err(|_| unsendable("the host"))?;
            format!("{}://{host}{path}", self.url.scheme())
        } else {
            headers.insert(HOST, host);
            match &proxy {
                Some(proxy) => {
                    if let Some(credentials) =
                        proxy_credentials(proxy).and_then(|text| HeaderValue::from_str(&text).ok())
                    {
                        headers.insert(PROXY_AUTHORIZATION, credentials);
                    }
                    format!("http://{}{path}", authority(&self.url))
                }
                None => path,
            }
        };
        let uri: Uri = uri.parse().map_err(|_| unsendable("the path"))?;
        let mut request = Request::new(Full::new(self.body.clone().unwrap_or_default()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        if http2 {
            *request.version_mut() = http::Version::HTTP_2;
        }
        Ok(request)
    }

    fn headers(&self) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        for header in &self.check.headers {
            let bound = header.secret
                || is_secret_header(&header.name)
                || header.name.eq_ignore_ascii_case("host");
            let about_body = header.name.to_ascii_lowercase().starts_with("content-");
            if (bound && !self.at_home)
                || (about_body && self.body.is_none() && self.check.body.is_some())
            {
                continue;
            }
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_bytes(header.value.as_bytes()).ok()?);
        }
        if self.at_home
            && let Some(auth) = &self.check.auth
        {
            let text = match auth {
                Auth::Basic { username, password } => basic(username, password),
                Auth::Bearer(token) => format!("Bearer {token}"),
            };
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&text).ok()?);
        }
        let mut by_default = |name: HeaderName, value: &str| {
            if !headers.contains_key(&name)
                && let Ok(value) = HeaderValue::from_str(value)
            {
                headers.insert(name, value);
            }
        };
        by_default(USER_AGENT, self.user_agent);
        by_default(ACCEPT, "*/*");
        by_default(ACCEPT_ENCODING, "gzip, deflate, br, zstd");
        if let Some(body) = &self.body {
            let json = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
            by_default(
                CONTENT_TYPE,
                if json { "application/json" } else { "text/plain; charset=utf-8" },
            );
        }
        if let Some(cookies) = self.jar.for_url(&self.url) {
            let all = match headers.get(COOKIE).and_then(|own| own.to_str().ok()) {
                Some(own) => format!("{own}; {cookies}"),
                None => cookies,
            };
            headers.insert(COOKIE, HeaderValue::from_str(&all).ok()?);
        }
        Some(headers)
    }
}

/// `host`, or `host:port` when the port is not the scheme's own.
pub(in crate::probe) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn basic(username: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{username}:{password}")))
}

/// The value of `Proxy-Authorization`, if the proxy's URL names a user.
pub(super) fn proxy_credentials(proxy: &Url) -> Option<String> {
    if proxy.username().is_empty() {
        return None;
    }
    let decoded = |text: &str| {
        let pair = format!("v={}", text.replace('+', "%2B"));
        let value = url::form_urlencoded::parse(pair.as_bytes())
            .next()
            .map(|(_, value)| value.into_owned());
        value.unwrap_or_default()
    };
    Some(basic(&decoded(proxy.username()), &decoded(proxy.password().unwrap_or_default())))
}
