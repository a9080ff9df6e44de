//! Webhooks as receivers see them: what is sent, where it may go, what came back.
//!
//! Pure but for [`Client`], which opens the connections: bodies, headers and signatures are functions of
//! rows. Knows no store and starts nothing.

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
