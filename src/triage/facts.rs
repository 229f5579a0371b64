//! What answers were like, as far as it hardly ever changes: the certificate, the version of HTTP. It is
//! written when it differs from what this process wrote last; of a certificate now and then also that it is
//! still shown.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::rows::Fresh;
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::observation::{Certificate, Class, Observation};
use crate::store;
use crate::store::answers::AnswerRow;
use crate::store::certificates::SightRow;

type Place = (MonitorKey, LocationKey);

/// That a certificate is still shown is written so often.
const REFRESH: SignedDuration = SignedDuration::from_mins(20);
/// So many addresses of a place are remembered.
const ADDRESSES: usize = 16;

/// What was stored last: certificates, and answers.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<Place, Last>>);

#[derive(Debug, Default)]
struct Last {
    /// Of each address, the latest at the end.
    shown: Vec<Shown>,
    answer: Option<AnswerRow>,
}

/// A certificate as it was stored.
#[derive(Debug)]
struct Shown {
    address: String,
    fingerprint: String,
    check_version: i32,
    valid: bool,
    at: Timestamp,
}

impl Shown {
    /// Whether a report says the same, so shortly after that it need not be written again.
    fn is(&self, address: &str, fresh: &Fresh<'_>, certificate: &Certificate) -> bool {
        self.address == address
            && self.fingerprint == certificate.fingerprint
            && u32::try_from(self.check_version) == Ok(fresh.report.check_version)
            && self.valid == certificate.valid
            && fresh.at.duration_since(self.at) < REFRESH
    }
}

/// What a batch says that was not known.
#[derive(Debug, Default)]
pub(super) struct News {
    certificates: Vec<SightRow>,
    answers: Vec<AnswerRow>,
}

impl Known {
    /// Notes what differs from what was stored last. Of a report on other settings than `check_version`, which
    /// comes late, the certificate is left out.
    pub(super) fn note(
        &self,
        place: Place,
        fresh: &Fresh<'_>,
        check_version: u32,
        news: &mut News,
    ) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.get(&place);
        let observation = &fresh.report.observation;
        if let Some(certificate) = &observation.certificate
            && fresh.report.check_version == check_version
        {
            let address = address(observation);
            let stored = last.is_some_and(|last| {
                last.shown.iter().any(|one| one.is(&address, fresh, certificate))
            });
            let waiting = news
                .certificates
                .iter()
                .position(|row| (row.monitor, row.location) == place && row.address == address);
            match waiting {
                // A later one of the same batch counts.
                Some(i) => news.certificates[i] = sight(place, address, fresh, certificate),
                None if stored => {}
                None => news.certificates.push(sight(place, address, fresh, certificate)),
            }
        }
        // Where nobody answered there is no answer to describe.
        if observation.status.is_none() {
            return;
        }
        let answer = answer(place, observation);
        news.answers.retain(|row| (row.monitor, row.location) != place);
        if last.and_then(|last| last.answer.as_ref()) != Some(&answer) {
            news.answers.push(answer);
        }
    }

    /// Remembers what was stored, once it surely is.
    pub(super) fn remember(&self, news: News) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in news.certificates {
            let shown = &mut known.entry((row.monitor, row.location)).or_default().shown;
            shown.retain(|one| one.address != row.address);
            if shown.len() >= ADDRESSES {
                shown.remove(0);
            }
            shown.push(Shown {
                address: row.address,
                fingerprint: row.fingerprint,
                check_version: row.check_version,
                valid: row.valid,
                at: row.last,
            });
        }
        for row in news.answers {
            let place = (row.monitor, row.location);
            known.entry(place).or_default().answer = Some(row);
        }
    }
}

impl News {
    pub(super) async fn save(&self, conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
        store::certificates::put(conn, &self.certificates, now).await?;
        store::answers::upsert(conn, &self.answers).await
    }
}

fn address(observation: &Observation) -> String {
    observation.address.as_deref().unwrap_or_default().replace('\0', "")
}

fn sight(place: Place, address: String, fresh: &Fresh<'_>, certificate: &Certificate) -> SightRow {
    let observation = &fresh.report.observation;
    SightRow {
        monitor: place.0,
        location: place.1,
        address,
        fingerprint: certificate.fingerprint.replace('\0', ""),
        check_version: i32::try_from(fresh.report.check_version).unwrap_or(i32::MAX),
        since: fresh.at,
        last: fresh.at,
        // A certificate may claim any date, and the database holds none before 4713 BC.
        not_after: certificate.not_after.max(Timestamp::UNIX_EPOCH),
        valid: certificate.valid,
        problem: problem(certificate, observation).map(|text| text.replace('\0', "")),
        facts: serde_json::to_value(certificate).unwrap_or_default(),
    }
}

/// Why a certificate is not valid.
fn problem(certificate: &Certificate, observation: &Observation) -> Option<String> {
    let of_it = observation.class.is_some_and(|class| {
        matches!(
            class,
            Class::TlsExpired
                | Class::TlsNotYetValid
                | Class::TlsNameMismatch
                | Class::TlsUntrusted
                | Class::TlsIncompleteChain
        )
    });
    match (certificate.valid, of_it) {
        (true, _) => None,
        (false, true) if !observation.message.is_empty() => Some(observation.message.clone()),
        (false, true) => observation.class.map(|class| class.sentence().to_owned()),
        (false, false) => {
            Some("It is not valid for this address; the monitor does not ask for that.".to_owned())
        }
    }
}

fn answer(place: Place, observation: &Observation) -> AnswerRow {
    let address = observation.address.as_ref().and_then(|text| text.parse().ok());
    AnswerRow {
        monitor: place.0,
        location: place.1,
        http_version: observation.http_version.clone(),
        redirects: i16::try_from(observation.hops.len()).unwrap_or(i16::MAX),
        ip_protocol: address.map(|ip| match ip {
            IpAddr::V4(_) => 4,
            IpAddr::V6(_) => 6,
        }),
    }
}
