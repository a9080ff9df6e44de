//! Builds and sends the HTTP requests of deliveries: requests, headers, signatures, address checks,
//! connections.
//!
//! Only [`Client`] does I/O: bodies, headers and signatures are functions of rows. This module does not use the
//! store and starts no tasks.

mod address;
mod chat;
mod client;
pub mod fuzzing;
mod headers;
mod link;
mod mask;
pub mod push;
mod receiver_stream;
pub mod request;
mod sign;
pub mod tls;

pub use self::{
    address::AddressRefusal,
    client::{Client, Failure, Limits, ReceiverResponse, TargetProblem},
    headers::{Header, names_of},
    link::Link,
    mask::Mask,
    request::{AttemptContext, BuildError, WebhookRequest},
};
