//! Opens connections to the server.

use std::{
    fs, io,
    net::IpAddr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::poll_fn;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::{
    AsyncMessage, Client, Config, Error, Notification,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use zeroize::Zeroizing;

use super::PostgresOptions;
use crate::{store::engine::EngineError, tasks};

/// Time limit for the address of a server to accept a TCP connection, and for the lookup of its name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit for a connection to one address, with TLS and authentication.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(4);
/// Time after which the kernel closes a connection whose data is not acknowledged.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens connections with the same options.
pub(super) struct Connector {
    options: PostgresOptions,
    tls: MakeRustlsConnect,
    /// The address that accepted the last connection. It is tried first.
    last: Mutex<Option<ServerAddress>>,
}

/// An address of a server: the position of its host in the URL, and the IP address unless it is a Unix socket.
type ServerAddress = (usize, Option<IpAddr>);

impl Connector {
    /// Reads the certificate authorities.
    pub(super) fn new(options: PostgresOptions) -> Result<Self, EngineError> {
        let roots = if options.url.uses_tls() { roots(options.ca_file.as_deref()) } else { Ok(RootCertStore::empty()) };
        let roots = roots.map_err(|error| EngineError::Storage(Box::new(error)))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("ring supports the default versions");
        let tls = MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth());
        Ok(Self { options, tls, last: Mutex::default() })
    }

    /// Opens a connection with the name `application`, by which `pg_stat_activity` lists it. Tries one address after
    /// the other, each for at most [`ADDRESS_TIMEOUT`]. Sends what the server notifies of to `notifications`.
    pub(super) async fn connect(
        &self,
        application: &str,
        notifications: Option<&UnboundedSender<Notification>>,
    ) -> Result<Client, ConnectError> {
        let servers = self.options.url.servers();
        let last = *self.last();
        let mut order: Vec<usize> = (0..servers.len()).collect();
        order.sort_by_key(|number| last.is_none_or(|(server, _)| server != *number));
        let mut failed = ConnectError::Slow;
        for number in order {
            let mut addresses = match addresses(&servers[number]).await {
                Ok(addresses) => addresses.into_iter().map(|address| (number, address)).collect::<Vec<_>>(),
                Err(error) => {
                    failed = ConnectError::Lookup(error);
                    continue;
                }
            };
            addresses.sort_by_key(|address| last != Some(*address));
            for address in addresses {
                let mut config = servers[number].clone();
                if let (Some(ip), []) = (address.1, config.get_hostaddrs()) {
                    config.hostaddr(ip);
                }
                match tokio::time::timeout(ADDRESS_TIMEOUT, self.connect_to(config, application, notifications)).await {
                    Ok(Ok(client)) => {
                        *self.last() = Some(address);
                        return Ok(client);
                    }
                    // It would be the same for the other addresses.
                    Ok(Err(error @ ConnectError::Password(_))) => return Err(error),
                    Ok(Err(error)) => failed = error,
                    Err(_) => failed = ConnectError::Slow,
                }
            }
        }
        Err(failed)
    }

    /// Returns the host and port of the last connection. A Unix socket has its directory instead of the host.
    pub(super) fn last_server(&self) -> String {
        let number = self.last().map_or(0, |(server, _)| server);
        let Some(server) = self.options.url.servers().get(number) else { return String::new() };
        let host = match server.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(directory)) => directory.display().to_string(),
            None => String::new(),
        };
        server.get_ports().first().map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    fn last(&self) -> MutexGuard<'_, Option<ServerAddress>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection to one address.
    async fn connect_to(
        &self,
        mut config: Config,
        application: &str,
        notifications: Option<&UnboundedSender<Notification>>,
    ) -> Result<Client, ConnectError> {
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
            let text = Zeroizing::new(fs::read_to_string(path).map_err(|source| unreadable(&source))?);
            config.password(text.trim_end_matches(['\r', '\n']));
        }
        let (client, mut connection) = config.connect(self.tls.clone()).await?;
        let notifications = notifications.cloned();
        // Ends when the client is dropped or the server closes the connection. Requests get the error, too.
        drop(tasks::detached(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let (AsyncMessage::Notification(notification), Some(sender)) = (message, &notifications) {
                    _ = sender.send(notification); // The receiver ends with the client.
                }
            }
        }));
        Ok(client)
    }
}

/// Why a connection was not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    Slow,
    /// The server waits for its synchronous standby.
    #[error("the synchronous standby of the server did not confirm a commit in time")]
    StandbyAway,
    /// The name of the server was not found.
    #[error(transparent)]
    Lookup(io::Error),
    /// The password file cannot be read.
    #[error(transparent)]
    Password(io::Error),
    /// The server or the network refused.
    #[error(transparent)]
    Server(#[from] Error),
}

/// Returns the addresses of a server; one `None` for a Unix socket.
async fn addresses(server: &Config) -> io::Result<Vec<Option<IpAddr>>> {
    if let Some(address) = server.get_hostaddrs().first() {
        return Ok(vec![Some(*address)]);
    }
    let (Some(Host::Tcp(name)), Some(port)) = (server.get_hosts().first(), server.get_ports().first()) else {
        return Ok(vec![None]);
    };
    let found = tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::lookup_host((name.as_str(), *port))).await;
    let found = found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let unknown = |error: io::Error| io::Error::new(error.kind(), format!("{name} cannot be looked up: {error}"));
    Ok(found.map_err(unknown)?.map(|address| Some(address.ip())).collect())
}

/// Returns the error without the path, which may contain a password that was entered by mistake.
fn unreadable(source: &io::Error) -> ConnectError {
    ConnectError::Password(io::Error::new(source.kind(), format!("store.password_file cannot be read: {source}")))
}

/// Returns the certificate authorities in `file`, or those of the system.
pub(crate) fn roots(file: Option<&Path>) -> io::Result<RootCertStore> {
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
