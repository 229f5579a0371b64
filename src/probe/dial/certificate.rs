//! What a certificate chain says, and whether it is good, with the exact reason if it is not.

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use sha2::{Digest, Sha256};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::tls::TlsSettings;
use crate::domain::certificate::days_left;
use crate::domain::observation::{Certificate, Class};
use crate::probe::trace::Failure;

const DAY_S: i64 = 86_400;

/// The facts (none if the leaf cannot be read) and the judgement.
pub(super) fn inspect(
    chain: &[CertificateDer<'_>],
    name: &ServerName<'_>,
    tls: &TlsSettings,
    now: Timestamp,
) -> (Option<Certificate>, Result<(), Failure>) {
    let Some((leaf_der, sent)) = chain.split_first() else {
        return (None, Err(Failure::new(Class::TlsHandshake, "The server sent no certificate.")));
    };
    let Ok((_, leaf)) = X509Certificate::from_der(leaf_der) else {
        return (
            None,
            Err(Failure::new(Class::TlsHandshake, "The server's certificate cannot be read.")),
        );
    };
    let judged = judge(&leaf, leaf_der, sent, name, tls, now);
    let ends = judged.as_ref().ok().copied();
    let leaf_end = leaf.validity().not_after.timestamp();
    let (not_after, chain_length) =
        ends.map_or((leaf_end, chain.len()), |path| (path.not_after, path.length));
    let names = names(&leaf);
    let facts = Certificate {
        subject: text_or(leaf.subject().to_string(), names.first().cloned().unwrap_or_default()),
        issuer: leaf.issuer().to_string(),
        fingerprint: hex::encode(Sha256::digest(leaf_der)),
        names,
        not_before: instant(leaf.validity().not_before.timestamp()),
        not_after: instant(not_after),
        days_left: days_left(instant(not_after), now),
        chain_length: u8::try_from(chain_length).unwrap_or(u8::MAX),
        tls_version: None,
        valid: judged.is_ok(),
    };
    (Some(facts), judged.map(|_| ()))
}

/// The path that was found, without its root.
#[derive(Clone, Copy)]
struct PathUsed {
    /// Seconds since 1970 at which its first certificate ends.
    not_after: i64,
    length: usize,
}

fn judge(
    leaf: &X509Certificate<'_>,
    leaf_der: &CertificateDer<'_>,
    sent: &[CertificateDer<'_>],
    name: &ServerName<'_>,
    tls: &TlsSettings,
    now: Timestamp,
) -> Result<PathUsed, Failure> {
    // The leaf's own dates come first: they are the cause that people can mend at once.
    let (from, until) =
        (leaf.validity().not_before.timestamp(), leaf.validity().not_after.timestamp());
    if now.as_second() > until {
        return Err(Failure::new(
            Class::TlsExpired,
            format!("The certificate ended {}.", ago(now.as_second() - until, until)),
        ));
    }
    if now.as_second() < from {
        return Err(Failure::new(
            Class::TlsNotYetValid,
            format!("The certificate is valid from {} only.", instant(from)),
        ));
    }
    let unreadable = |error: webpki::Error| {
        Failure::new(Class::TlsUntrusted, format!("The certificate cannot be used: {error}."))
    };
    let end_entity = EndEntityCert::try_from(leaf_der).map_err(unreadable)?;
    let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(
        u64::try_from(now.as_second()).unwrap_or(0),
    ));
    let path = end_entity
        .verify_for_usage(
            tls.algorithms.all,
            &tls.roots.roots,
            sent,
            time,
            KeyUsage::server_auth(),
            None,
            None,
        )
        .map_err(|error| chain_failure(&error, leaf, sent, tls))?;
    let mut used = PathUsed { not_after: until, length: 1 };
    for intermediate in path.intermediate_certificates() {
        used.length += 1;
        if let Ok((_, parsed)) = X509Certificate::from_der(&intermediate.der()) {
            used.not_after = used.not_after.min(parsed.validity().not_after.timestamp());
        }
    }
    end_entity.verify_is_valid_for_subject_name(name).map_err(|_| name_failure(leaf, name))?;
    Ok(used)
}

fn chain_failure(
    error: &webpki::Error,
    leaf: &X509Certificate<'_>,
    sent: &[CertificateDer<'_>],
    tls: &TlsSettings,
) -> Failure {
    match error {
        webpki::Error::CertExpired { not_after, .. } => {
            let ended = instant(i64::try_from(not_after.as_secs()).unwrap_or(i64::MAX));
            Failure::new(Class::TlsExpired, format!("A certificate of the chain ended at {ended}."))
        }
        webpki::Error::CertNotValidYet { .. } => {
            Failure::new(Class::TlsNotYetValid, "A certificate of the chain is not valid yet.")
        }
        webpki::Error::UnknownIssuer => issuer_failure(leaf, sent, tls),
        webpki::Error::CaUsedAsEndEntity => Failure::new(
            Class::TlsUntrusted,
            "The server uses the certificate of an authority as its own.",
        ),
        other => Failure::new(
            Class::TlsUntrusted,
            format!("The certificate's chain is not valid: {other}."),
        ),
    }
}

/// Climbs from the leaf through what the server sent. A leaf whose issuer was neither sent nor is known
/// here is an incomplete chain; a chain that climbs and ends in the unknown is an untrusted one.
fn issuer_failure(
    leaf: &X509Certificate<'_>,
    sent: &[CertificateDer<'_>],
    tls: &TlsSettings,
) -> Failure {
    let issuer = readable(leaf.issuer().to_string());
    if leaf.issuer() == leaf.subject() {
        return Failure::new(Class::TlsUntrusted, "The certificate is self-signed.");
    }
    let parsed: Vec<X509Certificate<'_>> = sent
        .iter()
        .filter_map(|der| X509Certificate::from_der(der).ok())
        .map(|(_, cert)| cert)
        .collect();
    let known_here =
        |raw: &[u8]| tls.roots.roots.iter().any(|anchor| is_name(anchor.subject.as_ref(), raw));
    if known_here(leaf.issuer().as_raw()) {
        return Failure::new(
            Class::TlsUntrusted,
            format!("{issuer} is known here, but it did not sign this certificate."),
        );
    }
    let mut top = leaf;
    for _ in 0..parsed.len() {
        match parsed
            .iter()
            .find(|cert| cert.subject() == top.issuer() && cert.subject() != top.subject())
        {
            Some(next) => top = next,
            None => break,
        }
    }
    if std::ptr::eq(top, leaf) {
        return Failure::new(
            Class::TlsIncompleteChain,
            format!(
                "The server does not send the certificate of the issuer, {issuer}; it must send it after its own."
            ),
        );
    }
    let last = readable(top.issuer().to_string());
    Failure::new(
        Class::TlsUntrusted,
        format!("The chain ends in {last}, which is not trusted here."),
    )
}

/// Trust anchors keep the inside of a name, certificates the whole sequence.
fn is_name(anchor: &[u8], raw: &[u8]) -> bool {
    raw.ends_with(anchor) && raw.len() - anchor.len() <= 4
}

fn name_failure(leaf: &X509Certificate<'_>, name: &ServerName<'_>) -> Failure {
    let known = names(leaf);
    let shown = match known.len() {
        0 => "no name at all".to_owned(),
        1..=4 => known.join(", "),
        more => format!(
            "{} and {} more",
            known.iter().take(4).cloned().collect::<Vec<_>>().join(", "),
            more - 4
        ),
    };
    Failure::new(
        Class::TlsNameMismatch,
        format!("The certificate is for {shown}, not for {}.", name.to_str()),
    )
}

/// Names and addresses for which the certificate was made.
fn names(leaf: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = leaf.subject_alternative_name() else { return Vec::new() };
    extension
        .value
        .general_names
        .iter()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => match bytes.len() {
                4 => <[u8; 4]>::try_from(*bytes)
                    .ok()
                    .map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
                16 => <[u8; 16]>::try_from(*bytes)
                    .ok()
                    .map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
                _ => None,
            },
            _ => None,
        })
        .take(100)
        .collect()
}

/// `CN=R3, O=Example` as `R3`.
fn readable(name: String) -> String {
    let common = name.split(", ").find_map(|part| part.strip_prefix("CN=")).map(str::to_owned);
    common.unwrap_or_else(|| text_or(name, "an issuer without a name".into()))
}

fn text_or(text: String, other: String) -> String {
    if text.is_empty() { other } else { text }
}

fn instant(seconds: i64) -> Timestamp {
    // Certificates may claim any date; what cannot be written is as good as for ever.
    Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

fn ago(seconds: i64, at: i64) -> String {
    match seconds / DAY_S {
        0 => format!("{} h ago, at {}", seconds / 3_600, instant(at)),
        1 => format!("yesterday, at {}", instant(at)),
        days => format!("{days} days ago, at {}", instant(at)),
    }
}
