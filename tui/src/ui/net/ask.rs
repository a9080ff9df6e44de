//! What can be asked of the daemon, as values: tests compare them, and nothing happens until the
//! network gets one.

use farrier_common::{
    api::{
        CheckBranchFilter, CreateBranch, CreateHook, CreateRepository, EditArtifact, EditHook, EditRepository,
        MigrateRepository, RestoreRepository,
    },
    client::{EntityTag, HookPlace, RepositoryPath},
};

use crate::{transfer::copy::Content, ui::starter::Starter};

/// A hook to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewHook {
    pub(crate) place: HookPlace,
    pub(crate) wanted: CreateHook,
    /// Whether it is tested at once.
    pub(crate) test: bool,
    /// Set when the answer to an earlier try was lost: a hook like this one with a higher number is
    /// the one that was to be made.
    pub(crate) unless_above: Option<i64>,
    /// A secret that was generated here and is shown once when the hook exists.
    pub(crate) shown_once: Option<String>,
}

/// The changed fields of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaveHook {
    pub(crate) place: HookPlace,
    pub(crate) id: i64,
    pub(crate) wanted: EditHook,
    /// The version that the form was filled with; the daemon refuses the change of another one.
    pub(crate) tag: Option<EntityTag>,
    /// A secret that was generated here and is shown once when the hook is saved.
    pub(crate) shown_once: Option<String>,
}

/// The changed fields of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaveRepository {
    pub(crate) path: RepositoryPath,
    pub(crate) wanted: EditRepository,
    /// The version that the form was filled with; the daemon refuses the change of another one.
    pub(crate) tag: Option<EntityTag>,
}

/// Several wishes of one kind, carried out one after the other: one that fails does not stop the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// What it is about, one of it: `hook`.
    pub(crate) noun: &'static str,
    /// What is done: `deleting`.
    pub(crate) doing: &'static str,
    /// What was done then: `deleted`.
    pub(crate) done: &'static str,
    /// Each object by its name.
    pub(crate) items: Vec<(String, Ask)>,
}

/// One question or one wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// What the daemon says of itself, and what is wrong with it.
    Status,
    /// The last minute of the daemon.
    Series,
    /// A daemon for this user, when there is none.
    StartDaemon(Box<Starter>),
    /// All repositories that the caller sees.
    Repositories,
    /// Those of them whose names hold a text, for a list that is too long to be kept.
    FindRepositories(String),
    /// Those that changed last.
    ChangedRepositories,
    /// All that the daemon says of one.
    Repository(RepositoryPath),
    CreateRepository {
        owner: String,
        wanted: Box<CreateRepository>,
    },
    EditRepository(RepositoryPath, Box<EditRepository>),
    /// The same from a form, unless somebody else changed the repository meanwhile.
    SaveRepository(Box<SaveRepository>),
    /// A repository as it is now, with its version.
    LoadRepository(RepositoryPath),
    MigrateRepository(Box<MigrateRepository>),
    DeleteRepository(RepositoryPath),
    /// How much belongs to a repository.
    Facts(RepositoryPath),
    Branches(RepositoryPath),
    CreateBranch(RepositoryPath, Box<CreateBranch>),
    DeleteBranch(RepositoryPath, String),
    /// Hooks of a place; administrators' hooks of both kinds.
    Hooks(HookPlace),
    /// Hooks of all places whose deliveries fail.
    FailingHooks,
    /// What hooks can hear of.
    HookEvents,
    CreateHook(Box<NewHook>),
    EditHook(HookPlace, i64, Box<EditHook>),
    /// The same from a form, unless somebody else changed the hook meanwhile.
    SaveHook(Box<SaveHook>),
    /// A hook as it is now, with its version.
    LoadHook(HookPlace, i64),
    DeleteHook(HookPlace, i64),
    TestHook(HookPlace, i64),
    /// Copies a default hook into all repositories that have no copy.
    ApplyHook(i64),
    /// Sends everything that failed for a hook again.
    Recover(i64),
    /// How many deliveries that would be.
    Recoverable(Vec<i64>),
    /// Several wishes of one kind.
    Many(Box<Batch>),
    /// What hooks were sent, the newest first.
    Deliveries {
        status: &'static str,
        hook: Option<u64>,
        /// Empty: of all.
        event: String,
        /// Created then or later, RFC 3339; empty: at any time.
        since: String,
        /// How many rows are wanted.
        rows: usize,
    },
    /// The few that a hook was sent last.
    LastDeliveries(u64),
    /// One delivery, by its identifier.
    Delivery(String),
    Redeliver(Vec<String>),
    /// What happens from now on, or after an event; goes on until the daemon ends it.
    Events {
        after: Option<i64>,
    },
    /// Whether a name is free.
    CheckName(RepositoryPath),
    /// What a branch filter does.
    CheckBranchFilter(Box<CheckBranchFilter>),
    /// Whether a source answers, and what it has.
    CheckMigration(Box<MigrateRepository>),
    /// Artifacts of a repository, whatever run they are of.
    ArtifactsOf(RepositoryPath),
    /// What the daemon does in the background.
    Tasks,
    CancelTask(i64),
    /// Runs, their jobs and their artifacts, of one repository or of all.
    Runs(Option<RepositoryPath>),
    /// Cancels the jobs of a run that have not ended.
    CancelRun(i64),
    /// Sets when artifacts expire.
    EditArtifacts(Vec<(i64, EditArtifact)>),
    DeleteArtifacts(Vec<i64>),
    /// An address of an artifact's bytes that needs no credentials.
    SignedAddress(RepositoryPath, i64),
    /// What is inside of an artifact that is a zip file.
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
    /// The organisations that the caller belongs to.
    OwnOrganizations,
    /// Deleted repositories that can be restored.
    DeletedRepositories,
    /// Deleted artifacts that can be restored.
    DeletedArtifacts,
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
    /// What a branch, a tag or a commit holds, or the whole repository, as one file.
    Archive {
        repo: RepositoryPath,
        content: Content,
        existing: Existing,
    },
}

