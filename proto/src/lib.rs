//! Messages of the artifact protocol and of farrier's store.
//!
//! Owns the `.proto` files, what prost makes of them and how the artifact messages map to JSON.
//! Knows no rules: what a field must hold is decided where the message is used.

pub mod wkt;

/// `ArtifactService` of the Actions results protocol, in protobuf and JSON form.
///
/// JSON goes out with `snake_case` names and 64-bit integers as strings, because the official
/// client masks signatures in job logs only under those names.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
pub mod results {
    include!(concat!(env!("OUT_DIR"), "/farrier.results.api.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/farrier.results.api.v1.serde.rs"));
}

/// Rows of the store; see `proto/store.proto` for the key that each lies under.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
pub mod store {
    include!(concat!(env!("OUT_DIR"), "/farrier.store.v1.rs"));
}
