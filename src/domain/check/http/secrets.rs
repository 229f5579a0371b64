//! The secrets of an HTTP check: naming, taking out, filling in, and finding them again.

use std::collections::{BTreeMap, BTreeSet};

use super::{Auth, HttpCheck};
use crate::domain::Invalid;
use crate::domain::check::headers::{self, header_value};
use crate::domain::check::secret::{
    self, Filling, Secrets, has_placeholder, inline_name, inline_placeholder, take, take_from_query,
};
use crate::domain::check::shared::parse_url;
use crate::domain::redactor::{HIDDEN, is_secret_parameter};
use crate::domain::secret::Secret;

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

    pub(super) fn names_of_secrets(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for text in self.texts() {
            // Placeholders were checked when the monitor was saved; a broken one names nothing.
            let _ = secret::names(text, &mut names);
        }
        names
    }

    pub(super) fn filled_with(&self, secrets: &Secrets) -> Result<Self, Invalid> {
        let mut filled = self.clone();
        let mut filling = Filling::from(secrets);
        headers::fill(&mut filled.headers, "headers", &mut filling)?;
        if let Some(body) = &mut filled.body {
            filled.body_is_secret = has_placeholder(body);
            *body = filling.plain(body, "body")?;
        }
        match &mut filled.auth {
            Some(Auth::Basic { username, password }) => {
                *username = filling.plain(username, "auth.basic.username")?;
                *password = filling.plain(password, "auth.basic.password")?;
            }
            Some(Auth::Bearer(token)) => {
                *token = filling.plain(token, "auth.bearer")?;
                header_value(token, "auth.bearer")?;
            }
            None => {}
        }
        filled.url_text = filling.in_url(&filled.url_text, "url")?;
        filled.url = parse_url(&filled.url_text, "url", &["http", "https"])?;
        if let Some(proxy) = &mut filled.proxy {
            *proxy = filling.in_url(proxy, "proxy")?;
            parse_url(proxy, "proxy", &["http"])?;
        }
        filled.filled.extend(filling.used);
        Ok(filled)
    }

    pub(super) fn take_secrets(&mut self) -> Secrets {
        let mut taken = Secrets::new();
        match &mut self.auth {
            Some(Auth::Basic { password, .. }) => take(password, "auth.password", &mut taken),
            Some(Auth::Bearer(token)) => take(token, "auth.bearer", &mut taken),
            None => {}
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        headers::take_secrets(&mut self.headers, &mut counts, &mut taken);
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
        texts.extend(headers::secret_texts(&self.headers));
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

fn take_from_user(proxy: &str, taken: &mut Secrets) -> String {
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
