//! Creates, changes and deletes releases.
//!
//! The tag of a published release is created first, like any tag that is created through the API. If the daemon is
//! killed before the row of the release is written, the tag exists, and the same request succeeds.

use farrier_common::api::{CreateRelease, EditRelease};
use farrier_proto::store::{Release, Repository};

use super::{MISSING, rows};
use crate::{
    git::ref_name::TAGS,
    model::identity::{Account, Identity},
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder, Entry, Object},
        browse::Browse,
        events::{Actor, EventKind, EventRecorder, Subject},
        ref_changes,
        repositories::rules,
    },
    store::{Tx, ids::IdKind, owners, refs, releases::assets, repositories},
};

/// Longest title, in characters.
const TITLE_MAX_CHARS: usize = 255;
/// Longest text or message, in bytes. Events contain the text.
const TEXT_MAX_BYTES: usize = 128 << 10;

/// Creates a release, and its tag if it does not exist and the release is no draft.
pub async fn create(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    input: CreateRelease,
) -> Result<Release, Error> {
    let account = access::require_account(identity)?;
    let repository = &browse.found.repository;
    access::require_writable(repository)?;
    check(&input.tag_name, &input.name, [("body", &input.body), ("tag_message", &input.tag_message)])?;
    if rows::by_tag(&context.store.read().await?, repository.id, &input.tag_name).await?.is_some() {
        return Err(exists(&input.tag_name));
    }
    if repository.empty && browse.git.is_empty().await? {
        return Err(Error::invalid("tag_name", "the repository is empty"));
    }
    let target = (input.target_commitish.as_str(), input.tag_message.as_str());
    ensure_target(context, account, browse, &input.tag_name, target, input.draft).await?;
    let now = context.now_ms();
    let title = if input.name.is_empty() { input.tag_name.clone() } else { input.name };
    let row = Release {
        id: context.store.next_id(IdKind::Release).await?,
        repository_id: repository.id,
        tag: input.tag_name,
        target: input.target_commitish,
        title,
        body: input.body,
        draft: input.draft,
        prerelease: input.prerelease,
        author_id: account.user.id,
        created_ms: now,
        published_ms: if input.draft { 0 } else { now },
        tag_message: if input.draft { input.tag_message } else { String::new() },
    };
    write(context, identity, browse, None, &row).await?;
    Ok(row)
}

/// Changes the release `id`. Publishes a draft if `draft` is false.
pub async fn edit(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    id: u64,
    input: EditRelease,
) -> Result<Release, Error> {
    let account = access::require_account(identity)?;
    let repository = &browse.found.repository;
    access::require_writable(repository)?;
    let before = rows::get(&context.store.read().await?, repository.id, id).await?.ok_or(MISSING)?;
    let or = |new: String, old: &String| if new.is_empty() { old.clone() } else { new };
    let mut row = Release {
        tag: or(input.tag_name, &before.tag),
        target: or(input.target_commitish, &before.target),
        title: or(input.name, &before.title),
        body: or(input.body, &before.body),
        draft: input.draft.unwrap_or(before.draft),
        prerelease: input.prerelease.unwrap_or(before.prerelease),
        tag_message: or(input.tag_message, &before.tag_message),
        ..before.clone()
    };
    check(&row.tag, &row.title, [("body", &row.body), ("tag_message", &row.tag_message)])?;
    if row.tag != before.tag {
        let other = rows::by_tag(&context.store.read().await?, repository.id, &row.tag).await?;
        if other.is_some() {
            return Err(exists(&row.tag));
        }
    }
    if row.tag != before.tag || (before.draft && !row.draft) {
        let target = (row.target.as_str(), row.tag_message.as_str());
        ensure_target(context, account, browse, &row.tag, target, row.draft).await?;
    }
    if !row.draft {
        row.tag_message.clear();
    }
    if before.draft && !row.draft {
        row.published_ms = context.now_ms();
    }
    write(context, identity, browse, Some(before), &row).await?;
    Ok(row)
}

/// Deletes the release `id` with its files. Its tag stays.
pub async fn delete(context: &Context, identity: &Identity, browse: &Browse, id: u64) -> Result<(), Error> {
    let found = &browse.found;
    access::require_writable(&found.repository)?;
    let recorder = &EventRecorder::new(context);
    let audit = &AuditRecorder::new(context);
    let (actor, now) = (&Actor::of(identity), context.now_ms());
    context
        .store
        .write(async |tx: Tx| {
            let repository = current(&tx, found.repository.id).await?;
            let row = rows::get(&tx, repository.id, id).await?.ok_or(MISSING)?;
            let files = assets::of_release(&tx, repository.id, id).await?;
            rows::delete(&tx, &row, &files, now);
            let after = counted(&repository, Some(&row), None);
            repositories::put(&tx, Some(&repository), &after);
            let entry = Entry::new(Action::ReleaseDelete, object(browse, &row));
            audit.record(&tx, entry.had("tag", row.tag.as_str()).had("draft", row.draft)).await?;
            if !row.draft {
                let author = owners::user(&tx, row.author_id).await?;
                let kind =
                    EventKind::Release { action: "deleted", release: &row, author: author.as_ref(), files: &files };
                let subject = Subject { repository: &after, owner: &found.owner, actor };
                recorder.record(&tx, subject, &[kind]).await?;
            }
            Ok::<_, Error>(())
        })
        .await?;
    context.sweep.now();
    Ok(())
}

