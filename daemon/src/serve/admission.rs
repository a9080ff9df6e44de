//! Decides which connections are accepted: a limit for TCP, in total and per address, and a separate one for the Unix
//! socket, so that TCP clients cannot lock out operators and agents on this machine.

use std::{
    net::IpAddr,
    sync::{PoisonError, RwLock},
};

use ipnet::IpNet;

use super::Peer;
use crate::{
    config::Config,
    shares::{Holder, Refused, Share, ShareLimits, Shares, Usage, WorkKind},
};

/// Connections. The metric of refused connections has its own name.
const TCP: WorkKind = WorkKind { label: "tcp_connection", plural: "connections", retry_after_secs: 5 };
const UNIX: WorkKind = WorkKind { label: "unix_connection", ..TCP };

/// Maximum numbers of open connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Over TCP.
    pub tcp: usize,
    /// From one IPv4 address or one IPv6 /64 network. 0: no limit.
    pub per_address: usize,
    /// On Unix sockets.
    pub unix: usize,
    /// Networks without a limit per address: a proxy connects for many clients.
    pub exempt: Vec<IpNet>,
}

impl AdmissionLimits {
    /// Returns the limits in `config`.
    pub fn of(config: &Config) -> Self {
        let server = &config.server;
        Self {
            tcp: server.max_connections,
            per_address: server.max_connections_per_address,
            unix: config.socket.max_connections,
            exempt: server.trusted_proxies.clone(),
        }
    }

    /// Returns the limits for one address.
    fn of_addresses(&self) -> ShareLimits {
        let per_address = if self.per_address == 0 { usize::MAX } else { self.per_address };
        all_for_everyone(usize::MAX).with_per_holder(per_address)
    }
}

/// Returns limits without reserved parts, in which one holder may use the complete capacity. Nothing is queued.
fn all_for_everyone(capacity: usize) -> ShareLimits {
    ShareLimits { capacity, per_holder: capacity, for_operators: 0, for_signed_in: 0, waiting: 0 }
}

/// Counts open connections and refuses those over a limit.
#[derive(Debug)]
pub struct Admission {
    tcp: Shares,
    /// TCP connections by address, except for exempt networks.
    by_address: Shares,
    unix: Shares,
    exempt: RwLock<Vec<IpNet>>,
}

/// An admitted connection. Dropping it ends the count.
#[derive(Debug)]
pub struct ConnectionSlot {
    _all: Share,
    _by_address: Option<Share>,
}

impl Admission {
    /// Creates an admission without open connections.
    pub fn new(limits: AdmissionLimits) -> Self {
        Self {
            tcp: Shares::new(TCP, all_for_everyone(limits.tcp)),
            by_address: Shares::new(TCP, limits.of_addresses()),
            unix: Shares::new(UNIX, all_for_everyone(limits.unix)),
            exempt: RwLock::new(limits.exempt),
        }
    }

    /// Replaces the limits. Connections over a lower limit stay open.
    pub fn set_limits(&self, limits: AdmissionLimits) {
        self.tcp.set_limits(all_for_everyone(limits.tcp));
        self.by_address.set_limits(limits.of_addresses());
        self.unix.set_limits(all_for_everyone(limits.unix));
        *self.exempt.write().unwrap_or_else(PoisonError::into_inner) = limits.exempt;
    }

    /// Admits a connection of `peer`, or counts a refusal.
    pub fn admit(&self, peer: &Peer) -> Result<ConnectionSlot, Refused> {
        let address = match peer {
            Peer::Unix(_) => {
                return Ok(ConnectionSlot { _all: self.unix.take(Holder::Socket(None))?, _by_address: None });
            }
            Peer::Tcp(address) => *address,
        };
        let limited = address.filter(|address| !self.is_exempt(address));
        let by_address = limited.map(|address| self.by_address.take(Holder::address(Some(address)))).transpose()?;
        // The same holder for all, because addresses are counted above.
        let all = self.tcp.take(Holder::Address(None))?;
        Ok(ConnectionSlot { _all: all, _by_address: by_address })
    }

