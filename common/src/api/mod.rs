//! Request and response bodies of the REST API, one module per resource.
//!
//! Field names are those of the Gitea API (`/api/v1`) or farrier's own (`/api/farrier/v1`). Responses contain
//! no `null` where strict clients reject it. Requests may contain `null`, which is the same as an absent field.

mod artifact;
mod audit;
mod backup;
mod branch;
mod cache;
mod check;
mod ci;
mod commit;
mod commit_status;
mod contents;
mod data_places;
mod deleted;
mod delivery;
mod error;
mod event;
mod file_change;
mod fork;
mod git_objects;
mod gpg_key;
mod hook;
mod log_record;
mod mirror;
mod node;
mod org;
mod owner;
mod ref_rule;
mod release;
mod repository;
mod repository_input;
mod run;
mod settings;
mod ssh_key;
mod status;
mod tag;
mod task;
mod team;
mod token;
mod topic;
mod transfer;
mod user_settings;

use serde::{Deserialize, Deserializer};

pub use self::{
    artifact::{
        Artifact, ArtifactJob, ArtifactRun, Artifacts, DeleteArtifacts, DeletedArtifact, DeletedArtifacts,
        EditArtifact, FoundArtifact,
    },
    audit::{AuditActor, AuditEntry, AuditObject},
    backup::{Backup, CreateBackup, CreateBackupStream},
    branch::{Branch, CreateBranch, MoveBranch, RenameBranch},
    cache::{CacheEntry, CacheUsage, Caches, FoundCacheEntry},
    check::{CheckBranchFilter, CheckedBranch, CheckedBranchFilter, CheckedMigration},
    ci::{BeginRun, BegunJob, Conclusion, EndJob, JobLease},
    commit::{
        Commit, CommitDetails, CommitFile, CommitMeta, CommitStats, Compare, Note, PayloadCommit, PayloadUser,
        Signature, Verification,
    },
    commit_status::{CombinedStatus, CommitStatus, CreateStatus},
    contents::{Contents, ContentsLinks},
    data_places::{BucketStatus, DiskStatus, StoreServer, StoreStatus},
    deleted::{RestorableArtifact, RestorableRepository, RestoreRepository, SetAside, SetAsideItem},
    delivery::{
        Delivery, DeliveryAttempt, DeliveryDetail, DeliveryGroup, DeliveryGroups, DeliveryRequest, DeliveryResponse,
        DeliveryResults, RecoverDeliveries, RecoveredDeliveries, ReplayDelivery, ReplayedDelivery,
    },
    error::ErrorBody,
    event::{Event, Events},
    file_change::{
        ApplyPatch, ChangeFile, ChangeFiles, ChangedFile, ChangedFileResult, ChangedFilesResult, CommitDates,
        CommitIdentity, CommitOptions, FileCommit,
    },
    fork::{CreateFork, MergeUpstream, MergedUpstream, SyncForkInfo},
    git_objects::{Blob, GitObject, GitReference, Tree, TreeEntry},
    gpg_key::{CreateGpgKey, GpgKey, GpgKeyEmail, VerifyGpgKey},
    hook::{
        AppliedHook, ApplyHook, CreateHook, EditHook, Hook, HookConfigKey, HookEvent, HookEventHeaders, HookType,
        RecentFailures, SettingAdvice,
    },
    log_record::{LogField, LogObject, LogRecord, LogRecords},
    mirror::{CreatePushMirror, FoundMirror, PushMirror},
    node::{NodeFigures, NodeStatus},
    org::{CreateOrg, EditOrg, OrgPermissions, Organization, RenameOrg},
    owner::{ChangePassword, CreateUser, EditUser, FoundUsers, RenameUser, User},
    ref_rule::{BranchProtection, ChangeBranchProtection, ChangeTagProtection, OrderBranchProtections, TagProtection},
    release::{Attachment, CreateRelease, EditAttachment, EditRelease, Release},
    repository::{
        AddCollaborator, CollaboratorPermission, InternalTracker, MigrationProgress, MirrorProgress, Permissions,
        Repository, RepositorySearch, WatchInfo,
    },
    repository_input::{CreateRepository, EditRepository, MigrateRepository},
    run::{FailingWorkflow, FailingWorkflows, FoundJob, FoundRun, Job, Jobs, Run, Runs, Step, Task, TaskList},
    settings::{
        ApiSettings, AttachmentSettings, GitignoreTemplate, LabelTemplate, License, LicenseEntry, RepositorySettings,
        UiSettings,
    },
    ssh_key::{CreateKey, DeployKey, PublicKey},
    status::{
        Amount, ArtifactLimits, Health, HealthCheck, Kept, ListenerStatus, LogFilter, MetricsSeries, OwnerStorage,
        QuotaStatus, SetLogFilter, SshHostKey, SshService, Status, StorageByOwner, StorageSizes, Version, WorkLimit,
    },
    tag::{AnnotatedTag, ArchiveDownloads, CreateTag, Tag},
    task::{BackgroundTask, BackgroundTasks, Cron, LfsCollectionFigures, TaskPhase},
    team::{CreateTeam, EditTeam, Team, TeamSearch},
    token::{AccessToken, CreateToken, CurrentToken, TokenRepository, TokenUser},
    topic::{FoundTopics, InvalidTopics, ReplaceTopics, Topic, Topics},
    transfer::{GenerateRepository, RepositoryTransfer, TransferRepository},
    user_settings::{EditUserSettings, Email, Emails, UserSettings},
};

/// Deserializes `null` as the default value. Gitea-family clients send `null` for unset fields.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
