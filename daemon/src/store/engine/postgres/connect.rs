//! Opens connections to the server.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_postgres::{Client, Config, Error, config::SslMode, config::TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;
use zeroize::Zeroizing;

use super::PostgresOptions;
use crate::{store::engine::EngineError, tasks};

/// Time limit for one host to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time after which the kernel closes a connection whose data is not acknowledged.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens connections with the same options.
pub(super) struct Connector {
    options: PostgresOptions,
    tls: MakeRustlsConnect,
}

impl Connector {
    /// Reads the certificate authorities.
    pub(super) fn new(options: PostgresOptions) -> Result<Self, EngineError> {
        let roots = if options.url.uses_tls() { roots(options.ca_file.as_deref()) } else { Ok(RootCertStore::empty()) };
        let roots = roots.map_err(|error| EngineError::Storage(Box::new(error)))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("ring supports the default versions");
        let tls = MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth());
        Ok(Self { options, tls })
    }

    /// Opens a connection with the name `application`, by which `pg_stat_activity` lists it.
    pub(super) async fn connect(&self, application: &str) -> Result<Client, ConnectError> {
        let mut config: Config = self.options.url.server().clone();
        config.application_name(application).connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(TCP_TIMEOUT);
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3);
        // With several hosts: the primary, not a standby.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        // The server's certificate is always verified. A connection without TLS stays on this machine.
        config.ssl_mode(if self.options.url.uses_tls() { SslMode::Require } else { SslMode::Disable });
        if let Some(path) = &self.options.password_file {
            let text = Zeroizing::new(fs::read_to_string(path).map_err(|source| unreadable(path, &source))?);
            config.password(text.trim_end_matches(['\r', '\n']));
        }
        let connecting = config.connect(self.tls.clone());
        let connected = tokio::time::timeout(2 * CONNECT_TIMEOUT, connecting).await;
        let (client, connection) = connected.map_err(|_| ConnectError::Slow)??;
        // Ends when the client is dropped or the server closes the connection. Requests get the error, too.
        drop(tasks::detached(async move { drop(connection.await) }));
        Ok(client)
    }
}

/// Why a connection was not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    Slow,
    /// The password file cannot be read.
    #[error(transparent)]
    Password(io::Error),
    /// The server or the network refused.
    #[error(transparent)]
    Server(#[from] Error),
}

fn unreadable(path: &Path, source: &io::Error) -> ConnectError {
    ConnectError::Password(io::Error::new(source.kind(), format!("{} cannot be read: {source}", path.display())))
}

/// Returns the certificate authorities in `file`, or those of the system.
fn roots(file: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let invalid = |reason: String| io::Error::other(format!("{}: {reason}", file.display()));
    let pem = fs::read(file).map_err(|error| invalid(error.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| invalid(format!("not a certificate in PEM: {error}")))?;
        roots.add(certificate).map_err(|error| invalid(error.to_string()))?;
    }
    if roots.is_empty() { Err(invalid("it has no certificate".to_owned())) } else { Ok(roots) }
}
