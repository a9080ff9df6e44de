//! Keys of nodes and their leases.

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
