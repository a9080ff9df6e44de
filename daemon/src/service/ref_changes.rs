//! Creates, renames and deletes branches and tags through the API.
//!
//! The expected values are those in the rows of refs. The changes are made by the function that applies pushes, even if
//! the client disconnects.

mod apply;

use farrier_proto::store::Repository;

pub(super) use self::apply::Written;
use self::apply::{RefMove, apply, commands, entry};
use super::{
    Context, Error,
    audit::Action,
    browse::Browse,
    events::{Actor, EventKind, EventRecorder, Subject},
    initial, ref_rules,
    repositories::{head, rules},
};
use crate::{
    git::{
        Workspace,
        read::HistoryQuery,
        ref_name::{HEADS, TAGS, is_valid_short},
    },
    model::identity::Account,
    store::{Tx, refs, releases, repositories},
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

/// Moves the branch `name` from `old` to a commit whose objects were written for this. `None`: the branch must not
/// exist.
pub(super) async fn move_branch(
    context: &Context,
    browse: &Browse,
    actor: u64,
    (name, old): (&str, Option<String>),
    new: Written,
) -> Result<(), Error> {
    let action = if old.is_none() { Action::RefCreate } else { Action::RefUpdate };
    let change = RefMove::written(HEADS, name, old, new);
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
    let tag_object = (!message.is_empty()).then(|| tag_object(context, account, name, message, &commit));
    Ok(RefMove::new(TAGS, name, None, Some(commit)).with_tag_object(tag_object))
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

/// Returns the text of a tag object.
fn tag_object(context: &Context, account: &Account, name: &str, message: &str, commit: &str) -> String {
    let tagger = initial::identity(context, account);
    let seconds = context.now_ms().div_euclid(1_000);
    format!(
        "object {commit}\ntype commit\ntag {name}\ntagger {} <{}> {seconds} +0000\n\n{}\n",
        tagger.name,
        tagger.email,
        message.replace('\0', "")
    )
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
    let id = browse.found.repository.id;
    let found = refs::tips(&context.store.read().await?, id, &names).await?;
    context.copies.follow_others(id).await?;
    let mut found = found.into_iter();
    Ok([(); N].map(|()| found.next().flatten()))
}

/// Sets the default branch of the repository.
async fn set_default(context: &Context, browse: &Browse, actor: u64, branch: &str) -> Result<Repository, Error> {
    let (id, owner) = (browse.found.repository.id, &browse.found.owner);
    let actor = &Actor::find(&context.store.read().await?, actor).await?;
    let recorder = &EventRecorder::new(context);
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
