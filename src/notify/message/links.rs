//! Where a message leads.

use url::Url;

use super::Surroundings;
use crate::domain::notice::Notice;

pub(super) fn links(notice: &Notice, around: &Surroundings) -> Vec<(&'static str, String)> {
    let mut links = Vec::new();
    let incident = incident_url(notice, around.public_url.as_ref());
    links.extend(incident.map(|url| ("Incident", url)));
    links.extend(monitor_url(notice, around.public_url.as_ref()).map(|url| ("Monitor", url)));
    links.extend(fleet_url(notice, around.public_url.as_ref()).map(|url| ("Fleet", url)));
    links.extend(slo_url(notice, around.public_url.as_ref()).map(|url| ("SLO", url)));
    let runbook = notice.monitor.as_ref().and_then(|monitor| monitor.runbook_url.as_deref());
    // Anything else than a web address must not become a link that somebody presses at night.
    let runbook = runbook
        .and_then(|text| Url::parse(text).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    links.extend(runbook.map(|url| ("Runbook", String::from(url))));
    links
}

pub fn incident_url(notice: &Notice, public_url: Option<&Url>) -> Option<String> {
    page(public_url?, &format!("incidents/{}", notice.incident.uid))
}

pub fn monitor_url(notice: &Notice, public_url: Option<&Url>) -> Option<String> {
    page(public_url?, &format!("monitors/{}", notice.monitor.as_ref()?.uid))
}

pub fn fleet_url(notice: &Notice, public_url: Option<&Url>) -> Option<String> {
    page(public_url?, &format!("fleets/{}", notice.fleet.as_ref()?.uid))
}

pub fn slo_url(notice: &Notice, public_url: Option<&Url>) -> Option<String> {
    page(public_url?, &format!("slos/{}", notice.slo.as_ref()?.uid))
}

/// A page under the public address, which may have a path of its own.
pub fn page(public_url: &Url, path: &str) -> Option<String> {
    let mut base = public_url.clone();
    base.set_query(None);
    base.set_fragment(None);
    if !base.path().ends_with('/') {
        let with_slash = format!("{}/", base.path());
        base.set_path(&with_slash);
    }
    base.join(path).ok().map(String::from)
}
