//! HTTP: identity, input, limits, and one conversion of errors per protocol.
//!
//! Handlers decode, call one service function and encode. Only this module knows status codes.

pub mod artifact;
mod auth;
mod body;
mod error;
mod extract;
mod farrier;
mod git;
mod handle;
mod origin;
mod page;
mod query;
mod router;
mod v1;

use crate::show;

pub use self::{
    auth::PeerRules,
    handle::Front,
    origin::trimmed,
    router::{ROUTES, router},
};
