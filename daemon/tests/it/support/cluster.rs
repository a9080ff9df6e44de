//! Several daemons that share a store and a bucket.

use std::path::Path;

use super::{bucket::TestBucket, postgres::PostgresServer};

/// The configuration of daemons that share a store and a bucket, and keep the key of the secrets elsewhere.
pub fn shared_config(server: &PostgresServer, database: &str, bucket: &TestBucket, key: &Path) -> String {
    format!(
        "[artifacts]\nreserve_bytes = 0\n[store]\nengine = \"postgres\"\nurl = \"{}\"\npassword_file = \"{}\"\n\
         key_file = \"{}\"\n{}",
        server.socket_url(database),
        server.password_file().display(),
        key.display(),
        bucket.toml(),
    )
}
