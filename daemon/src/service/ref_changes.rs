//! Creates, renames and deletes branches and tags through the API.
//!
//! These changes are handled like pushes: marked before git moves a ref, then recorded with their events, even if the
//! client disconnects.

use farrier_proto::store::Repository;
use tokio::sync::oneshot;

use super::{
    Context, Error, access,
    audit::{Action, Entry, Object, RequestScope},
    browse::Browse,
    events::{Actor, EventKind, EventRecorder, Subject},
    initial, pushes,
    ref_rules::{self, Checked},
    repositories::{head, rules},
};
use crate::{
    git::{
        GitError, Workspace,
        commands::{Commands, Update},
        read::HistoryQuery,
        ref_name::{HEADS, TAGS, is_valid_short},
    },
    model::identity::Account,
    store::{Tx, releases, repositories},
};

/// Creates the branch `name` at `from`. Empty: at the tip of the default branch.
pub async fn create_branch(
    context: &Context,
    browse: &Browse,
    actor: u64,
    name: &str,
    from: &str,
) -> Result<(), Error> {
    rules::branch("new_branch_name", name)?;
    let at = browse.resolve(from).await?;
    let [branch, tag] = tips(context, browse, [HEADS, TAGS], name).await?;
    if branch.is_some() || tag.is_some() {
        let kind = if branch.is_some() { "branch" } else { "tag" };
        return Err(Error::Exists { message: format!("{kind} already exists: {name}") });
    }
    let change = RefMove::new(HEADS, name, None, Some(at));
    let entry = entry(Action::RefCreate, browse, &change);
    apply(context, &browse.found.repository, actor, vec![change], Some(entry)).await
}

/// Deletes the branch `name`. The default branch cannot be deleted.
pub async fn delete_branch(context: &Context, browse: &Browse, actor: u64, name: &str) -> Result<(), Error> {
    let [tip] = tips(context, browse, [HEADS], name).await?;
    let tip = tip.ok_or(Error::NotFound { what: "the branch" })?;
    let change = RefMove::new(HEADS, name, Some(tip), None);
    let entry = entry(Action::RefDelete, browse, &change);
    apply(context, &browse.found.repository, actor, vec![change], Some(entry)).await
}

/// Moves the branch `name` from `old` to the commit `new`. `None`: the branch must not exist. `written_bytes`: the size
/// of the new objects.
pub(super) async fn move_branch(
    context: &Context,
    browse: &Browse,
    actor: u64,
    (name, old): (&str, Option<String>),
    (new, written_bytes): (String, u64),
) -> Result<(), Error> {
    let action = if old.is_none() { Action::RefCreate } else { Action::RefUpdate };
    let change = RefMove { written_bytes, ..RefMove::new(HEADS, name, old, Some(new)) };
    let entry = entry(action, browse, &change);
    apply(context, &browse.found.repository, actor, vec![change], Some(entry)).await
}

/// Returns an error if the rules forbid to move the branch `name` from `old` to the commit `new` in `workspace`.
pub(super) async fn check_branch(
    context: &Context,
    browse: &Browse,
    actor: u64,
    (name, old): (&str, Option<String>),
    (new, workspace): (&str, &Workspace),
) -> Result<(), Error> {
    let commands = commands(&[RefMove::new(HEADS, name, old, Some(new.to_owned()))]);
    ref_rules::require_in(context, browse.found.repository.id, actor, &commands, workspace).await
}

/// Moves the branch `name` to the commit that `new` resolves to, if it is at `old` (empty: anywhere). Without `force`,
/// the branch may lose no commits.
pub async fn update_branch(
    context: &Context,
    browse: &Browse,
    actor: u64,
    name: &str,
    (old, new): (&str, &str),
    force: bool,
) -> Result<(), Error> {
    let [tip] = tips(context, browse, [HEADS], name).await?;
    let tip = tip.ok_or(Error::NotFound { what: "the branch" })?;
    if new.is_empty() {
        return Err(Error::invalid("new_commit_id", "Required"));
    }
    if !old.is_empty() && !tip.eq_ignore_ascii_case(old) {
        return Err(Error::invalid("old_commit_id", format!("the branch is at {tip}")));
    }
    let new = browse.git.resolve(new).await?.ok_or(Error::NotFound { what: "the commit" })?;
    if new == tip {
        return Ok(());
    }
    let lost = HistoryQuery { from: tip.clone(), not: vec![new.clone()], ..HistoryQuery::default() };
    if !force && browse.git.count(&lost).await? > 0 {
        return Err(Error::invalid("new_commit_id", "the branch would lose commits; set force to allow it"));
    }
    let change = RefMove::new(HEADS, name, Some(tip), Some(new));
    let entry = entry(Action::RefUpdate, browse, &change);
    apply(context, &browse.found.repository, actor, vec![change], Some(entry)).await
}

