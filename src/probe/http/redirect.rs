//! Whether and where to go on.

use http::header::LOCATION;
use http::{Method, Response};
use hyper::body::Incoming;
use url::Url;

use super::request::Order;
use crate::domain::check::HttpCheck;
use crate::domain::observation::Class;
use crate::probe::trace::Failure;

pub(super) enum Next {
    /// The order was changed to the next hop.
    Follow { location: String },
    /// This is the answer to judge; the failure is why it is not a later one. It counts only if the
    /// status is not what the monitor wants.
    Judge(Option<Failure>),
}

/// Looks at an answer and turns `order` into the next request, if there is one.
pub(super) fn next(
    check: &HttpCheck,
    order: &mut Order<'_>,
    response: &Response<Incoming>,
    hops: usize,
    from: Option<&Url>,
) -> Next {
    let status = response.status().as_u16();
    if !matches!(status, 301 | 302 | 303 | 307 | 308)
        || !check.follow_redirects
        || check.max_redirects == 0
    {
        return Next::Judge(None);
    }
    order.jar.take(&order.url, response.headers());
    let stopped = |class, message: String| Next::Judge(Some(Failure::new(class, message)));
    let Some(location) = response.headers().get(LOCATION) else {
        return stopped(
            Class::RedirectInvalid,
            format!("HTTP {status}, but without a Location to go to."),
        );
    };
    let location = String::from_utf8_lossy(location.as_bytes()).trim().to_owned();
    let target = match order.url.join(&location) {
        Ok(target)
            if matches!(target.scheme(), "http" | "https")
                && target.host_str().is_some_and(|host| !host.is_empty()) =>
        {
            target
        }
        _ => {
            return stopped(
                Class::RedirectInvalid,
                format!(
                    "HTTP {status}, but its Location {location:?} is no address that could be followed."
                ),
            );
        }
    };
    if hops >= usize::from(check.max_redirects) {
        return stopped(
            Class::RedirectLimit,
            format!(
                "Stopped after {hops} redirects, at {}.",
                from.map(Url::as_str).unwrap_or_default()
            ),
        );
    }
    let same = same_place(&order.url, &target);
    let to_get = match status {
        303 => order.method != Method::HEAD,
        301 | 302 => order.method == Method::POST,
        _ => false,
    };
    if to_get {
        order.method = Method::GET;
        order.body = None;
    }
    if !same && check.body_is_secret && order.body.is_some() {
        return stopped(
            Class::RedirectInvalid,
            format!("The redirect leads to another host, {target}, and the body holds a secret."),
        );
    }
    order.at_home &= same;
    order.url = without_user(target);
    Next::Follow { location }
}

/// Credentials may go on to the same host and port, and from http to https there, but never back.
fn same_place(from: &Url, to: &Url) -> bool {
    let port = |url: &Url| url.port_or_known_default();
    let upgraded = from.scheme() == "http"
        && to.scheme() == "https"
        && port(from) == Some(80)
        && port(to) == Some(443);
    from.host_str() == to.host_str()
        && ((from.scheme() == to.scheme() && port(from) == port(to)) || upgraded)
}

/// Who may log in is the monitor's decision, not the server's.
fn without_user(mut url: Url) -> Url {
    // Both fail only for URLs without a host, and this one has one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_at_home() {
        let same = |a: &str, b: &str| same_place(&a.parse().unwrap(), &b.parse().unwrap());
        assert!(same("https://a.test/x", "https://a.test/y"));
        assert!(same("http://a.test/", "https://a.test/"));
        assert!(!same("https://a.test/", "http://a.test/"));
        assert!(!same("https://a.test/", "https://b.test/"));
        assert!(!same("https://a.test/", "https://a.test:8443/"));
        assert!(!same("http://a.test:8080/", "https://a.test:8443/"));
    }
}
