//! The last final result of every monitor at every location, under the names that blackbox_exporter gives them
//! (spec: slo 1.7, 5.3), so that dashboards and alerts made for it work unchanged: `job` is the monitor,
//! `instance` its address, `probe` the location. The scrape needs `honor_labels: true`.

use std::time::Duration;

use jiff::Timestamp;
use sqlx::PgConnection;

use super::{
    error::ApiResult,
    exposition::{Exposition, Family, Kind},
    metrics::{number, stamp},
};
use crate::{
    domain::observation::{Certificate, Class},
    store::{self, metrics_read::LastRow},
};

/// A result with what is derived from it once.
struct Last {
    row: LastRow,
    /// None when the result had no handshake: the certificate is of an earlier one then.
    certificate: Option<Certificate>,
}

impl Last {
    fn of(row: LastRow) -> Self {
        let certificate = row
            .certificate
            .clone()
            .filter(|_| row.tls_us.is_some())
            .and_then(|facts| serde_json::from_value(facts).ok());
        Self { row, certificate }
    }

    fn labels(&self) -> [(&str, &str); 3] {
        [("job", &self.row.monitor), ("instance", &self.row.url), ("probe", &self.row.location)]
    }

    /// Somebody answered.
    fn answered(&self) -> bool {
        self.row.status.is_some()
    }
}

pub async fn write(
    page: &mut Exposition,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let rows = store::metrics_read::last_results(conn, now).await?;
    let all: Vec<Last> = rows.into_iter().map(Last::of).collect();
    common(page, &all);
    http(page, &all);
    certificates(page, &all);
    Ok(())
}

fn gauge(
    page: &mut Exposition,
    name: &str,
    help: &'static str,
    all: &[Last],
    value: impl Fn(&Last) -> Option<f64>,
) {
    let mut family = page.family(Kind::Gauge, name, help);
    for last in all {
        family.add_if(&last.labels(), value(last));
    }
}

fn seconds(us: i32) -> f64 {
    Duration::from_micros(us.unsigned_abs().into()).as_secs_f64()
}

fn common(page: &mut Exposition, all: &[Last]) {
    gauge(page, "probe_success", "Whether the last result was a pass", all, |last| {
        Some(number(last.row.passed))
    });
    gauge(page, "probe_duration_seconds", "How long the last result took", all, |last| {
        Some(seconds(last.row.total_us))
    });
    gauge(page, "probe_timeout_seconds", "How long it may take at most", all, |last| {
        Some(f64::from(last.row.timeout_ms) / 1e3)
    });
    gauge(page, "probe_dns_lookup_time_seconds", "How long the name's look-up took", all, |last| {
        last.row.resolve_us.map(seconds)
    });
    gauge(page, "probe_ip_protocol", "4 or 6, the protocol of the last answer", all, |last| {
        last.row.ip_protocol.filter(|_| last.answered()).map(f64::from)
    });
}

fn http(page: &mut Exposition, all: &[Last]) {
    let mut phases = page.family(
        Kind::Gauge,
        "probe_http_duration_seconds",
        "How long each phase of the request took, summed over redirects",
    );
    for last in all {
        phase(&mut phases, last);
    }
    gauge(page, "probe_http_status_code", "Status of the answer, 0 without one", all, |last| {
        Some(f64::from(last.row.status.unwrap_or(0)))
    });
    gauge(
        page,
        "probe_http_version",
        "Version of HTTP of the answer, 0 without one",
        all,
        |last| {
            let version = last.row.http_version.as_deref().filter(|_| last.answered());
            Some(version.and_then(|text| text.parse().ok()).unwrap_or(0.0))
        },
    );
    gauge(page, "probe_http_ssl", "Whether there was a TLS handshake", all, |last| {
        Some(number(last.row.tls_us.is_some()))
    });
    gauge(page, "probe_http_redirects", "Redirects that were followed", all, |last| {
        Some(f64::from(last.row.redirects.filter(|_| last.answered()).unwrap_or(0)))
    });
    gauge(
        page,
        "probe_http_uncompressed_body_length",
        "Bytes of the body that were read, decoded",
        all,
        |last| last.row.size_bytes.map(f64::from),
    );
    gauge(
        page,
        "probe_failed_due_to_regex",
        "Whether a condition on the answer did not hold",
        all,
        |last| Some(number(last.row.class == Class::Assertion.code())),
    );
}

fn phase(family: &mut Family<'_>, last: &Last) {
    let row = &last.row;
    for (name, us) in [
        ("resolve", row.resolve_us),
        ("connect", row.connect_us),
        ("tls", row.tls_us),
        ("processing", row.first_byte_us),
        ("transfer", row.transfer_us),
    ] {
        let [job, instance, probe] = last.labels();
        family.add_if(&[job, instance, probe, ("phase", name)], us.map(seconds));
    }
}

fn certificates(page: &mut Exposition, all: &[Last]) {
    for (name, help) in [
        ("probe_ssl_earliest_cert_expiry", "When the first certificate of the chain expires"),
        (
            "probe_ssl_last_chain_expiry_timestamp_seconds",
            "When the chain that was verified expires",
        ),
    ] {
        gauge(page, name, help, all, |last| last.certificate.as_ref().map(|c| stamp(c.not_after)));
    }
    let mut chain =
        page.family(Kind::Gauge, "probe_ssl_last_chain_info", "The certificate of the server");
    for last in all {
        let Some(c) = &last.certificate else { continue };
        let [job, instance, probe] = last.labels();
        let names = c.names.join(",");
        let labels = [
            job,
            instance,
            probe,
            ("fingerprint_sha256", &*c.fingerprint),
            ("subject", &*c.subject),
            ("issuer", &*c.issuer),
            ("subjectalternative", &*names),
        ];
        chain.add(&labels, 1.0);
    }
    let mut version =
        page.family(Kind::Gauge, "probe_tls_version_info", "The version of TLS that was agreed on");
    for last in all {
        let Some(text) = last.certificate.as_ref().and_then(|c| c.tls_version.as_deref()) else {
            continue;
        };
        let [job, instance, probe] = last.labels();
        version.add(&[job, instance, probe, ("version", text)], 1.0);
    }
}