/// Renames the branch `old` to `new`. A renamed default branch stays the default.
pub async fn rename_branch(context: &Context, browse: &Browse, actor: u64, old: &str, new: &str) -> Result<(), Error> {
    let repository = &browse.found.repository;
    let [tip] = tips(context, browse, [HEADS], old).await?;
    let tip = tip.ok_or(Error::NotFound { what: "the branch" })?;
    rules::branch("name", new)?;
    let [existing] = tips(context, browse, [HEADS], new).await?;
    if existing.is_some() {
        return Err(Error::invalid("name", format!("branch already exists: {new}")));
    }
    let create = RefMove::new(HEADS, new, None, Some(tip.clone()));
    let delete = RefMove::new(HEADS, old, Some(tip), None);
    let entry = Some(entry(Action::RefRename, browse, &create).created().field("name", old, new));
    let name_conflict = |error| match error {
        Error::Conflict { reason } => Error::invalid("name", reason),
        other => other,
    };
    if repository.default_branch != old {
        return apply(context, repository, actor, vec![create, delete], entry).await.map_err(name_conflict);
    }
    // In steps, so that the default branch exists after each of them.
    ref_rules::require(context, repository.id, actor, &commands(&[create.clone(), delete.clone()])).await?;
    apply(context, repository, actor, vec![create], None).await.map_err(name_conflict)?;
    let row = set_default(context, browse, actor, new).await?;
    apply(context, &row, actor, vec![delete], entry).await
}

/// Creates the tag `name` at `target`. A non-empty message creates a tag object.
pub async fn create_tag(
    context: &Context,
    browse: &Browse,
    account: &Account,
    name: &str,
    message: &str,
    target: &str,
) -> Result<(), Error> {
    let change = new_tag(context, browse, account, name, message, target).await?;
    let entry = entry(Action::RefCreate, browse, &change);
    apply(context, &browse.found.repository, account.user.id, vec![change], Some(entry)).await
}

/// Returns whether the tag `name` exists.
pub(super) async fn tag_exists(context: &Context, browse: &Browse, name: &str) -> Result<bool, Error> {
    let [tag] = tips(context, browse, [TAGS], name).await?;
    Ok(tag.is_some())
}

/// Returns the change that creates a tag.
async fn new_tag(
    context: &Context,
    browse: &Browse,
    account: &Account,
    name: &str,
    message: &str,
    target: &str,
) -> Result<RefMove, Error> {
    rules::branch("tag_name", name)?;
    let commit = browse.resolve(target).await?;
    let [tag] = tips(context, browse, [TAGS], name).await?;
    if tag.is_some() {
        return Err(Error::Exists { message: format!("tag already exists: {name}") });
    }
    let message = message.trim_end();
    let at =
        if message.is_empty() { commit } else { annotate(context, browse, account, name, message, &commit).await? };
    Ok(RefMove { written_bytes: message.len() as u64, ..RefMove::new(TAGS, name, None, Some(at)) })
}

/// Deletes the tag `name`. The tag of a published release cannot be deleted.
pub async fn delete_tag(context: &Context, browse: &Browse, actor: u64, name: &str) -> Result<(), Error> {
    let [tip] = tips(context, browse, [TAGS], name).await?;
    let tip = tip.ok_or(Error::NotFound { what: "the tag" })?;
    let release = releases::by_tag(&context.store.read().await?, browse.found.repository.id, name).await?;
    if release.is_some_and(|release| !release.draft) {
        return Err(Error::Conflict { reason: "the tag has a release; delete the release first".into() });
    }
    let change = RefMove::new(TAGS, name, Some(tip), None);
    let entry = entry(Action::RefDelete, browse, &change);
    apply(context, &browse.found.repository, actor, vec![change], Some(entry)).await
}

