//! Code shared by farrier's daemon and its clients: the bodies of the REST API, the rules for names, and a
//! typed client over TCP or a Unix socket.
//!
//! Only [`client`] does I/O.

pub mod api;
pub mod client;
pub mod defaults;
pub mod names;

/// The version of this build, as in `Cargo.toml`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The product in the `User-Agent` header of the full screen. The daemon marks its requests in the access log.
pub const FULL_SCREEN_AGENT: &str = "farrier-screen";

/// The level of farrier's own API in this build. The daemon and the client compare it. It is increased when one
/// of them cannot work with an older version of the other.
pub const API_LEVEL: i64 = 1;

/// Returns the version that `GET /api/v1/version` reports by default: the release of the Gitea API that clients
/// use to decide on features, with farrier's version as build metadata.
pub fn api_version() -> String {
    format!("1.24.0+farrier-{VERSION}")
}
