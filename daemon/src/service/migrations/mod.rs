//! Fetching repositories from elsewhere.
//!
//! Everything is checked before anything is made. Then a row in the state "running" holds the name,
//! and a short task does the work: it goes on when the client leaves, ends when the repository is
//! deleted, and cleans up after itself. What a killed daemon left is cleaned up at the next start.

mod check;
mod input;
mod progress;
mod record;
mod registry;
mod run;

use std::sync::Arc;

use farrier_common::api::MigrateRepository;
use farrier_proto::store::{Migration, MigrationState, OwnerKind, Repository};
use tokio::sync::oneshot;

use self::run::Work;
pub use self::{
    check::check,
    progress::Progress,
    registry::{Migrations, Outcome, Running},
};
use super::{
    Error, access,
    repositories::{For, Found, create, rules},
    unknown::settle,
};
use crate::{
    app::App,
    git::{EMPTY_REPOSITORY, ImportSource, SourceError},
    model::{address_policy::AddressPolicy, identity::Identity},
    store::{Tx, owners, repositories},
};

/// Migrations that one start cleans up after.
const RECOVER_MAX: usize = 10_000;
/// Tries of a short transaction whose outcome is unknown. What is left then is settled at the next start.
const TRIES: u32 = 5;

/// What a migration that was not waited for leaves behind when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFailed {
    /// Nothing: the caller was told.
    Remove,
    /// A row that says why: the caller will look.
    Keep,
}

/// A migration that has begun.
#[derive(Debug)]
pub struct Begun {
    /// The repository as it is meanwhile.
    pub found: Found,
    ended: oneshot::Receiver<Result<Found, Error>>,
}

impl Begun {
    /// Waits for the end. Dropping this ends nothing.
    pub async fn end(self) -> Result<Found, Error> {
        self.ended.await.unwrap_or(Err(Error::Busy))
    }
}

/// What is asked for, in so far as it can be judged before the source is connected to.
struct MigrationPlan {
    owner: owners::Owner,
    /// Without a number.
    row: Repository,
    source: Arc<ImportSource>,
    signed_in: bool,
}

/// Checks everything that is asked for.
async fn plan(app: &App, identity: &Identity, input: &MigrateRepository) -> Result<MigrationPlan, Error> {
    access::require_account(identity)?;
    access::require_more_than_public(identity)?;
    let address = input::address(input)?;
    rules::name("repo_name", &input.repo_name)?;
    rules::description(&input.description)?;
    input::mirror(input)?;
    let owner = owner(app, identity, input).await?;
    let source = source(app, identity, &address).await?;
    let mut row = create::fresh(app, &owner, input.private, rules::DEFAULT_BRANCH.to_owned());
    row.name.clone_from(&input.repo_name);
    row.description.clone_from(&input.description);
    row.original_url = address.url.to_string();
    let started_ms = app.now_ms();
    row.migration = Some(Migration {
        state: MigrationState::Running.into(),
        started_ms,
        actor_id: identity.user_id(),
        ..Migration::default()
    });
    create::require_room(app, &owner, &row).await.map_err(|error| match error {
        Error::Forbidden { reason } => Error::invalid("repo_owner", reason),
        error => error,
    })?;
    Ok(MigrationPlan { owner, row, source, signed_in: address.credentials.is_some() })
}

/// Begins to fetch a repository.
pub async fn begin(
    app: &App,
    identity: &Identity,
    input: &MigrateRepository,
    when_failed: WhenFailed,
) -> Result<Begun, Error> {
    let MigrationPlan { owner, row, source, .. } = plan(app, identity, input).await?;
    let new = create::number(app, owner, row).await?;
    let id = new.row.id;
    let most = app.config.migration.max_running_per_owner;
    let path = format!("{}/{}", new.owner.name(), new.row.name);
    let running = app.migrations.begin(&new.row, path, app.now_ms(), most).ok_or_else(|| {
        Error::invalid("repo_owner", format!("{most} migrations run for this owner already: wait for one to end"))
    })?;
    let found = match create::insert(app, new, None).await.result() {
        Ok(found) => found,
        Err(error) => {
            app.migrations.discard(id);
            return Err(error);
        }
    };
    let (tell, ended) = oneshot::channel();
    let work =
        Work { app: app.clone(), identity: identity.clone(), found: found.clone(), source, running, when_failed };
    app.tasks.short(async move {
        // Nobody may be waiting any more.
        let _ = tell.send(work.run().await);
    });
    Ok(Begun { found, ended })
}

