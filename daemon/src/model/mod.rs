//! Types with invariants and pure decisions. Uses no store, no clock and no HTTP.

pub mod access_level;
pub mod access_token;
pub mod address_policy;
pub mod branch_filter;
pub mod cache_key;
pub mod cache_refs;
pub mod conditions;
pub mod delivery_failure;
pub mod expiry;
pub mod hook_config;
pub mod hook_event;
pub mod hook_health;
pub mod host_names;
pub mod id_token;
pub mod identity;
pub mod known_sources;
pub mod mime;
pub mod ref_name;
pub mod revision;
pub mod runtime_token;
pub mod scope;
pub mod secret;
pub mod signed_url;
pub mod throttle;
pub mod words;
pub mod zip_records;
