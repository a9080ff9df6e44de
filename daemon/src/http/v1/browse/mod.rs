//! What a repository holds: branches, tags, commits, the database, files, archives.
//!
//! Names of branches and paths are the rest of the address: slashes in them may be raw or
//! `%2F`. Routes are found on the raw path and the rest is decoded once.

pub(in crate::http) mod archives;
pub(in crate::http) mod branches;
pub(in crate::http) mod bundle;
pub(in crate::http) mod commits;
pub(in crate::http) mod contents;
pub(in crate::http) mod empty;
pub(in crate::http) mod objects;
mod pipe;
pub(in crate::http) mod raw;
mod show;
pub(in crate::http) mod tags;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    app::App,
    git::read::commit::Commit,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
    },
    model::identity::Identity,
    service::{
        Error,
        access::Action,
        browse::{self, Browse},
        migrations, repositories,
    },
};

/// A repository that the caller may read, and how its parts are addressed.
struct Scene {
    app: App,
    identity: Identity,
    browse: Browse,
    /// Absolute address of the repository in the API.
    api: String,
    /// Absolute address of the repository for people.
    html: String,
}

async fn scene(app: App, caller: Caller<OfRepository>, owner: &str, name: &str) -> Result<Scene, ApiError> {
    scene_for(app, caller, owner, name, Action::Read).await
}

/// The same for a caller who may do `action`.
async fn scene_for(
    app: App,
    caller: Caller<OfRepository>,
    owner: &str,
    name: &str,
    action: Action,
) -> Result<Scene, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, owner, name, action).await?;
    if let Some(reason) = migrations::pending(&found.repository).filter(|_| action != Action::Read) {
        return Err(Error::Conflict { reason: reason.into() }.into());
    }
    let path = found.path();
    Ok(Scene {
        api: format!("{}/api/v1/repos/{path}", app.root_url),
        html: format!("{}/{path}", app.root_url),
        browse: Browse::new(&app, found),
        identity: caller.identity,
        app,
    })
}

impl Scene {
    /// Shows commits together with the accounts behind their addresses.
    async fn gallery(&self, commits: &[&Commit]) -> Result<show::Gallery<'_>, ApiError> {
        let snapshot = self.app.store.read().await.map_err(Error::from)?;
        let people = browse::people(&snapshot, commits).await?;
        Ok(show::Gallery { scene: self, people })
    }
}

/// The query of a request, read by name.
struct QueryParams<'a>(&'a str);

impl<'a> QueryParams<'a> {
    fn new(query: Option<&'a str>) -> Self {
        Self(query.unwrap_or_default())
    }

    /// The value of `name`; empty when it is absent.
    fn text(&self, name: &str) -> String {
        let mut pairs = url::form_urlencoded::parse(self.0.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// A switch; `default` when it is absent or makes no sense.
    fn flag(&self, name: &str, default: bool) -> bool {
        match self.text(name).as_str() {
            "true" | "1" | "on" | "t" => true,
            "false" | "0" | "off" | "f" => false,
            _ => default,
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
    fn switches() {
        let params = QueryParams::new(Some("stat=false&files=1&x=maybe"));
        assert!(!params.flag("stat", true) && params.flag("files", false) && params.flag("x", true));
        assert!(params.flag("absent", true) && params.text("absent").is_empty());
    }
}
