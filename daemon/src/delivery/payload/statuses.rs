//! The payload of a new status of a commit.

use std::collections::BTreeMap;

use farrier_common::api;
use farrier_proto::store::{CommitStatus, Payload, User};
use serde::Serialize;
use serde_json::Value;

use super::{PayloadBuilder, serialized};
use crate::{git::read::commit::CommitObject, model::words, show, webhook::push};

#[derive(Serialize)]
struct StatusBody<'a> {
    commit: Value,
    context: &'a str,
    created_at: String,
    description: &'a str,
    id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<api::Organization>,
    repository: api::Repository,
    sender: api::User,
    sha: &'a str,
    state: &'static str,
    target_url: &'a str,
    updated_at: String,
}

impl PayloadBuilder<'_> {
    pub(super) fn about_status(
        &self,
        commit: &CommitObject,
        status: &CommitStatus,
        people: &BTreeMap<String, User>,
    ) -> Payload {
        let repository = self.repository();
        let (shown, _) = push::commit_json(commit, None, people, &repository.html_url, 0);
        serialized(&StatusBody {
            commit: shown,
            context: &status.context,
            created_at: show::time(status.created_ms),
            description: &status.description,
            id: show::number(status.id),
            organization: self.organization(),
            repository,
            sender: self.sender(),
            sha: &commit.id,
            state: words::status_word(status.state()),
            target_url: &status.target_url,
            updated_at: show::time(status.created_ms),
        })
    }
}
