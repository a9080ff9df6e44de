//! Keys of repositories, their lists and names.

use farrier_proto::store::{Repository, Visibility};

use super::{Builder, due};
use crate::store::{
    engine::{Key, Range},
    listings::Sort,
};

/// `r/<rid>`
pub fn repository(id: u64) -> Key {
    Builder::new("r").id(id).build()
}

/// `rn/<owner>/<lower name>`
pub fn repository_name(owner: u64, name: &str) -> Key {
    Builder::new("rn").id(owner).text(name).build()
}

/// Returns the prefix of `rn/<owner>/`: an owner's repositories by name.
pub fn repository_names(owner: u64) -> Key {
    Builder::new("rn").id(owner).build()
}

/// `rr/<owner>/<lower old name>` → repository: the redirect of a renamed repository.
pub fn repository_redirect(owner: u64, name: &str) -> Key {
    Builder::new("rr").id(owner).text(name).build()
}

/// Returns the prefix of `r/`: repositories by id.
pub fn repositories() -> Key {
    Builder::new("r").build()
}

/// `ro/<owner>/<rid>`: an owner's repositories by id.
pub fn owner_repository(owner: u64, repository: u64) -> Key {
    Builder::new("ro").id(owner).id(repository).build()
}

/// Returns the prefix of `ro/<owner>/`.
pub fn owner_repositories(owner: u64) -> Key {
    Builder::new("ro").id(owner).build()
}

/// Returns the prefix of `rl/<scope>/<sort>/<class>/`: a sorted list of the repositories in one visibility class. Scope
/// 0 is the list of all owners; any other scope is an owner's id.
pub fn listings(scope: u64, sort: Sort, class: Visibility) -> Key {
    // Scope, sort and class have fixed lengths. Lists are merged by the part of the key after them.
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX);
    Builder::new("rl").id(scope).raw(&[sort as u8, class]).build()
}

/// `rl/<scope>/<sort>/<class>/<sort value>/<rid>`
pub fn listing(scope: u64, sort: Sort, row: &Repository) -> Key {
    [listings(scope, sort, row.listed()), listing_suffix(sort, row)].concat()
}

/// Returns the number of the order in a key of `rl/`; `None` for other keys.
pub fn order_of_listing(key: &[u8]) -> Option<u8> {
    let after_scope = key.strip_prefix(super::tag("rl").as_slice())?.get(size_of::<u64>()..)?;
    after_scope.first().copied()
}

/// Returns the part of a listing's key after the prefix of [`listings`]. It sorts the repository in merged
/// lists.
pub fn listing_suffix(sort: Sort, row: &Repository) -> Key {
    let suffix = Builder(Key::new());
    match sort {
        Sort::Id => suffix,
        Sort::Name => suffix.text(&row.name),
        Sort::Updated => suffix.time(row.updated_ms),
        Sort::Size => suffix.id(row.size_bytes),
        Sort::Stars => suffix.id(row.stars),
        Sort::Forks => suffix.id(row.forks),
    }
    .id(row.id)
    .build()
}

/// Returns the size in the key of a list sorted by size.
pub fn listed_size(key: &[u8]) -> Option<u64> {
    let (before_id, _) = key.split_last_chunk::<8>()?;
    Some(u64::from_be_bytes(*before_id.last_chunk()?))
}

/// `rg/<trigram>/<rid>`: repositories whose names contain three characters.
pub fn trigram(trigram: [u8; 3], repository: u64) -> Key {
    Builder::new("rg").raw(&trigram).id(repository).build()
}

/// Returns the prefix of `rg/<trigram>/`.
pub fn trigrams(trigram: [u8; 3]) -> Key {
    Builder::new("rg").raw(&trigram).build()
}

/// `tp/<topic>/<class>/<rid>`: the repositories with a topic, by visibility class.
pub fn topic(topic: &str, class: Visibility, repository: u64) -> Key {
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX);
    Builder::new("tp").text(topic).raw(&[class]).id(repository).build()
}

/// Returns the topics that begin with `prefix`, after the topic `after` with all its repositories.
pub fn topics_from(prefix: &str, after: Option<&str>) -> Range {
    let mut low = Builder::new("tp").raw(prefix.as_bytes()).build();
    let high = Range::prefix(low.clone()).high;
    if let Some(after) = after {
        // Every key of `after` has a zero byte after the topic.
        low = Builder::new("tp").raw(after.as_bytes()).raw(&[1]).build();
    }
    Range { low, high }
}

