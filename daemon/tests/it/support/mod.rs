//! What tests share: a daemon that owns its directory, clock and sockets, a plain HTTP client, the
//! official clients, the real git, a proxy before the daemon, and the real program for what only a
//! process can show.

mod binary;
pub mod client;
mod daemon;
pub mod git;
pub mod gitdir;
mod http;
mod manager;
pub mod process;
mod proxy;
mod random;
mod raw;
pub mod receiver;
mod source;

use std::time::Duration;

pub use self::{
    binary::{Binary, stored},
    daemon::{Job, TestDaemon, eventually, in_time},
    gitdir::{GitDir, Import, run},
    http::{Answer, Lost, Over, Pieces, send, try_send},
    proxy::Proxy,
    random::Random,
    raw::Raw,
    receiver::{Got, Receiver, Say},
    source::Source,
};

/// Every wait of the tests ends here at the latest.
pub const PATIENCE: Duration = Duration::from_mins(1);
