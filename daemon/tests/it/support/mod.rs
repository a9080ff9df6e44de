//! Helpers shared by all tests: a daemon with its own directory, clock and sockets; a plain HTTP client;
//! the official artifact clients; the real git; a proxy in front of the daemon; and the `farrierd`
//! program as a child process, for tests that need a process.

mod balancer;
mod binary;
pub mod bucket;
pub mod client;
pub mod cluster;
pub mod counting_engine;
mod daemon;
pub mod git;
pub mod gitdir;
mod http;
mod jobs;
mod link;
mod loopback;
mod manager;
#[allow(dead_code, reason = "the unit tests of the engine use this module, too")]
pub mod postgres;
pub mod process;
mod proxy;
mod random;
mod raw;
pub mod receiver;
pub mod runner;
mod slow_git;
mod source;
mod ssh_key;
mod waiting;

use std::time::Duration;

pub use self::{
    balancer::Balancer,
    binary::{Binary, stored},
    daemon::{TestDaemon, store_keys},
    gitdir::{GitDir, Import, run},
    http::{Answer, ConnectionLost, PartialRequest, ServerAddress, send, send_from, try_send},
    jobs::Job,
    link::{Link, LinkState},
    loopback::free_address,
    proxy::Proxy,
    random::Random,
    raw::RawConnection,
    receiver::{ReceivedRequest, Receiver, Reply},
    slow_git::{Pause, SlowGit},
    source::Source,
    ssh_key::ssh_key,
    waiting::{eventually, in_time},
};

/// Upper bound of every wait in the tests.
pub const WAIT_LIMIT: Duration = Duration::from_mins(1);
