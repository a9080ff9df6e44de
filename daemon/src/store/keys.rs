//! The key layout: which key each row and each index entry has.
//!
//! Keys sort the way lists are read. A key is an ASCII tag, a zero byte, then components: ids and
//! times as eight big-endian bytes, texts in lower case with a zero byte behind. `newest` turns an
//! id around so that an ascending scan shows the newest first. The table of all tags is in
//! `docs/storage.md`; a tag is never given another meaning.

use farrier_proto::store::{HookScope, Repository, Visibility};

use super::{
    engine::{Key, Range},
    ids::Kind,
    listings::Sort,
};

/// Builds one key.
struct Builder(Key);

impl Builder {
    fn new(tag: &str) -> Self {
        let mut key = Vec::with_capacity(48);
        key.extend_from_slice(tag.as_bytes());
        key.push(0);
        Self(key)
    }

    fn id(mut self, id: u64) -> Self {
        self.0.extend_from_slice(&id.to_be_bytes());
        self
    }

    fn newest(self, id: u64) -> Self {
        self.id(!id)
    }

    /// Milliseconds, also before the epoch, in order of time.
    fn time(self, ms: i64) -> Self {
        self.id(ms.cast_unsigned() ^ (1 << 63))
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A text that compares without case. It must hold no zero byte: checked where names are made.
    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.to_lowercase().bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    /// A text that compares with case.
    fn exact(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    fn done(self) -> Key {
        self.0
    }
}

/// What all keys with the tag `tag` begin with.
pub fn tag(tag: &str) -> Key {
    Builder::new(tag).done()
}

/// Whether `key` has the tag `tag`.
pub fn has_tag(key: &[u8], tag: &str) -> bool {
    key.strip_prefix(tag.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

/// The id that follows the tag.
pub fn first_id(key: &[u8]) -> Option<u64> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    Some(u64::from_be_bytes(*key.get(tag_end + 1..)?.first_chunk()?))
}

/// The two ids that follow the tag.
pub fn first_ids(key: &[u8]) -> Option<(u64, u64)> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    place_parts(key.get(tag_end + 1..tag_end + 17)?)
}

/// The last eight bytes of `key` as an id: what most index keys end with.
pub fn trailing_id(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.last_chunk()?))
}

/// The last eight bytes of `key` as an id that was written newest first.
pub fn trailing_newest(key: &[u8]) -> Option<u64> {
    trailing_id(key).map(|id| !id)
}

/// The time that follows the tag in a key of a time index.
pub fn leading_time(key: &[u8]) -> Option<i64> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    let time: &[u8; 8] = key.get(tag_end + 1..)?.first_chunk()?;
    Some((u64::from_be_bytes(*time) ^ (1 << 63)).cast_signed())
}

/// `m/format`
pub fn format() -> Key {
    Builder::new("m").raw(b"format").done()
}

/// `m/key/<kid>`: the secret with number `kid`.
pub fn signing_key(kid: u64) -> Key {
    Builder::new("m").raw(b"key\0").id(kid).done()
}

/// `s/<kind>`
pub fn sequence(kind: Kind) -> Key {
    Builder::new("s").raw(kind.word().as_bytes()).done()
}

/// `u/<uid>`
pub fn user(id: u64) -> Key {
    Builder::new("u").id(id).done()
}

/// `ow/<lower name>`: the one name space of users and organisations.
pub fn owner_name(name: &str) -> Key {
    Builder::new("ow").text(name).done()
}

/// `ue/<lower e-mail>`
pub fn user_email(email: &str) -> Key {
    Builder::new("ue").text(email).done()
}

/// `t/<sha256 of the token>`
pub fn token(hash: &[u8; 32]) -> Key {
    Builder::new("t").raw(hash).done()
}

/// `tu/<uid>/<tid>`
pub fn user_token(user: u64, token: u64) -> Key {
    Builder::new("tu").id(user).id(token).done()
}

/// All of `tu/<uid>/`.
pub fn user_tokens(user: u64) -> Key {
    Builder::new("tu").id(user).done()
}

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

/// All of `gp/`.
pub fn push_marks() -> Key {
    Builder::new("gp").done()
}

/// `o/<oid>`
pub fn org(id: u64) -> Key {
    Builder::new("o").id(id).done()
}

/// All of `o/`.
pub fn orgs() -> Key {
    Builder::new("o").done()
}

/// All of `u/`.
pub fn users() -> Key {
    Builder::new("u").done()
}

/// All of `ow/`: users and organisations by name.
pub fn owner_names() -> Key {
    Builder::new("ow").done()
}

/// `om/<oid>/<uid>`
pub fn org_member(org: u64, user: u64) -> Key {
    Builder::new("om").id(org).id(user).done()
}

