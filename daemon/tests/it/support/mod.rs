//! What tests share: a daemon that owns its directory, clock and sockets, a plain HTTP client, the
//! official clients, the real git and a proxy before the daemon.

pub mod client;
mod daemon;
pub mod git;
mod gitdir;
mod http;
pub mod process;
mod proxy;

pub use self::{
    daemon::{Job, TestDaemon, eventually, in_time},
    gitdir::{GitDir, Import, run},
    http::{Answer, Pieces, send},
    proxy::Proxy,
};
