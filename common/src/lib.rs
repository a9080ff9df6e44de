//! What farrier's daemon and its clients agree on.
//!
//! Owns the bodies of the REST API, the rules for names, and the typed client that speaks to a
//! daemon over TCP or a Unix socket. Does no I/O but in [`client`], and decides nothing that only
//! the daemon can know.

pub mod api;
pub mod client;
pub mod defaults;
pub mod names;

/// This build's version, as in `Cargo.toml`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which of farrier's own routes, and what in them, this build means; daemon and program compare it. It
/// grows when one of the two could not work with the other of before.
pub const API_LEVEL: i64 = 1;

/// The version that `GET /api/v1/version` claims unless configured otherwise: the release of the
/// API family that clients gate features on, with our own version as semver build metadata.
pub fn api_version() -> String {
    format!("1.24.0+farrier-{VERSION}")
}