/// All of `om/<oid>/`.
pub fn org_members(org: u64) -> Key {
    Builder::new("om").id(org).done()
}

/// `ou/<uid>/<oid>`: the other direction of `om`.
pub fn user_org(user: u64, org: u64) -> Key {
    Builder::new("ou").id(user).id(org).done()
}

/// All of `ou/<uid>/`.
pub fn user_orgs(user: u64) -> Key {
    Builder::new("ou").id(user).done()
}

/// `wr/<lower old name>` → owner: where a renamed user or organisation went.
pub fn owner_redirect(name: &str) -> Key {
    Builder::new("wr").text(name).done()
}

/// `m/history`: how much of deliveries is remembered.
pub fn history() -> Key {
    Builder::new("m").raw(b"history").done()
}

/// `e/<eid>`
pub fn event(id: u64) -> Key {
    Builder::new("e").id(id).done()
}

/// All of `e/`: events, oldest first.
pub fn events() -> Key {
    Builder::new("e").done()
}

/// `m/forgotten-events`: up to which number events are forgotten.
pub fn forgotten_events() -> Key {
    Builder::new("m").raw(b"forgotten-events").done()
}

/// `ep/<eid>`: what an event says to hooks.
pub fn payload(event: u64) -> Key {
    Builder::new("ep").id(event).done()
}

/// `ep/<eid>/<n>`: the n-th piece of it behind the first, where it is larger than a value may be.
pub fn payload_piece(event: u64, piece: u32) -> Key {
    Builder::new("ep").id(event).id(piece.into()).done()
}

/// `h/<hid>`
pub fn hook(id: u64) -> Key {
    Builder::new("h").id(id).done()
}

/// `hx/<hid>`: how the deliveries of a hook go.
pub fn hook_state(id: u64) -> Key {
    Builder::new("hx").id(id).done()
}

/// `hs/<hid>`, `hd/<hid>`, `hr/<rid>/<hid>`, `ho/<owner>/<hid>`: the hooks of a place by number.
/// `target` is the repository, organisation or user; system and default hooks have none.
pub fn hook_place(scope: HookScope, target: u64, hook: u64) -> Key {
    [hooks_of(scope, target), hook.to_be_bytes().to_vec()].concat()
}

/// All hooks of a place. Users and organisations share `ho/`: their numbers do not meet.
pub fn hooks_of(scope: HookScope, target: u64) -> Key {
    match scope {
        HookScope::Unspecified | HookScope::System => Builder::new("hs").done(),
        HookScope::Default => Builder::new("hd").done(),
        HookScope::Repository => Builder::new("hr").id(target).done(),
        HookScope::Org | HookScope::User => Builder::new("ho").id(target).done(),
    }
}

/// `hz/<since>/<hid>`: hooks whose repository is gone.
pub fn retired_hook(since_ms: i64, hook: u64) -> Key {
    Builder::new("hz").time(since_ms).id(hook).done()
}

/// The range of `hz` up to and including `until_ms`.
pub fn retired_hooks(until_ms: i64) -> Range {
    due("hz", until_ms)
}

/// `d/<newest did>`
pub fn delivery(id: u64) -> Key {
    Builder::new("d").newest(id).done()
}

/// The deliveries with numbers from `low` to `high`, newest first.
pub fn deliveries_between(low: u64, high: u64) -> Range {
    Range { low: delivery(high), high: Some([delivery(low), vec![0]].concat()) }
}

/// All of `d/`: deliveries of all hooks, newest first.
pub fn deliveries() -> Key {
    Builder::new("d").done()
}

/// `da/<did>/<n>`
pub fn attempt(delivery: u64, number: u32) -> Key {
    Builder::new("da").id(delivery).id(number.into()).done()
}

/// All of `da/<did>/`: attempts, the first one first.
pub fn attempts(delivery: u64) -> Key {
    Builder::new("da").id(delivery).done()
}

/// `dh/<hid>/<newest did>`: the deliveries of a hook.
pub fn hook_delivery(hook: u64, delivery: u64) -> Key {
    Builder::new("dh").id(hook).newest(delivery).done()
}

/// All of `dh/<hid>/`.
pub fn hook_deliveries(hook: u64) -> Key {
    Builder::new("dh").id(hook).done()
}

/// `df/<hid>/<newest did>`: those of them that failed.
pub fn failed_delivery(hook: u64, delivery: u64) -> Key {
    Builder::new("df").id(hook).newest(delivery).done()
}

/// All of `df/<hid>/`.
pub fn failed_deliveries(hook: u64) -> Key {
    Builder::new("df").id(hook).done()
}

/// `qf/<hid>/<did>`: first attempts that wait in line.
pub fn in_line(hook: u64, delivery: u64) -> Key {
    Builder::new("qf").id(hook).id(delivery).done()
}