    /// Returns whether a listener of `kind`, `tcp` or `unix`, refuses all connections now.
    pub fn is_full(&self, kind: &str) -> bool {
        let usage = if kind == "unix" { self.unix.usage() } else { self.tcp.usage() };
        usage.running >= usage.limits.capacity
    }

    /// Returns the connections on TCP and on Unix sockets, with their limits.
    pub fn usages(&self) -> [Usage; 2] {
        let (mut tcp, by_address) = (self.tcp.usage(), self.by_address.usage());
        tcp.limits.per_holder = by_address.limits.per_holder.min(tcp.limits.capacity);
        tcp.refused_own_share += by_address.refused_own_share + by_address.refused_all_in_use;
        [tcp, self.unix.usage()]
    }

    /// Returns how many connections were refused, by the limit that was reached: `all` connections, or those of one
    /// `address`.
    pub fn refused(&self) -> [(&'static str, u64); 2] {
        let count = |shares: &Shares| {
            let usage = shares.usage();
            usage.refused_own_share + usage.refused_all_in_use
        };
        [("all", count(&self.tcp) + count(&self.unix)), ("address", count(&self.by_address))]
    }

    fn is_exempt(&self, address: &IpAddr) -> bool {
        let exempt = self.exempt.read().unwrap_or_else(PoisonError::into_inner);
        exempt.iter().any(|network| network.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(tcp: usize, per_address: usize, unix: usize) -> Admission {
        let exempt = vec!["10.0.0.0/8".parse().expect("a network")];
        Admission::new(AdmissionLimits { tcp, per_address, unix, exempt })
    }

    fn tcp(address: &str) -> Peer {
        Peer::Tcp(Some(address.parse().expect("an address")))
    }

    #[test]
    fn tcp_clients_leave_the_slots_of_the_unix_socket_free() {
        let admission = admission(2, 0, 1);
        let first = admission.admit(&tcp("192.0.2.1")).expect("free");
        let _second = admission.admit(&tcp("192.0.2.1")).expect("free");
        assert!(admission.admit(&tcp("192.0.2.2")).is_err());
        assert!(admission.is_full("tcp") && !admission.is_full("unix"));
        let _local = admission.admit(&Peer::Unix(None)).expect("free");
        assert!(admission.admit(&Peer::Unix(None)).is_err());
        drop(first);
        let _third = admission.admit(&Peer::Tcp(None)).expect("free again");
        assert_eq!(admission.refused(), [("all", 2), ("address", 0)]);
    }

    #[test]
    fn each_address_has_its_own_limit_except_exempt_ones() {
        let admission = admission(100, 1, 0);
        let admit = |address| admission.admit(&tcp(address));
        let _ipv4 = admit("192.0.2.1").expect("free");
        assert!(admit("192.0.2.1").is_err());
        let ipv6 = admit("2001:db8:1:2::3").expect("free");
        assert!(admit("2001:db8:1:2:ffff::4").is_err());
        let _other_network = admit("2001:db8:1:3::3").expect("free");
        drop(ipv6);
        let _again = admit("2001:db8:1:2:ffff::4").expect("free again");
        let _proxied: Vec<_> = (0..10).map(|_| admit("10.1.2.3").expect("exempt")).collect();
        assert_eq!(admission.refused(), [("all", 0), ("address", 2)]);
        let usages = admission.usages().map(|usage| (usage.kind.label, usage.running, usage.limits.per_holder));
        assert_eq!(usages, [("tcp_connection", 13, 1), ("unix_connection", 0, 0)]);
    }

    #[test]
    fn changed_limits_apply_to_new_connections() {
        let admission = admission(2, 0, 0);
        let [first, _second] = [admission.admit(&Peer::Tcp(None)), admission.admit(&Peer::Tcp(None))];
        let limits = |tcp| AdmissionLimits { tcp, per_address: 0, unix: 0, exempt: Vec::new() };
        admission.set_limits(limits(1));
        drop(first);
        assert!(admission.admit(&Peer::Tcp(None)).is_err(), "the second connection is open");
        admission.set_limits(limits(2));
        assert!(admission.admit(&Peer::Tcp(None)).is_ok());
    }
}
