//! Loopback addresses whose ports stay free while no test listens on them.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    sync::atomic::{AtomicU16, Ordering},
};

/// Returns an address of 127.0.0.0/8 that no other test uses at the same time.
///
/// A port of 127.0.0.1 that a test closes may become the local port of an outgoing connection of another test before
/// the first test listens on it again. Outgoing connections do not use the other addresses of the network.
pub fn own_ip() -> IpAddr {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    let [high, low] = COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let process = u8::try_from(std::process::id() % 250).expect("less than 250");
    Ipv4Addr::new(127, process + 1, high, low.max(1)).into()
}

/// Returns an address on which nothing listens, and which stays free until the caller listens on it.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((own_ip(), 0)).expect("a free port");
    listener.local_addr().expect("an address")
}
