//! Writes the rows of long lists to the store of a stopped daemon, in large transactions.
//!
//! Requests would take hours: each is a durable transaction, a release needs a tag, and a fork a directory. The forks
//! have no git data, which lists do not read.

use std::{path::Path, sync::Arc};

use farrier_proto::store::{
    CommitStatus, Interest, OwnerKind, Reference, Release, Repository, StatusState, User, Visibility,
};
use farrierd::store::{
    Store, StoreError, Tx,
    engine::{RedbEngine, RedbOptions},
    ids::IdKind,
    interests::{self, InterestKind},
    keys, owners, releases, repositories, statuses,
};

use super::Lengths;
use crate::Result;

/// Number of entries that one transaction writes.
const AT_ONCE: usize = 500;
/// Contexts of the statuses of a commit.
const CONTEXTS: u64 = 10;
/// Statuses of each other commit.
const OF_OTHER_COMMIT: u64 = 50;
/// The built-in administrator.
const ADMIN: u64 = 1;
const CREATED_MS: i64 = 1_700_000_000_000;

/// Fills the lists of the repository `admin/source`, whose commit `commit` exists. Returns the name of the account with
/// starred repositories.
pub(super) async fn load(file: &Path, lengths: &Lengths, commit: &str) -> Result<String> {
    let store = Store::open(Arc::new(RedbEngine::open(file, RedbOptions::default())?)).await?;
    let snapshot = store.read().await?;
    let source = repositories::by_path(&snapshot, "admin", "source").await?.ok_or("no repository")?.id;
    drop(snapshot);
    let forks = load_accounts(&store, source, lengths.all).await?;
    let account = forks.first().ok_or("no account")?.owner_id;
    // The account starred the source as well.
    let starred: Vec<u64> = forks.iter().map(|fork| fork.id).take(usize::try_from(lengths.starred)? - 1).collect();
    load_stars(&store, account, &starred).await?;
    load_releases(&store, source, lengths.all).await?;
    load_statuses(&store, source, commit, lengths).await?;
    farrierd::tasks::blocking(move || drop(store)).await;
    Ok(account_name(0))
}

fn account_name(number: u64) -> String {
    format!("account-{number:06}")
}

/// Writes accounts, each with a star and a fork of the repository `source`. Returns the forks.
async fn load_accounts(store: &Store, source: u64, count: u64) -> Result<Vec<Repository>> {
    let mut forks = Vec::new();
    for first in (0..count).step_by(AT_ONCE) {
        let mut rows = Vec::new();
        for number in first..count.min(first + AT_ONCE as u64) {
            let id = store.next_id(IdKind::Owner).await?;
            let user = User { id, name: account_name(number), created_ms: CREATED_MS, ..User::default() };
            rows.push((user, fork(store.next_id(IdKind::Repository).await?, id, source)));
        }
        let rows_ref = &rows;
        let write = async |tx: Tx| {
            for (user, fork) in rows_ref {
                owners::insert_user(&tx, user).await?;
                if let Some(row) = repositories::get(&tx, source).await? {
                    interests::add(&tx, user, InterestKind::Star, &row, CREATED_MS).await?;
                }
                repositories::insert(&tx, fork).await?;
                repositories::forks::added(&tx, fork).await?;
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await?;
        forks.extend(rows.into_iter().map(|(_, fork)| fork));
    }
    Ok(forks)
}

fn fork(id: u64, owner: u64, source: u64) -> Repository {
    Repository {
        id,
        owner_kind: OwnerKind::User.into(),
        owner_id: owner,
        name: "source".into(),
        parent: source,
        listed: Visibility::Public.into(),
        default_branch: "main".into(),
        created_ms: CREATED_MS,
        updated_ms: CREATED_MS,
        empty: true,
        branches: Some(0),
        // The directories, which do not exist, are not searched for unreachable commits.
        prune_due_ms: i64::MAX,
        ..Repository::default()
    }
}

/// Writes stars of one account, but does not count them in the rows of the repositories. `interests::add` would count
/// the stars of the account for each of them.
async fn load_stars(store: &Store, account: u64, starred: &[u64]) -> Result<()> {
    for part in starred.chunks(AT_ONCE) {
        let write = async |tx: Tx| {
            for repository in part {
                let row = Interest { since_ms: CREATED_MS, class: Visibility::Public.into() };
                tx.put(keys::interest(account, InterestKind::Star, *repository), &row);
                let key = keys::interested(*repository, InterestKind::Star, Visibility::Public, account);
                tx.put(key, &Reference { id: account });
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await?;
    }
    Ok(())
}

async fn load_releases(store: &Store, source: u64, count: u64) -> Result<()> {
    for first in (0..count).step_by(AT_ONCE) {
        let mut rows = Vec::new();
        for number in first..count.min(first + AT_ONCE as u64) {
            rows.push(release(store.next_id(IdKind::Release).await?, source, number));
        }
        let rows = &rows;
        let write = async |tx: Tx| {
            for row in rows {
                releases::put(&tx, None, row);
            }
            if let Some(before) = repositories::get(&tx, source).await? {
                let releases = before.releases + rows.len() as u64;
                repositories::put(&tx, Some(&before), &Repository { releases, ..before.clone() });
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await?;
    }
    Ok(())
}

fn release(id: u64, repository: u64, number: u64) -> Release {
    Release {
        id,
        repository_id: repository,
        tag: format!("v0.{number}"),
        title: format!("Version 0.{number}"),
        body: "- a line of the notes that the loader wrote\n".repeat(5),
        author_id: ADMIN,
        created_ms: CREATED_MS,
        published_ms: CREATED_MS,
        ..Release::default()
    }
}

/// Writes statuses: as many as are kept for one commit, and the others for commits that do not exist.
async fn load_statuses(store: &Store, source: u64, commit: &str, lengths: &Lengths) -> Result<()> {
    for first in (0..lengths.all).step_by(AT_ONCE) {
        let mut rows = Vec::new();
        for number in first..lengths.all.min(first + AT_ONCE as u64) {
            let other = format!("{:040x}", number / OF_OTHER_COMMIT);
            let commit = if number < lengths.of_commit { commit.to_owned() } else { other };
            rows.push((commit, status(store.next_id(IdKind::Status).await?, number)));
        }
        let rows = &rows;
        let write = async |tx: Tx| {
            for (commit, row) in rows {
                statuses::insert(&tx, source, commit, row).await?;
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await?;
    }
    Ok(())
}

fn status(id: u64, number: u64) -> CommitStatus {
    CommitStatus {
        id,
        state: StatusState::Success.into(),
        context: format!("ci / job-{}", number % CONTEXTS),
        description: "a row that the loader wrote".into(),
        creator_id: ADMIN,
        created_ms: CREATED_MS,
        ..CommitStatus::default()
    }
}
