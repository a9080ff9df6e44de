//! Builds the short description of an event that all chat types use.

use serde_json::Value;

use crate::webhook::request::short_ref;

/// Colors of messages.
const GREEN: u32 = 0x1a_c600;
const YELLOW: u32 = 0xff_d930;
const RED: u32 = 0xff_3232;
const PURPLE: u32 = 0x72_89da;
const GREY: u32 = 0x4f_545c;
/// Maximum number of listed commits of a push.
const COMMITS_MAX: usize = 20;
/// Digits of an abbreviated commit id.
const SHORT_ID: usize = 10;

/// A short description of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) title: String,
    /// Target of the title; may be empty.
    pub(super) url: String,
    pub(super) lines: Vec<Line>,
    pub(super) color: u32,
    pub(super) repository: String,
    pub(super) sender: String,
    pub(super) sender_url: String,
    pub(super) avatar: String,
}

/// A line and the target of its link; the target may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) url: String,
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

impl Summary {
    /// Describes an event of the kind `kind` from its payload.
    pub(super) fn of(kind: &str, event: &Value) -> Self {
        let repository = text(event, "/repository/full_name");
        let sender = text(event, "/sender/login");
        let base = Self {
            repository: repository.to_owned(),
            sender: sender.to_owned(),
            sender_url: text(event, "/sender/html_url").to_owned(),
            avatar: text(event, "/sender/avatar_url").to_owned(),
            url: text(event, "/repository/html_url").to_owned(),
            ..Self::default()
        };
        let (name, action) = (short_ref(text(event, "/ref")), text(event, "/action"));
        let ref_type = text(event, "/ref_type");
        match kind {
            "push" => base.push(event, name),
            "create" => base.with(GREEN, format!("[{repository}] {ref_type} {name} created by {sender}")),
            "delete" => base.with(RED, format!("[{repository}] {ref_type} {name} deleted by {sender}")),
            "repository" => {
                let color = if action == "deleted" { RED } else { GREEN };
                base.with(color, format!("[{repository}] Repository {action} by {sender}"))
            }
            "fork" => {
                let source = text(event, "/forkee/full_name");
                base.with(GREEN, format!("[{source}] Forked to {repository} by {sender}"))
            }
            "status" => base.status(event),
            "release" => base.release(action, event),
            "workflow_run" | "workflow_job" => base.workflow(kind, event),
            kind => {
                let gap = if action.is_empty() { "" } else { " " };
                base.with(GREY, format!("[{repository}] {kind}{gap}{action} by {sender}"))
            }
        }
    }

    fn with(self, color: u32, title: String) -> Self {
        Self { title, color, ..self }
    }

    fn push(self, event: &Value, branch: &str) -> Self {
        let commits = event["commits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let total = event["total_commits"].as_u64().unwrap_or(commits.len() as u64);
        let noun = if total == 1 { "commit" } else { "commits" };
        let line = |commit: &Value| {
            let id = text(commit, "/id");
            let id = id.get(..SHORT_ID).unwrap_or(id);
            let subject = text(commit, "/message").lines().next().unwrap_or_default();
            let url = text(commit, "/url").to_owned();
            Line { text: format!("{id} {subject} - {}", text(commit, "/author/name")), url }
        };
        let lines = commits.iter().take(COMMITS_MAX).map(line).collect();
        let title = format!("[{}:{branch}] {total} new {noun} by {}", self.repository, self.sender);
        let url = if commits.len() == 1 { text(&commits[0], "/url") } else { text(event, "/compare_url") };
        Self { title, url: url.to_owned(), lines, color: PURPLE, ..self }
    }

    fn status(self, event: &Value) -> Self {
        let (sha, state, target) = (text(event, "/sha"), text(event, "/state"), text(event, "/target_url"));
        let color = match state {
            "success" => GREEN,
            "error" | "failure" => RED,
            "pending" | "warning" => YELLOW,
            _ => GREY,
        };
        let id = sha.get(..SHORT_ID).unwrap_or(sha);
        let title =
            format!("[{}] Commit {id}: {} {state} by {}", self.repository, text(event, "/context"), self.sender);
        let description = Some(text(event, "/description")).filter(|description| !description.is_empty());
        let lines = description.map(|text| Line { text: text.to_owned(), url: target.to_owned() });
        let url = text(event, "/commit/url").to_owned();
        Self { title, url, lines: lines.into_iter().collect(), color, ..self }
    }

    fn release(self, action: &str, event: &Value) -> Self {
        let (tag, url) = (text(event, "/release/tag_name"), text(event, "/release/html_url").to_owned());
        let color = match action {
            "published" => GREEN,
            "deleted" => RED,
            _ => YELLOW,
        };
        let title = format!("[{}] Release {action}: {tag} by {}", self.repository, self.sender);
        let name = text(event, "/release/name");
        let line = (name != tag && !name.is_empty()).then(|| Line { text: name.to_owned(), url: url.clone() });
        Self { title, url, lines: line.into_iter().collect(), color, ..self }
    }

    fn workflow(self, kind: &str, event: &Value) -> Self {
        let thing = &event[kind];
        let conclusion = text(thing, "/conclusion");
        let color = match conclusion {
            "success" => GREEN,
            "failure" => RED,
            "" => YELLOW,
            _ => GREY,
        };
        let names = ["/name", "/display_title", "/path"].map(|path| text(thing, path));
        let named = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let noun = if kind == "workflow_run" { "Run" } else { "Job" };
        let state = if conclusion.is_empty() { text(event, "/action") } else { conclusion };
        let title = format!("[{}] {noun} {named}: {state}", self.repository);
        let url = Some(text(thing, "/html_url")).filter(|url| !url.is_empty()).unwrap_or(&self.url).to_owned();
        Self { title, url, color, ..self }
    }
}