/// All of `qf/<hid>/`: in the order in which they are sent.
pub fn line(hook: u64) -> Key {
    Builder::new("qf").id(hook).done()
}

/// All of `qf/`: the lines of all hooks.
pub fn lines() -> Key {
    Builder::new("qf").done()
}

/// `qu/<hid>/<did>`: attempts that somebody asked for. They go before the line.
pub fn urgent(hook: u64, delivery: u64) -> Key {
    Builder::new("qu").id(hook).id(delivery).done()
}

/// All of `qu/<hid>/`.
pub fn urgent_of(hook: u64) -> Key {
    Builder::new("qu").id(hook).done()
}

/// All of `qu/`.
pub fn all_urgent() -> Key {
    Builder::new("qu").done()
}

/// The hook in a key of `qf/` or `qu/`.
pub fn line_hook(key: &[u8]) -> Option<u64> {
    trailing_id(key.get(..line(0).len())?)
}

/// `qr/<due>/<did>` → hook: attempts that come later.
pub fn retry(due_ms: i64, delivery: u64) -> Key {
    Builder::new("qr").time(due_ms).id(delivery).done()
}

/// The range of `qr` up to and including `until_ms`.
pub fn retries(until_ms: i64) -> Range {
    due("qr", until_ms)
}

/// `j/<run>`
pub fn run(id: u64) -> Key {
    Builder::new("j").id(id).done()
}

/// `jr/<rid>/<newest run>`
pub fn repository_run(repository: u64, run: u64) -> Key {
    Builder::new("jr").id(repository).newest(run).done()
}

/// All of `jr/<rid>/`.
pub fn repository_runs(repository: u64) -> Key {
    Builder::new("jr").id(repository).done()
}

/// `jj/<run>/<job>`
pub fn job(run: u64, job: u64) -> Key {
    Builder::new("jj").id(run).id(job).done()
}

/// All of `jj/<run>/`.
pub fn run_jobs(run: u64) -> Key {
    Builder::new("jj").id(run).done()
}

/// `ji/<job>` → run: finds a job by its id alone.
pub fn job_run(job: u64) -> Key {
    Builder::new("ji").id(job).done()
}

/// `jx/<deadline>/<job>` → run: live jobs by the time at which they are cancelled.
pub fn job_deadline(deadline_ms: i64, job: u64) -> Key {
    Builder::new("jx").time(deadline_ms).id(job).done()
}

/// The range of `jx` up to and including `until_ms`.
pub fn job_deadlines(until_ms: i64) -> Range {
    due("jx", until_ms)
}

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

/// The last two ids of a key: artifact and generation in `xb/` and `xt/`, repository and push in `gp/`.
pub fn place_parts(key: &[u8]) -> Option<(u64, u64)> {
    let parts: &[u8; 16] = key.last_chunk()?;
    let (artifact, generation) = parts.split_at(8);
    Some((trailing_id(artifact)?, trailing_id(generation)?))
}

/// Entries of a time index that are due: from its begin to `until_ms`, included.
fn due(tag: &str, until_ms: i64) -> Range {
    Range { low: Builder::new(tag).done(), high: Some(Builder::new(tag).time(until_ms.saturating_add(1)).done()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_across_the_epoch() {
        let mut keys = [job_deadline(5, 1), job_deadline(-5, 1), job_deadline(0, 1)];
        keys.sort();
        assert_eq!(keys, [job_deadline(-5, 1), job_deadline(0, 1), job_deadline(5, 1)]);
        assert_eq!(keys.map(|key| leading_time(&key)), [Some(-5), Some(0), Some(5)]);
    }

    #[test]
    fn due_entries_include_their_own_millisecond_and_exclude_the_next() {
        let range = artifact_expiries(7);
        assert!(range.contains(&artifact_expiry(7, u64::MAX)));
        assert!(!range.contains(&artifact_expiry(8, 0)));
    }

    #[test]
    fn names_compare_without_case_and_do_not_run_into_each_other() {
        assert_eq!(repository_name(1, "Demo"), repository_name(1, "dEMO"));
        assert_ne!(artifact_name(1, 2, "x"), artifact_name(1, 2, "X"));
        assert!(!artifact_name(1, 2, "ab").starts_with(&artifact_name(1, 2, "a")));
    }

    #[test]
    fn newest_first_keys_turn_the_order_around_and_give_the_id_back() {
        assert!(repository_run(1, 9) < repository_run(1, 8));
        assert_eq!(trailing_newest(&repository_run(1, 9)), Some(9));
        assert_eq!(place_parts(&garbage(3, 4)), Some((3, 4)));
        assert_eq!(place_parts(&push_mark(3, 4)), Some((3, 4)));
        assert_eq!(ref_tip_name(&ref_tip(3, "refs/heads/x")), Some("refs/heads/x"));
    }
}
