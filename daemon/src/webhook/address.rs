//! Resolves and checks the addresses of receivers. The client connects only to checked addresses.

use std::net::SocketAddr;

use url::{Host, Url};

use super::client::Failure;
use crate::model::{address_policy::AddressPolicy, delivery_failure::FailureClass};

/// Why an address is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRefusal {
    /// A sentence for users. It names the host as the URL does, and neither its address nor the configured hosts.
    pub reason: String,
    /// A sentence for administrators, with the address and the value of the setting that would allow it.
    pub detail: String,
    /// The value of `webhook.allowed_hosts` that allows this address in addition to everything that is allowed
    /// now.
    pub allowed_hosts: String,
}

/// Returns the host and port of `url`. IPv6 addresses have no brackets.
pub(super) fn target(url: &Url) -> Result<(String, u16), Failure> {
    let host = match url.host() {
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        Some(Host::Domain(name)) => name.to_owned(),
        None => return Err(Failure::new(FailureClass::Settings, "the address has no host")),
    };
    let port =
        url.port_or_known_default().ok_or_else(|| Failure::new(FailureClass::Settings, "the address has no port"))?;
    Ok((host, port))
}

/// The resolver of host names.
#[derive(Debug, Default)]
pub(super) enum HostResolver {
    /// The resolver of the system.
    #[default]
    System,
    /// A list of results for tests, one per call.
    #[cfg(test)]
    Script(std::sync::Mutex<std::collections::VecDeque<Vec<SocketAddr>>>),
}

impl HostResolver {
    /// Returns the addresses of a host. A host without an address is an error.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let resolved = match self {
            Self::System => tokio::net::lookup_host((host, port)).await.map(Iterator::collect),
            #[cfg(test)]
            Self::Script(results) => Ok(results.lock().expect("a lock").pop_front().expect("a result")),
        };
        let addresses: Vec<SocketAddr> = resolved
            .map_err(|error| Failure::new(FailureClass::Dns, format!("the host {host} cannot be resolved: {error}")))?;
        if addresses.is_empty() {
            return Err(Failure::new(FailureClass::Dns, format!("the host {host} has no address")));
        }
        Ok(addresses)
    }
}

/// Returns those of `addresses` that the policy allows; an error if it allows none.
pub(super) fn allowed(
    policy: &AddressPolicy,
    host: &str,
    addresses: Vec<SocketAddr>,
) -> Result<Vec<SocketAddr>, AddressRefusal> {
    let (good, bad): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| policy.allows(host, address.ip()));
    match bad.first() {
        Some(denied) if good.is_empty() => Err(refusal(policy, host, *denied)),
        _ => Ok(good),
    }
}

fn refusal(policy: &AddressPolicy, host: &str, denied: SocketAddr) -> AddressRefusal {
    let allowed_hosts = policy.extended_by(denied.ip());
    let refused = "webhook can only call allowed HTTP servers (check your webhook.allowed_hosts setting), deny";
    let reason = format!("{refused} '{host}'");
    let detail = format!(
        "{refused} '{host}({denied})'; to allow it write allowed_hosts = \"{allowed_hosts}\" in the section [webhook]"
    );
    AddressRefusal { reason, detail, allowed_hosts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &str, host: &str, addresses: &[&str]) -> Result<Vec<String>, AddressRefusal> {
        let policy = AddressPolicy::parse(policy).expect("a policy");
        let addresses = addresses.iter().map(|address| address.parse().expect("an address")).collect();
        allowed(&policy, host, addresses).map(|good| good.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_allowed_addresses_are_kept() {
        assert_eq!(check("external", "h", &["8.8.8.8:80", "10.0.0.1:80"]).expect("one"), ["8.8.8.8:80"]);
        let refused = check("external", "h", &["[::ffff:127.0.0.1]:80"]).expect_err("loopback");
        assert!(
            refused.reason.contains("webhook.allowed_hosts") && refused.reason.ends_with("deny 'h'"),
            "{refused:?}"
        );
        let text = &refused.detail;
        assert!(text.contains("webhook.allowed_hosts") && text.contains("deny 'h([::ffff:127.0.0.1]:80)'"));
        assert!(text.contains(r#"allowed_hosts = "external, loopback""#), "{refused:?}");
    }

    #[test]
    fn the_suggested_allowed_hosts_keep_the_current_ones() {
        let advice = |policy: &str, address: &str| check(policy, "h", &[address]).expect_err("refused").allowed_hosts;
        assert_eq!(
            advice("external, 192.168.7.0/24,ci.example", "10.0.3.9:80"),
            "external, 192.168.7.0/24,ci.example, 10.0.3.9"
        );
        assert_eq!(advice(" external , ", "[fd00::1]:80"), "external, fd00::1");
        assert_eq!(advice("", "127.0.0.1:1"), "loopback");
    }

    #[tokio::test]
    async fn the_default_policy_refuses_addresses_outside_the_public_internet() {
        let policy = AddressPolicy::parse("external").expect("a policy");
        for host in [
            "127.0.0.1",
            "[::1]",
            "10.0.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "[2002:7f00:1::]",
            "[64:ff9b::7f00:1]",
            "localhost",
            "0x7f.1",
        ] {
            let url = Url::parse(&format!("http://{host}:8080/x")).expect("an address");
            let (host, port) = target(&url).expect("a host");
            let addresses = HostResolver::System.resolve(&host, port).await.expect("an address");
            assert!(allowed(&policy, &host, addresses).is_err(), "{host}");
        }
    }
}