/// Checks the texts of a release.
fn check(tag: &str, title: &str, texts: [(&'static str, &str); 2]) -> Result<(), Error> {
    rules::branch("tag_name", tag)?;
    if title.chars().count() > TITLE_MAX_CHARS {
        return Err(Error::invalid("name", format!("MaxSize: is longer than {TITLE_MAX_CHARS} characters")));
    }
    match texts.into_iter().find(|(_, text)| text.len() > TEXT_MAX_BYTES) {
        Some((field, _)) => Err(Error::invalid(field, format!("MaxSize: is longer than {TEXT_MAX_BYTES} bytes"))),
        None => Ok(()),
    }
}

fn exists(tag: &str) -> Error {
    Error::Exists { message: format!("the tag {tag} has a release already") }
}

/// Creates the tag of a release if it does not exist. For a draft, checks only that the target exists.
async fn ensure_target(
    context: &Context,
    account: &Account,
    browse: &Browse,
    tag: &str,
    (target, message): (&str, &str),
    draft: bool,
) -> Result<(), Error> {
    if ref_changes::tag_exists(context, browse, tag).await? {
        return Ok(());
    }
    if draft {
        return browse.resolve(target).await.map(drop);
    }
    match ref_changes::create_tag(context, browse, account, tag, message, target).await {
        Err(Error::Exists { .. }) => Ok(()),
        other => other,
    }
}

/// Writes the row with its event. `before` is the row that the change is based on; `None`: the release is new.
async fn write(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    before: Option<Release>,
    row: &Release,
) -> Result<(), Error> {
    let found = &browse.found;
    let recorder = &EventRecorder::new(context);
    let audit = &AuditRecorder::new(context);
    let (actor, before) = (&Actor::of(identity), before.as_ref());
    context
        .store
        .write(async |tx: Tx| {
            let repository = current(&tx, found.repository.id).await?;
            let stored = rows::get(&tx, repository.id, row.id).await?;
            if stored.as_ref() != before {
                return Err(Error::Conflict { reason: "the release was changed meanwhile; try again".into() });
            }
            if rows::by_tag(&tx, repository.id, &row.tag).await?.is_some_and(|other| other.id != row.id) {
                return Err(exists(&row.tag));
            }
            let name = format!("{TAGS}{}", row.tag);
            if !row.draft && refs::tips(&tx, repository.id, &[name]).await?.iter().all(Option::is_none) {
                return Err(Error::Conflict { reason: "the tag was deleted meanwhile".into() });
            }
            rows::put(&tx, before, row);
            let after = counted(&repository, before, Some(row));
            repositories::put(&tx, Some(&repository), &after);
            audit.record(&tx, entry(browse, before, row)).await?;
            if !row.draft {
                let author = owners::user(&tx, row.author_id).await?;
                let files = assets::of_release(&tx, repository.id, row.id).await?;
                let kind =
                    EventKind::Release { action: action(before), release: row, author: author.as_ref(), files: &files };
                let subject = Subject { repository: &after, owner: &found.owner, actor };
                recorder.record(&tx, subject, &[kind]).await?;
            }
            Ok::<_, Error>(())
        })
        .await
}

/// Returns the repository unless it was deleted.
async fn current(tx: &Tx, id: u64) -> Result<Repository, Error> {
    let row = repositories::get(tx, id).await?.filter(|row| !row.deleted);
    row.ok_or(Error::NotFound { what: "the repository" })
}

/// Returns the repository with the number of its published releases after a change.
fn counted(repository: &Repository, before: Option<&Release>, after: Option<&Release>) -> Repository {
    let published = |row: Option<&Release>| u64::from(row.is_some_and(|row| !row.draft));
    let releases = (repository.releases + published(after)).saturating_sub(published(before));
    Repository { releases, ..repository.clone() }
}

/// Returns the action of the event for a release that is not a draft.
fn action(before: Option<&Release>) -> &'static str {
    if before.is_some_and(|before| !before.draft) { "updated" } else { "published" }
}

fn object(browse: &Browse, row: &Release) -> Object {
    Object::new("release", row.id, &row.title).in_repository(browse.found.repository.id, &browse.found.path())
}

fn entry(browse: &Browse, before: Option<&Release>, row: &Release) -> Entry {
    let (action, is_new) = match before {
        None => (Action::ReleaseCreate, true),
        Some(_) => (Action::ReleaseEdit, false),
    };
    let empty = Release::default();
    let old = before.unwrap_or(&empty);
    let entry = Entry::new(action, object(browse, row))
        .field("tag", old.tag.as_str(), row.tag.as_str())
        .field("target", old.target.as_str(), row.target.as_str())
        .field("name", old.title.as_str(), row.title.as_str())
        .field("body", old.body.as_str(), row.body.as_str())
        .field("draft", old.draft, row.draft)
        .field("prerelease", old.prerelease, row.prerelease)
        .field("tag_message", old.tag_message.as_str(), row.tag_message.as_str());
    if is_new { entry.created() } else { entry }
}
