//! What answers were like, as far as it hardly ever changes: the certificate, the version of HTTP. It is
//! written only when it differs from what this process wrote last.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::observation::Observation;
use crate::store;
use crate::store::answers::AnswerRow;
use crate::store::reports::CertificateRow;

type Place = (MonitorKey, LocationKey);

/// What was stored last: fingerprints of certificates, and answers.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<Place, Last>>);

#[derive(Debug, Default)]
struct Last {
    fingerprint: Option<String>,
    answer: Option<AnswerRow>,
}

/// What a batch says that was not known.
#[derive(Debug, Default)]
pub(super) struct News {
    certificates: Vec<CertificateRow>,
    answers: Vec<AnswerRow>,
}

impl Known {
    /// Notes what differs from what was stored last.
    pub(super) fn note(
        &self,
        place: Place,
        at: Timestamp,
        observation: &Observation,
        news: &mut News,
    ) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.get(&place);
        if let Some(certificate) = &observation.certificate
            && last.and_then(|last| last.fingerprint.as_ref()) != Some(&certificate.fingerprint)
        {
            news.certificates.retain(|row| (row.monitor, row.location) != place);
            news.certificates.push(CertificateRow {
                monitor: place.0,
                location: place.1,
                seen_at: at,
                fingerprint: certificate.fingerprint.clone(),
                facts: serde_json::to_value(certificate).unwrap_or_default(),
            });
        }
        // Where nobody answered there is no answer to describe.
        if observation.status.is_none() {
            return;
        }
        let answer = answer(place, observation);
        // A later one of the same batch may be as the stored one again.
        news.answers.retain(|row| (row.monitor, row.location) != place);
        if last.and_then(|last| last.answer.as_ref()) != Some(&answer) {
            news.answers.push(answer);
        }
    }

    /// Remembers what was stored, once it surely is.
    pub(super) fn remember(&self, news: News) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in news.certificates {
            let last = known.entry((row.monitor, row.location)).or_default();
            last.fingerprint = Some(row.fingerprint);
        }
        for row in news.answers {
            let place = (row.monitor, row.location);
            known.entry(place).or_default().answer = Some(row);
        }
    }
}

impl News {
    pub(super) async fn save(&self, conn: &mut PgConnection) -> sqlx::Result<()> {
        store::reports::upsert_certificates(conn, &self.certificates).await?;
        store::answers::upsert(conn, &self.answers).await
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
