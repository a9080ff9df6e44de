//! Typed responses to the requests in `request`.

use std::path::PathBuf;

use farrier_common::api::{
    AccessToken, Artifact, BackgroundTask, Branch, BranchProtection, CacheUsage, Commit, DeliveryDetail,
    DeliveryGroups, DeliveryResults, DeployKey, Event, FailingWorkflows, FoundArtifact, FoundMirror, GpgKey, Health,
    Hook, HookEvent, LogRecords, MetricsSeries, Organization, PublicKey, PushMirror, RecoveredDeliveries, Release,
    ReplayedDelivery, Repository, Status, Tag, TagProtection, Team, User,
};

use farrier_common::client::Tagged;

use super::{Collaborator, Directory, Excerpt, FoundObjects, OrganizationMember, PushedCommits, RepositoryCounts};
use crate::ui::{
    audit::AuditSummary,
    cache::CacheSummary,
    deleted::{DeletedArtifactSummary, DeletedRepositorySummary},
    delivery::DeliverySummary,
    hook::HookSummary,
    organization::OrganizationSummary,
    repo::RepositorySummary,
    runs::{ListedRun, RunsBatch},
    user::UserSummary,
};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// The total count, if the daemon reports it.
    pub(crate) total: Option<i64>,
    /// Whether this is the last page.
    pub(crate) last: bool,
}

/// How far the daemon has searched a list that is too long to load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchProgress {
    /// Number of rows that the daemon has examined; `None` if it did not search.
    pub(crate) examined: Option<i64>,
    /// Whether there are older rows that are not loaded or not examined.
    pub(crate) more: bool,
}

/// A response, or one page of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Status(Box<(Status, Health)>),
    Series(Box<MetricsSeries>),
    /// The daemon was started; with the path of its log.
    Started(PathBuf),
    Repositories(Page<RepositorySummary>),
    Repository(Box<Repository>),
    /// One page of a directory.
    Directory(Box<Directory>),
    FileContent(Excerpt),
    /// The newest first.
    Commits(Page<Commit>),
    /// A commit and its diff.
    Commit(Box<(Commit, Excerpt)>),
    PushedCommits(PushedCommits),
    Tags(Page<Tag>),
    Branches(Page<Branch>),
    Collaborators(Page<Collaborator>),
    Rules(Vec<BranchProtection>, Vec<TagProtection>),
    DeployKeys(Page<DeployKey>),
    /// Without their texts, the newest first.
    Releases(Page<Release>),
    Release(Box<Release>),
    /// The repository, which can be a pull mirror, and its push mirrors.
    Mirrors(Box<Repository>, Vec<PushMirror>),
    RepositoryCounts(Box<RepositoryCounts>),
    ArtifactsOf(Page<Artifact>),
    /// Names of the caller's organizations.
    Organizations(Vec<String>),
    /// All organizations that the caller sees.
    AllOrganizations(Page<OrganizationSummary>),
    Organization(Box<Organization>),
    Teams(Page<Team>),
    Team(Box<Team>),
    Members(Page<OrganizationMember>),
    DeletedRepositories(Page<DeletedRepositorySummary>),
    DeletedArtifacts(Page<DeletedArtifactSummary>),
    Audit(Page<AuditSummary>, SearchProgress),
    /// Oldest first.
    Logs(Box<LogRecords>),
    Caches(Page<CacheSummary>),
    CacheUsage(Page<CacheUsage>),
    Users(Page<UserSummary>),
    User(Box<User>),
    Tokens(Page<AccessToken>),
    /// SSH keys and OpenPGP keys.
    AccountKeys(Vec<PublicKey>, Vec<GpgKey>),
    /// A new token, with its secret.
    Token(Box<AccessToken>),
    /// Newest first.
    Tasks(Vec<BackgroundTask>),
    Hooks(Page<HookSummary>),
    /// One line for each hook.
    HookJson(String),
    HookEvents(Vec<HookEvent>),
    Hook(Box<Hook>),
    LoadedHook(Box<Tagged<Hook>>),
    LoadedRepository(Box<Tagged<Repository>>),
    /// Number of repositories that got a copy of the hook, and that were skipped.
    Applied {
        copied: i64,
        skipped: i64,
    },
    Deliveries(Page<DeliverySummary>),
    LastDeliveries(Vec<DeliverySummary>),
    DeliveryGroups(Box<DeliveryGroups>),
    DeliveryResults(Box<DeliveryResults>),
    Delivery(Box<DeliveryDetail>),
    /// `None` if the daemon found no earlier delivery among those that it examined.
    PreviousDelivery(Option<Box<DeliveryDetail>>),
    Replayed(Box<ReplayedDelivery>),
    /// The result for each hook, in order: the numbers of deliveries that were queued, or the error.
    Recovered(Vec<Result<RecoveredDeliveries, String>>),
    /// Numbers of deliveries of all hooks that can be queued.
    Recoverable(RecoveredDeliveries),
    /// The result of each request of a batch, in order: nothing, or the error.
    Batch(Vec<Option<String>>),
    Event(Box<Event>),
    FailingWorkflows(Box<FailingWorkflows>),
    /// Mirrors whose last run failed, and whether there may be more.
    FailingMirrors(Vec<FoundMirror>, bool),
    /// Runs, the newest first, and whether there may be older ones.
    RunList(Page<ListedRun>, SearchProgress),
    /// Artifacts of a run, and whether it has more.
    RunArtifacts(Vec<FoundArtifact>, bool),
    /// Artifacts that expire within a day, the first to expire first, and whether there are more.
    ExpiringArtifacts(Vec<FoundArtifact>, bool),
    /// One page of runs and artifacts.
    Runs(Box<RunsBatch>),
    /// Path and query of a signed URL.
    Signed(String),
    /// One line per file of a zip archive.
    Content(Vec<String>),
    /// Progress of a download in bytes.
    Progress {
        have: u64,
        /// Unknown for content that is generated while it is sent.
        size: Option<u64>,
    },
    /// A complete and verified download.
    Saved(PathBuf),
    /// The result for each ID, in order: nothing, or the error.
    Each(Vec<(i64, Option<String>)>),
    /// The same for objects with text IDs.
    EachOf(Vec<(String, Option<String>)>),
    /// The new expiry of each artifact in Unix seconds, or the error.
    Expiring(Vec<(i64, Result<i64, String>)>),
    /// A hook was tested: the ID of the delivery, or the error.
    Tested {
        hook: i64,
        delivery: Result<String, String>,
    },
    /// The result of a check: whether the value is valid, and the text to show.
    Verdict(bool, String),
    FoundObjects(Box<FoundObjects>),
    /// The output of a command of the shell.
    Printed {
        text: String,
        failed: bool,
    },
    /// Success without content.
    Done,
}