/// Writes a tag object and returns its id.
async fn annotate(
    context: &Context,
    browse: &Browse,
    account: &Account,
    name: &str,
    message: &str,
    commit: &str,
) -> Result<String, Error> {
    let tagger = initial::identity(context, account);
    let seconds = context.now_ms().div_euclid(1_000);
    let text = format!(
        "object {commit}\ntype commit\ntag {name}\ntagger {} <{}> {seconds} +0000\n\n{}\n",
        tagger.name,
        tagger.email,
        message.replace('\0', "")
    );
    let output =
        context.git.run(browse.found.repository.id, ["mktag"], text).await.map_err(Error::git("writing a tag"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the ids of the refs `name` under each of `prefixes`.
async fn tips<const N: usize>(
    context: &Context,
    browse: &Browse,
    prefixes: [&str; N],
    name: &str,
) -> Result<[Option<String>; N], Error> {
    if !is_valid_short(name) {
        return Ok([const { None }; N]);
    }
    let names = prefixes.map(|prefix| format!("{prefix}{name}")).to_vec();
    let found = context.git.tips(browse.found.repository.id, names).await.map_err(Error::git("reading refs"))?;
    let mut found = found.into_iter();
    Ok([(); N].map(|()| found.next().flatten()))
}

/// A requested change of a ref.
#[derive(Clone, Debug)]
struct RefMove {
    name: String,
    /// The expected id. `None`: the ref must not exist.
    old: Option<String>,
    /// The new id. `None`: delete the ref.
    new: Option<String>,
    /// Size of the objects that were written for this change, in bytes.
    written_bytes: u64,
}

impl RefMove {
    fn new(prefix: &str, name: &str, old: Option<String>, new: Option<String>) -> Self {
        Self { name: format!("{prefix}{name}"), old, new, written_bytes: 0 }
    }

    /// Returns the change as the update of a push.
    fn update(&self) -> Update {
        let digits = self.old.as_ref().or(self.new.as_ref()).map_or(40, String::len);
        let or_zeros = |id: &Option<String>| id.clone().unwrap_or_else(|| "0".repeat(digits));
        Update { name: self.name.clone(), old: or_zeros(&self.old), new: or_zeros(&self.new) }
    }

    /// Returns the change as input for `git update-ref --stdin -z`.
    fn line(&self) -> String {
        match (&self.old, &self.new) {
            (None, Some(new)) => format!("create {}\0{new}\0", self.name),
            (Some(old), None) => format!("delete {}\0{old}\0", self.name),
            (old, new) => {
                let text = |id: &Option<String>| id.clone().unwrap_or_default();
                format!("update {}\0{}\0{}\0", self.name, text(new), text(old))
            }
        }
    }
}

/// Returns the changes as the updates of a push.
fn commands(moves: &[RefMove]) -> Commands {
    Commands { updates: moves.iter().map(RefMove::update).collect(), ..Commands::default() }
}

/// Returns the audit entry of a change.
fn entry(action: Action, browse: &Browse, change: &RefMove) -> Entry {
    let found = &browse.found;
    let path = format!("{}/{}", found.owner.name(), found.repository.name);
    let entry = Entry::new(action, Object::reference(&change.name, found.repository.id, &path));
    let entry = match &change.old {
        Some(old) => entry.had("tip", old.as_str()),
        None => entry,
    };
    match &change.new {
        Some(new) => entry.set("tip", new.as_str()),
        None => entry,
    }
}

/// Applies all changes or none, and records them. Continues if the caller disconnects.
async fn apply(
    context: &Context,
    repository: &Repository,
    actor: u64,
    moves: Vec<RefMove>,
    entry: Option<Entry>,
) -> Result<(), Error> {
    access::require_writable(repository)?;
    let commands = commands(&moves);
    if let Some(refusal) = pushes::refusals(repository, &commands).into_iter().next() {
        return Err(Error::Forbidden { reason: refusal.reason });
    }
    let passed = ref_rules::require(context, repository.id, actor, &commands).await?;
    let (sender, result) = oneshot::channel();
    let (task_context, id) = (context.clone(), repository.id);
    context.tasks.short(RequestScope::inherit(async move {
        let _ = sender.send(run(&task_context, id, actor, (&commands, &passed), &moves, entry).await);
        if moves.iter().any(|change| change.written_bytes > 0) {
            pushes::tidy(&task_context, id).await;
        }
    }));
    result.await.unwrap_or(Err(Error::Busy))
}

/// Applies and records the changes. Must not be interrupted between the mark and the record.
async fn run(
    context: &Context,
    repository: u64,
    actor: u64,
    (commands, passed): (&Commands, &Checked),
    moves: &[RefMove],
    entry: Option<Entry>,
) -> Result<(), Error> {
    let push = pushes::begin(context, repository, actor, commands).await?.with_entry(entry);
    let lock = context.git.lock(repository).await;
    // Again under the lock, for which the change may have waited: a rule may have been added since.
    let moved = match ref_rules::require_again(context, repository, actor, commands, passed).await {
        Ok(()) => move_refs(context, repository, moves).await,
        Err(refused) => Err(refused),
    };
    let written_bytes = moves.iter().map(|change| change.written_bytes).sum();
    pushes::record(context, &push, written_bytes, &lock).await?;
    moved
}

/// Moves the refs on disk, all or none.
async fn move_refs(context: &Context, repository: u64, moves: &[RefMove]) -> Result<(), Error> {
    check_targets(context, repository, moves).await?;
    let input = moves.iter().map(RefMove::line).collect::<String>();
    match context.git.run(repository, ["update-ref", "--stdin", "-z"], input).await {
        Ok(_) => Ok(()),
        Err(GitError::Failed { stderr, .. }) if is_conflict(&stderr) => Err(Error::Conflict {
            reason: "it conflicts with another branch or tag, or a ref was moved meanwhile".into(),
        }),
        Err(error) => Err(Error::git("moving refs")(error)),
    }
}

/// Returns whether `update-ref` failed because refs do not have the expected values, or because of their names.
fn is_conflict(stderr: &str) -> bool {
    let is_refused = stderr.contains("cannot lock ref") || stderr.contains("cannot process");
    is_refused && !stderr.contains("Unable to create")
}

/// Checks under the repository's lock that the commits of new tags exist. `update-ref` checks only the object of the
/// ref, and an unreachable commit may have been pruned since the tag was requested.
async fn check_targets(context: &Context, repository: u64, moves: &[RefMove]) -> Result<(), Error> {
    let of_tags = moves.iter().filter(|change| change.name.starts_with(TAGS)).filter_map(|change| change.new.as_ref());
    let names: Vec<String> = of_tags.map(|new| format!("{new}^{{}}")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let found = context.git.reader(repository).infos(&names).await?;
    let all_exist = found.len() == names.len() && found.iter().all(Option::is_some);
    if all_exist { Ok(()) } else { Err(Error::NotFound { what: "the commit" }) }
}

/// Sets the default branch of the repository.
async fn set_default(context: &Context, browse: &Browse, actor: u64, branch: &str) -> Result<Repository, Error> {
    let (id, owner) = (browse.found.repository.id, &browse.found.owner);
    let actor = &Actor::find(&context.store.read().await?, actor).await?;
    let recorder = &EventRecorder::reserve(context, 1).await?;
    let now = context.now_ms();
    let written = context
        .store
        .write(async |tx: Tx| {
            let before = repositories::get(&tx, id).await?.ok_or(Error::NotFound { what: "the repository" })?;
            let row = Repository { default_branch: branch.to_owned(), updated_ms: now, ..before.clone() };
            repositories::put(&tx, Some(&before), &row);
            let edited = EventKind::Repository {
                action: "edited",
                before: vec![("default_branch", before.default_branch.clone())],
            };
            recorder.record(&tx, Subject { repository: &row, owner, actor }, &[edited]).await?;
            head::note(&tx, &before, &row);
            Ok::<_, Error>(row)
        })
        .await;
    // Also after an error: if the outcome of the commit is unknown, the row decides.
    head::follow(context, id).await;
    written
}
