//! The addresses of the daemon: the base of all URLs, and the SSH addresses of repositories.

use std::{fmt, ops::Deref};

/// The default port of SSH. Addresses with it have the short form.
const SSH_PORT: u16 = 22;

/// The base URL of the daemon, without a slash at the end, and its SSH address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootUrl {
    url: String,
    ssh: Option<SshAddress>,
}

/// The address under which clients reach the daemon over SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    /// The login name.
    pub user: String,
    /// The host. IPv6 addresses are in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl RootUrl {
    /// Creates the addresses. `ssh`: `None` if SSH is off.
    pub fn new(url: String, ssh: Option<SshAddress>) -> Self {
        Self { url, ssh }
    }

    /// Returns the SSH address of the daemon, or `None` if SSH is off.
    pub fn ssh(&self) -> Option<&SshAddress> {
        self.ssh.as_ref()
    }

    /// Returns the SSH address of the repository `path`, such as `owner/name`. Empty if SSH is off.
    pub fn ssh_url(&self, path: &str) -> String {
        self.ssh.as_ref().map(|ssh| ssh.repository(path)).unwrap_or_default()
    }
}

impl SshAddress {
    fn repository(&self, path: &str) -> String {
        let Self { user, host, port } = self;
        if *port == SSH_PORT {
            format!("{user}@{host}:{path}.git")
        } else {
            format!("ssh://{user}@{host}:{port}/{path}.git")
        }
    }
}

impl Deref for RootUrl {
    type Target = str;

    fn deref(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for RootUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_addresses_have_the_short_form_only_on_the_default_port() {
        let with = |host: &str, port| {
            let ssh = SshAddress { user: "git".into(), host: host.into(), port };
            RootUrl::new("http://forge.example".into(), Some(ssh)).ssh_url("o/r")
        };
        assert_eq!(with("forge.example", 22), "git@forge.example:o/r.git");
        assert_eq!(with("forge.example", 2222), "ssh://git@forge.example:2222/o/r.git");
        assert_eq!(with("[::1]", 2222), "ssh://git@[::1]:2222/o/r.git");
        assert_eq!(RootUrl::new("http://forge.example".into(), None).ssh_url("o/r"), "");
    }
}
