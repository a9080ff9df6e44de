//! Imports repositories from other servers.
//!
//! Everything is checked before anything is created. Then a row with the state "running" reserves the name, and
//! a task imports the repository. The import continues when the client disconnects, is cancelled when the
//! repository is deleted, and removes its files when it fails. After a kill, the next start cleans up.

mod check;
pub(super) mod input;
mod progress;
mod record;
mod registry;
pub(super) mod run;

use std::sync::Arc;

use farrier_common::api::MigrateRepository;
use farrier_proto::store::{Migration, MigrationState, OwnerKind, Repository};
use tokio::sync::oneshot;

use self::run::MigrationRun;
pub use self::{
    check::check,
    progress::Progress,
    registry::{MigrationTask, Migrations},
};
use super::{
    Context, Error, access,
    commit_outcome::run_until_known,
    lfs::{self, LfsSource},
    mirrors,
    nodes::WorkState,
    repositories::{FoundRepository, OwnerChoice, create, rules},
    shared_tasks,
    tasks::TrackedTask,
};
use crate::{
    git::{EMPTY_REPOSITORY, ImportSource, SourceError},
    model::{address_policy::AddressPolicy, identity::Identity},
    store::{Tx, owners, repositories, task_rows},
};

/// Interrupted migrations to handle per start.
const RECOVER_MAX: usize = 10_000;
/// Attempts for a short transaction whose outcome is unknown. After these, the next start finishes the migration.
const TRIES: u32 = 5;

/// What to do with the row of a failed migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFailed {
    /// Remove it: the caller is waiting and gets the error.
    Remove,
    /// Keep it with the error, since the caller is not waiting.
    Keep,
}

/// A migration that was started.
#[derive(Debug)]
pub struct StartedMigration {
    /// The repository, which is empty until the migration ends.
    pub found: FoundRepository,
    result: oneshot::Receiver<Result<FoundRepository, Error>>,
}

impl StartedMigration {
    /// Waits for the result. Dropping this does not stop the migration.
    pub async fn end(self) -> Result<FoundRepository, Error> {
        self.result.await.unwrap_or(Err(Error::Busy))
    }
}

/// A checked request for a migration. The source was not contacted yet.
struct MigrationPlan {
    owner: owners::Owner,
    /// The row, without an id.
    row: Repository,
    source: Arc<ImportSource>,
    /// The LFS service of the source, if its objects are copied.
    lfs: Option<LfsSource>,
    /// User name and password at the source.
    credentials: Option<(String, String)>,
}

/// Checks the complete request.
async fn plan(context: &Context, identity: &Identity, input: &MigrateRepository) -> Result<MigrationPlan, Error> {
    access::require_account(identity)?;
    access::require_whole_account(identity)?;
    let address = input::address(input)?;
    rules::name("repo_name", &input.repo_name)?;
    rules::description(&input.description)?;
    let mirror = mirrors::settings_of_import(context, input)?;
    let lfs = input::lfs(input, &address)?;
    let owner = owner(context, identity, input).await?;
    let source = source(context, identity, &address).await?;
    let mut row = create::default_row(context, &owner, input.private, rules::DEFAULT_BRANCH.to_owned());
    row.name.clone_from(&input.repo_name);
    row.description.clone_from(&input.description);
    row.original_url = address.url.to_string();
    row.mirror = mirror;
    let started_ms = context.now_ms();
    row.migration = Some(Migration {
        state: MigrationState::Running.into(),
        started_ms,
        actor_id: identity.user_id(),
        begun_by: Some(context.node.this_start()),
        ..Migration::default()
    });
    create::check_insertion(context, &owner, &row).await.map_err(|error| match error {
        Error::Forbidden { reason } => Error::invalid("repo_owner", reason),
        error => error,
    })?;
    Ok(MigrationPlan { owner, row, source, lfs, credentials: address.credentials })
}