/// Who will own the repository. What is wrong with that is the input's fault.
async fn owner(app: &App, identity: &Identity, input: &MigrateRepository) -> Result<owners::Owner, Error> {
    let unknown = || Error::invalid("repo_owner", "there is no such user or organisation");
    let name = match (input.repo_owner.as_str(), input.uid) {
        ("", 0) => return create::owner_for(app, identity, For::Caller).await,
        ("", id) => {
            let snapshot = app.store.read().await?;
            let user = owners::owner(&snapshot, OwnerKind::User, id).await?;
            let owner = match user {
                Some(user) => Some(user),
                None => owners::owner(&snapshot, OwnerKind::Org, id).await?,
            };
            owner.ok_or_else(unknown)?.name().to_owned()
        }
        (name, _) => name.to_owned(),
    };
    create::owner_for(app, identity, For::Named(&name)).await.map_err(|error| match error {
        Error::NotFound { .. } => unknown(),
        error => error,
    })
}

/// Resolves the address once and asks whether it may be connected to.
async fn source(app: &App, identity: &Identity, address: &input::Address) -> Result<Arc<ImportSource>, Error> {
    let policy = AddressPolicy::parse(&app.config.migration.allowed_hosts).unwrap_or_default();
    let credentials = address.credentials.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
    match ImportSource::resolve(&address.url, credentials, &policy).await {
        Ok(source) => Ok(Arc::new(source)),
        Err(SourceError::Refused { address }) => {
            // Only administrators can change the setting, and nobody else is to learn where internal names lead.
            let value = address.filter(|_| identity.is_admin()).map(|address| policy.extended_by(address));
            let advice = value.map_or_else(String::new, |value| {
                format!("; to allow it write allowed_hosts = \"{value}\" in the section [migration]")
            });
            Err(Error::invalid("clone_addr", format!("the host is not allowed; see migration.allowed_hosts{advice}")))
        }
        Err(error @ SourceError::Unresolved(_)) => Err(Error::invalid("clone_addr", error.to_string())),
    }
}

/// Why a repository has no content yet, in a sentence; `None`: it has what it should have.
pub fn pending(repository: &Repository) -> Option<&'static str> {
    match repository.migration.as_ref().map(Migration::state) {
        Some(MigrationState::Running) => Some("the repository is being migrated: try again when that is done"),
        Some(MigrationState::Failed) => Some("the migration of the repository has failed"),
        Some(MigrationState::Done | MigrationState::Unspecified) | None => None,
    }
}

/// The number under which git finds what the repository holds: nothing while it is being migrated.
pub fn readable(repository: &Repository) -> u64 {
    if pending(repository).is_some() { EMPTY_REPOSITORY } else { repository.id }
}

/// Whether no migration of a repository runs.
pub(super) fn ended(app: &App, repository: u64) -> bool {
    !app.migrations.is_running(repository)
}

/// Ends every migration that a stopped daemon left unfinished: one whose repository is in its place is
/// recorded as done, the others have failed. Removes nothing: a half-fetched directory went when the
/// directories were opened, and one in its place is whole and may be all that there is.
pub async fn recover(app: &App) -> Result<(), Error> {
    let snapshot = app.store.read().await?;
    let rows = repositories::migrating(&snapshot, RECOVER_MAX).await?;
    drop(snapshot);
    for row in rows {
        if !app.git.exists(row.id).await.map_err(Error::git("looking for a migrated repository"))? {
            mark_failed(app, row.id, "the daemon was stopped before the repository was fetched").await?;
            tracing::info!(repository = row.id, "a migration was interrupted and has failed");
            continue;
        }
        match record::finish_placed(app, &row).await {
            Ok(()) => tracing::info!(repository = row.id, "an interrupted migration was finished"),
            Err(error) => {
                tracing::error!(
                    repository = row.id,
                    error = &error as &dyn std::error::Error,
                    "a migrated repository cannot be read; its files are kept"
                );
                mark_failed(app, row.id, "the fetched repository cannot be read; see the daemon's log").await?;
            }
        }
    }
    Ok(())
}

async fn mark_failed(app: &App, id: u64, reason: &str) -> Result<(), Error> {
    settle(app, TRIES, async |tx: Tx| {
        let Some(before) = repositories::get(&tx, id).await?.filter(|row| !row.deleted) else { return Ok(()) };
        let mut row = before.clone();
        let migration = row.migration.get_or_insert_default();
        migration.set_state(MigrationState::Failed);
        reason.clone_into(&mut migration.error);
        repositories::put(&tx, Some(&before), &row);
        Ok(())
    })
    .await
    .result()
}
