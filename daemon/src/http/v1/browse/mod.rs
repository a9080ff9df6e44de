//! The content of a repository: branches, tags, commits, objects, files, archives.
//!
//! Names of branches and paths of files end the URL path and may contain slashes, raw or as `%2F`. Routes match on
//! the raw path; the captures are decoded once.

pub(in crate::http) mod archives;
pub(in crate::http) mod branches;
pub(in crate::http) mod bundle;
pub(in crate::http) mod commits;
pub(in crate::http) mod contents;
pub(in crate::http) mod contents_write;
pub(in crate::http) mod languages;
pub(in crate::http) mod licenses;
pub(in crate::http) mod objects;
mod pipe;
pub(in crate::http) mod raw;
pub(in crate::http) mod release_files;
mod release_form;
pub(in crate::http) mod releases;
mod show;
pub(in crate::http) mod statuses;
pub(in crate::http) mod tags;
pub(in crate::http) mod upstream;

use std::{collections::HashMap, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    git::read::commit::CommitObject,
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
    },
    model::identity::Identity,
    service::{
        Error,
        access::Action,
        browse::{
            self, Browse,
            branches::{Branch, BranchWithRights},
        },
        migrations,
        ref_rules::RefChanger,
        repositories,
        signatures::{self, SignedObject, Verdict},
    },
    shares::RequestMemory,
};

/// A repository that the caller may read, and the base addresses of its objects.
struct BrowseContext {
    state: AppState,
    identity: Identity,
    browse: Browse,
    /// The counted memory of the request.
    memory: Option<Arc<RequestMemory>>,
    /// Absolute address of the repository in the API.
    api: String,
    /// Absolute address of the repository's web page.
    html: String,
}

async fn browse_context(
    state: AppState,
    caller: Caller<RepositoryScope>,
    owner: &str,
    name: &str,
) -> Result<BrowseContext, ApiError> {
    browse_context_for(state, caller, owner, name, Action::Read).await
}

/// Like [`browse_context`], for a caller that may do `action`.
async fn browse_context_for(
    state: AppState,
    caller: Caller<RepositoryScope>,
    owner: &str,
    name: &str,
    action: Action,
) -> Result<BrowseContext, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, owner, name, action).await?;
    let is_read = matches!(action, Action::Read | Action::ReadReleases);
    if let Some(reason) = migrations::pending(&found.repository).filter(|_| !is_read) {
        return Err(Error::Conflict { reason: reason.into() }.into());
    }
    drop(snapshot);
    let path = found.path();
    Ok(BrowseContext {
        api: format!("{}/api/v1/repos/{path}", state.root_url),
        html: format!("{}/{path}", state.root_url),
        browse: Browse::new(&state, found, caller.holder).await?.with_memory(caller.memory.clone()),
        memory: caller.memory,
        identity: caller.identity,
        state,
    })
}

impl BrowseContext {
    /// Counts `bytes` to the memory of the request.
    fn grow(&self, bytes: usize) -> Result<(), Error> {
        self.memory.as_ref().map_or(Ok(()), |memory| Ok(memory.grow(bytes)?))
    }

    /// Returns branches with their rules and the rights that these give the caller.
    async fn with_rights(&self, branches: Vec<Branch>) -> Result<Vec<BranchWithRights>, ApiError> {
        let snapshot = self.state.store.read().await.map_err(Error::from)?;
        let repository = self.browse.found.repository.id;
        Ok(browse::branches::with_rights(&snapshot, repository, RefChanger::of(&self.identity), branches).await?)
    }

    /// Returns a renderer for `commits`, with the accounts that have the commits' email addresses.
    async fn renderer(&self, commits: &[&CommitObject]) -> Result<show::CommitRenderer<'_>, ApiError> {
        let signed: Vec<_> = commits.iter().filter_map(|commit| SignedObject::of_commit(commit)).collect();
        let verdicts = self.verdicts(&signed).await?;
        Ok(show::CommitRenderer { verdicts, ..self.renderer_without_signatures(commits).await? })
    }

    /// Like [`BrowseContext::renderer`], for commits that are shown without their signatures.
    async fn renderer_without_signatures(
        &self,
        commits: &[&CommitObject],
    ) -> Result<show::CommitRenderer<'_>, ApiError> {
        let snapshot = self.state.store.read().await.map_err(Error::from)?;
        let people = browse::people(&snapshot, commits).await?;
        Ok(show::CommitRenderer { context: self, people, verdicts: HashMap::new() })
    }

    /// Returns what is known about signatures, by the id of the object.
    async fn verdicts(&self, signed: &[SignedObject<'_>]) -> Result<HashMap<String, Verdict>, ApiError> {
        Ok(signatures::verify(&self.state, self.browse.holder, signed).await?)
    }
}

/// The query of a request. Parameters are read by name.
struct QueryParams<'a>(&'a str);

impl<'a> QueryParams<'a> {
    fn new(query: Option<&'a str>) -> Self {
        Self(query.unwrap_or_default())
    }

    /// Returns the value of `name`, or an empty string if it is absent.
    fn text(&self, name: &str) -> String {
        let mut pairs = url::form_urlencoded::parse(self.0.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// Returns the boolean `name`, or `default` if it is absent or not a boolean.
    fn flag(&self, name: &str, default: bool) -> bool {
        self.choice(name).unwrap_or(default)
    }

    /// Returns the boolean `name`; `None` if it is absent or not a boolean.
    fn choice(&self, name: &str) -> Option<bool> {
        match self.text(name).as_str() {
            "true" | "1" | "on" | "t" => Some(true),
            "false" | "0" | "off" | "f" => Some(false),
            _ => None,
        }
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_invalid_flags_use_the_default() {
        let params = QueryParams::new(Some("stat=false&files=1&x=maybe"));
        assert!(!params.flag("stat", true) && params.flag("files", false) && params.flag("x", true));
        assert!(params.flag("absent", true) && params.text("absent").is_empty());
    }
}
