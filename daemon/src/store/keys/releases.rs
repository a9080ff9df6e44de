//! Keys of releases.

use super::Builder;
use crate::store::engine::Key;

/// `le/<rid>/<release>`
pub fn release(repository: u64, id: u64) -> Key {
    Builder::new("le").id(repository).id(id).build()
}

/// Returns the prefix of `le/<rid>/`: the releases of a repository.
pub fn releases(repository: u64) -> Key {
    Builder::new("le").id(repository).build()
}

/// `lf/<rid>/<release>`: the entry of a release in lists.
pub fn release_entry(repository: u64, id: u64) -> Key {
    Builder::new("lf").id(repository).id(id).build()
}

/// Returns the prefix of `lf/<rid>/`: the releases of a repository by id, which is the order of creation.
pub fn release_entries(repository: u64) -> Key {
    Builder::new("lf").id(repository).build()
}

/// `lt/<rid>/<tag>` → release: the release of a tag.
pub fn release_tag(repository: u64, tag: &str) -> Key {
    Builder::new("lt").id(repository).exact(tag).build()
}

/// Returns the prefix of `lt/<rid>/`.
pub fn release_tags(repository: u64) -> Key {
    Builder::new("lt").id(repository).build()
}

/// `la/<rid>/<release>/<asset>`
pub fn release_asset(repository: u64, release: u64, id: u64) -> Key {
    Builder::new("la").id(repository).id(release).id(id).build()
}

/// Returns the prefix of `la/<rid>/<release>/`.
pub fn assets_of_release(repository: u64, release: u64) -> Key {
    Builder::new("la").id(repository).id(release).build()
}

/// Returns the prefix of `la/<rid>/`.
pub fn assets_of_repository(repository: u64) -> Key {
    Builder::new("la").id(repository).build()
}

/// `lk/<asset>`: the place of an asset, by its id.
pub fn asset_by_id(id: u64) -> Key {
    Builder::new("lk").id(id).build()
}

/// `lu/<uuid>`: the place of an asset, by its UUID.
pub fn asset_by_uuid(uuid: &[u8]) -> Key {
    Builder::new("lu").raw(uuid).build()
}

/// `lq/<asset>`: an upload that is not recorded yet.
pub fn asset_mark(id: u64) -> Key {
    Builder::new("lq").id(id).build()
}

/// Returns the prefix of `lq/`.
pub fn asset_marks() -> Key {
    Builder::new("lq").build()
}
