//! Requests to the daemon as values. Tests compare them; the network thread sends them.

use farrier_common::{
    api::{
        CheckBranchFilter, CreateBranch, CreateRepository, CreateTag, CreateToken, CreateUser, EditArtifact, EditHook,
        EditRepository, EditUser, MigrateRepository, RestoreRepository,
    },
    client::{AuditFilter, HookOwner, RepositoryPath},
};

use super::{
    KeyRequest, ManagementRequest, ObjectSearch, OrganizationRequest, ReplayRequest,
    archive::Existing,
    changes::{Batch, NewHook, SaveHook, SaveRepository},
    logs::OwnRequests,
    series::{ResultsSpan, SeriesSpan},
    shell::ShellCommand,
};
use crate::{transfer::copy::Content, ui::starter::Starter};

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Status and health of the daemon.
    Status,
    /// Metrics of a period up to now.
    Series(SeriesSpan),
    /// Starts a daemon for this user.
    StartDaemon(Box<Starter>),
    /// All repositories that the caller may read.
    Repositories,
    /// Repositories whose names contain a text, for a list that is too long to load.
    FindRepositories(String),
    /// The repositories that changed last.
    ChangedRepositories,
    /// One repository.
    Repository(RepositoryPath),
    /// A repository whose import failed, to import it again.
    FailedImport(RepositoryPath),
    CreateRepository {
        owner: String,
        request: Box<CreateRepository>,
    },
    EditRepository(RepositoryPath, Box<EditRepository>),
    /// The same from a form; refused if the repository was changed meanwhile.
    SaveRepository(Box<SaveRepository>),
    /// The current repository with its version.
    LoadRepository(RepositoryPath),
    MigrateRepository(Box<MigrateRepository>),
    DeleteRepository(RepositoryPath),
    /// Object counts of a repository.
    RepositoryCounts(RepositoryPath),
    /// A directory at a branch, tag or commit. The path has no slash at its ends; empty for the root.
    Directory {
        repo: RepositoryPath,
        reference: String,
        path: String,
    },
    /// The beginning of a file at a commit.
    FileContent {
        repo: RepositoryPath,
        commit: String,
        path: String,
    },
    /// The newest commits of a branch, tag or commit; with a path, those that changed it.
    Commits {
        repo: RepositoryPath,
        reference: String,
        path: String,
        /// Maximum number of rows.
        rows: usize,
    },
    /// A commit with the beginning of its diff.
    Commit(RepositoryPath, String),
    /// Counts the commits that a push added to a branch and removed from it. `before` and `after` are commit IDs.
    PushedCommits {
        repo: RepositoryPath,
        before: String,
        after: String,
    },
    Tags(RepositoryPath),
    CreateTag(RepositoryPath, Box<CreateTag>),
    DeleteTag(RepositoryPath, String),
    Branches(RepositoryPath),
    CreateBranch(RepositoryPath, Box<CreateBranch>),
    DeleteBranch(RepositoryPath, String),
    /// Lists or changes collaborators, rules, deploy keys, releases or mirrors.
    Manage(RepositoryPath, ManagementRequest),
    /// Hooks of an owner; for administrators, system and default hooks.
    Hooks(HookOwner),
    /// Hooks of all owners whose deliveries fail.
    FailingHooks,
    /// Everything that the API returns about hooks, to copy it.
    HookJson(Vec<(HookOwner, i64)>),
    /// The events that hooks can subscribe to.
    HookEvents,
    CreateHook(Box<NewHook>),
    EditHook(HookOwner, i64, Box<EditHook>),
    /// The same from a form; refused if the hook was changed meanwhile.
    SaveHook(Box<SaveHook>),
    /// The current hook with its version.
    LoadHook(HookOwner, i64),
    DeleteHook(HookOwner, i64),
    TestHook(HookOwner, i64),
    /// Copies a default hook into all repositories that have no copy.
    ApplyHook(i64),
    /// Redelivers the failed deliveries of hooks, and tries at once those that wait because of failures.
    Recover(Vec<i64>),
    /// Counts the failed and waiting deliveries of hooks.
    Recoverable(Vec<i64>),
    /// Several requests of one kind.
    Batch(Box<Batch>),
    /// Deliveries, newest first.
    Deliveries {
        status: &'static str,
        hook: Option<u64>,
        /// Empty for all events.
        event: String,
        /// The reason of a group; empty for all.
        reason: String,
        /// The host of the hooks; empty for all.
        host: String,
        /// Earliest creation time, RFC 3339; empty for any.
        since: String,
        /// Maximum number of rows.
        rows: usize,
    },
    /// The newest deliveries of a hook.
    LastDeliveries(u64),
    /// Groups of deliveries by `hook` or `reason`.
    DeliveryGroups(&'static str),
    /// Results of the deliveries of a hook, or of all, in a period up to now.
    DeliveryResults(Option<u64>, ResultsSpan),
    /// One delivery by its ID.
    Delivery(String),
    /// The newest delivery of a hook, an event and a repository before the delivery with the ID `id`.
    PreviousDelivery {
        hook: u64,
        event: String,
        /// `None` if the event is not about a repository.
        repository: Option<i64>,
        id: i64,
    },
    Redeliver(Vec<String>),
    /// Sends a delivery once to another URL, or with another payload.
    Replay(Box<ReplayRequest>),
    /// The event stream from now on, or after an event, until the daemon ends it.
    Events {
        after: Option<i64>,
    },
    /// Whether a name is free.
    CheckName(RepositoryPath),
    /// Which of the last pushed branches a filter matches.
    CheckBranchFilter(Box<CheckBranchFilter>),
    /// Whether the source of an import responds, and its size.
    CheckMigration(Box<MigrateRepository>),
    /// Artifacts of all runs of a repository.
    ArtifactsOf(RepositoryPath),
    /// Background tasks of the daemon.
    Tasks,
    CancelTask(i64),
    /// Runs, their jobs and their artifacts, of one repository or of all.
    Runs(Option<RepositoryPath>),
    /// Workflows of all repositories whose last runs failed.
    FailingWorkflows,
    /// Mirrors of all repositories whose last run failed.
    FailingMirrors,
    /// The artifacts that expire within a day.
    ExpiringArtifacts,
    /// The newest `rows` runs of one repository or of all that contain the words in a text, with their jobs.
    RunList {
        of: Option<RepositoryPath>,
        /// `in_progress` or `completed`; empty for any.
        status: &'static str,
        /// `success`, `failure`, `cancelled` or `skipped`; empty for any.
        conclusion: &'static str,
        text: String,
        rows: usize,
    },
    /// The newest artifacts of a run.
    RunArtifacts(i64),
    /// Cancels the jobs of a run that have not ended.
    CancelRun(i64),
    /// Sets when artifacts expire.
    EditArtifacts(Vec<(i64, EditArtifact)>),
    DeleteArtifacts(Vec<i64>),
    /// The signed URL of an artifact, which needs no credentials.
    SignedAddress(RepositoryPath, i64),
    /// The files of an artifact that is a zip archive.
    ZipContent {
        repo: RepositoryPath,
        id: i64,
        name: String,
    },
    Download {
        repo: RepositoryPath,
        id: i64,
        name: String,
        existing: Existing,
    },
    /// The caller's organizations.
    OwnOrganizations,
    /// All users; only the caller if it is not an administrator.
    Users,
    /// The access tokens of a user.
    Tokens(String),
    /// Lists or changes the SSH keys and OpenPGP keys of a user.
    AccountKeys(String, KeyRequest),
    /// Lists or changes organizations and teams.
    Organization(OrganizationRequest),
    CreateUser(Box<CreateUser>),
    EditUser(String, Box<EditUser>),
    DeleteUser(String),
    CreateToken(String, Box<CreateToken>),
    /// Revokes a token. `name` is for messages only.
    DeleteToken {
        user: String,
        id: i64,
        name: String,
    },
    /// Deleted repositories that can be restored.
    DeletedRepositories,
    /// Deleted artifacts that can be restored.
    DeletedArtifacts,
    /// Cache entries of all repositories, most recently used first.
    Caches,
    /// The size and the number of the cache entries of each repository.
    CacheUsage,
    /// Deletes a cache entry. `name` is for messages only.
    DeleteCache {
        repo: RepositoryPath,
        id: i64,
        name: String,
    },
    /// Log records of a level and more severe ones, after a number or the newest ones.
    Logs(&'static str, Option<i64>, OwnRequests),
    /// The newest `rows` entries of the audit log that pass a filter; own entries if the caller is no administrator.
    Audit {
        filter: Box<AuditFilter>,
        /// Only the entry with this ID.
        entry: Option<u64>,
        rows: usize,
    },
    /// Restores a deleted repository. `name` is for messages only, here and in the next three.
    RestoreRepository {
        id: i64,
        name: String,
        target: Box<RestoreRepository>,
    },
    RestoreArtifact {
        id: i64,
        name: String,
    },
    /// Deletes a deleted repository permanently.
    PurgeRepository {
        id: i64,
        name: String,
    },
    PurgeArtifact {
        id: i64,
        name: String,
    },
    /// Downloads a branch, tag or commit as an archive, or the whole repository as a bundle.
    Archive {
        repo: RepositoryPath,
        content: Content,
        existing: Existing,
    },
    /// Looks for objects of all kinds by a word.
    FindObjects(Box<ObjectSearch>),
    /// Runs a command of the shell.
    Shell(Box<ShellCommand>),
}

impl Request {
    /// Returns the name of the file that it saves, if it saves one.
    pub(crate) fn file(&self) -> Option<String> {
        match self {
            Self::Download { name, .. } => Some(name.clone()),
            Self::Archive { repo, content, .. } => Some(content.name(repo)),
            _ => None,
        }
    }

    /// Returns the same request with another rule for an existing file.
    pub(crate) fn with_existing(&self, rule: Existing) -> Self {
        let mut other = self.clone();
        if let Self::Download { existing, .. } | Self::Archive { existing, .. } = &mut other {
            *existing = rule;
        }
        other
    }

    /// Returns whether it changes something on the daemon. A failure of such a request is always reported; others are
    /// shown in place of the response.
    pub(crate) fn changes(&self) -> bool {
        match self {
            Self::Manage(_, request) => return request.changes(),
            Self::AccountKeys(_, request) => return request.changes(),
            Self::Organization(request) => return request.changes(),
            Self::Shell(command) => return command.changes,
            _ => {}
        }
        !matches!(
            self,
            Self::Status
                | Self::Series(_)
                | Self::Repositories
                | Self::FindRepositories(_)
                | Self::FindObjects(_)
                | Self::Hooks(_)
                | Self::FailingHooks
                | Self::HookEvents
                | Self::Events { .. }
                | Self::CheckName(_)
                | Self::Recoverable(_)
                | Self::LoadHook(..)
                | Self::LoadRepository(_)
                | Self::FailedImport(_)
                | Self::CheckBranchFilter(_)
                | Self::CheckMigration(_)
                | Self::Deliveries { .. }
                | Self::LastDeliveries(_)
                | Self::DeliveryGroups(_)
                | Self::DeliveryResults(..)
                | Self::Delivery(_)
                | Self::PreviousDelivery { .. }
                | Self::Directory { .. }
                | Self::FileContent { .. }
                | Self::Commits { .. }
                | Self::Commit(..)
                | Self::PushedCommits { .. }
                | Self::Tags(_)
                | Self::Branches(_)
                | Self::RepositoryCounts(_)
                | Self::ArtifactsOf(_)
                | Self::Tasks
                | Self::OwnOrganizations
                | Self::Users
                | Self::Tokens(_)
                | Self::DeletedRepositories
                | Self::DeletedArtifacts
                | Self::Audit { .. }
                | Self::Logs(..)
                | Self::Caches
                | Self::CacheUsage
                | Self::Runs(_)
                | Self::FailingWorkflows
                | Self::FailingMirrors
                | Self::ExpiringArtifacts
                | Self::RunList { .. }
                | Self::RunArtifacts(_)
                | Self::Download { .. }
                | Self::Archive { .. }
        )
    }

    /// Returns whether its response is only shown on the screen that sent it, so that it no longer matters to a user
    /// who has left the screen.
    pub(crate) fn is_load(&self) -> bool {
        !self.changes() || matches!(self, Self::ChangedRepositories | Self::ZipContent { .. } | Self::HookJson(_))
    }
}
