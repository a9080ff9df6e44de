//! Builds the JSON payload of an event. The data from git is added before the first attempt.
//!
//! A payload contains only what an anonymous caller may see, with the state at the time of the event. Later
//! changes and deletions do not affect it.

mod forks;
mod refs;
mod releases;
mod statuses;

use farrier_common::api;
use farrier_proto::store::{Job, Payload, Run};
use serde::Serialize;

pub use self::refs::RefPayloadBuilder;
use super::{EventKind, Subject, event_kind::Actor};
use crate::{
    model::access_level::AccessLevel,
    model::identity::Identity,
    model::root_url::RootUrl,
    show::{self, LiveMigration},
    store::owners::Owner,
};

/// The caller for whom objects are converted.
const READER: &Identity = &Identity::Anonymous;
/// The name for a deleted account, as in the API family.
const GHOST: &str = "Ghost";
/// The name for a local CI agent.
const AGENT: &str = "ci-agent";
/// Initial capacity: enough for most payloads.
const USUAL_BYTES: usize = 6 << 10;
/// The status of a run or job in events before its start.
const NOT_BEGUN: &str = "queued";

#[derive(Serialize)]
struct RepositoryBody {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<serde_json::Map<String, serde_json::Value>>,
    repository: api::Repository,
    organization: api::User,
    sender: api::User,
}

#[derive(Serialize)]
struct RunBody {
    action: &'static str,
    workflow: WorkflowBody,
    workflow_run: RunAndMore,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<api::Organization>,
    repository: api::Repository,
    sender: api::User,
}

/// A run in an event, which has more fields than a run in a list.
#[derive(Serialize)]
struct RunAndMore {
    #[serde(flatten)]
    run: api::Run,
    previous_attempt_url: Option<()>,
    pull_requests: [(); 0],
    actor: api::User,
}

#[derive(Serialize)]
struct WorkflowBody {
    id: String,
    name: String,
    path: String,
    state: &'static str,
    url: String,
    html_url: String,
}

#[derive(Serialize)]
struct JobBody {
    action: &'static str,
    workflow_job: api::Job,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<api::Organization>,
    repository: api::Repository,
    sender: api::User,
}

/// Returns the payload of `kind`. URLs in it start with `root_url`. `live` is the progress of the repository's running
/// migration.
pub fn build(root_url: &RootUrl, subject: Subject<'_>, live: LiveMigration, kind: &EventKind<'_>) -> Payload {
    let builder = PayloadBuilder { root_url, subject, live };
    match kind {
        EventKind::Repository { action, before } => builder.about_repository(action, before),
        EventKind::Fork { fork, owner } => builder.about_fork(fork, owner),
        EventKind::Collaborator { action } => builder.about_repository(action, &[]),
        EventKind::Ref { kind, change, known, key } => {
            RefPayloadBuilder::new(root_url, subject, builder.live, known, *key).payload(root_url, kind, change)
        }
        EventKind::Status { commit, status, people } => builder.about_status(commit, status, people),
        EventKind::Release { action, release, author, files } => builder.about_release(action, release, *author, files),
        EventKind::Run { action, run } => builder.about_run(action, run),
        EventKind::Job { action, job, run } => builder.about_job(action, job, run),
    }
}

/// Builds the payload of one event.
struct PayloadBuilder<'a> {
    root_url: &'a RootUrl,
    subject: Subject<'a>,
    live: LiveMigration,
}

impl PayloadBuilder<'_> {
    fn about_repository(&self, action: &'static str, before: &[(&str, String)]) -> Payload {
        let from = |(field, value): &(&str, String)| ((*field).to_owned(), serde_json::json!({ "from": value }));
        serialized(&RepositoryBody {
            action,
            changes: (!before.is_empty()).then(|| before.iter().map(from).collect()),
            repository: self.repository(),
            organization: show::owner(self.root_url, READER, self.subject.owner),
            sender: self.sender(),
        })
    }

    fn about_run(&self, action: &'static str, run: &Run) -> Payload {
        let (repository, sender) = (self.repository(), self.sender());
        let path = &repository.full_name;
        let mut shown = show::run(self.root_url, path, run);
        if action == "requested" {
            (shown.status, shown.started_at) = (NOT_BEGUN.into(), show::time(0));
        }
        serialized(&RunBody {
            action,
            workflow: self.workflow(path, &shown),
            workflow_run: RunAndMore {
                run: shown,
                previous_attempt_url: None,
                pull_requests: [],
                actor: sender.clone(),
            },
            organization: self.organization(),
            repository,
            sender,
        })
    }

    fn about_job(&self, action: &'static str, job: &Job, run: &Run) -> Payload {
        let repository = self.repository();
        let mut shown = show::job(self.root_url, &repository.full_name, run, job);
        if action == "queued" {
            (shown.status, shown.started_at) = (NOT_BEGUN.into(), show::time(0));
        }
        serialized(&JobBody {
            action,
            workflow_job: shown,
            organization: self.organization(),
            repository,
            sender: self.sender(),
        })
    }

    fn repository(&self) -> api::Repository {
        let Subject { repository, owner, .. } = self.subject;
        show::repository(self.root_url, READER, owner, repository, AccessLevel::Hidden, self.live.clone())
    }

    fn organization(&self) -> Option<api::Organization> {
        match self.subject.owner {
            Owner::Org(org) => Some(show::organization(self.root_url, READER, org)),
            Owner::User(_) => None,
        }
    }

    /// Returns the workflow of a run. Agents set only its name.
    fn workflow(&self, path: &str, run: &api::Run) -> WorkflowBody {
        let actions = show::actions_url(self.root_url, path);
        WorkflowBody {
            id: run.path.clone(),
            name: run.display_title.clone(),
            path: run.path.clone(),
            state: "active",
            url: format!("{actions}/runs"),
            html_url: format!("{}/{path}/actions", self.root_url),
        }
    }

    fn sender(&self) -> api::User {
        let named = |id: i64, name: &str| api::User {
            id,
            login: name.to_owned(),
            username: name.to_owned(),
            full_name: name.to_owned(),
            last_login: show::time(0),
            created: show::time(0),
            visibility: "public".into(),
            ..api::User::default()
        };
        match self.subject.actor {
            Actor::User(user) => show::user(self.root_url, READER, user),
            Actor::Agent => named(0, AGENT),
            Actor::Gone(_) => named(-1, GHOST),
        }
    }
}

fn serialized(body: &impl Serialize) -> Payload {
    let mut json = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(&mut json, body).expect("bodies are plain data");
    Payload { json: json.into(), ..Payload::default() }
}
