//! Repositories, their lists, names and refs.

use farrier_proto::store::{Repository, Visibility};

use super::{Builder, due};
use crate::store::{
    engine::{Key, Range},
    listings::Sort,
};

/// `r/<rid>`
pub fn repository(id: u64) -> Key {
    Builder::new("r").id(id).done()
}

/// `rn/<owner>/<lower name>`
pub fn repository_name(owner: u64, name: &str) -> Key {
    Builder::new("rn").id(owner).text(name).done()
}

/// All of `rn/<owner>/`: an owner's repositories by name.
pub fn repository_names(owner: u64) -> Key {
    Builder::new("rn").id(owner).done()
}

/// `rr/<owner>/<lower old name>` → repository: where a renamed repository went.
pub fn repository_redirect(owner: u64, name: &str) -> Key {
    Builder::new("rr").id(owner).text(name).done()
}

/// All of `r/`: repositories by number.
pub fn repositories() -> Key {
    Builder::new("r").done()
}

/// `ro/<owner>/<rid>`: an owner's repositories by number.
pub fn owner_repository(owner: u64, repository: u64) -> Key {
    Builder::new("ro").id(owner).id(repository).done()
}

/// All of `ro/<owner>/`.
pub fn owner_repositories(owner: u64) -> Key {
    Builder::new("ro").id(owner).done()
}

/// All of `rl/<scope>/<sort>/<class>/`: one sorted list of one class of visibility. Scope 0 holds
/// the repositories of all owners, another number those of one.
pub fn listings(scope: u64, sort: Sort, class: Visibility) -> Key {
    // One byte each: lists of different scopes and classes are merged by what follows them.
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX);
    Builder::new("rl").id(scope).raw(&[sort as u8, class]).done()
}

/// `rl/<scope>/<sort>/<class>/<what sorts>/<rid>`
pub fn listing(scope: u64, sort: Sort, row: &Repository) -> Key {
    [listings(scope, sort, row.listed()), listing_suffix(sort, row)].concat()
}

/// What follows the prefix of [`listings`]: sorts a repository among those of other lists, too.
pub fn listing_suffix(sort: Sort, row: &Repository) -> Key {
    let suffix = Builder(Key::new());
    match sort {
        Sort::Id => suffix,
        Sort::Name => suffix.text(&row.name),
        Sort::Updated => suffix.time(row.updated_ms),
        Sort::Size => suffix.id(row.size_bytes),
    }
    .id(row.id)
    .done()
}

/// The size in the key of an entry that is sorted by it.
pub fn listed_size(key: &[u8]) -> Option<u64> {
    let (before_id, _) = key.split_last_chunk::<8>()?;
    Some(u64::from_be_bytes(*before_id.last_chunk()?))
}

/// `rg/<trigram>/<rid>`: names that contain three characters.
pub fn trigram(trigram: [u8; 3], repository: u64) -> Key {
    Builder::new("rg").raw(&trigram).id(repository).done()
}

/// All of `rg/<trigram>/`.
pub fn trigrams(trigram: [u8; 3]) -> Key {
    Builder::new("rg").raw(&trigram).done()
}

/// `rx/<rid>`: repositories that are deleted and have files.
pub fn repository_garbage(id: u64) -> Key {
    Builder::new("rx").id(id).done()
}

/// All of `rx/`.
pub fn repositories_garbage() -> Key {
    Builder::new("rx").done()
}

/// `rz/<deleted>/<rid>`: deleted repositories that can be restored, by the time of their deletion.
pub fn deleted_repository(deleted_ms: i64, id: u64) -> Key {
    Builder::new("rz").time(deleted_ms).id(id).done()
}

/// The range of `rz` up to and including `until_ms`.
pub fn deleted_repositories(until_ms: i64) -> Range {
    due("rz", until_ms)
}

/// `rk/<rid>`: deleted repositories whose live jobs are still to be cancelled.
pub fn repository_jobs_to_cancel(id: u64) -> Key {
    Builder::new("rk").id(id).done()
}

/// All of `rk/`.
pub fn repositories_with_jobs_to_cancel() -> Key {
    Builder::new("rk").done()
}

/// `ry/<rid>`: migrations that run.
pub fn migration(repository: u64) -> Key {
    Builder::new("ry").id(repository).done()
}

/// All of `ry/`.
pub fn migrations() -> Key {
    Builder::new("ry").done()
}

/// `rc/<rid>/<uid>`
pub fn collaborator(repository: u64, user: u64) -> Key {
    Builder::new("rc").id(repository).id(user).done()
}

/// All of `rc/<rid>/`.
pub fn collaborators(repository: u64) -> Key {
    Builder::new("rc").id(repository).done()
}

/// `cu/<uid>/<rid>`: the other direction of `rc`.
pub fn collaboration(user: u64, repository: u64) -> Key {
    Builder::new("cu").id(user).id(repository).done()
}

/// All of `cu/<uid>/`.
pub fn collaborations(user: u64) -> Key {
    Builder::new("cu").id(user).done()
}

/// `rf/<rid>/<ref>`
pub fn ref_tip(repository: u64, name: &str) -> Key {
    Builder::new("rf").id(repository).exact(name).done()
}

/// All of `rf/<rid>/`.
pub fn ref_tips(repository: u64) -> Key {
    Builder::new("rf").id(repository).done()
}

/// The ref in a key of `rf/`.
pub fn ref_tip_name(key: &[u8]) -> Option<&str> {
    let name = key.get(ref_tips(0).len()..)?.strip_suffix(&[0])?;
    std::str::from_utf8(name).ok()
}

/// `gp/<rid>/<push>`: a push whose outcome is not recorded.
pub fn push_mark(repository: u64, push: u64) -> Key {
    Builder::new("gp").id(repository).id(push).done()
}

/// `gh/<rid>`: a repository whose `HEAD` does not follow its default branch yet.
pub fn head_mark(repository: u64) -> Key {
    Builder::new("gh").id(repository).done()
}

/// All of `gh/`.
pub fn head_marks() -> Key {
    Builder::new("gh").done()
}

/// All of `gp/`.
pub fn push_marks() -> Key {
    Builder::new("gp").done()
}
