//! Clients that mean harm or do not know better: each of them gets a clear answer or none, changes
//! nothing, and is in nobody's way.

mod bodies;
mod crowd;
mod faults;
mod heads;
mod paths;

use http::Method;

use crate::support::{TestDaemon, send, stored};

/// The daemon still answers.
async fn healthy(farrier: &TestDaemon) {
    for over in [farrier.tcp(), farrier.unix()] {
        assert_eq!(send(&over, Method::GET, "/api/healthz", &[], "").await.status, 200);
    }
}

/// Sizes of all files of artifacts.
fn files(farrier: &TestDaemon) -> Vec<u64> {
    stored(&farrier.data_dir().join("artifacts")).into_values().flatten().collect()
}
