//! Changes repositories. Omitted fields keep their values. Everything is checked before anything changes.

use farrier_common::api::EditRepository;
use farrier_proto::store::Repository;

use super::{FoundRepository, find, head, rules};
use crate::{
    model::{identity::Identity, revision::Expected},
    service::{
        Context, Error,
        access::Action,
        audit::{self, AuditRecorder, Entry, Object},
        events::{Actor, EventKind, EventRecorder, Subject},
        migrations, mirrors,
    },
    show,
    store::{
        Tx, owners, refs,
        repositories::{self, forks},
    },
};

/// Changes the repository `owner`/`name` if its revision is the expected one.
pub async fn edit(
    context: &Context,
    identity: &Identity,
    owner: &str,
    name: &str,
    input: &EditRepository,
    expected: &Expected,
) -> Result<FoundRepository, Error> {
    let snapshot = context.store.read().await?;
    let found = find(&snapshot, identity, owner, name, Action::Administer).await?;
    drop(snapshot);
    check(input)?;
    let interval = mirrors::edited_interval(context, &found.repository, input)?;
    let actions = actions(input, &found.repository);
    if actions.is_empty() && interval.is_none() {
        super::require(expected, &found.repository)?;
        return Ok(found);
    }
    if let Some(branch) = input.default_branch.as_deref().filter(|branch| *branch != found.repository.default_branch) {
        require_branch(context, &found.repository, branch).await?;
    }
    let recorder = &EventRecorder::new(context);
    let audit = &AuditRecorder::new(context);
    let (actor, actions) = (&Actor::of(identity), &actions);
    let (now, id) = (context.now_ms(), found.repository.id);
    let written = context
        .store
        .write(async |tx: Tx| {
            // Read again: a push or another change may have been committed since.
            let before = repositories::get(&tx, id).await?.filter(|row| !row.deleted).ok_or(super::MISSING)?;
            super::require(expected, &before)?;
            let mut row = apply(input, before.clone(), now);
            if let Some(interval) = interval {
                mirrors::set_interval(&mut row, interval, now);
            }
            let owner = owners::owner(&tx, row.owner_kind(), row.owner_id).await?.ok_or(super::MISSING)?;
            row.listed = repositories::class(owner.visibility(), row.private).into();
            check_visibility(&tx, &before, &row).await?;
            if row.name == before.name {
                repositories::put(&tx, Some(&before), &row);
            } else if !repositories::rename(&tx, &before, &row).await? {
                return Err(Error::in_use("name", format!("repository name already exists: {}", row.name)));
            }
            if row.private != before.private {
                forks::follow_visibility(&tx, &row).await?;
            }
            let events: Vec<_> = actions.iter().map(|action| event_kind(action, &before, &row)).collect();
            recorder.record(&tx, Subject { repository: &row, owner: &owner, actor }, &events).await?;
            audit.record(&tx, entry(&before, &row, owner.name())).await?;
            head::note(&tx, &before, &row);
            Ok::<_, Error>(row)
        })
        .await;
    if input.default_branch.is_some() {
        // Also after an error: if the outcome of the commit is unknown, the row decides.
        head::follow(context, id).await;
    }
    if interval.is_some() {
        mirrors::wake(context);
    }
    Ok(FoundRepository { repository: written?, ..found })
}

/// Returns an error if the visibility of a fork would differ from that of its source.
async fn check_visibility(tx: &Tx, before: &Repository, row: &Repository) -> Result<(), Error> {
    if row.private == before.private {
        return Ok(());
    }
    let Some(parent) = forks::parent(tx, row).await? else { return Ok(()) };
    let private = forks::are_private(tx, &parent).await?;
    if private == row.private {
        return Ok(());
    }
    let is = if private { "private" } else { "public" };
    Err(Error::invalid("private", format!("the repository is a fork of a {is} repository and stays {is}")))
}

fn check(input: &EditRepository) -> Result<(), Error> {
    if let Some(name) = &input.name {
        rules::name("name", name)?;
    }
    rules::description(input.description.as_deref().unwrap_or_default())?;
    rules::website(input.website.as_deref().unwrap_or_default())?;
    match input.default_branch.as_deref() {
        Some(branch) => rules::branch("default_branch", branch),
        None => Ok(()),
    }
}

