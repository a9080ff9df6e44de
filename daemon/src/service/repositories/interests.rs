//! Stars and subscriptions: the repositories that accounts starred or watch.

use farrier_proto::store::{Interest, User};

use super::{FoundRepository, MISSING, find, seen::SeenRepositories, with_access_levels};
use crate::{
    model::identity::{Account, Identity},
    service::{
        Context, Error,
        access::{self, Action},
        viewer::Viewer,
    },
    store::{
        Read, Snapshot, Tx,
        interests::{self, INTERESTS_MAX, InterestKind},
        owners, repositories,
    },
};

/// Rows to read at a time when all starred repositories of an account are filtered.
const CHUNK: usize = 1_000;

/// Returns the caller's interest in the repository `owner`/`name`.
pub async fn interest(
    read: &impl Read,
    identity: &Identity,
    kind: InterestKind,
    owner: &str,
    name: &str,
) -> Result<(FoundRepository, Interest), Error> {
    let account = access::require_account(identity)?;
    let found = find(read, identity, owner, name, Action::Read).await?;
    let row = interests::get(read, account.user.id, kind, found.repository.id).await?;
    let what = if kind == InterestKind::Star { "the star" } else { "the subscription" };
    row.map(|row| (found, row)).ok_or(Error::NotFound { what })
}

/// Adds the caller's interest in the repository `owner`/`name`.
pub async fn add_interest(
    context: &Context,
    identity: &Identity,
    kind: InterestKind,
    owner: &str,
    name: &str,
) -> Result<(), Error> {
    let (id, repository) = own_and_repository(context, identity, owner, name).await?;
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            let user = owners::user(&tx, id).await?.ok_or(Error::NotFound { what: "the account" })?;
            let row = repositories::get(&tx, repository).await?.filter(|row| !row.deleted).ok_or(MISSING)?;
            if interests::add(&tx, &user, kind, &row, now).await? {
                return Ok(());
            }
            Err(Error::invalid("repo", format!("an account has at most {INTERESTS_MAX} of these repositories")))
        })
        .await
}

/// Removes the caller's interest in the repository `owner`/`name`, if it exists.
pub async fn remove_interest(
    context: &Context,
    identity: &Identity,
    kind: InterestKind,
    owner: &str,
    name: &str,
) -> Result<(), Error> {
    let (id, repository) = own_and_repository(context, identity, owner, name).await?;
    context.store.write(async |tx: Tx| Ok(interests::remove(&tx, id, kind, repository).await?)).await
}

/// Returns the ids of the caller's account and of the repository, which the caller may read.
async fn own_and_repository(
    context: &Context,
    identity: &Identity,
    owner: &str,
    name: &str,
) -> Result<(u64, u64), Error> {
    let Account { user, .. } = access::require_account(identity)?;
    let found = find(&context.store.read().await?, identity, owner, name, Action::Read).await?;
    Ok((user.id, found.repository.id))
}

/// Returns a page of the repositories that the account `user` starred or watches and that the caller sees, by id, and
/// their number. Reads the rows of all of them, at most [`INTERESTS_MAX`], but keeps only those of the page.
pub async fn of_interest(
    read: &impl Read,
    identity: &Identity,
    kind: InterestKind,
    user: u64,
    (skip, limit): (u64, usize),
) -> Result<(Vec<FoundRepository>, u64), Error> {
    let seen = SeenRepositories::of(read, identity).await?;
    let (mut rows, mut total) = (Vec::new(), 0);
    for ids in interests::of_user(read, user, kind).await?.chunks(CHUNK) {
        for row in repositories::many(read, ids).await?.into_iter().filter(|row| seen.sees(row)) {
            if total >= skip && rows.len() < limit {
                rows.push(row);
            }
            total += 1;
        }
    }
    Ok((with_access_levels(read, identity, rows).await?, total))
}

/// Returns a page of the accounts that starred or watch a repository and that the caller sees, by id, and their number.
pub async fn interested(
    snapshot: &Snapshot,
    identity: &Identity,
    kind: InterestKind,
    repository: u64,
    window: (u64, usize),
) -> Result<(Vec<User>, u64), Error> {
    let classes = Viewer::of(snapshot, identity).await?.user_classes();
    Ok(interests::of_repository(snapshot, repository, kind, classes, window).await?)
}
