//! Requests for webhooks and events.

use bytes::{Bytes, BytesMut};
use http::{Method, header};

use super::{Call, Chunks, Client, ClientError, Pages, RepositoryPath, answer, path::segment};
use crate::api::{
    AppliedHook, ApplyHook, CheckBranchFilter, CheckedBranchFilter, CreateHook, EditHook, Event, Events, Hook,
    HookEvent,
};

/// Longest line of an event stream, bytes.
const LINE_MAX_BYTES: usize = 1 << 20;

/// Route for the hooks of all scopes.
const MANAGED: &str = "/api/farrier/v1/hooks";

/// The scope of hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookOwner {
    /// System and default hooks.
    Admin,
    /// A repository.
    Repository(RepositoryPath),
    /// An organization.
    Org(String),
    /// The caller's own hooks.
    User,
    /// All hooks that the caller may manage, found by id. Hooks cannot be created in this scope.
    Any,
}

impl HookOwner {
    fn api(&self) -> String {
        match self {
            Self::Admin => "/api/v1/admin/hooks".to_owned(),
            Self::Repository(path) => format!("{}/hooks", path.api()),
            Self::Org(name) => format!("/api/v1/orgs/{}/hooks", segment(name)),
            Self::User => "/api/v1/user/hooks".to_owned(),
            Self::Any => MANAGED.to_owned(),
        }
    }

    /// Returns the API path of the hook `id`.
    pub(super) fn hook(&self, id: i64) -> String {
        format!("{}/{id}", self.api())
    }
}

/// Filters and sorts the hooks of all scopes. Empty and absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookQuery {
    /// Only this repository.
    pub repository: Option<RepositoryPath>,
    /// Only this user or organization and its repositories.
    pub owner: String,
    /// Only these scopes: `system`, `default`, `repository`, `organization`, `user`.
    pub scopes: Vec<String>,
    /// Only active hooks, or only inactive ones.
    pub active: Option<bool>,
    /// Only these states: `ok`, `failing`, `unused`, `off`, `disabled`.
    pub states: Vec<String>,
    /// Only hooks whose name, URL, owner or repository contains this text.
    pub text: String,
    /// `id`, `name`, `url`, `last_delivery`, `failures` or `failing_since`; empty for `id`.
    pub sort: String,
    /// Whether to sort in descending order.
    pub descending: bool,
}

impl HookQuery {
    fn query(&self) -> String {
        let pairs = [
            ("repository", self.repository.as_ref().map(ToString::to_string).unwrap_or_default()),
            ("owner", self.owner.clone()),
            ("scope", self.scopes.join(",")),
            ("active", self.active.map(|active| active.to_string()).unwrap_or_default()),
            ("state", self.states.join(",")),
            ("q", self.text.clone()),
            ("sort", self.sort.clone()),
            ("order", if self.descending { "desc".to_owned() } else { String::new() }),
        ];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", segment(value))).collect();
        if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) }
    }
}

/// Filters events. Empty and absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only this repository.
    pub repository: Option<RepositoryPath>,
    /// Only these kinds.
    pub kinds: Vec<String>,
    /// Only events after the event with this number.
    pub after: Option<i64>,
    /// Number of past events at the start of a stream. Ignored if `after` is set.
    pub last: Option<u32>,
}

impl EventFilter {
    fn query(&self, more: &[(&str, String)]) -> String {
        let mut pairs: Vec<String> = more.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.extend(self.repository.iter().map(|path| format!("repository={}", segment(&path.to_string()))));
        pairs.extend(self.kinds.iter().map(|kind| format!("kind={}", segment(kind))));
        pairs.extend(self.after.iter().map(|after| format!("after={after}")));
        pairs.extend(self.last.iter().map(|last| format!("last={last}")));
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

impl Client {
    /// Lists the hooks of a scope. For administrators' hooks, `kind` is `system`, `default` or `all`.
    pub fn hooks(&self, owner: &HookOwner, kind: &str) -> Pages<'_> {
        let query = if *owner == HookOwner::Admin { format!("?type={}", segment(kind)) } else { String::new() };
        Pages::new(self, format!("{}{query}", owner.api()))
    }

    /// Lists all hooks that the caller may manage. The first page has the total, unless there are more hooks
    /// than the daemon counts.
    pub fn managed_hooks(&self, query: &HookQuery) -> Pages<'_> {
        Pages::new(self, format!("{MANAGED}{}", query.query()))
    }

    /// Returns a hook.
    pub async fn hook(&self, owner: &HookOwner, id: i64) -> Result<Hook, ClientError> {
        self.get(&owner.hook(id)).await
    }

    /// Creates a hook.
    pub async fn create_hook(&self, owner: &HookOwner, request: &CreateHook) -> Result<Hook, ClientError> {
        self.post(&owner.api(), request).await
    }

    /// Changes the given fields of a hook.
    pub async fn edit_hook(&self, owner: &HookOwner, id: i64, request: &EditHook) -> Result<Hook, ClientError> {
        self.patch(&owner.hook(id), request).await
    }

