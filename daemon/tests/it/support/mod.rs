//! What tests share: a daemon that owns its directory, clock and sockets, a plain HTTP client, the
//! official clients and a proxy before the daemon.

pub mod client;
mod daemon;
mod http;
pub mod process;
mod proxy;

pub use self::{
    daemon::{Job, TestDaemon, eventually, in_time},
    http::{Answer, Pieces, send},
    proxy::Proxy,
};
