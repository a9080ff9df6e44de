//! Keys of SSH keys and deploy keys.

use super::Builder;
use crate::store::engine::Key;

/// `k/<key>`: the content of a key.
pub fn ssh_key(id: u64) -> Key {
    Builder::new("k").id(id).build()
}

/// `kf/<sha256 of the blob>` → key.
pub fn ssh_key_of_hash(hash: &[u8; 32]) -> Key {
    Builder::new("kf").raw(hash).build()
}

/// `ka/<uid>/<key>`: the keys of an account.
pub fn ssh_key_of_account(account: u64, id: u64) -> Key {
    Builder::new("ka").id(account).id(id).build()
}

/// Returns the prefix of `ka/<uid>/`.
pub fn ssh_keys_of_account(account: u64) -> Key {
    Builder::new("ka").id(account).build()
}

/// `kd/<rid>/<deploy key>`
pub fn deploy_key(repository: u64, id: u64) -> Key {
    Builder::new("kd").id(repository).id(id).build()
}

/// Returns the prefix of `kd/<rid>/`.
pub fn deploy_keys(repository: u64) -> Key {
    Builder::new("kd").id(repository).build()
}

/// `ke/<key>/<rid>` → deploy key: the repositories of a content.
pub fn deploy_key_of_content(key: u64, repository: u64) -> Key {
    Builder::new("ke").id(key).id(repository).build()
}

/// Returns the prefix of `ke/<key>/`.
pub fn deploy_keys_of_content(key: u64) -> Key {
    Builder::new("ke").id(key).build()
}
