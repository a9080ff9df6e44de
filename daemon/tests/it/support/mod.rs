//! What tests share: a daemon that owns its directory, clock and sockets, a plain HTTP client, and
//! the real program for what only a process can show.

mod binary;
mod daemon;
mod http;
mod random;
mod raw;

use std::time::Duration;

pub use self::{
    binary::{Binary, stored},
    daemon::{Job, TestDaemon, eventually},
    http::{Answer, Over, send, try_send},
    random::Random,
    raw::Raw,
};

/// Every wait of the tests ends here at the latest.
pub const PATIENCE: Duration = Duration::from_secs(30);
