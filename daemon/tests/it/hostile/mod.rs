//! Hostile and broken clients: each gets a clear error or a closed connection, changes nothing, and does not affect
//! other clients.

mod addresses;
mod bodies;
mod browsers;
mod faults;
mod fuzzed_requests;
mod heads;
mod hidden;
mod many_connections;
mod paths;
mod repositories;
mod revocation;
mod shares;

use http::Method;

use crate::support::{TestDaemon, send, stored};

/// Checks that the daemon still answers.
async fn assert_healthy(farrier: &TestDaemon) {
    for server in [farrier.tcp(), farrier.unix()] {
        assert_eq!(send(&server, Method::GET, "/api/healthz", &[], "").await.status, 200);
    }
}

/// Sizes of all stored files of artifacts.
fn artifact_file_sizes(farrier: &TestDaemon) -> Vec<u64> {
    stored(&farrier.data_dir().join("artifacts")).into_values().flatten().collect()
}
