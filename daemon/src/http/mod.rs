//! HTTP: identity, input, limits, and one conversion of errors per protocol.
//!
//! Handlers decode, call one service function and encode. Only this module knows status codes.

mod access_log;
pub mod artifact;
mod auth;
mod body;
mod error;
mod etag;
mod extract;
mod farrier;
mod git;
mod handle;
mod if_match;
mod metrics;
mod openapi;
mod origin;
mod page;
mod pages;
mod query;
mod requests;
mod router;
pub mod series;
mod v1;

pub(crate) use self::handle::{canonical, is_text};
pub use self::{
    auth::PeerRules,
    handle::HttpService,
    metrics::metrics_router,
    origin::trimmed,
    requests::Requests,
    router::{ROUTES, router},
};
use crate::show;
