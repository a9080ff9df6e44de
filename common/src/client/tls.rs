//! TLS connections: trusted certificates and the causes of failed handshakes.

use std::{
    error::Error as StdError,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{
    CertificateError, ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tower_service::Service;

/// Time limit of the TCP connection and the TLS handshake together.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// The trusted certificate authorities: those of the system and additional ones.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    more: Vec<CertificateDer<'static>>,
}

/// Why a file of certificate authorities is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The file contains no certificate.
    #[error("contains no certificate; expected PEM")]
    Empty,
    /// A certificate cannot be parsed.
    #[error("contains a certificate that cannot be read: {0}")]
    Damaged(String),
}

impl Trust {
    /// Trusts the authorities of the system and those in `pem`.
    pub fn with_ca(pem: &[u8]) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        let mut more = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| TrustError::Damaged(error.to_string()))?;
            roots.add(certificate.clone()).map_err(|error| TrustError::Damaged(error.to_string()))?;
            more.push(certificate);
        }
        if more.is_empty() { Err(TrustError::Empty) } else { Ok(Self { more }) }
    }

    fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        // A system certificate that cannot be parsed must not prevent the use of the others.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.more.iter().cloned());
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("ring has the default versions");
        builder.with_root_certificates(roots).with_no_client_auth()
    }
}

/// Connects with TLS within a time limit.
#[derive(Clone, Debug)]
pub(super) struct TlsConnector(HttpsConnector<HttpConnector>);

impl TlsConnector {
    pub(super) fn new(mut tcp: HttpConnector, trust: &Trust) -> Self {
        tcp.enforce_http(false);
        let builder = HttpsConnectorBuilder::new().with_tls_config(trust.config()).https_only();
        Self(builder.enable_http1().wrap_connector(tcp))
    }
}

type BoxError = Box<dyn StdError + Send + Sync>;

impl Service<http::Uri> for TlsConnector {
    type Response = <HttpsConnector<HttpConnector> as Service<http::Uri>>::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: http::Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            tokio::time::timeout(CONNECT_MAX, connecting).await.unwrap_or_else(|_| {
                let seconds = CONNECT_MAX.as_secs();
                Err(io::Error::new(io::ErrorKind::TimedOut, format!("no TLS connection within {seconds} s")).into())
            })
        })
    }
}

/// Why a TLS connection failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsProblem {
    /// The certificate is signed by an unknown authority.
    #[error("the certificate is signed by an authority that is not trusted")]
    UnknownAuthority,
    /// The certificate is for other names.
    #[error("the certificate is not valid for this host name")]
    WrongName,
    /// The certificate has expired.
    #[error("the certificate has expired")]
    Expired,
    /// The certificate is not valid yet.
    #[error("the certificate is not valid yet; is the clock of this machine right?")]
    NotYetValid,
    /// The server does not use TLS.
    #[error("the server does not use TLS")]
    NotTls,
    /// Any other error of the TLS library.
    #[error("{0}")]
    Other(String),
}

impl TlsProblem {
    /// Returns the TLS problem in `error` or one of its causes; `None` if there is none.
    pub(super) fn find(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(cause) = next {
            let io_error = cause.downcast_ref::<io::Error>();
            if let Some(io) = io_error.and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref()) {
                return Some(Self::of(io));
            }
            if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
                return Some(Self::of(tls));
            }
            if io_error.is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof) {
                return Some(Self::NotTls);
            }
            // The inner error of an I/O error is not its `source`.
            let wrapped = io_error.and_then(io::Error::get_ref).map(|inner| inner as &(dyn StdError + 'static));
            next = wrapped.or_else(|| cause.source());
        }
        None
    }

    fn of(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(problem) => match problem {
                CertificateError::UnknownIssuer => Self::UnknownAuthority,
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Self::WrongName,
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
                other => Self::Other(other.to_string()),
            },
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Other(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused() {
        assert_eq!(Trust::with_ca(b"").unwrap_err(), TrustError::Empty);
        assert_eq!(Trust::with_ca(b"plain text").unwrap_err(), TrustError::Empty);
        let damaged = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(Trust::with_ca(damaged).unwrap_err(), TrustError::Damaged(_)));
    }

    #[test]
    fn the_tls_problem_is_found_in_the_source_chain() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls));
        assert_eq!(TlsProblem::find(&error), Some(TlsProblem::UnknownAuthority));
        assert_eq!(TlsProblem::find(&io::Error::from(io::ErrorKind::ConnectionRefused)), None);
    }
}
