//! Types with invariants and pure decisions: no store, no clock, no HTTP.

pub mod address_policy;
pub mod expiry;
pub mod identity;
pub mod mime;
pub mod runtime_token;
pub mod scope;
pub mod secret;
pub mod signed_url;
pub mod throttle;
