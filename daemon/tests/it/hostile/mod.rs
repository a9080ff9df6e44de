//! Hostile and broken clients: each gets a clear error or a closed connection, changes nothing, and does not affect
//! other clients.

mod addresses;
mod bodies;
mod browsers;
mod delivery_searches;
mod faults;
mod fuzzed_requests;
mod git_reads;
mod heads;
mod hidden;
mod many_connections;
mod memory;
mod memory_load;
mod objects;
mod paths;
mod ref_lists;
mod repositories;
mod revocation;
mod shares;
pub(crate) mod traced;

use http::Method;

use crate::support::{TestDaemon, send, stored};

/// Checks that the daemon still answers.
async fn assert_healthy(farrier: &TestDaemon) {
    for server in [farrier.tcp(), farrier.unix()] {
        assert_eq!(send(&server, Method::GET, "/api/healthz", &[], "").await.status, 200);
    }
}

/// The value of the metric `name`, read over the Unix socket.
async fn metric(farrier: &TestDaemon, name: &str) -> u64 {
    let metrics = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().expect("a number")
}

/// Sizes of all stored files of artifacts.
fn artifact_file_sizes(farrier: &TestDaemon) -> Vec<u64> {
    stored(&farrier.data_dir().join("artifacts")).into_values().flatten().collect()
}
