//! Artifacts, their blocks, and bytes that nothing refers to.

use super::{Builder, due};
use crate::store::engine::{Key, Range};

/// `a/<aid>`
pub fn artifact(id: u64) -> Key {
    Builder::new("a").id(id).done()
}

/// `an/<run>/<job>/<name>` → artifact: the one current artifact of a name.
pub fn artifact_name(run: u64, job: u64, name: &str) -> Key {
    Builder::new("an").id(run).id(job).exact(name).done()
}

/// All of `an/<run>/`.
pub fn run_artifacts(run: u64) -> Key {
    Builder::new("an").id(run).done()
}

/// `ar/<rid>/<newest artifact>`: finalized and expired artifacts of a repository.
pub fn repository_artifact(repository: u64, artifact: u64) -> Key {
    Builder::new("ar").id(repository).newest(artifact).done()
}

/// All of `ar/<rid>/`.
pub fn repository_artifacts(repository: u64) -> Key {
    Builder::new("ar").id(repository).done()
}

/// `aj/<run>/<newest artifact>`: finalized and expired artifacts of a run.
pub fn run_artifact(run: u64, artifact: u64) -> Key {
    Builder::new("aj").id(run).newest(artifact).done()
}

/// All of `aj/<run>/`.
pub fn run_artifact_list(run: u64) -> Key {
    Builder::new("aj").id(run).done()
}

/// `ax/<expires>/<aid>`: finalized artifacts by the time at which they expire.
pub fn artifact_expiry(expires_ms: i64, artifact: u64) -> Key {
    Builder::new("ax").time(expires_ms).id(artifact).done()
}

/// The range of `ax` up to and including `until_ms`.
pub fn artifact_expiries(until_ms: i64) -> Range {
    due("ax", until_ms)
}

/// `up/<aid>/<generation>/<block id>`
pub fn block(artifact: u64, generation: u64, block_id: &str) -> Key {
    Builder::new("up").id(artifact).id(generation).raw(block_id.as_bytes()).done()
}

/// All of `up/<aid>/<generation>/`.
pub fn blocks(artifact: u64, generation: u64) -> Key {
    Builder::new("up").id(artifact).id(generation).done()
}

/// `am/<aid>/<generation>/<page>`
pub fn block_page(artifact: u64, generation: u64, page: u64) -> Key {
    Builder::new("am").id(artifact).id(generation).id(page).done()
}

/// All of `am/<aid>/<generation>/`.
pub fn block_pages(artifact: u64, generation: u64) -> Key {
    Builder::new("am").id(artifact).id(generation).done()
}

/// `ux/<started>/<aid>`: uploads that are not finalized, by their start.
pub fn upload_started(started_ms: i64, artifact: u64) -> Key {
    Builder::new("ux").time(started_ms).id(artifact).done()
}

/// The range of `ux` up to and including `until_ms`.
pub fn uploads_started(until_ms: i64) -> Range {
    due("ux", until_ms)
}

/// `az/<deleted>/<aid>`: deleted artifacts that can be restored, by the time of their deletion.
pub fn deleted_artifact(deleted_ms: i64, artifact: u64) -> Key {
    Builder::new("az").time(deleted_ms).id(artifact).done()
}

/// The range of `az` up to and including `until_ms`.
pub fn deleted_artifacts(until_ms: i64) -> Range {
    due("az", until_ms)
}

/// `aw/<run>/<aid>`: deleted artifacts of a run that can be restored.
pub fn run_deleted_artifact(run: u64, artifact: u64) -> Key {
    Builder::new("aw").id(run).id(artifact).done()
}

/// All of `aw/<run>/`.
pub fn run_deleted_artifacts(run: u64) -> Key {
    Builder::new("aw").id(run).done()
}

/// `xb/<aid>/<generation>`: bytes that nothing refers to.
pub fn garbage(artifact: u64, generation: u64) -> Key {
    Builder::new("xb").id(artifact).id(generation).done()
}

/// All of `xb/`.
pub fn all_garbage() -> Key {
    Builder::new("xb").done()
}

/// `xt/<aid>/<generation>`: finalized uploads whose leftover blocks are not dropped yet.
pub fn trim(artifact: u64, generation: u64) -> Key {
    Builder::new("xt").id(artifact).id(generation).done()
}

/// All of `xt/`.
pub fn all_trims() -> Key {
    Builder::new("xt").done()
}
