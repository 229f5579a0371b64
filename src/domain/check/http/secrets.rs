//! The secrets of an HTTP check: naming, taking out, filling in, and finding them again.

use std::collections::{BTreeMap, BTreeSet};

use super::parse::{for_url, header_value, parse_url};
use super::{Auth, HttpCheck};
use crate::domain::Invalid;
use crate::domain::check::secret::{self, has_placeholder, inline_name, inline_placeholder, known};
use crate::domain::redactor::{HIDDEN, is_secret_header, is_secret_parameter};
use crate::domain::secret::Secret;

/// Parts of a header's value count as secrets from this length on.
const SHORTEST_PART: usize = 4;

type Taken = BTreeMap<String, Secret<String>>;

impl HttpCheck {
    /// Every text that may hold placeholders.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let auth: [Option<&str>; 2] = match &self.auth {
            Some(Auth::Basic { username, password }) => [Some(username), Some(password)],
            Some(Auth::Bearer(token)) => [Some(token), None],
            None => [None, None],
        };
        std::iter::once(self.url_text.as_str())
            .chain(self.headers.iter().map(|header| header.value.as_str()))
            .chain(self.body.as_deref())
            .chain(self.proxy.as_deref())
            .chain(auth.into_iter().flatten())
    }

    pub(in crate::domain::check) fn secret_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for text in self.texts() {
            // Placeholders were checked when the monitor was saved; a broken one names nothing.
            let _ = secret::names(text, &mut names);
        }
        names
    }

    pub(in crate::domain::check) fn with_secrets(&self, secrets: &Taken) -> Result<Self, Invalid> {
        let mut filled = self.clone();
        let mut used = BTreeSet::new();
        let mut plain = |text: &str, field: &str| {
            secret::fill(text, |name| {
                let value = known(secrets, name)?;
                used.insert(value.to_owned());
                Ok(value.to_owned())
            })
            .map_err(|refusal| refusal.under(field))
        };
        for header in &mut filled.headers {
            let field = format!("headers.{}", header.name);
            header.secret = has_placeholder(&header.value);
            header.value = plain(&header.value, &field)?;
            header_value(&header.value, &field)?;
        }
        if let Some(body) = &mut filled.body {
            filled.body_is_secret = has_placeholder(body);
            *body = plain(body, "body")?;
        }
        match &mut filled.auth {
            Some(Auth::Basic { username, password }) => {
                *username = plain(username, "auth.basic.username")?;
                *password = plain(password, "auth.basic.password")?;
            }
            Some(Auth::Bearer(token)) => {
                *token = plain(token, "auth.bearer")?;
                header_value(token, "auth.bearer")?;
            }
            None => {}
        }
        let mut encoded = |text: &str, field: &str| {
            secret::fill(text, |name| {
                let value = known(secrets, name)?;
                used.insert(value.to_owned());
                Ok(for_url(value))
            })
            .map_err(|refusal| refusal.under(field))
        };
        filled.url_text = encoded(&filled.url_text, "url")?;
        filled.url = parse_url(&filled.url_text, "url", &["http", "https"])?;
        if let Some(proxy) = &mut filled.proxy {
            *proxy = encoded(proxy, "proxy")?;
            parse_url(proxy, "proxy", &["http"])?;
        }
        filled.filled.extend(used);
        Ok(filled)
    }

    pub(in crate::domain::check) fn take_inline_secrets(&mut self) -> Taken {
        let mut taken = Taken::new();
        match &mut self.auth {
            Some(Auth::Basic { password, .. }) => take(password, "auth.password", &mut taken),
            Some(Auth::Bearer(token)) => take(token, "auth.bearer", &mut taken),
            None => {}
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for header in self.headers.iter_mut().filter(|header| is_secret_header(&header.name)) {
            let name = header.name.to_ascii_lowercase();
            take(&mut header.value, &numbered("header", &name, &mut counts), &mut taken);
        }
        self.url_text = take_from_query(&self.url_text, &mut counts, &mut taken);
        if let Some(proxy) = &mut self.proxy {
            *proxy = take_from_user(proxy, &mut taken);
        }
        // The parsed form must not keep what the text has lost.
        if let Ok(url) = parse_url(&self.url_text, "url", &["http", "https"]) {
            self.url = url;
        }
        taken
    }

    /// Everything that must not leave the agent, as plain text.
    pub(super) fn secret_texts(&self) -> Vec<String> {
        let mut texts = self.filled.clone();
        match &self.auth {
            Some(Auth::Basic { username, password }) => {
                texts.push(password.clone());
                texts.push(format!("{username}:{password}"));
            }
            Some(Auth::Bearer(token)) => texts.push(token.clone()),
            None => {}
        }
        for header in
            self.headers.iter().filter(|header| header.secret || is_secret_header(&header.name))
        {
            texts.push(header.value.clone());
            // `Bearer abcd` may be echoed as `abcd`, and a cookie value without its name. Parts of a
            // few characters are no secrets, and hiding every `1` would leave no evidence.
            let token = header.value.split_once(' ').map(|(_, token)| token);
            let cookies = header
                .value
                .split(';')
                .filter_map(|pair| pair.split_once('='))
                .map(|(_, value)| value.trim());
            let cookies = cookies.filter(|_| header.name.eq_ignore_ascii_case("cookie"));
            texts.extend(
                token
                    .into_iter()
                    .chain(cookies)
                    .filter(|part| part.len() >= SHORTEST_PART)
                    .map(str::to_owned),
            );
        }
        let secret_pairs = self
            .url
            .query_pairs()
            .filter(|(name, _)| is_secret_parameter(name))
            .map(|(_, value)| value.into_owned());
        texts.extend(secret_pairs);
        if let Some(proxy) = self.proxy()
            && let Some(password) = proxy.password()
        {
            texts.push(password.to_owned());
        }
        texts
    }
}