    /// Deletes a hook.
    pub async fn delete_hook(&self, owner: &HookOwner, id: i64) -> Result<(), ClientError> {
        self.delete(&owner.hook(id)).await
    }

    /// Lists the events that hooks can subscribe to.
    pub async fn hook_events(&self) -> Result<Vec<HookEvent>, ClientError> {
        self.get("/api/farrier/v1/hooks/events").await
    }

    /// Sends a test delivery and returns its UUID; empty if the daemon does not return one.
    pub async fn test_hook(&self, owner: &HookOwner, id: i64) -> Result<String, ClientError> {
        let target = format!("{}/{id}/tests", owner.api());
        let reply = self.post_any(&target, &serde_json::json!({})).await?;
        let named = reply.headers().get("x-farrier-delivery").and_then(|value| value.to_str().ok());
        let delivery = named.unwrap_or_default().to_owned();
        answer::drain(reply).await?;
        Ok(delivery)
    }

    /// Copies a default hook to repositories with ids above `after` that have no copy. One request handles a
    /// limited number of repositories.
    pub async fn apply_hook(&self, id: i64, after: i64) -> Result<AppliedHook, ClientError> {
        self.post(&format!("/api/v1/admin/hooks/{id}/apply"), &ApplyHook { after }).await
    }

    /// Returns which of the recently pushed branches a branch filter matches.
    pub async fn check_branch_filter(&self, request: &CheckBranchFilter) -> Result<CheckedBranchFilter, ClientError> {
        self.post("/api/farrier/v1/checks/branch-filter", request).await
    }

    /// Returns a page of events, oldest first.
    pub async fn events(&self, filter: &EventFilter, limit: usize) -> Result<Events, ClientError> {
        let target = format!("/api/farrier/v1/events{}", filter.query(&[("limit", limit.to_string())]));
        let accepts = header::HeaderValue::from_static("application/json");
        let call = Call::new(Method::GET, target).header(header::ACCEPT, accepts);
        answer::json(self.send(call).await?).await
    }

    /// Opens a stream of events, from now on or after `filter.after`. The daemon closes streams from time to
    /// time; open another stream after the last event to continue.
    pub async fn follow(&self, filter: &EventFilter) -> Result<EventStream, ClientError> {
        let accepts = header::HeaderValue::from_static("text/event-stream");
        let target = format!("/api/farrier/v1/events{}", filter.query(&[]));
        let reply = self.send(Call::new(Method::GET, target).header(header::ACCEPT, accepts)).await?;
        Ok(EventStream { chunks: Chunks::new(reply.into_body()), read: BytesMut::new() })
    }
}

/// An item of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// An event.
    Event(Box<Event>),
    /// Events after the requested one have expired.
    Gap,
}

/// A stream of events.
#[derive(Debug)]
pub struct EventStream {
    chunks: Chunks,
    read: BytesMut,
}

impl EventStream {
    /// Returns the next item; `None` when the daemon closes the stream.
    pub async fn next(&mut self) -> Result<Option<Followed>, ClientError> {
        let mut gap = false;
        loop {
            while let Some(line) = self.line() {
                if line.as_ref() == b"event: gap" {
                    gap = true;
                } else if let Some(json) = line.strip_prefix(b"data: ") {
                    if gap {
                        return Ok(Some(Followed::Gap));
                    }
                    let event = serde_json::from_slice(json).map_err(|source| ClientError::Decode { source })?;
                    return Ok(Some(Followed::Event(Box::new(event))));
                }
            }
            match self.chunks.next().await {
                Some(chunk) => self.read.extend_from_slice(&chunk?),
                None => return Ok(None),
            }
            if self.read.len() > LINE_MAX_BYTES {
                return Err(ClientError::Answer { what: "a line is too long" });
            }
        }
    }

    /// Returns the next complete line that was received, without the line break.
    fn line(&mut self) -> Option<Bytes> {
        let end = self.read.iter().position(|byte| *byte == b'\n')?;
        let line = self.read.split_to(end + 1).freeze();
        Some(line.slice(..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_owners_and_filters_are_formatted_as_paths_and_queries() {
        let repository: RepositoryPath = "octo/tool".parse().expect("a path");
        assert_eq!(HookOwner::Repository(repository.clone()).api(), "/api/v1/repos/octo/tool/hooks");
        assert_eq!(HookOwner::Org("a/b".into()).api(), "/api/v1/orgs/a%2Fb/hooks");
        let kinds = vec!["push".into()];
        let filter = EventFilter { repository: Some(repository), kinds, after: Some(7), last: None };
        assert_eq!(filter.query(&[]), "?repository=octo%2Ftool&kind=push&after=7");
        assert_eq!(EventFilter { last: Some(20), ..EventFilter::default() }.query(&[]), "?last=20");
        assert_eq!(EventFilter::default().query(&[]), "");
        let failing = vec!["failing".into(), "disabled".into()];
        let query = HookQuery { states: failing, text: "a b".into(), descending: true, ..HookQuery::default() };
        assert_eq!(query.query(), "?state=failing%2Cdisabled&q=a%20b&order=desc");
        assert_eq!(HookQuery::default().query(), "");
    }
}