/// What becomes of a file that has the name of one to be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays, and it is said that it is there.
    #[default]
    Keep,
    Replace,
    /// It stays, and the other one gets another name.
    Beside,
}

impl Ask {
    /// The name of the file that it makes, if it makes one.
    pub(crate) fn file(&self) -> Option<String> {
        match self {
            Self::Download { name, .. } => Some(name.clone()),
            Self::Archive { repo, content, .. } => Some(content.name(repo)),
            _ => None,
        }
    }

    /// The same with another answer to a file that is there.
    pub(crate) fn although(&self, wanted: Existing) -> Self {
        let mut other = self.clone();
        if let Self::Download { existing, .. } | Self::Archive { existing, .. } = &mut other {
            *existing = wanted;
        }
        other
    }

    /// Whether it changes something on the daemon. Such a failure is always reported; others are shown where
    /// the answer would be.
    pub(crate) fn changes(&self) -> bool {
        !matches!(
            self,
            Self::Status
                | Self::Series
                | Self::Repositories
                | Self::FindRepositories(_)
                | Self::Hooks(_)
                | Self::FailingHooks
                | Self::HookEvents
                | Self::Events { .. }
                | Self::CheckName(_)
                | Self::Recoverable(_)
                | Self::LoadHook(..)
                | Self::LoadRepository(_)
                | Self::CheckBranchFilter(_)
                | Self::CheckMigration(_)
                | Self::Deliveries { .. }
                | Self::LastDeliveries(_)
                | Self::Delivery(_)
                | Self::Branches(_)
                | Self::Facts(_)
                | Self::ArtifactsOf(_)
                | Self::Tasks
                | Self::OwnOrganizations
                | Self::DeletedRepositories
                | Self::DeletedArtifacts
                | Self::Runs(_)
                | Self::Download { .. }
                | Self::Archive { .. }
        )
    }

