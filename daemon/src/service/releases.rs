//! Releases: a tag with a title and a text. Drafts are visible only to callers with write access.

pub mod assets;
pub mod downloads;
mod edit;
mod receive;

use std::collections::BTreeMap;

use farrier_proto::store::{Release, Repository, User};

pub use self::edit::{create, delete, edit};
use super::{Error, repositories::FoundRepository};
use crate::{
    model::access_level::Action,
    shares::RequestMemory,
    store::{
        Read, Snapshot, StoreError, Tx, owners,
        releases::{self as rows, ReleaseFilter},
    },
};

const MISSING: Error = Error::NotFound { what: "the release" };
/// The error for a file that does not exist.
pub const MISSING_FILE: Error = Error::NotFound { what: "the file of the release" };

/// Memory for each byte of a text in a response: the row, the object and its JSON.
const TEXT_COPIES: u64 = 3;

/// Returns a page of the releases that the caller sees, newest first, and their number. `memory`: of the request, to
/// which the texts are counted before they are read.
pub async fn list(
    snapshot: &Snapshot,
    found: &FoundRepository,
    filter: ReleaseFilter,
    window: (u64, usize),
    memory: Option<&RequestMemory>,
) -> Result<(Vec<Release>, u64), Error> {
    let filter = match filter.draft {
        Some(true) if !sees_drafts(found) => return Ok((Vec::new(), 0)),
        None if !sees_drafts(found) => ReleaseFilter { draft: Some(false), ..filter },
        _ => filter,
    };
    let repository = found.repository.id;
    let (ids, total) = rows::page(snapshot, repository, filter, window).await?;
    if let Some(memory) = memory {
        let bytes = rows::text_bytes(snapshot, repository, &ids).await?;
        memory.grow(usize::try_from(bytes * TEXT_COPIES).unwrap_or(usize::MAX))?;
    }
    Ok((rows::many(snapshot, repository, &ids).await?, total))
}

/// Returns the release `id`, if the caller sees it.
pub async fn get(read: &impl Read, found: &FoundRepository, id: u64) -> Result<Release, Error> {
    visible(found, rows::get(read, found.repository.id, id).await?)
}

/// Returns the release of a tag, if the caller sees it.
pub async fn by_tag(read: &impl Read, found: &FoundRepository, tag: &str) -> Result<Release, Error> {
    visible(found, rows::by_tag(read, found.repository.id, tag).await?)
}

/// Returns the newest published release that is no prerelease.
pub async fn latest(snapshot: &Snapshot, found: &FoundRepository) -> Result<Release, Error> {
    let filter = ReleaseFilter { draft: Some(false), prerelease: Some(false) };
    let (ids, _) = rows::page(snapshot, found.repository.id, filter, (0, 1)).await?;
    rows::many(snapshot, found.repository.id, &ids).await?.pop().ok_or(MISSING)
}

/// Returns the accounts that created these releases, by id.
pub async fn authors(read: &impl Read, rows: &[Release]) -> Result<BTreeMap<u64, User>, StoreError> {
    let mut found = BTreeMap::new();
    for row in rows {
        if !found.contains_key(&row.author_id)
            && let Some(user) = owners::user(read, row.author_id).await?
        {
            found.insert(row.author_id, user);
        }
    }
    Ok(found)
}

/// Makes the releases of deleted tags drafts, and counts them in `repository`, which the caller writes.
pub(super) async fn tags_deleted(tx: &Tx, repository: &mut Repository, tags: &[&str]) -> Result<(), StoreError> {
    for tag in tags {
        if let Some(before) = rows::by_tag(tx, repository.id, tag).await?.filter(|row| !row.draft) {
            rows::put(tx, Some(&before), &Release { draft: true, ..before.clone() });
            repository.releases = repository.releases.saturating_sub(1);
        }
    }
    Ok(())
}

fn sees_drafts(found: &FoundRepository) -> bool {
    found.access_level.allows(Action::WriteReleases)
}

fn visible(found: &FoundRepository, row: Option<Release>) -> Result<Release, Error> {
    row.filter(|row| !row.draft || sees_drafts(found)).ok_or(MISSING)
}
