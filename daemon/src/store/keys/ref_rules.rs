//! Keys of branch rules and tag rules.

use super::Builder;
use crate::store::engine::Key;

/// `bp/<rid>/<rule>`
pub fn branch_rule(repository: u64, id: u64) -> Key {
    Builder::new("bp").id(repository).id(id).build()
}

/// Returns the prefix of `bp/<rid>/`.
pub fn branch_rules(repository: u64) -> Key {
    Builder::new("bp").id(repository).build()
}

/// `bt/<rid>/<rule>`
pub fn tag_rule(repository: u64, id: u64) -> Key {
    Builder::new("bt").id(repository).id(id).build()
}

/// Returns the prefix of `bt/<rid>/`.
pub fn tag_rules(repository: u64) -> Key {
    Builder::new("bt").id(repository).build()
}
