//! Keys of the audit log.

use super::Builder;
use crate::store::engine::Key;

/// `al/<newest id>`
pub fn audit_entry(id: u64) -> Key {
    Builder::new("al").newest(id).build()
}

/// Prefix of `al/`.
pub fn audit_entries() -> Key {
    Builder::new("al").build()
}

/// `ac/<name>`: the position of an output.
pub fn audit_position(output: &str) -> Key {
    Builder::new("ac").exact(output).build()
}

/// `au/<uid>/<newest id>`: the entries whose actor is an account.
pub fn user_audit_entry(user: u64, id: u64) -> Key {
    Builder::new("au").id(user).newest(id).build()
}

/// Prefix of `au/<uid>/`.
pub fn user_audit_entries(user: u64) -> Key {
    Builder::new("au").id(user).build()
}
