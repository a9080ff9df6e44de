//! Builds and sends the HTTP requests of deliveries: requests, headers, signatures, address checks,
//! connections.
//!
//! Only [`Client`] does I/O: bodies, headers and signatures are functions of rows. This module does not use the
//! store and starts no tasks.

mod address;
mod chat;
mod client;
mod headers;
mod link;
mod mask;
pub mod push;
pub mod request;
mod sign;
pub mod tls;
mod wire;

pub use self::{
    address::Refusal,
    client::{Answer, Client, Failure, Limits, TargetProblem},
    headers::{Header, names_of},
    link::Link,
    mask::Mask,
    request::{Outgoing, Sending, Unsendable},
};
