//! What can be told, and by whom it was done.

use farrier_proto::store::{Conclusion, Job, RefChange, Run, User};

use crate::{
    git::ref_name::{self, RefKind},
    model::identity::Identity,
    store::{Read, StoreError, owners},
};

/// The kinds of events, in the words of the API family.
pub const KINDS: [&str; 7] = ["create", "delete", "member", "push", "repository", "workflow_job", "workflow_run"];

/// Something that happened to a repository.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// It was made, changed or removed.
    Repository {
        /// The word of the API: `created`, `renamed`, …
        action: &'static str,
        /// What was there before, by the field's name; what did not change is absent.
        before: Vec<(&'static str, String)>,
    },
    /// Somebody began or ceased to work on it. No hook can ask for this: it is for who manages.
    Collaborator {
        /// `added` or `removed`.
        action: &'static str,
    },
    /// A branch or tag was made, moved or removed.
    Ref {
        /// `create`, `push` or `delete`.
        kind: &'static str,
        /// From where to where.
        change: &'a RefChange,
        /// Where branches were before, when one was made.
        known: &'a [String],
    },
    /// A run was asked for, began or completed.
    Run {
        /// `requested`, `in_progress` or `completed`.
        action: &'static str,
        /// The run as it is now.
        run: &'a Run,
    },
    /// A job was asked for, began or ended.
    Job {
        /// `queued`, `in_progress` or `completed`.
        action: &'static str,
        /// The job as it is now.
        job: &'a Job,
        /// Its run.
        run: &'a Run,
    },
}

impl News<'_> {
    /// Action of a repository that was restored. No other forge has it, so receivers of their formats
    /// cannot read it.
    pub const RESTORED: &'static str = "restored";

    /// The word of the API family for such news.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Repository { .. } => "repository",
            Self::Collaborator { .. } => "member",
            Self::Ref { kind, .. } => kind,
            Self::Run { .. } => "workflow_run",
            Self::Job { .. } => "workflow_job",
        }
    }

    /// What happened to the thing; empty where the kind says it.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Repository { action, .. }
            | Self::Collaborator { action }
            | Self::Run { action, .. }
            | Self::Job { action, .. } => action,
            Self::Ref { .. } => "",
        }
    }

    /// The ref that moved.
    pub fn ref_change(&self) -> Option<&RefChange> {
        match self {
            Self::Ref { change, .. } => Some(change),
            _ => None,
        }
    }

    /// Run, job and how it ended.
    pub(super) fn run(&self) -> (u64, u64, Conclusion) {
        match self {
            Self::Run { run, .. } => (run.id, 0, run.conclusion()),
            Self::Job { job, .. } => (job.run_id, job.id, job.conclusion()),
            _ => (0, 0, Conclusion::Unspecified),
        }
    }
}

/// `branch` or `tag`, for a ref that is one.
pub(super) fn ref_type(name: &str) -> &'static str {
    match ref_name::kind(name) {
        RefKind::Tag(_) => "tag",
        RefKind::Branch(_) | RefKind::Other => "branch",
    }
}

/// Who did something.
#[derive(Clone, Debug)]
pub enum Actor {
    /// An account.
    User(Box<User>),
    /// A local CI agent.
    Agent,
    /// An account that is no longer there.
    Gone(u64),
}

impl Actor {
    /// Who makes a request.
    pub fn of(identity: &Identity) -> Self {
        match identity.account() {
            Some(account) => Self::User(Box::new(account.user.clone())),
            None => Self::Agent,
        }
    }

    /// The account with number `id`; 0 stands for agents.
    pub async fn find(read: &impl Read, id: u64) -> Result<Self, StoreError> {
        if id == 0 {
            return Ok(Self::Agent);
        }
        Ok(owners::user(read, id).await?.map_or(Self::Gone(id), |user| Self::User(Box::new(user))))
    }

    /// The account's number; 0 for agents.
    pub fn id(&self) -> u64 {
        match self {
            Self::User(user) => user.id,
            Self::Agent => 0,
            Self::Gone(id) => *id,
        }
    }

    /// The account's name; empty for agents and for accounts that are gone.
    pub fn name(&self) -> &str {
        match self {
            Self::User(user) => &user.name,
            Self::Agent | Self::Gone(_) => "",
        }
    }
}