    /// What it is, to follow "while" or "could not".
    pub(crate) fn doing(&self) -> String {
        match self {
            Self::Status => "asking for the status".to_owned(),
            Self::Series => "asking for the last minute".to_owned(),
            Self::StartDaemon(starter) => format!("starting {}", starter.program.display()),
            Self::Repositories => "listing repositories".to_owned(),
            Self::ChangedRepositories => "looking for changed repositories".to_owned(),
            Self::FindRepositories(text) => format!("looking for repositories with {text}"),
            Self::Repository(path) => format!("asking for {path}"),
            Self::CreateRepository { owner, wanted } => format!("making {owner}/{}", wanted.name),
            Self::EditRepository(path, _) => format!("changing {path}"),
            Self::SaveRepository(save) => format!("changing {}", save.path),
            Self::LoadRepository(path) => format!("loading {path}"),
            Self::MigrateRepository(wanted) => format!("fetching {}/{}", wanted.repo_owner, wanted.repo_name),
            Self::DeleteRepository(path) => format!("deleting {path}"),
            Self::Facts(path) => format!("counting what belongs to {path}"),
            Self::ArtifactsOf(path) => format!("listing artifacts of {path}"),
            Self::Tasks => "listing tasks".to_owned(),
            Self::CancelTask(id) => format!("cancelling task {id}"),
            Self::Branches(path) => format!("listing branches of {path}"),
            Self::CreateBranch(path, wanted) => format!("making {} in {path}", wanted.new_branch_name),
            Self::DeleteBranch(path, name) => format!("deleting {name} of {path}"),
            Self::Hooks(_) | Self::FailingHooks => "listing hooks".to_owned(),
            Self::HookEvents => "asking for the events of hooks".to_owned(),
            Self::CreateHook(_) => "making the hook".to_owned(),
            Self::CheckName(path) => format!("looking whether {path} is free"),
            Self::CheckBranchFilter(_) => "trying the branch filter".to_owned(),
            Self::CheckMigration(wanted) => format!("asking {}", wanted.clone_addr),
            Self::LoadHook(_, id) => format!("loading hook {id}"),
            Self::SaveHook(save) => format!("changing hook {}", save.id),
            Self::EditHook(_, id, _) => format!("changing hook {id}"),
            Self::DeleteHook(_, id) => format!("deleting hook {id}"),
            Self::TestHook(_, id) => format!("testing hook {id}"),
            Self::ApplyHook(id) => format!("copying hook {id}"),
            Self::Recoverable(_) => "counting failed deliveries".to_owned(),
            Self::Many(batch) => {
                format!("{} {}", batch.doing, crate::ui::bulk::counted(batch.items.len(), batch.noun))
            }
            Self::Recover(id) => format!("sending failed deliveries of hook {id} again"),
            Self::Deliveries { .. } => "listing deliveries".to_owned(),
            Self::LastDeliveries(hook) => format!("listing what hook {hook} was sent"),
            Self::Delivery(id) => format!("asking for delivery {id}"),
            Self::Redeliver(ids) => format!("delivering {} again", ids.len()),
            Self::Events { .. } => "following events".to_owned(),
            Self::OwnOrganizations => "listing your organisations".to_owned(),
            Self::DeletedRepositories => "listing deleted repositories".to_owned(),
            Self::DeletedArtifacts => "listing deleted artifacts".to_owned(),
            Self::RestoreRepository { name, .. } | Self::RestoreArtifact { name, .. } => format!("restoring {name}"),
            Self::PurgeRepository { name, .. } | Self::PurgeArtifact { name, .. } => {
                format!("deleting {name} permanently")
            }
            Self::Runs(Some(path)) => format!("listing runs of {path}"),
            Self::Runs(None) => "listing runs".to_owned(),
            Self::CancelRun(id) => format!("cancelling run {id}"),
            Self::EditArtifacts(wanted) => format!("setting when {} expire", artifacts(wanted.len())),
            Self::SignedAddress(_, id) => format!("asking for the address of artifact {id}"),
            Self::ZipContent { name, .. } => format!("looking into {name}"),
            Self::DeleteArtifacts(ids) => format!("deleting {}", artifacts(ids.len())),
            Self::Download { name, .. } => format!("downloading {name}"),
            Self::Archive { repo, content: Content::Of { reference, format }, .. } => {
                format!("fetching {reference} of {repo} as {format}")
            }
            Self::Archive { repo, content: Content::All, .. } => format!("fetching all of {repo}"),
        }
    }
}

fn artifacts(count: usize) -> String {
    if count == 1 { "1 artifact".to_owned() } else { format!("{count} artifacts") }
}
