//! How far trouble reaches, and what those who see it have in common. For people; it never changes a
//! verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::verdict::{Counted, counted};
use super::vote::VoteState;
use super::{Inputs, Live};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Scope {
    /// Everybody who counts sees it fail.
    Global,
    /// Exactly these regions see it fail.
    Regions { regions: Vec<String> },
    /// Exactly this failure domain sees it fail.
    Domain { domain: String },
    /// All who see it fail reached the same edge, and nobody who passes did.
    Edge { attribute: Attribute, value: String },
    /// No line separates them.
    Split,
}

impl Scope {
    /// A short phrase: `global`, `region eu`, `one edge address: 203.0.113.10`.
    pub fn phrase(&self) -> String {
        match self {
            Scope::Global => "global".to_owned(),
            Scope::Regions { regions } if regions.len() == 1 => {
                format!("region {}", regions.join(""))
            }
            Scope::Regions { regions } => format!("regions {}", regions.join(", ")),
            Scope::Domain { domain } => format!("one network: {domain}"),
            Scope::Edge { attribute, value } => match attribute {
                Attribute::Address => format!("one edge address: {value}"),
                Attribute::Asn => format!("one network at the target: {value}"),
                Attribute::Pop => format!("one point of presence: {value}"),
                Attribute::Region => format!("one region: {value}"),
                Attribute::Domain => format!("one network: {value}"),
            },
            Scope::Split => "split".to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Attribute {
    Address,
    Asn,
    Pop,
    Region,
    Domain,
}

/// Something that all failing locations have and no passing one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Shared {
    pub attribute: Attribute,
    pub value: String,
    /// What those who pass have instead: location and value, none where it is not known.
    #[serde(skip)]
    pub others: Vec<(LocationKey, Option<String>)>,
}

/// How far it reaches; asked only while somebody is down.
pub fn of(live: &Live, inputs: &Inputs<'_>, now: Millis) -> Scope {
    let (down, up) = sides(live, inputs, now);
    let all = counted(live, inputs, now).count();
    if down.len() == all {
        return Scope::Global;
    }
    // One location alone shares everything with itself, which says nothing.
    if down.len() >= 2 && !up.is_empty() {
        let edge = [Attribute::Address, Attribute::Asn, Attribute::Pop]
            .into_iter()
            .find_map(|attribute| shared_by(attribute, &down, &up));
        if let Some(Shared { attribute, value, .. }) = edge {
            return Scope::Edge { attribute, value };
        }
    }
    let separates = |label: fn(&Counted<'_>) -> String| {
        let failing: BTreeSet<String> = down.iter().map(label).collect();
        let clean = counted(live, inputs, now)
            .filter(|c| c.vote.state != VoteState::Down)
            .all(|c| !failing.contains(&label(&c)));
        clean.then_some(failing)
    };
    if let Some(regions) = separates(|c| c.seat.region.clone()) {
        return Scope::Regions { regions: regions.into_iter().collect() };
    }
    if let Some(domains) = separates(|c| c.seat.domain.clone())
        && let Some(domain) = domains.first().filter(|_| domains.len() == 1)
    {
        return Scope::Domain { domain: domain.clone() };
    }
    Scope::Split
}

/// Everything that separates those who see it fail from those who pass, most telling first. Empty
/// unless there are both.
pub fn shared(live: &Live, inputs: &Inputs<'_>, now: Millis) -> Vec<Shared> {
    let (down, up) = sides(live, inputs, now);
    if down.is_empty() || up.is_empty() {
        return Vec::new();
    }
    [Attribute::Address, Attribute::Asn, Attribute::Pop, Attribute::Region, Attribute::Domain]
        .into_iter()
        .filter_map(|attribute| shared_by(attribute, &down, &up))
        .collect()
}

fn sides<'a>(
    live: &'a Live,
    inputs: &'a Inputs<'_>,
    now: Millis,
) -> (Vec<Counted<'a>>, Vec<Counted<'a>>) {
    let of = |states: &'static [VoteState]| {
        counted(live, inputs, now).filter(|c| states.contains(&c.vote.state)).collect()
    };
    (of(&[VoteState::Down]), of(&[VoteState::Up, VoteState::Slow]))
}

fn shared_by(attribute: Attribute, down: &[Counted<'_>], up: &[Counted<'_>]) -> Option<Shared> {
    let value = value_of(attribute, down.first()?)?;
    let all = down.iter().all(|c| value_of(attribute, c).as_ref() == Some(&value));
    let others: Vec<_> = up.iter().map(|c| (c.seat.key, value_of(attribute, c))).collect();
    let nobody_else = others.iter().all(|(_, other)| other.as_ref() != Some(&value));
    (all && nobody_else).then_some(Shared { attribute, value, others })
}

fn value_of(attribute: Attribute, c: &Counted<'_>) -> Option<String> {
    match attribute {
        Attribute::Address => c.vote.saw.address.clone(),
        Attribute::Asn => c.vote.saw.asn.map(|asn| format!("AS{asn}")),
        Attribute::Pop => c.vote.saw.pop.clone(),
        Attribute::Region => Some(c.seat.region.clone()),
        Attribute::Domain => Some(c.seat.domain.clone()),
    }
}
