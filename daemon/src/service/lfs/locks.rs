//! Locks of files. They are advice: git-lfs stops a push itself, and farrier does not check pushes.

use farrier_proto::store::LfsLock;

use super::{MISSING_REPOSITORY, grants};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder, Entry, Object},
        repositories::FoundRepository,
    },
    store::{Read, Tx, ids::IdKind, lfs::locks as rows, owners, repositories},
};

/// Longest path, in bytes.
const PATH_MAX_BYTES: usize = 1_024;
/// Most locks of a repository.
const LOCKS_MAX: u64 = 10_000;
/// Most locks in a page.
pub const PAGE_MAX: usize = 100;

const MISSING: Error = Error::NotFound { what: "the lock" };

/// The result of a request for a lock.
#[derive(Clone, Debug)]
pub enum LockOutcome {
    /// The new lock.
    Created(LfsLock),
    /// The lock that the path already has.
    Exists(LfsLock),
}

/// Selects locks of a list.
#[derive(Clone, Debug, Default)]
pub struct LockQuery {
    /// Only the lock of this path.
    pub path: Option<String>,
    /// Only the lock with this ID. Not a number: no lock.
    pub id: Option<String>,
    /// Only locks with higher IDs.
    pub after: u64,
    /// Most locks.
    pub limit: usize,
}

/// Locks a path for the caller.
pub async fn create(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    path: &str,
) -> Result<LockOutcome, Error> {
    let account = access::require_account(identity)?;
    check_path(path)?;
    let id = context.store.next_id(IdKind::LfsLock).await?;
    let repository_id = found.repository.id;
    let (path, locked_ms) = (path.to_owned(), context.now_ms());
    let row = &LfsLock { id, repository_id, path, locked_ms, owner_id: account.user.id };
    context
        .store
        .write(async |tx: Tx| {
            writable(&tx, repository_id).await?;
            if let Some(other) = rows::by_path(&tx, repository_id, &row.path).await? {
                return Ok(LockOutcome::Exists(other));
            }
            if rows::count(&tx, repository_id, LOCKS_MAX).await? >= LOCKS_MAX {
                return Err(Error::Unusable { reason: format!("a repository has at most {LOCKS_MAX} locks") });
            }
            rows::put(&tx, row);
            Ok::<_, Error>(LockOutcome::Created(row.clone()))
        })
        .await
}

/// Returns the selected locks, and the ID after which the next page starts.
pub async fn list(read: &impl Read, repository: u64, query: &LockQuery) -> Result<(Vec<LfsLock>, Option<u64>), Error> {
    if query.path.is_some() || query.id.is_some() {
        return Ok((single(read, repository, query).await?.into_iter().collect(), None));
    }
    let limit = query.limit.clamp(1, PAGE_MAX);
    let mut found = rows::after_id(read, repository, query.after, limit + 1).await?;
    let is_last = found.len() <= limit;
    found.truncate(limit);
    let next = found.last().map(|row| row.id).filter(|_| !is_last);
    Ok((found, next))
}

async fn single(read: &impl Read, repository: u64, query: &LockQuery) -> Result<Option<LfsLock>, Error> {
    let row = match (&query.id, &query.path) {
        (Some(id), _) => match id.parse() {
            Ok(id) => rows::get(read, repository, id).await?,
            Err(_) => None,
        },
        (None, Some(path)) => rows::by_path(read, repository, path).await?,
        (None, None) => None,
    };
    Ok(row.filter(|row| query.path.as_ref().is_none_or(|path| *path == row.path)))
}

/// Removes the lock `id`. Locks of other accounts are removed only with `force`, which is audited.
pub async fn unlock(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    id: &str,
    force: bool,
) -> Result<LfsLock, Error> {
    let account = access::require_account(identity)?.user.id;
    let id: u64 = id.parse().map_err(|_| MISSING)?;
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            writable(&tx, found.repository.id).await?;
            let row = rows::get(&tx, found.repository.id, id).await?.ok_or(MISSING)?;
            if row.owner_id != account {
                if !force {
                    let reason = "the lock belongs to another account; use force to remove it".into();
                    return Err(Error::Forbidden { reason });
                }
                let owner = owner_name(&tx, &row).await?;
                let object = Object::new("lfs_lock", row.id, &row.path);
                let object = object.in_repository(found.repository.id, &found.path());
                recorder.record(&tx, Entry::new(Action::LfsLockForce, object).had("owner", owner)).await?;
            }
            rows::delete(&tx, &row);
            Ok::<_, Error>(row)
        })
        .await
}

/// Returns the name of the account that has a lock; empty if it was deleted.
pub async fn owner_name(read: &impl Read, row: &LfsLock) -> Result<String, Error> {
    Ok(owners::user(read, row.owner_id).await?.map(|user| user.name).unwrap_or_default())
}

async fn writable(tx: &Tx, id: u64) -> Result<(), Error> {
    let row = repositories::get(tx, id).await?.filter(|row| !row.deleted).ok_or(MISSING_REPOSITORY)?;
    grants::require_writable(&row)
}

/// Checks a path relative to the root of the repository.
fn check_path(path: &str) -> Result<(), Error> {
    let reason = if path.is_empty() {
        "is required"
    } else if path.len() > PATH_MAX_BYTES {
        "is longer than 1024 bytes"
    } else if path.chars().any(char::is_control) {
        "must not contain control characters"
    } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        "must be relative, without empty parts, . and .."
    } else {
        return Ok(());
    };
    Err(Error::invalid("path", reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_paths_without_dots_can_be_locked() {
        for good in ["a", "a/b c/d.bin", "ü", "...", "a\\b", &"x".repeat(1_024)] {
            check_path(good).expect(good);
        }
        for bad in ["", "/a", "a/", "a//b", ".", "a/../b", "../etc", "a/./b", "a\0", "a\nb", &"x".repeat(1_025)] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
    }
}
