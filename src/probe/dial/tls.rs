//! The handshake. Every certificate is accepted during it, so that even a bad chain can be looked at,
//! and judged right after it, before a byte of the request is sent.

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, ClientConfig, DigitallySignedStruct, Error, ProtocolVersion, RootCertStore,
    SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certificate;
use crate::domain::address::Host;
use crate::domain::check::Tls;
use crate::domain::observation::Class;
use crate::probe::Context;
use crate::probe::trace::{Failure, Stage, Trace};

/// What is offered by ALPN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::probe) enum Offer {
    Any,
    Http1,
    Http2,
    /// Nothing: what is spoken is not HTTP.
    Nothing,
}

/// Made once per agent. Sessions are never resumed: a resumed handshake carries no certificate, and a
/// renewed one would not be seen.
pub(in crate::probe) struct TlsSettings {
    pub(super) roots: RootCertStore,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
    any: Arc<ClientConfig>,
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
    nothing: Arc<ClientConfig>,
}

impl TlsSettings {
    pub(in crate::probe) fn new(roots: RootCertStore) -> Result<Self, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        Ok(Self {
            roots,
            algorithms,
            any: config(&provider, &[b"h2", b"http/1.1"])?,
            http1: config(&provider, &[b"http/1.1"])?,
            http2: config(&provider, &[b"h2"])?,
            nothing: config(&provider, &[])?,
        })
    }

    fn for_offer(&self, offer: Offer) -> Arc<ClientConfig> {
        match offer {
            Offer::Any => &self.any,
            Offer::Http1 => &self.http1,
            Offer::Http2 => &self.http2,
            Offer::Nothing => &self.nothing,
        }
        .clone()
    }
}

fn config(provider: &Arc<CryptoProvider>, alpn: &[&[u8]]) -> Result<Arc<ClientConfig>, Error> {
    let verifier = SignaturesOnly { algorithms: provider.signature_verification_algorithms };
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Proves that the server holds the certificate's key; the chain is judged by [`certificate`].
#[derive(Debug)]
struct SignaturesOnly {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for SignaturesOnly {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl TlsSettings {
    /// Handshake and judgement. The certificate is in the trace even when it is refused.
    pub(in crate::probe) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        host: &Host,
        wanted: &Tls,
        offer: Offer,
        ctx: &Context,
        trace: &mut Trace,
    ) -> Result<TlsStream<S>, Failure> {
        trace.enter(Stage::Tls);
        let name = match (host, &wanted.server_name) {
            (_, Some(name)) => ServerName::try_from(name.clone()),
            (Host::Name(name), None) => ServerName::try_from(name.clone()),
            (Host::Ip(ip), None) => Ok(ServerName::from(*ip)),
        }
        .map_err(|_| {
            Failure::new(Class::TlsHandshake, format!("{host} cannot stand in a TLS handshake."))
        })?;
        let connector = TlsConnector::from(self.for_offer(offer));
        let stream = connector
            .connect(name.clone(), stream)
            .await
            .map_err(|error| handshake_failure(&error))?;
        trace.leave();
        let (_, session) = stream.get_ref();
        let version = match session.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => Some("TLS 1.3"),
            Some(ProtocolVersion::TLSv1_2) => Some("TLS 1.2"),
            _ => None,
        };
        let chain = session.peer_certificates().unwrap_or_default();
        let (facts, judged) = certificate::inspect(chain, &name, self, (ctx.0.wall)());
        trace.certificate = facts.map(|facts| crate::domain::observation::Certificate {
            tls_version: version.map(Into::into),
            ..facts
        });
        match judged {
            Err(failure) if wanted.verify => Err(failure),
            _ => Ok(stream),
        }
    }
}

/// Why a handshake failed; TLS 1.3 servers may say so only when the first bytes are read.
pub(in crate::probe) fn handshake_failure(error: &io::Error) -> Failure {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Failure::new(
                Class::ConnectReset,
                "The connection was reset during the TLS handshake.",
            ),
            io::ErrorKind::UnexpectedEof => Failure::new(
                Class::TlsHandshake,
                "The server closed the connection during the TLS handshake.",
            ),
            _ => Failure::new(Class::TlsHandshake, format!("The TLS handshake failed: {error}.")),
        };
    };
    match tls {
        Error::AlertReceived(
            AlertDescription::ProtocolVersion
            | AlertDescription::HandshakeFailure
            | AlertDescription::InsufficientSecurity,
        )
        | Error::PeerIncompatible(_) => Failure::new(
            Class::TlsNoCommonVersion,
            "Server and probe have no TLS version or cipher in common (TLS 1.2 and 1.3 are offered).",
        ),
        Error::AlertReceived(AlertDescription::UnrecognisedName) => Failure::new(
            Class::TlsHandshake,
            "The server does not know this name (TLS alert unrecognised_name).",
        ),
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => Failure::new(
            Class::TlsHandshake,
            "The server does not speak the HTTP version that this monitor asks for.",
        ),
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA,
        ) => Failure::new(Class::TlsHandshake, "The server asks for a client certificate."),
        Error::AlertReceived(alert) => Failure::new(
            Class::TlsHandshake,
            format!("The server broke off the TLS handshake (alert {alert:?})."),
        ),
        Error::InvalidMessage(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => {
            Failure::new(Class::TlsHandshake, "What answers on this port does not speak TLS.")
        }
        Error::InvalidCertificate(error) => Failure::new(
            Class::TlsHandshake,
            format!("The server's certificate cannot be used: {error}."),
        ),
        other => Failure::new(Class::TlsHandshake, format!("The TLS handshake failed: {other}.")),
    }
}
