//! The sockets and host keys of SSH.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use url::Url;

use super::RunError;
use crate::{
    config::Config,
    model::root_url::{RootUrl, SshAddress},
    serve::{self, Listener},
    service::SshServing,
    ssh::HostKeys,
    tasks,
};

/// Separates the sockets for SSH from the other listeners.
pub(super) fn split(listeners: Vec<Listener>) -> (Vec<Listener>, Vec<TcpListener>) {
    let (mut others, mut ssh) = (Vec::new(), Vec::new());
    for listener in listeners {
        match listener.into_ssh() {
            Ok(socket) => ssh.push(socket),
            Err(listener) => others.push(listener),
        }
    }
    (others, ssh)
}

/// Returns the sockets for SSH: those of the service manager, else those of `ssh.listen`. A port of the default that is
/// in use is a warning only, because the user has not asked for SSH.
pub(super) fn open(config: &Config, inherited: Vec<TcpListener>) -> Result<Vec<TcpListener>, RunError> {
    if !inherited.is_empty() {
        return Ok(inherited);
    }
    let mut sockets = Vec::new();
    for address in &config.ssh.listen {
        match serve::bind_tcp(*address) {
            Ok(socket) => sockets.push(socket),
            Err(error) if config.ssh.listen_by_default => {
                tracing::warn!(%address, %error, "SSH is off: its default port cannot be used; set ssh.listen");
            }
            Err(source) => return Err(RunError::Ssh { address: *address, source }),
        }
    }
    Ok(sockets)
}

/// Reads or creates the host keys. Without usable host keys, SSH is off.
pub(super) async fn with_keys(
    config: &Config,
    sockets: Vec<TcpListener>,
) -> (Option<(Vec<TcpListener>, HostKeys)>, SshServing) {
    if sockets.is_empty() {
        return (None, SshServing::default());
    }
    let directory = config.data_dir.join("ssh");
    match tasks::blocking(move || HostKeys::open(&directory)).await {
        Ok(keys) => {
            let host_keys = keys.public();
            for key in &host_keys {
                tracing::info!(r#type = key.r#type, fingerprint = key.fingerprint, "SSH host key");
            }
            (Some((sockets, keys)), SshServing { host_keys, problem: None })
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "SSH is off: its host keys cannot be used");
            let problem = Some("SSH is off: its host keys cannot be used");
            (None, SshServing { host_keys: Vec::new(), problem })
        }
    }
}

/// Returns the addresses of the daemon. `url`: the base URL. `ssh`: the first listening address of SSH.
pub(super) fn addresses(config: &Config, url: String, ssh: Option<&SocketAddr>) -> RootUrl {
    let host = || Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let ssh = ssh.map(|bound| SshAddress {
        user: config.ssh.user.clone(),
        host: config.ssh.clone_host.clone().or_else(host).unwrap_or_else(|| "localhost".to_owned()),
        port: if config.ssh.clone_port == 0 { bound.port() } else { config.ssh.clone_port },
    });
    RootUrl::new(url, ssh)
}
