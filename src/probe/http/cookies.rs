//! A cookie jar for one check: it begins empty, and ends with the last hop.

use http::HeaderMap;
use http::header::SET_COOKIE;
use jiff::Timestamp;
use url::Url;

/// More cookies, or larger ones, than a browser would keep are left out.
const MOST_COOKIES: usize = 50;
const LARGEST_COOKIE: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    /// Only this host, not the ones under it.
    host_only: bool,
    path: String,
    secure: bool,
}

impl Jar {
    /// Takes what an answer sets. `now` decides which cookies are being deleted.
    pub(super) fn take(&mut self, url: &Url, headers: &HeaderMap) {
        for value in headers.get_all(SET_COOKIE) {
            let Ok(text) = value.to_str() else { continue };
            if text.len() > LARGEST_COOKIE {
                continue;
            }
            if let Some((cookie, gone)) = Cookie::parse(text, url) {
                self.cookies.retain(|old| {
                    !(old.name == cookie.name
                        && old.domain == cookie.domain
                        && old.path == cookie.path)
                });
                if !gone && self.cookies.len() < MOST_COOKIES {
                    self.cookies.push(cookie);
                }
            }
        }
    }

    /// The `Cookie` header for a URL.
    pub(super) fn for_url(&self, url: &Url) -> Option<String> {
        let mut fitting: Vec<&Cookie> =
            self.cookies.iter().filter(|cookie| cookie.fits(url)).collect();
        if fitting.is_empty() {
            return None;
        }
        // Longer paths first, as servers expect (RFC 6265, 5.4).
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> =
            fitting.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        Some(pairs.join("; "))
    }
}

impl Cookie {
    /// The cookie, and whether this deletes it.
    fn parse(text: &str, url: &Url) -> Option<(Self, bool)> {
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let host = url.host_str()?.to_ascii_lowercase();
        let mut cookie = Self {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            domain: host.clone(),
            host_only: true,
            path: default_path(url),
            secure: false,
        };
        if cookie.name.is_empty() {
            return None;
        }
        let (mut by_age, mut by_date) = (None, None);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" if !value.is_empty() => {
                    let domain = value.trim_start_matches('.').to_ascii_lowercase();
                    // A whole top-level domain, or somebody else's, is no place for a cookie.
                    if !under(&host, &domain) || (!domain.contains('.') && domain != host) {
                        return None;
                    }
                    (cookie.domain, cookie.host_only) = (domain, false);
                }
                "path" if value.starts_with('/') => cookie.path = value.to_owned(),
                "secure" => cookie.secure = true,
                "max-age" => by_age = value.parse::<i64>().ok().map(|age| age <= 0),
                // Dates in cookies serve to delete them: one in the last century or at its turn.
                "expires" => {
                    by_date = jiff::fmt::rfc2822::parse(&value.replace('-', " "))
                        .ok()
                        .map(|at| at.timestamp() <= LONG_AGO)
                }
                _ => {}
            }
        }
        Some((cookie, by_age.or(by_date).unwrap_or(false)))
    }

    fn fits(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let host = host.to_ascii_lowercase();
        let domain = if self.host_only { host == self.domain } else { under(&host, &self.domain) };
        let path = url.path();
        let path = path == self.path
            || path
                .strip_prefix(&self.path)
                .is_some_and(|rest| self.path.ends_with('/') || rest.starts_with('/'));
        domain && path && (!self.secure || url.scheme() == "https")
    }
}

/// 2020-01-01: a jar lives for seconds, so a later date keeps the cookie and an earlier one deletes it.
const LONG_AGO: Timestamp = Timestamp::constant(1_577_836_800, 0);

fn under(host: &str, domain: &str) -> bool {
    host == domain
        || host
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.') && host.parse::<std::net::IpAddr>().is_err())
}

fn default_path(url: &Url) -> String {
    match url.path().rfind('/') {
        Some(0) | None => "/".to_owned(),
        Some(last) => url.path().get(..last).unwrap_or("/").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(url: &str, set: &[&str]) -> Jar {
        let mut jar = Jar::default();
        let mut headers = HeaderMap::new();
        for text in set {
            headers.append(SET_COOKIE, text.parse().unwrap());
        }
        jar.take(&url.parse().unwrap(), &headers);
        jar
    }

    fn sent(jar: &Jar, url: &str) -> Option<String> {
        jar.for_url(&url.parse().unwrap())
    }

    #[test]
    fn a_cookie_goes_back_to_its_host_only() {
        let jar = jar(
            "https://a.test/x/y",
            &["s=1; Secure", "t=2; Path=/", "w=3; Domain=.test", "v=4; Domain=b.test"],
        );
        assert_eq!(sent(&jar, "https://a.test/x/z").as_deref(), Some("s=1; t=2"));
        assert_eq!(sent(&jar, "https://a.test/other").as_deref(), Some("t=2"));
        assert_eq!(sent(&jar, "http://a.test/x/z").as_deref(), Some("t=2"));
        assert_eq!(sent(&jar, "https://b.test/x/z"), None);
        assert_eq!(sent(&jar, "https://sub.a.test/"), None);
    }

    #[test]
    fn a_domain_cookie_goes_to_hosts_under_it_and_a_deleted_one_nowhere() {
        let jar = jar(
            "https://www.shop.example/",
            &[
                "a=1; Domain=shop.example",
                "b=2",
                "b=; Max-Age=0",
                "c=3",
                "c=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            ],
        );
        assert_eq!(sent(&jar, "https://api.shop.example/").as_deref(), Some("a=1"));
        assert_eq!(sent(&jar, "https://www.shop.example/").as_deref(), Some("a=1"));
        assert_eq!(sent(&jar, "https://notshop.example/"), None);
    }
}
