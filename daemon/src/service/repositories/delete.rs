//! Deleting repositories: the row first, so that nobody sees it any more, then what it left.

use farrier_proto::store::Repository;

use super::{Found, find};
use crate::{
    app::App,
    model::{identity::Identity, revision::Expected},
    service::{
        Error,
        access::Action,
        ci,
        events::{Actor, News, Subject, Telling},
        migrations, security_log,
    },
    store::{Snapshot, Tx, hooks, owners::Owner, repositories},
};

/// Deleted repositories whose files one pass of the sweep removes.
const SWEEP_MAX: usize = 16;

/// Deletes the repository `owner`/`name`, if it is in an expected state. A migration of it ends.
pub async fn delete(app: &App, identity: &Identity, owner: &str, name: &str, expected: &Expected) -> Result<(), Error> {
    let snapshot = app.store.read().await?;
    let found = find(&snapshot, identity, owner, name, Action::Own).await?;
    drop(snapshot);
    remove(app, identity, &found, expected).await
}

/// Deletes all repositories of an owner; gives how many there were.
pub async fn delete_all(app: &App, identity: &Identity, owner: &Owner) -> Result<usize, Error> {
    let all = super::list::owned(&app.store.read().await?, identity, owner).await?;
    for found in &all {
        remove(app, identity, found, &Expected::Any).await?;
    }
    Ok(all.len())
}

async fn remove(app: &App, identity: &Identity, found: &Found, expected: &Expected) -> Result<(), Error> {
    let id = found.repository.id;
    let (telling, actor) = (&Telling::of(app, 1).await?, &Actor::of(identity));
    app.store
        .write(async |tx: Tx| {
            let row = repositories::get(&tx, id).await?.filter(|row| !row.deleted).ok_or(super::MISSING)?;
            super::require(expected, &row)?;
            let subject = Subject { repository: &row, owner: &found.owner, actor };
            telling.tell(&tx, subject, &[News::Repository { action: "deleted", before: Vec::new() }]).await?;
            repositories::discard(&tx, &row).await?;
            Ok::<_, Error>(())
        })
        .await?;
    security_log::repository_deleted(identity, found.owner.name(), &found.repository.name, id);
    app.migrations.cancel(id);
    app.sweep.now();
    Ok(())
}

/// Removes what deleted repositories left, a few at a time; `true` when there may be more.
pub async fn sweep(app: &App) -> Result<bool, Error> {
    let snapshot: Snapshot = app.store.read().await?;
    let rows = repositories::garbage(&snapshot, SWEEP_MAX).await?;
    drop(snapshot);
    let mut reclaimed = 0;
    // The end of a migration wakes the sweep.
    for row in rows.iter().filter(|row| migrations::ended(app, row.id)) {
        reclaim(app, row).await?;
        reclaimed += 1;
    }
    Ok(reclaimed == SWEEP_MAX)
}

/// Files go before the row that remembers them.
async fn reclaim(app: &App, row: &Repository) -> Result<(), Error> {
    ci::delete_of_repository(app, row.id).await?;
    app.git.remove(row.id).await.map_err(Error::git("removing a repository"))?;
    let now = app.now_ms();
    app.store
        .write(async |tx: Tx| {
            hooks::retire(&tx, row.id, now).await?;
            Ok::<_, Error>(repositories::forget(&tx, row).await?)
        })
        .await
}
