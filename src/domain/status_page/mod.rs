//! Status pages: what somebody may put on one. How things are is never written here; it comes from the
//! timeline when the page is made.

pub mod post;

use std::collections::HashSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Invalid, monitor::Name, slug};

/// Most groups of a page, parts of all its groups, and links.
pub const MOST_GROUPS: usize = 50;
pub const MOST_PARTS: usize = 200;
pub const MOST_LINKS: usize = 10;

/// Longest line below a name, in characters.
pub const LONGEST_LINE: usize = 300;

/// Days that may be shown.
pub const DAYS: std::ops::RangeInclusive<u16> = 7..=90;

/// Parts under one heading; without a name they have none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub id: Uuid,
    pub name: String,
    pub parts: Vec<Part>,
}

/// What the public knows under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub id: Uuid,
    pub name: String,
    /// The name in the address of its badge.
    pub slug: String,
    pub description: String,
    pub about: About,
}

/// Where its state comes from: outside ids, never shown to the public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum About {
    Monitor(Uuid),
    Slo(Uuid),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = StatusLink)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// 1 to 60 characters.
    pub text: String,
    /// `http:`, `https:` or `mailto:`.
    pub url: String,
}

/// Names that stand for something else in addresses, or that would be taken for it.
const RESERVED: &[&str] = &[
    "admin",
    "api",
    "assets",
    "badge",
    "draft",
    "feed",
    "health",
    "history",
    "index",
    "login",
    "maintenance",
    "new",
    "posts",
    "preview",
    "quorate",
    "settings",
    "setup",
    "static",
    "status",
    "summary",
    "www",
];

/// The name of a page in its address.
pub fn check_slug(text: &str) -> Result<(), Invalid> {
    if !slug::is_slug(text) {
        let rule = "must be 1 to 63 of a-z, 0-9 and hyphens, with none at the ends, such as shop";
        return Err(Invalid::given("slug", text, rule));
    }
    if RESERVED.contains(&text) {
        return Err(Invalid::given(
            "slug",
            text,
            "is kept for the product's own addresses; choose another",
        ));
    }
    Ok(())
}

/// A host of the page's own, in lower case.
pub fn read_domain(text: &str) -> Result<String, Invalid> {
    let refused = |why: &str| Err(Invalid::given("domain", text, why));
    let host = text.trim().trim_end_matches('.').to_ascii_lowercase();
    if host.contains("://") || host.contains('/') || host.contains(':') {
        return refused(
            "must be a host name alone, such as status.shop.example, without https:// and without a port",
        );
    }
    if host.parse::<IpAddr>().is_ok() {
        return refused("is an address; a name such as status.shop.example is needed");
    }
    let label = |part: &str| slug::is_slug(part);
    let labels: Vec<&str> = host.split('.').collect();
    if host.len() > 253 || labels.len() < 2 || !labels.iter().all(|part| label(part)) {
        return refused(
            "is no host name such as status.shop.example; one with other letters is written as xn--…",
        );
    }
    if labels.last().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
        return refused("is no host name: its last part is a number");
    }
    Ok(host)
}

