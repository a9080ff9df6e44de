//! Builds the JSON payload of an event. The data from git is added before the first attempt.
//!
//! A payload contains only what an anonymous caller may see, with the state at the time of the event. Later
//! changes and deletions do not affect it.

use farrier_common::api;
use farrier_proto::store::{Job, Payload, RefChange, Run};
use serde::Serialize;

use super::{
    EventKind, Subject,
    event_kind::{Actor, ref_type},
};
use crate::{
    app::App, git::ref_name, model::access_level::AccessLevel, model::identity::Identity, show, store::owners::Owner,
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
struct CreateBody<'a> {
    sha: &'a str,
    /// The full name. Types of hooks that use short names convert it when the request is built.
    r#ref: &'a str,
    ref_type: &'static str,
    repository: api::Repository,
    sender: api::User,
}

#[derive(Serialize)]
struct DeleteBody<'a> {
    r#ref: &'a str,
    ref_type: &'static str,
    pusher_type: &'static str,
    repository: api::Repository,
    sender: api::User,
}

#[derive(Serialize)]
struct PushBody<'a> {
    r#ref: &'a str,
    before: &'a str,
    after: &'a str,
    #[serde(flatten)]
    nothing: Option<NoCommits>,
    created: bool,
    deleted: bool,
    repository: api::Repository,
    pusher: api::User,
    sender: api::User,
}

/// The commit fields of a push that deleted a ref. They are constant, so no data from git is needed.
#[derive(Serialize)]
struct NoCommits {
    compare_url: String,
    commits: [(); 0],
    total_commits: u32,
    head_commit: Option<()>,
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

/// Returns the payload of `kind`.
pub fn build(app: &App, subject: Subject<'_>, kind: &EventKind<'_>) -> Payload {
    match kind {
        EventKind::Repository { action, before } => about_repository(app, subject, action, before),
        EventKind::Collaborator { action } => about_repository(app, subject, action, &[]),
        EventKind::Ref { kind, change, known } => about_ref(app, subject, kind, change, known),
        EventKind::Run { action, run } => about_run(app, subject, action, run),
        EventKind::Job { action, job, run } => about_job(app, subject, action, job, run),
    }
}

fn about_repository(app: &App, subject: Subject<'_>, action: &'static str, before: &[(&str, String)]) -> Payload {
    let from = |(field, value): &(&str, String)| ((*field).to_owned(), serde_json::json!({ "from": value }));
    written(&RepositoryBody {
        action,
        changes: (!before.is_empty()).then(|| before.iter().map(from).collect()),
        repository: repository(app, subject),
        organization: show::owner(app, READER, subject.owner),
        sender: sender(app, subject),
    })
}

fn about_ref(app: &App, subject: Subject<'_>, kind: &str, change: &RefChange, known: &[String]) -> Payload {
    let (name, ref_type) = (change.r#ref.as_str(), ref_type(&change.r#ref));
    let (repository, sender) = (repository(app, subject), sender(app, subject));
    match kind {
        "create" => written(&CreateBody { sha: &change.after, r#ref: name, ref_type, repository, sender }),
        "delete" => written(&DeleteBody { r#ref: name, ref_type, pusher_type: "user", repository, sender }),
        _ => {
            let (created, deleted) = (ref_name::is_zero(&change.before), ref_name::is_zero(&change.after));
            let body = PushBody {
                r#ref: name,
                before: &change.before,
                after: &change.after,
                nothing: deleted.then(|| NoCommits::of(app)),
                created,
                deleted,
                repository,
                pusher: sender.clone(),
                sender,
            };
            let known = if created { known.to_vec() } else { Vec::new() };
            Payload { incomplete: !deleted, known, ..written(&body) }
        }
    }
}

impl NoCommits {
    fn of(app: &App) -> Self {
        Self { compare_url: format!("{}/", app.root_url), commits: [], total_commits: 0, head_commit: None }
    }
}

fn about_run(app: &App, subject: Subject<'_>, action: &'static str, run: &Run) -> Payload {
    let (repository, sender) = (repository(app, subject), sender(app, subject));
    let path = &repository.full_name;
    let mut shown = show::run(app, path, run);
    if action == "requested" {
        (shown.status, shown.started_at) = (NOT_BEGUN.into(), show::time(0));
    }
    written(&RunBody {
        action,
        workflow: workflow(app, path, &shown),
        workflow_run: RunAndMore { run: shown, previous_attempt_url: None, pull_requests: [], actor: sender.clone() },
        organization: organization(app, subject),
        repository,
        sender,
    })
}

fn about_job(app: &App, subject: Subject<'_>, action: &'static str, job: &Job, run: &Run) -> Payload {
    let repository = repository(app, subject);
    let mut shown = show::job(app, &repository.full_name, run, job);
    if action == "queued" {
        (shown.status, shown.started_at) = (NOT_BEGUN.into(), show::time(0));
    }
    written(&JobBody {
        action,
        workflow_job: shown,
        organization: organization(app, subject),
        repository,
        sender: sender(app, subject),
    })
}

fn repository(app: &App, subject: Subject<'_>) -> api::Repository {
    show::repository_of(app, READER, subject.owner, subject.repository, AccessLevel::Hidden)
}

fn organization(app: &App, subject: Subject<'_>) -> Option<api::Organization> {
    match subject.owner {
        Owner::Org(org) => Some(show::organization(app, READER, org)),
        Owner::User(_) => None,
    }
}

/// Agents name a workflow by a text; nothing else is known of it.
fn workflow(app: &App, path: &str, run: &api::Run) -> WorkflowBody {
    let actions = show::actions_url(app, path);
    WorkflowBody {
        id: run.path.clone(),
        name: run.display_title.clone(),
        path: run.path.clone(),
        state: "active",
        url: format!("{actions}/runs"),
        html_url: format!("{}/{path}/actions", app.root_url),
    }
}

fn sender(app: &App, subject: Subject<'_>) -> api::User {
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
    match subject.actor {
        Actor::User(user) => show::user(app, READER, user),
        Actor::Agent => named(0, AGENT),
        Actor::Gone(_) => named(-1, GHOST),
    }
}

fn written(body: &impl Serialize) -> Payload {
    let mut json = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(&mut json, body).expect("bodies are plain data");
    Payload { json: json.into(), ..Payload::default() }
}