/// Starts a migration.
pub async fn begin(
    context: &Context,
    identity: &Identity,
    input: &MigrateRepository,
    when_failed: WhenFailed,
) -> Result<StartedMigration, Error> {
    let MigrationPlan { owner, row, source, lfs, credentials } = plan(context, identity, input).await?;
    let new = create::assign_id(context, owner, row).await?;
    let id = new.row.id;
    let most = context.config.migration.max_running_per_owner;
    let path = format!("{}/{}", new.owner.name(), new.row.name);
    let too_many = || {
        Error::invalid(
            "repo_owner",
            format!("{most} migrations of this owner are running already: wait for one to end"),
        )
    };
    let names = (path, shared_tasks::node_name(context));
    let running = context.migrations.begin(&new.row, names, context.now_ms(), most).ok_or_else(too_many)?;
    let found = match shared_tasks::begin_import(context, &running, most, when_failed == WhenFailed::Keep).await {
        Ok(true) => create::insert(context, new, None).await.result(),
        Ok(false) => Err(too_many()),
        Err(error) => Err(error),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            context.migrations.discard(id);
            shared_tasks::forget(context, id).await;
            return Err(error);
        }
    };
    let lfs_endpoint = lfs.as_ref().map(|lfs| lfs.endpoint.to_string());
    if let Err(error) = mirrors::store_source(context, &found.repository, credentials, lfs_endpoint).await {
        context.migrations.discard(id);
        shared_tasks::forget(context, id).await;
        mark_failed(context, id, "the credentials of the source were not stored").await?;
        return Err(error);
    }
    let (sender, result) = oneshot::channel();
    let run = MigrationRun {
        context: context.clone(),
        identity: identity.clone(),
        found: found.clone(),
        source,
        lfs,
        running,
        when_failed,
    };
    shared_tasks::follow(context, TrackedTask::Migration(run.running.clone()));
    context.tasks.short(async move {
        // Fails if the caller is not waiting any more.
        let _ = sender.send(run.run().await);
    });
    Ok(StartedMigration { found, result })
}

/// Returns the owner of the new repository. Problems are reported as errors of the input field.
async fn owner(context: &Context, identity: &Identity, input: &MigrateRepository) -> Result<owners::Owner, Error> {
    let unknown = || Error::invalid("repo_owner", "the user or organization does not exist");
    let name = match (input.repo_owner.as_str(), input.uid) {
        ("", 0) => return create::owner_for(context, identity, OwnerChoice::Caller).await,
        ("", id) => {
            let snapshot = context.store.read().await?;
            let user = owners::owner(&snapshot, OwnerKind::User, id).await?;
            let owner = match user {
                Some(user) => Some(user),
                None => owners::owner(&snapshot, OwnerKind::Org, id).await?,
            };
            owner.ok_or_else(unknown)?.name().to_owned()
        }
        (name, _) => name.to_owned(),
    };
    create::owner_for(context, identity, OwnerChoice::Named(&name)).await.map_err(|error| match error {
        Error::NotFound { .. } => unknown(),
        error => error,
    })
}

/// Resolves the address once and checks whether the daemon may connect to it.
async fn source(context: &Context, identity: &Identity, address: &input::Address) -> Result<Arc<ImportSource>, Error> {
    Ok(Arc::new(resolve(context, identity, "clone_addr", address).await?))
}

/// Like [`source`], for the address in the field `field`.
pub(super) async fn resolve(
    context: &Context,
    identity: &Identity,
    field: &'static str,
    address: &input::Address,
) -> Result<ImportSource, Error> {
    let policy = AddressPolicy::parse(&context.config.migration.allowed_hosts).unwrap_or_default();
    let credentials = address.credentials.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
    match ImportSource::resolve(&address.url, credentials, &policy).await {
        Ok(source) => Ok(source),
        Err(SourceError::Refused { address }) => {
            // Only administrators can change the setting, and other users must not learn the addresses of internal
            // names.
            let value = address.filter(|_| identity.is_admin()).map(|address| policy.extended_by(address));
            let advice = value.map_or_else(String::new, |value| {
                format!("; to allow it write allowed_hosts = \"{value}\" in the section [migration]")
            });
            Err(Error::invalid(field, format!("the host is not allowed; see migration.allowed_hosts{advice}")))
        }
        Err(error @ SourceError::Unresolved(_)) => Err(Error::invalid(field, error.to_string())),
    }
}

