//! The holders of shares: local users, administrators, accounts and addresses.

use std::net::{IpAddr, Ipv6Addr};

use crate::model::identity::Identity;

/// Network prefix of an IPv6 holder. One client usually has a whole /64 network.
const IPV6_PREFIX: u128 = u128::MAX << 64;

/// The holder of running work, by which shares are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A local user on the Unix socket. `None`: the kernel did not report the user.
    Socket(Option<u32>),
    /// A site administrator, by account ID.
    Administrator(u64),
    /// Another account, by ID.
    Account(u64),
    /// The jobs of a repository, by its ID. They have no account.
    Jobs(u64),
    /// A client without an account: an IPv4 address or an IPv6 /64 network. `None`: the address is not known.
    /// Create it with [`Holder::address`].
    Address(Option<IpAddr>),
}

/// Holders with the same rights to reserved capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HolderGroup {
    /// Callers without an account.
    Anonymous,
    /// Accounts, and jobs.
    SignedIn,
    /// The Unix socket and administrators.
    Operators,
}

impl Holder {
    /// Returns the holder for a client address. IPv6 addresses of the same /64 network have the same holder.
    pub fn address(address: Option<IpAddr>) -> Self {
        Self::Address(address.map(|address| match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & IPV6_PREFIX)),
            v4 @ IpAddr::V4(_) => v4,
        }))
    }

    /// Returns the holder for an authenticated caller on TCP. `address`: the address of the client.
    pub fn caller(identity: &Identity, address: Option<IpAddr>) -> Self {
        match identity.account() {
            Some(account) if account.user.admin => Self::Administrator(account.user.id),
            Some(account) => Self::Account(account.user.id),
            None => Self::address(address),
        }
    }

    /// Returns the name in log lines.
    pub fn label(self) -> String {
        match self {
            Self::Socket(Some(uid)) => format!("uid {uid}"),
            Self::Socket(None) | Self::Address(None) => "unknown".to_owned(),
            Self::Administrator(id) | Self::Account(id) => format!("account {id}"),
            Self::Jobs(repository) => format!("jobs of repository {repository}"),
            Self::Address(Some(IpAddr::V4(address))) => format!("ip {address}"),
            Self::Address(Some(IpAddr::V6(network))) => format!("ip {network}/64"),
        }
    }

    pub(super) fn group(self) -> HolderGroup {
        match self {
            Self::Socket(_) | Self::Administrator(_) => HolderGroup::Operators,
            Self::Account(_) | Self::Jobs(_) => HolderGroup::SignedIn,
            Self::Address(_) => HolderGroup::Anonymous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_have_the_same_holder() {
        let holder = |text: &str| Holder::address(Some(text.parse().expect("an address")));
        assert_eq!(holder("2001:db8:1:2::3"), holder("2001:db8:1:2:ffff::1"));
        assert_ne!(holder("2001:db8:1:2::3"), holder("2001:db8:1:3::3"));
        assert_eq!(holder("::ffff:192.0.2.1"), holder("192.0.2.1"));
        assert_ne!(holder("192.0.2.1"), holder("192.0.2.2"));
    }
}
