//! What tests share: a daemon that owns its directory, clock and sockets, and a plain HTTP client.

mod daemon;
mod http;

pub use self::{
    daemon::{Job, TestDaemon, eventually},
    http::{Answer, Over, send},
};
