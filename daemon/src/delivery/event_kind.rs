//! The kinds of events with their data, and the accounts that cause them.

use std::collections::BTreeMap;

use farrier_proto::store::{
    CommitStatus, Conclusion, Job, PushKey, RefChange, Release, ReleaseAsset, Repository, Run, User,
};

use crate::{
    git::{
        read::commit::CommitObject,
        ref_name::{self, RefKind},
    },
    model::identity::Identity,
    store::{
        Read, StoreError,
        owners::{self, Owner},
    },
};

/// The kinds of events, with the names that Gitea-family clients use.
pub const KINDS: [&str; 10] =
    ["create", "delete", "fork", "member", "push", "release", "repository", "status", "workflow_job", "workflow_run"];

/// The kind of an event, with the data that its payload needs.
#[derive(Clone, Debug)]
pub enum EventKind<'a> {
    /// A repository was created, changed or deleted.
    Repository {
        /// The action in the API: `created`, `renamed`, …
        action: &'static str,
        /// The previous values of the changed fields, by field name.
        before: Vec<(&'static str, String)>,
    },
    /// A repository was forked. The subject of the event is the source.
    Fork {
        /// The new repository.
        fork: &'a Repository,
        /// Its owner.
        owner: &'a Owner,
    },
    /// A collaborator was added or removed. Hooks cannot subscribe to this kind; only the event list shows it.
    Collaborator {
        /// `added` or `removed`.
        action: &'static str,
    },
    /// A branch or tag was created, moved or deleted.
    Ref {
        /// `create`, `push` or `delete`.
        kind: &'static str,
        /// The ref with its old and new object id.
        change: &'a RefChange,
        /// For a new branch: the tips of the other branches before the push.
        known: &'a [String],
        /// The deploy key of the push.
        key: Option<&'a PushKey>,
    },
    /// A status was added to a commit.
    Status {
        /// The commit.
        commit: &'a CommitObject,
        /// The status.
        status: &'a CommitStatus,
        /// The accounts of the commit's author and committer, by email address in lower case.
        people: &'a BTreeMap<String, User>,
    },
    /// A release was published, changed or deleted.
    Release {
        /// `published`, `updated` or `deleted`.
        action: &'static str,
        /// The release.
        release: &'a Release,
        /// The account that created it.
        author: Option<&'a User>,
        /// Its files.
        files: &'a [ReleaseAsset],
    },
    /// A run was requested, started or completed.
    Run {
        /// `requested`, `in_progress` or `completed`.
        action: &'static str,
        /// The run as it is now.
        run: &'a Run,
    },
    /// A job was queued, started or completed.
    Job {
        /// `queued`, `in_progress` or `completed`.
        action: &'static str,
        /// The job as it is now.
        job: &'a Job,
        /// Its run.
        run: &'a Run,
    },
}

impl EventKind<'_> {
    /// The action of restoring a deleted repository. Only hooks of type `farrier` get it: the formats of other forges
    /// do not have it.
    pub const RESTORED: &'static str = "restored";

    /// Returns the name of the event in the Gitea API.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Repository { .. } => "repository",
            Self::Fork { .. } => "fork",
            Self::Collaborator { .. } => "member",
            Self::Ref { kind, .. } => kind,
            Self::Status { .. } => "status",
            Self::Release { .. } => "release",
            Self::Run { .. } => "workflow_run",
            Self::Job { .. } => "workflow_job",
        }
    }

    /// Returns the action; empty for kinds without actions.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Repository { action, .. }
            | Self::Collaborator { action }
            | Self::Release { action, .. }
            | Self::Run { action, .. }
            | Self::Job { action, .. } => action,
            Self::Fork { .. } | Self::Ref { .. } | Self::Status { .. } => "",
        }
    }

    /// Returns the change of the ref, for events about refs.
    pub fn ref_change(&self) -> Option<&RefChange> {
        match self {
            Self::Ref { change, .. } => Some(change),
            _ => None,
        }
    }

    /// Returns run id, job id and conclusion; zeros for kinds without a run.
    pub fn run(&self) -> (u64, u64, Conclusion) {
        match self {
            Self::Run { run, .. } => (run.id, 0, run.conclusion()),
            Self::Job { job, .. } => (job.run_id, job.id, job.conclusion()),
            _ => (0, 0, Conclusion::Unspecified),
        }
    }
}

/// Returns `tag` for a tag, otherwise `branch`.
pub(super) fn ref_type(name: &str) -> &'static str {
    match ref_name::kind(name) {
        RefKind::Tag(_) => "tag",
        RefKind::Branch(_) | RefKind::Other => "branch",
    }
}

/// The repository of an event, its owner, and the actor.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The repository after the change.
    pub repository: &'a Repository,
    /// Its owner.
    pub owner: &'a Owner,
    /// The account or agent that made the change.
    pub actor: &'a Actor,
}

/// The account or agent that caused an event.
#[derive(Clone, Debug)]
pub enum Actor {
    /// An account.
    User(Box<User>),
    /// A local CI agent.
    Agent,
    /// An account that no longer exists.
    Gone(u64),
}

impl Actor {
    /// Returns the actor of a request.
    pub fn of(identity: &Identity) -> Self {
        match identity.account() {
            Some(account) => Self::User(Box::new(account.user.clone())),
            None => Self::Agent,
        }
    }

    /// Returns the actor with the account id `id`; 0 means an agent.
    pub async fn find(read: &impl Read, id: u64) -> Result<Self, StoreError> {
        if id == 0 {
            return Ok(Self::Agent);
        }
        Ok(owners::user(read, id).await?.map_or(Self::Gone(id), |user| Self::User(Box::new(user))))
    }

    /// Returns the account's id; 0 for agents.
    pub fn id(&self) -> u64 {
        match self {
            Self::User(user) => user.id,
            Self::Agent => 0,
            Self::Gone(id) => *id,
        }
    }

    /// Returns the account's name; empty for agents and deleted accounts.
    pub fn name(&self) -> &str {
        match self {
            Self::User(user) => &user.name,
            Self::Agent | Self::Gone(_) => "",
        }
    }
}
