//! Which channels or which policy an incident gets: what its monitor says itself, else the first route that
//! fits its labels, else the default channels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::Invalid;

/// What a route does, as stored and as the API takes and gives it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = AlertRouteRules)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// It fits what has all of these labels; without any it fits everything.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Told at once, beside the escalation if there is one.
    #[serde(default)]
    pub channels: Option<Vec<Uuid>>,
    #[serde(default)]
    pub escalation: Option<Uuid>,
}

impl Rules {
    /// Refuses a route that leads nowhere; labels and whom it names are checked by who reads them.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.channels.is_none() && self.escalation.is_none() {
            return Err(Invalid::new(
                "escalation",
                "is missing: name an escalation, channels, or both; an empty list of channels tells nobody",
            ));
        }
        Ok(())
    }

    pub fn fits(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|(name, value)| labels.get(name) == Some(value))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub id: Uuid,
    pub name: String,
    pub rules: Rules,
}

/// What a monitor, SLO or fleet says itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    pub channels: Option<Vec<Uuid>>,
    pub escalation: Option<Uuid>,
    pub labels: BTreeMap<String, String>,
}

/// Who is told, and by whose word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience<'a> {
    pub by: By<'a>,
    /// None: with an escalation nobody beside it, else the default channels.
    pub channels: Option<&'a [Uuid]>,
    pub escalation: Option<Uuid>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    Own,
    Route(&'a Route),
    Default,
}

/// Whom `own` is told to; `routes` in their order.
pub fn audience<'a>(own: &'a Own, routes: &'a [Route]) -> Audience<'a> {
    if own.channels.is_some() || own.escalation.is_some() {
        let channels = own.channels.as_deref();
        return Audience { by: By::Own, channels, escalation: own.escalation };
    }
    match routes.iter().find(|route| route.rules.fits(&own.labels)) {
        Some(route) => Audience {
            by: By::Route(route),
            channels: route.rules.channels.as_deref(),
            escalation: route.rules.escalation,
        },
        None => Audience { by: By::Default, channels: None, escalation: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn route(name: &str, wants: &[(&str, &str)], channel: u128) -> Route {
        let channels = Some(vec![Uuid::from_u128(channel)]);
        let rules = Rules { labels: labels(wants), channels, escalation: None };
        Route { id: Uuid::from_u128(channel), name: name.to_owned(), rules }
    }

    #[test]
    fn own_words_come_before_routes_and_routes_before_the_default() {
        let routes = [
            route("pay", &[("team", "shop"), ("tier", "1")], 1),
            route("shop", &[("team", "shop")], 2),
        ];
        let by = |own: &Own| match audience(own, &routes).by {
            By::Own => "own".to_owned(),
            By::Route(route) => route.name.clone(),
            By::Default => "default".to_owned(),
        };
        let of = |pairs| Own { labels: labels(pairs), ..Own::default() };
        assert_eq!(by(&of(&[("team", "shop"), ("tier", "1")])), "pay");
        assert_eq!(by(&of(&[("team", "shop"), ("tier", "2")])), "shop");
        assert_eq!(by(&of(&[("tier", "1")])), "default");
        assert_eq!(by(&of(&[])), "default");
        let own = Own { channels: Some(Vec::new()), ..of(&[("team", "shop")]) };
        assert_eq!(by(&own), "own");
        let own = Own { escalation: Some(Uuid::from_u128(9)), ..of(&[("team", "shop")]) };
        assert_eq!(by(&own), "own");
        let all = [route("rest", &[], 3)];
        assert_eq!(audience(&of(&[]), &all).channels, Some(&[Uuid::from_u128(3)][..]));
    }

    #[test]
    fn a_route_leads_somewhere() {
        assert_eq!(Rules::default().check().unwrap_err().field, "escalation");
        assert!(Rules { channels: Some(Vec::new()), ..Rules::default() }.check().is_ok());
    }
}