/// A line of plain text, at most so long; blanks at its ends are taken off.
pub fn read_line(field: &str, text: &str, longest: usize) -> Result<String, Invalid> {
    let text = text.trim();
    if text.chars().count() > longest {
        return Err(Invalid::new(field, format!("is longer than {longest} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(Invalid::new(field, "holds a control character; it is one line of plain text"));
    }
    Ok(text.to_owned())
}

pub fn check_days(days: u16) -> Result<(), Invalid> {
    if DAYS.contains(&days) {
        return Ok(());
    }
    Err(Invalid::new("days", format!("{days} is out of range: {} to {}", DAYS.start(), DAYS.end())))
}

/// Links as they are stored.
pub fn read_links(links: Vec<Link>) -> Result<Vec<Link>, Invalid> {
    if links.len() > MOST_LINKS {
        return Err(Invalid::new("links", format!("has more than {MOST_LINKS} links")));
    }
    let read = |(i, link): (usize, Link)| {
        let under = |invalid: Invalid| invalid.under(&format!("links[{i}]"));
        let text = read_line("text", &link.text, 60).map_err(under)?;
        if text.is_empty() {
            return Err(under(Invalid::new("text", "must not be empty")));
        }
        let url = link.url.trim();
        let parsed = url::Url::parse(url).ok();
        let fine = parsed.is_some_and(|url| match url.scheme() {
            "http" | "https" => {
                url.has_host() && url.username().is_empty() && url.password().is_none()
            }
            scheme => scheme == "mailto",
        });
        if !fine || url.len() > 2_000 {
            let rule =
                "is no address such as https://shop.example/contact or mailto:help@shop.example";
            return Err(under(Invalid::given("url", url, rule)));
        }
        Ok(Link { text, url: url.to_owned() })
    };
    links.into_iter().enumerate().map(read).collect()
}

/// Refuses too much, and what two parts may not share; gives each part the name that its badge has. A part's
/// id may stand only once.
pub fn settle(groups: &mut [Group]) -> Result<(), Invalid> {
    if groups.len() > MOST_GROUPS {
        return Err(Invalid::new("groups", format!("has more than {MOST_GROUPS} groups")));
    }
    if groups.iter().map(|group| group.parts.len()).sum::<usize>() > MOST_PARTS {
        return Err(Invalid::new("groups", format!("has more than {MOST_PARTS} parts in all")));
    }
    let (mut ids, mut names, mut slugs) = (HashSet::new(), HashSet::new(), HashSet::new());
    for (i, group) in groups.iter_mut().enumerate() {
        let under = |invalid: Invalid| invalid.under(&format!("groups[{i}]"));
        if !ids.insert(group.id) {
            return Err(under(Invalid::new("id", "stands here twice")));
        }
        group.name = read_line("name", &group.name, 200).map_err(under)?;
        for (j, part) in group.parts.iter_mut().enumerate() {
            let under = |invalid: Invalid| under(invalid.under(&format!("parts[{j}]")));
            if !ids.insert(part.id) {
                return Err(under(Invalid::new("id", "stands here twice")));
            }
            part.name = Name::parse("name", &part.name).map_err(under)?.into_string();
            if !names.insert(part.name.to_lowercase()) {
                return Err(under(Invalid::given(
                    "name",
                    &part.name,
                    "is the name of another part already",
                )));
            }
            part.description =
                read_line("description", &part.description, LONGEST_LINE).map_err(under)?;
            part.slug = free(&part.name, &mut slugs);
        }
    }
    Ok(())
}

/// The name of a part in an address; with a number when another part has it already.
fn free(name: &str, taken: &mut HashSet<String>) -> String {
    let base = slug::slug(name).unwrap_or_else(|| "part".to_owned());
    let mut candidate = base.clone();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{base}-{number}");
        number += 1;
    }
    candidate
}

/// All parts in the order of the page.
pub fn parts(groups: &[Group]) -> impl Iterator<Item = &Part> {
    groups.iter().flat_map(|group| &group.parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(names: &[&str]) -> Group {
        let part = |name: &&str| Part {
            id: Uuid::from_u128(
                1 + u128::from(name.len() as u64) * 1_000 + u128::from(name.as_bytes()[0]),
            ),
            name: (*name).to_owned(),
            slug: String::new(),
            description: String::new(),
            about: About::Monitor(Uuid::nil()),
        };
        Group { id: Uuid::nil(), name: String::new(), parts: names.iter().map(part).collect() }
    }

    #[test]
    fn names_of_pages_and_hosts_are_checked() {
        assert!(check_slug("shop-eu").is_ok());
        for wrong in ["", "Shop", "-a", "a b", "status", "api", &"a".repeat(64)] {
            assert_eq!(check_slug(wrong).unwrap_err().field, "slug", "{wrong}");
        }
        assert_eq!(read_domain(" Status.Shop.Example. ").unwrap(), "status.shop.example");
        for wrong in [
            "shop",
            "https://a.b",
            "a.b:80",
            "192.0.2.1",
            "1.2.3",
            "a..b",
            "-a.b",
            "a_b.c",
            "",
            "::1",
        ] {
            assert_eq!(read_domain(wrong).unwrap_err().field, "domain", "{wrong}");
        }
    }

    #[test]
    fn every_part_has_an_address_of_its_own() {
        let mut groups = [group(&["Check out", "check-out!", "…"])];
        settle(&mut groups).unwrap();
        let slugs: Vec<&str> = groups[0].parts.iter().map(|part| part.slug.as_str()).collect();
        assert_eq!(slugs, ["check-out", "check-out-2", "part"]);
        let refused = settle(&mut [group(&["Same", "sAME"])]).unwrap_err();
        assert_eq!(refused.field, "groups[0].parts[1].name");
    }

    #[test]
    fn links_go_to_the_web_or_to_a_mailbox() {
        let link = |url: &str| vec![Link { text: " Help ".into(), url: url.into() }];
        assert_eq!(read_links(link("mailto:a@shop.example")).unwrap()[0].text, "Help");
        assert!(read_links(link("https://shop.example/a?b=1")).is_ok());
        for wrong in [
            "javascript:alert(1)",
            "data:text/html,x",
            "/here",
            "https://",
            "https://a:b@shop.example",
            "",
        ] {
            assert_eq!(read_links(link(wrong)).unwrap_err().field, "links[0].url", "{wrong}");
        }
    }
}
