//! What somebody writes of a status page, made into what is stored.

use std::collections::HashSet;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    AppState,
    error::{ApiError, ApiResult},
    status_pages::{ChangeStatusPage, NewStatusGroup, NewStatusPage, NewStatusPart},
};
use crate::{
    domain::{
        monitor::Name,
        slo::window::zone,
        status_page::{
            self, About, Group, LONGEST_LINE, Part, check_days, check_slug, read_domain, read_line,
            read_links,
        },
    },
    store::{
        self,
        status_pages::{Named, Values},
    },
};

/// Hosts by which the product itself is reached: none of them may become a page's.
pub async fn own_hosts(
    state: &AppState,
    conn: &mut PgConnection,
    headers: &HeaderMap,
) -> ApiResult<Vec<String>> {
    let public = state.public_url(conn).await?;
    let known = [&public, &state.config.listen_url];
    let mut hosts: Vec<String> =
        known.into_iter().filter_map(|url| url.host_str()).map(str::to_ascii_lowercase).collect();
    // Whoever is saving would cut off themselves.
    hosts.extend(headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(host_of));
    Ok(hosts)
}

/// A host without its port, in lower case.
pub fn host_of(authority: &str) -> String {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

pub async fn new(
    conn: &mut PgConnection,
    form: NewStatusPage,
    own: &[String],
    now: Timestamp,
) -> ApiResult<Values> {
    let values = Values {
        slug: form.slug,
        name: form.name,
        headline: form.headline,
        timezone: form.timezone.unwrap_or_else(|| "UTC".to_owned()),
        domain: form.domain,
        published: form.published,
        days: form.days.unwrap_or(*status_page::DAYS.end()),
        groups: groups(conn, form.groups, &[], now).await?,
        links: form.links,
    };
    checked(values, own)
}

/// What is left out stays as it was.
pub async fn changed(
    conn: &mut PgConnection,
    old: &Values,
    change: ChangeStatusPage,
    own: &[String],
    now: Timestamp,
) -> ApiResult<Values> {
    let groups = match change.groups {
        Some(given) => groups(conn, given, &old.groups, now).await?,
        None => old.groups.clone(),
    };
    let values = Values {
        slug: change.slug.unwrap_or_else(|| old.slug.clone()),
        name: change.name.unwrap_or_else(|| old.name.clone()),
        headline: change.headline.unwrap_or_else(|| old.headline.clone()),
        timezone: change.timezone.unwrap_or_else(|| old.timezone.clone()),
        domain: change.domain.unwrap_or_else(|| old.domain.clone()),
        published: change.published.unwrap_or(old.published),
        days: change.days.unwrap_or(old.days),
        groups,
        links: change.links.unwrap_or_else(|| old.links.clone()),
    };
    checked(values, own)
}

fn checked(mut values: Values, own: &[String]) -> ApiResult<Values> {
    values.name = Name::parse("name", &values.name)?.into_string();
    check_slug(&values.slug)?;
    values.headline = read_line("headline", &values.headline, LONGEST_LINE)?;
    zone(&values.timezone)?;
    check_days(values.days)?;
    values.domain = values.domain.as_deref().map(read_domain).transpose()?;
    if let Some(domain) = values.domain.as_ref().filter(|domain| own.contains(domain)) {
        let why = "is where the product itself is reached, which would be gone; give the page a host of its own";
        return Err(ApiError::given("domain", domain, why));
    }
    status_page::settle(&mut values.groups)?;
    values.links = read_links(values.links)?;
    Ok(values)
}

/// Groups with ids and with what their parts are about. Only an id that the page has may be given.
async fn groups(
    conn: &mut PgConnection,
    given: Vec<NewStatusGroup>,
    old: &[Group],
    now: Timestamp,
) -> ApiResult<Vec<Group>> {
    let known: HashSet<Uuid> = old.iter().map(|group| group.id).collect();
    let known_parts: HashSet<Uuid> = status_page::parts(old).map(|part| part.id).collect();
    let words = |of: fn(&NewStatusPart) -> &Option<String>| -> Vec<String> {
        given.iter().flat_map(|group| &group.parts).filter_map(|part| of(part).clone()).collect()
    };
    let monitors = store::status_pages::monitors_named(conn, &words(|part| &part.monitor)).await?;
    let slos = store::status_pages::slos_named(conn, &words(|part| &part.slo)).await?;
    let id = |field: String, given: Option<Uuid>, known: &HashSet<Uuid>| match given {
        None => Ok(store::id_at(now)),
        Some(id) if known.contains(&id) => Ok(id),
        Some(id) => {
            let why = "is not on this page; leave the id out for a new one";
            Err(ApiError::given(field, &id.to_string(), why))
        }
    };
    let mut all = Vec::with_capacity(given.len());
    for (i, group) in given.into_iter().enumerate() {
        let mut parts = Vec::with_capacity(group.parts.len());
        for (j, part) in group.parts.into_iter().enumerate() {
            let path = format!("groups[{i}].parts[{j}]");
            parts.push(Part {
                id: id(format!("{path}.id"), part.id, &known_parts)?,
                about: about(&path, &part, &monitors, &slos)?,
                name: part.name,
                slug: String::new(),
                description: part.description,
            });
        }
        let id = id(format!("groups[{i}].id"), group.id, &known)?;
        all.push(Group { id, name: group.name, parts });
    }
    Ok(all)
}

fn about(path: &str, part: &NewStatusPart, monitors: &[Named], slos: &[Named]) -> ApiResult<About> {
    let find = |list: &[Named], word: &str| {
        list.iter().find(|one| one.name == word || one.uid.to_string() == word).map(|one| one.uid)
    };
    match (&part.monitor, &part.slo) {
        (Some(word), None) => match find(monitors, word) {
            Some(id) => Ok(About::Monitor(id)),
            None => Err(ApiError::given(format!("{path}.monitor"), word, "is no monitor")),
        },
        (None, Some(word)) => match find(slos, word) {
            Some(id) => Ok(About::Slo(id)),
            None => Err(ApiError::given(format!("{path}.slo"), word, "is no SLO")),
        },
        (None, None) => Err(ApiError::invalid(
            format!("{path}.monitor"),
            "is missing: name a monitor, or an slo",
        )),
        (Some(_), Some(_)) => Err(ApiError::invalid(
            format!("{path}.slo"),
            "stands beside a monitor; a part is one of both",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn ports_and_the_last_dot_are_no_part_of_a_name() {
        assert_eq!(host_of("Status.Shop.Example:8443"), "status.shop.example");
        assert_eq!(host_of("status.shop.example."), "status.shop.example");
        assert_eq!(host_of("[::1]:80"), "[::1]");
    }
}