/// Returns the names of the change in events. Empty: nothing changes.
fn actions(input: &EditRepository, row: &Repository) -> Vec<&'static str> {
    let flag = |new: Option<bool>, is: bool, on, off| match new {
        Some(new) if new != is => Some(if new { on } else { off }),
        _ => None,
    };
    let differs = |new: &Option<String>, is: &String| new.as_ref().is_some_and(|new| new != is);
    let edited = differs(&input.description, &row.description)
        || differs(&input.website, &row.website)
        || differs(&input.default_branch, &row.default_branch)
        || input.template.is_some_and(|template| template != row.template);
    [
        differs(&input.name, &row.name).then_some("renamed"),
        flag(input.archived, row.archived, "archived", "unarchived"),
        flag(input.private, row.private, "privatized", "publicized"),
        edited.then_some("edited"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the audit entry of a change. Its action is that of the most important change.
fn entry(before: &Repository, row: &Repository, owner: &str) -> Entry {
    let action = if before.private != row.private {
        audit::Action::RepositoryVisibility
    } else if before.name != row.name {
        audit::Action::RepositoryRename
    } else if before.archived != row.archived {
        if row.archived { audit::Action::RepositoryArchive } else { audit::Action::RepositoryUnarchive }
    } else {
        audit::Action::RepositoryEdit
    };
    Entry::new(action, Object::repository(row, owner))
        .field("private", before.private, row.private)
        .field("name", before.name.as_str(), &row.name)
        .field("archived", before.archived, row.archived)
        .field("template", before.template, row.template)
        .field("default_branch", before.default_branch.as_str(), &row.default_branch)
        .field("description", before.description.as_str(), &row.description)
        .field("website", before.website.as_str(), &row.website)
        .field("mirror_interval", interval_text(before), interval_text(row))
}

/// Returns the interval of a pull mirror; empty for other repositories.
fn interval_text(row: &Repository) -> String {
    let mirror = row.mirror.as_ref().filter(|mirror| mirror.pull);
    mirror.map(|mirror| show::interval(mirror.interval_ms)).unwrap_or_default()
}

/// Returns the event of a change, with the previous values.
fn event_kind(action: &'static str, before: &Repository, row: &Repository) -> EventKind<'static> {
    let fields: &[(&'static str, &String, &String)] = match action {
        "renamed" => &[("name", &before.name, &row.name)],
        "edited" => &[
            ("description", &before.description, &row.description),
            ("website", &before.website, &row.website),
            ("default_branch", &before.default_branch, &row.default_branch),
        ],
        _ => &[],
    };
    let changed = fields.iter().filter(|(_, old, new)| old != new);
    EventKind::Repository { action, before: changed.map(|(field, old, _)| (*field, (*old).clone())).collect() }
}

fn apply(input: &EditRepository, mut row: Repository, now: i64) -> Repository {
    let set = |field: &mut String, value: &Option<String>| {
        if let Some(value) = value {
            field.clone_from(value);
        }
    };
    set(&mut row.name, &input.name);
    set(&mut row.description, &input.description);
    set(&mut row.website, &input.website);
    set(&mut row.default_branch, &input.default_branch);
    row.private = input.private.unwrap_or(row.private);
    row.template = input.template.unwrap_or(row.template);
    if let Some(archived) = input.archived.filter(|archived| *archived != row.archived) {
        row.archived = archived;
        row.archived_ms = if archived { now } else { 0 };
    }
    row.updated_ms = now;
    row
}

/// Returns an error if the new default branch does not exist.
async fn require_branch(context: &Context, repository: &Repository, branch: &str) -> Result<(), Error> {
    let id = migrations::readable(repository);
    let tips = refs::tips(&context.store.read().await?, id, &[format!("refs/heads/{branch}")]).await?;
    if tips.iter().all(Option::is_none) {
        return Err(Error::invalid("default_branch", format!("the branch {branch} does not exist")));
    }
    Ok(())
}
