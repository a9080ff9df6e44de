//! Keys of nodes, their leases and their tasks.

use super::Builder;
use crate::store::engine::Key;

/// `n/<node>`
pub fn node(id: u64) -> Key {
    Builder::new("n").id(id).build()
}

/// Prefix of `n/`.
pub fn nodes() -> Key {
    Builder::new("n").build()
}

/// `l/<name>`
pub fn lease(name: &str) -> Key {
    Builder::new("l").exact(name).build()
}

/// Prefix of `l/`.
pub fn leases() -> Key {
    Builder::new("l").build()
}

/// Returns the name in the key of a lease.
pub fn lease_name(key: &[u8]) -> String {
    let name = key.strip_prefix(leases().as_slice()).unwrap_or_default();
    String::from_utf8_lossy(name).trim_end_matches('\0').to_owned()
}

/// `tk/<id>`
pub fn task(id: u64) -> Key {
    Builder::new("tk").id(id).build()
}

/// Prefix of `tk/`.
pub fn tasks() -> Key {
    Builder::new("tk").build()
}
