//! TLS connections to receivers: trusts the certificate authorities of the system, or the certificates that a
//! hook names.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};

use crate::model::secret;

/// The certificate settings of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Certificate authorities in PEM; empty for those of the system.
    pub ca_pem: String,
    /// SHA-256 of the receiver's certificate in hexadecimal, with or without colons; empty if none is pinned.
    pub fingerprint: String,
}

/// The TLS configuration for hooks without certificate settings. The authorities of the system are read once.
#[derive(Debug, Default)]
pub(super) struct SystemTrust(OnceLock<Arc<ClientConfig>>);

impl SystemTrust {
    /// Returns the configuration for `trust`, or why it is not valid.
    pub(super) fn config(&self, trust: &Trust) -> Result<Arc<ClientConfig>, String> {
        if !trust.fingerprint.is_empty() {
            return pinned(&trust.fingerprint).map(Arc::new);
        }
        if !trust.ca_pem.is_empty() {
            return with_roots(authorities(&trust.ca_pem)?).map(Arc::new);
        }
        if let Some(config) = self.0.get() {
            return Ok(Arc::clone(config));
        }
        let native = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            return Err("the system has no certificate authorities".to_owned());
        }
        let config = Arc::new(with_roots(roots)?);
        Ok(Arc::clone(self.0.get_or_init(|| config)))
    }
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())
}

fn with_roots(roots: RootCertStore) -> Result<ClientConfig, String> {
    Ok(builder()?.with_root_certificates(roots).with_no_client_auth())
}

fn authorities(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| format!("ca_pem cannot be read: {error}"))?;
        roots.add(certificate).map_err(|error| format!("ca_pem contains a certificate that is not valid: {error}"))?;
    }
    if roots.is_empty() { Err("ca_pem contains no certificate".to_owned()) } else { Ok(roots) }
}

fn pinned(fingerprint: &str) -> Result<ClientConfig, String> {
    let digits: String = fingerprint.chars().filter(|c| !matches!(c, ':' | ' ')).collect();
    let mut expected = [0; 32];
    hex::decode_to_slice(&digits, &mut expected)
        .map_err(|_| "the pinned fingerprint must be the 64 digits of a SHA-256".to_owned())?;
    let verifier = Arc::new(PinnedCertificate { expected, provider: ring::default_provider() });
    Ok(builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts one certificate regardless of its issuer and its name.
#[derive(Debug)]
struct PinnedCertificate {
    expected: [u8; 32],
    provider: CryptoProvider,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if secret::equal(&secret::sha256(end_entity), &self.expected) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("the receiver's certificate is not the pinned one".into()))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_trust_settings_are_reported() {
        let system = SystemTrust::default();
        let trust = |ca_pem: &str, fingerprint: &str| Trust { ca_pem: ca_pem.into(), fingerprint: fingerprint.into() };
        assert_eq!(system.config(&trust("x", "")).expect_err("no PEM"), "ca_pem contains no certificate");
        assert!(system.config(&trust("", "ab:cd")).expect_err("too short").contains("64 digits"));
        assert!(system.config(&trust("", &"AB:".repeat(32))).is_ok());
    }
}