/// Replaces a secret that stands in a field by its placeholder; `(hidden)` too, but that is no value.
fn take(text: &mut String, place: &str, taken: &mut Taken) {
    if text.is_empty() || has_placeholder(text) {
        return;
    }
    let value = std::mem::replace(text, inline_placeholder(place));
    if value != HIDDEN {
        taken.insert(inline_name(place), Secret::new(value));
    }
}

/// `header.cookie`, and `header.cookie.2` for the second.
fn numbered(part: &str, name: &str, counts: &mut BTreeMap<String, usize>) -> String {
    let safe: String = name
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
        .collect();
    let place = format!("{part}.{safe}");
    let count = counts.entry(place.clone()).or_default();
    *count += 1;
    if *count == 1 { place } else { format!("{place}.{count}") }
}

fn take_from_query(url: &str, counts: &mut BTreeMap<String, usize>, taken: &mut Taken) -> String {
    let (before, fragment) = match url.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (url, None),
    };
    let Some((path, query)) = before.split_once('?') else { return url.to_owned() };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value))
                if is_secret_parameter(name) && !value.is_empty() && !has_placeholder(value) =>
            {
                let place = numbered("query", name, counts);
                if value != HIDDEN {
                    let decoded = url::form_urlencoded::parse(format!("v={value}").as_bytes())
                        .next()
                        .map_or_else(|| value.to_owned(), |(_, value)| value.into_owned());
                    taken.insert(inline_name(&place), Secret::new(decoded));
                }
                format!("{name}={}", inline_placeholder(&place))
            }
            _ => pair.to_owned(),
        })
        .collect();
    let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
    format!("{path}?{}{fragment}", pairs.join("&"))
}

fn take_from_user(proxy: &str, taken: &mut Taken) -> String {
    let Some((scheme, rest)) = proxy.split_once("://") else { return proxy.to_owned() };
    let Some((user, host)) = rest.rsplit_once('@') else { return proxy.to_owned() };
    let Some((name, password)) = user.split_once(':') else { return proxy.to_owned() };
    if has_placeholder(password) || password.is_empty() {
        return proxy.to_owned();
    }
    if password != HIDDEN {
        let decoded =
            url::form_urlencoded::parse(format!("v={}", password.replace('+', "%2B")).as_bytes())
                .next()
                .map_or_else(|| password.to_owned(), |(_, value)| value.into_owned());
        taken.insert(inline_name("proxy.password"), Secret::new(decoded));
    }
    format!("{scheme}://{name}:{}@{host}", inline_placeholder("proxy.password"))
}