/// Returns why a repository has no content yet. `None`: it has its content.
pub fn pending(repository: &Repository) -> Option<&'static str> {
    match repository.migration.as_ref().map(Migration::state) {
        Some(MigrationState::Running) => Some("the repository is being migrated: try again when that is done"),
        Some(MigrationState::Failed) => Some("the migration of the repository has failed"),
        Some(MigrationState::Done | MigrationState::Unspecified) | None => None,
    }
}

/// Returns the id under which git reads the repository: that of an empty one while it is being migrated.
pub fn readable(repository: &Repository) -> u64 {
    if pending(repository).is_some() { EMPTY_REPOSITORY } else { repository.id }
}

/// Returns whether no migration of a repository is running.
pub(super) fn has_ended(context: &Context, repository: u64) -> bool {
    !context.migrations.is_running(repository)
}

/// Finishes every migration whose daemon has ended. If the repository's directory is in its final location, the
/// migration is recorded as done, else as failed. Removes no files: partly fetched directories were removed when the
/// directories were opened, and a directory in its final location is complete and may be the only copy.
pub async fn recover(context: &Context) -> Result<(), Error> {
    for row in interrupted(context).await? {
        if !context.git.exists(row.id).await.map_err(Error::git("looking for a migrated repository"))? {
            fail_interrupted(context, row.id).await?;
            tracing::info!(repository = row.id, "an interrupted migration failed");
            continue;
        }
        match record::finish_interrupted(context, &row).await {
            Ok(()) => tracing::info!(repository = row.id, "an interrupted migration was finished"),
            Err(error) => {
                tracing::error!(
                    repository = row.id,
                    error = &error as &dyn std::error::Error,
                    "a migrated repository cannot be read; its files are kept"
                );
                mark_failed(context, row.id, "the fetched repository cannot be read; see the daemon's log").await?;
            }
        }
    }
    Ok(())
}

/// Records that a migration failed because its daemon ended before the repository was fetched. Removes the row if the
/// caller waited, as after any other failure. The repository was never usable, so nothing acknowledged is lost.
async fn fail_interrupted(context: &Context, id: u64) -> Result<(), Error> {
    let task = task_rows::get(&context.store.read().await?, id).await?;
    if task.is_none_or(|task| task.keeps_failed) {
        return mark_failed(context, id, "the daemon was stopped before the repository was fetched").await;
    }
    lfs::forget_import(context, id).await?;
    context
        .store
        .write(async |tx: Tx| {
            let row = repositories::get(&tx, id).await?.filter(|row| !row.deleted);
            // Not if another node has recorded the result meanwhile.
            if let Some(row) = row.filter(|row| pending(row).is_some()) {
                repositories::discard(&tx, &row).await?;
            }
            Ok(())
        })
        .await
}

/// Returns the repositories whose migrations were interrupted.
async fn interrupted(context: &Context) -> Result<Vec<Repository>, Error> {
    let rows = &repositories::migrating(&context.store.read().await?, RECOVER_MAX).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let now = context.now_ms();
    let sort = async |tx: Tx| {
        let mut interrupted = Vec::new();
        for row in rows {
            let begun_by = row.migration.as_ref().and_then(|migration| migration.begun_by.as_ref());
            match context.node.state_of(&tx, begun_by, now).await? {
                WorkState::Own | WorkState::Elsewhere => {}
                WorkState::Interrupted => interrupted.push(row.clone()),
            }
        }
        Ok::<_, Error>(interrupted)
    };
    context.store.write(sort).await
}

async fn mark_failed(context: &Context, id: u64, reason: &str) -> Result<(), Error> {
    run_until_known(context, TRIES, async |tx: Tx| {
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