/// Returns the topic in a key of `tp/`.
pub fn topic_of(key: &[u8]) -> Option<&str> {
    let rest = key.get(Builder::new("tp").build().len()..)?;
    std::str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
}

/// Prefix of `tp/<topic>/<class>/`.
pub fn topic_class(topic: &str, class: Visibility) -> Key {
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX);
    Builder::new("tp").text(topic).raw(&[class]).build()
}

/// Prefix of `tp/<topic>/`.
pub fn topics(topic: &str) -> Key {
    Builder::new("tp").text(topic).build()
}

/// The byte in `fk` before the owner of a fork, in place of a visibility class.
const BY_OWNER: u8 = u8::MAX;

/// `fk/<parent>/<class>/<rid>`: the forks of a repository, by visibility class, newest first.
pub fn fork(parent: u64, class: Visibility, repository: u64) -> Key {
    Builder(forks(parent, class)).newest(repository).build()
}

/// Returns the prefix of `fk/<parent>/<class>/`.
pub fn forks(parent: u64, class: Visibility) -> Key {
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX - 1);
    Builder::new("fk").id(parent).raw(&[class]).build()
}

/// `fk/<parent>/255/<owner>/<rid>`: the forks of a repository that belong to one owner, newest first.
pub fn owner_fork(parent: u64, owner: u64, repository: u64) -> Key {
    Builder(owner_forks(parent, owner)).newest(repository).build()
}

/// Returns the prefix of `fk/<parent>/255/<owner>/`.
pub fn owner_forks(parent: u64, owner: u64) -> Key {
    Builder::new("fk").id(parent).raw(&[BY_OWNER]).id(owner).build()
}

/// Returns the part of a key of `fk` after the prefix of its class.
pub fn fork_suffix(repository: u64) -> Key {
    Builder(Key::new()).newest(repository).build()
}

/// `rx/<rid>`: deleted repositories whose files must be removed.
pub fn repository_garbage(id: u64) -> Key {
    Builder::new("rx").id(id).build()
}

/// Returns the prefix of `rx/`.
pub fn repositories_garbage() -> Key {
    Builder::new("rx").build()
}

/// `rz/<deleted>/<rid>`: restorable deleted repositories by deletion time.
pub fn deleted_repository(deleted_ms: i64, id: u64) -> Key {
    Builder::new("rz").time(deleted_ms).id(id).build()
}

/// Returns the range of `rz` up to and including `until_ms`.
pub fn deleted_repositories(until_ms: i64) -> Range {
    due("rz", until_ms)
}

/// `rk/<rid>`: deleted repositories whose running jobs must be cancelled.
pub fn repository_jobs_to_cancel(id: u64) -> Key {
    Builder::new("rk").id(id).build()
}

/// Returns the prefix of `rk/`.
pub fn repositories_with_jobs_to_cancel() -> Key {
    Builder::new("rk").build()
}

/// `ry/<rid>`: running migrations.
pub fn migration(repository: u64) -> Key {
    Builder::new("ry").id(repository).build()
}

/// Returns the prefix of `ry/`.
pub fn migrations() -> Key {
    Builder::new("ry").build()
}

/// `of/<expires>/<rid>`: repositories that are offered to another owner, by the end of the offer.
pub fn transfer_offer(expires_ms: i64, repository: u64) -> Key {
    Builder::new("of").time(expires_ms).id(repository).build()
}

/// Returns the offers that end at `until_ms` or before.
pub fn transfer_offers(until_ms: i64) -> Range {
    due("of", until_ms)
}

/// `rc/<rid>/<uid>`
pub fn collaborator(repository: u64, user: u64) -> Key {
    Builder::new("rc").id(repository).id(user).build()
}

/// Returns the prefix of `rc/<rid>/`.
pub fn collaborators(repository: u64) -> Key {
    Builder::new("rc").id(repository).build()
}

/// `cu/<uid>/<rid>`: the inverse index of `rc`.
pub fn collaboration(user: u64, repository: u64) -> Key {
    Builder::new("cu").id(user).id(repository).build()
}

/// Returns the prefix of `cu/<uid>/`.
pub fn collaborations(user: u64) -> Key {
    Builder::new("cu").id(user).build()
}
