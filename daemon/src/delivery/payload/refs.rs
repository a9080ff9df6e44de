//! The payloads of events about refs. The events of one push have most of their payload in common, so that part is
//! kept once while the deliveries of the push are being written.

use farrier_common::api;
use farrier_proto::store::{Payload, PushKey, RefChange, RefPayloads};
use serde::Serialize;

use super::{PayloadBuilder, serialized};
use crate::{
    delivery::{Subject, event_kind::ref_type},
    git::ref_name,
    model::root_url::RootUrl,
    show::LiveMigration,
};

#[derive(Serialize)]
struct CreateBody<'a> {
    sha: &'a str,
    /// The full name. Types of hooks that use short names convert it when the request is built.
    r#ref: &'a str,
    ref_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deploy_key: Option<DeployKeyBody<'a>>,
    repository: &'a api::Repository,
    sender: &'a api::User,
}

#[derive(Serialize)]
struct DeleteBody<'a> {
    r#ref: &'a str,
    ref_type: &'static str,
    pusher_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deploy_key: Option<DeployKeyBody<'a>>,
    repository: &'a api::Repository,
    sender: &'a api::User,
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
    repository: &'a api::Repository,
    pusher: &'a api::User,
    #[serde(skip_serializing_if = "Option::is_none")]
    deploy_key: Option<DeployKeyBody<'a>>,
    sender: &'a api::User,
}

/// The deploy key with which a push was made. The pusher is the account that added the key.
#[derive(Serialize)]
struct DeployKeyBody<'a> {
    id: u64,
    title: &'a str,
}

/// The commit fields of a push that deleted a ref. They are constant, so no data from git is needed.
#[derive(Serialize)]
struct NoCommits {
    compare_url: String,
    commits: [(); 0],
    total_commits: u32,
    head_commit: Option<()>,
}

/// Builds the payloads of events about the refs of one repository.
#[derive(Clone, Debug, PartialEq)]
pub struct RefPayloadBuilder {
    repository: api::Repository,
    sender: api::User,
    known: Vec<String>,
    key: Option<PushKey>,
}

impl RefPayloadBuilder {
    /// Creates a builder for events of `subject`. URLs in the payloads start with `root_url`. `live` is the progress of
    /// the repository's running migration. `known`: the tips of the other branches before the push.
    /// `key`: the deploy key of the push.
    pub fn new(
        root_url: &RootUrl,
        subject: Subject<'_>,
        live: LiveMigration,
        known: &[String],
        key: Option<&PushKey>,
    ) -> Self {
        let common = PayloadBuilder { root_url, subject, live };
        let (repository, sender) = (common.repository(), common.sender());
        Self { repository, sender, known: known.to_vec(), key: key.cloned() }
    }

    /// Reads a builder from a row.
    pub fn from_row(row: &RefPayloads) -> Result<Self, serde_json::Error> {
        Ok(Self {
            repository: serde_json::from_slice(&row.repository_json)?,
            sender: serde_json::from_slice(&row.sender_json)?,
            known: row.known.clone(),
            key: row.key.clone(),
        })
    }

    /// Returns the row from which [`RefPayloadBuilder::from_row`] creates the same builder.
    pub fn to_row(&self) -> RefPayloads {
        RefPayloads {
            repository_json: serialized(&self.repository).json.into(),
            sender_json: serialized(&self.sender).json.into(),
            known: self.known.clone(),
            key: self.key.clone(),
        }
    }

    /// Returns the payload of the event `kind` (`create`, `push` or `delete`) of `change`.
    pub fn payload(&self, root_url: &str, kind: &str, change: &RefChange) -> Payload {
        let (name, ref_type) = (change.r#ref.as_str(), ref_type(&change.r#ref));
        let (repository, sender) = (&self.repository, &self.sender);
        let deploy_key = self.key.as_ref().map(|key| DeployKeyBody { id: key.id, title: &key.title });
        match kind {
            "create" => {
                let sha = &change.after;
                serialized(&CreateBody { sha, r#ref: name, ref_type, deploy_key, repository, sender })
            }
            "delete" => {
                let pusher_type = "user";
                serialized(&DeleteBody { r#ref: name, ref_type, pusher_type, deploy_key, repository, sender })
            }
            _ => {
                let (created, deleted) = (ref_name::is_zero(&change.before), ref_name::is_zero(&change.after));
                let body = PushBody {
                    r#ref: name,
                    before: &change.before,
                    after: &change.after,
                    nothing: deleted.then(|| no_commits(root_url)),
                    created,
                    deleted,
                    repository,
                    pusher: sender,
                    deploy_key,
                    sender,
                };
                let known = if created { self.known.clone() } else { Vec::new() };
                Payload { incomplete: !deleted, known, ..serialized(&body) }
            }
        }
    }
}

fn no_commits(root_url: &str) -> NoCommits {
    NoCommits { compare_url: format!("{root_url}/"), commits: [], total_commits: 0, head_commit: None }
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::{Repository, User};

    use super::*;
    use crate::{delivery::Actor, store::owners::Owner};

    #[test]
    fn a_builder_from_a_row_builds_the_same_payloads() {
        let repository =
            Repository { id: 7, name: "demo".into(), description: "a \"b\"".into(), ..Repository::default() };
        let user = User { id: 3, name: "octo".into(), email: "o@x.example".into(), ..User::default() };
        let (owner, actor) = (Owner::User(user.clone()), Actor::User(Box::new(user)));
        let subject = Subject { repository: &repository, owner: &owner, actor: &actor };
        let builder = RefPayloadBuilder::new(
            &RootUrl::new("http://h".into(), None),
            subject,
            LiveMigration::default(),
            &["ab".into()],
            Some(&PushKey { id: 5, title: "ci \"x\"".into() }),
        );
        let restored = RefPayloadBuilder::from_row(&builder.to_row()).expect("own JSON");
        let zero = "0".repeat(40);
        let change = |before: &str, after: &str| RefChange {
            r#ref: "refs/heads/x".into(),
            before: before.into(),
            after: after.into(),
        };
        for (kind, change) in [
            ("create", change(&zero, "a1")),
            ("push", change(&zero, "a1")),
            ("push", change("a1", "b2")),
            ("push", change("b2", &zero)),
            ("delete", change("b2", &zero)),
        ] {
            let payload = builder.payload("http://h", kind, &change);
            assert_eq!(restored.payload("http://h", kind, &change), payload, "{kind} {change:?}");
            let created = kind == "push" && change.before == zero;
            assert_eq!(payload.known, if created { vec!["ab".to_owned()] } else { Vec::new() });
        }
    }
}
