//! Messages of the artifact and cache protocols and of farrier's store.
//!
//! Contains the `.proto` files, the generated Rust code, and the JSON mapping of the protocol messages. Values
//! of fields are validated where the messages are used.

pub mod wkt;

/// `ArtifactService` of the Actions results protocol, in protobuf and JSON form.
///
/// JSON is written with `snake_case` names and 64-bit integers as strings, because the official client masks
/// signatures in job logs only under these names.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
pub mod results {
    include!(concat!(env!("OUT_DIR"), "/farrier.results.api.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/farrier.results.api.v1.serde.rs"));
}

/// `CacheService` of the Actions results protocol, in protobuf and JSON form like [`results`].
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
pub mod cache {
    include!(concat!(env!("OUT_DIR"), "/farrier.results.cache.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/farrier.results.cache.v1.serde.rs"));
}

/// Rows of the store. `proto/store.proto` lists the key of each row.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
pub mod store {
    include!(concat!(env!("OUT_DIR"), "/farrier.store.v1.rs"));

    impl std::fmt::Debug for Hook {
        /// Prints no secrets, and no URL, which may contain one.
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let mut shown = f.debug_struct("Hook");
            shown.field("id", &self.id).field("scope", &self.scope()).field("target_id", &self.target_id);
            shown.field("type", &self.r#type).field("name", &self.name).field("active", &self.active);
            shown.field("events", &self.events).field("has_secret", &!self.secret.is_empty()).finish_non_exhaustive()
        }
    }

    impl std::fmt::Debug for SigningKey {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("SigningKey").field("created_ms", &self.created_ms).finish_non_exhaustive()
        }
    }

    impl std::fmt::Debug for MirrorRemote {
        /// Prints no credentials.
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let mut shown = f.debug_struct("MirrorRemote");
            shown.field("name", &self.name).field("address", &self.address).finish_non_exhaustive()
        }
    }
}
