//! The HTTP layer: routing, authentication, decoding of requests, encoding of responses and errors.
//!
//! A handler decodes its request, calls one service function and encodes the result. Status codes are chosen
//! only in this module.

mod access_log;
pub mod artifact;
mod auth;
mod body;
mod browser;
mod cache;
mod cache_server;
mod error;
mod etag;
mod extract;
mod farrier;
pub mod fuzzing;
mod git;
mod handle;
mod if_match;
mod lfs;
mod metrics;
mod oidc;
mod openapi;
mod origin;
mod page;
mod pages;
mod query;
mod refusal;
mod router;
mod show;
mod state;
mod v1;

pub(crate) use self::handle::{canonical, is_text};
pub use self::{
    auth::PeerRules,
    handle::HttpService,
    metrics::metrics_router,
    origin::trimmed,
    router::{ROUTES, router},
    state::AppState,
};
