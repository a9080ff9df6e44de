//! Requests about collaborators, rules, deploy keys, releases and mirrors of a repository.

use farrier_common::{
    api::{AddCollaborator, CreateKey, DeployKey, PushMirror, Release, User},
    client::{Client, ClientError, RepositoryPath},
};
use futures_util::future::try_join_all;

use super::{Answer, Page, Request, fetch::pages};

/// Maximum number of collaborators to list, because the permission of each takes a request.
const COLLABORATORS_MAX: usize = 1_000;
/// Number of requests for permissions at the same time.
const PERMISSIONS_AT_ONCE: usize = 8;

/// A request about one of these lists. Besides the ID of an object, it contains the name or title for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ManagementRequest {
    Collaborators,
    /// Adds a collaborator, or changes the permission of one.
    SetCollaborator {
        user: String,
        /// `read`, `write` or `admin`.
        permission: String,
    },
    RemoveCollaborator(String),
    /// Rules for branches and for tags.
    Rules,
    /// The API deletes rules for branches by name. `id` is only for comparing the rule with the list.
    DeleteBranchRule {
        id: i64,
        name: String,
    },
    DeleteTagRule {
        id: i64,
        pattern: String,
    },
    DeployKeys,
    AddDeployKey(Box<CreateKey>),
    DeleteDeployKey {
        id: i64,
        title: String,
    },
    /// Releases without their texts, newest first.
    Releases,
    /// A release with its text.
    Release(i64),
    DeleteRelease {
        id: i64,
        tag: String,
    },
    /// The repository with the state of its pull mirror, and its push mirrors.
    Mirrors,
    /// Requests a sync of the pull mirror, which runs in the background.
    SyncPullMirror,
    /// Runs all push mirrors.
    SyncPushMirrors,
    DeletePushMirror(String),
}

/// A collaborator of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collaborator {
    pub(crate) login: String,
    pub(crate) full_name: String,
    /// The permission of the account in the repository, which can come from a team too; empty if the caller may not
    /// see it.
    pub(crate) permission: String,
    /// The permission that was granted to the account as a collaborator. It is the same unless the other comes from
    /// elsewhere.
    pub(crate) direct: String,
}

impl ManagementRequest {
    /// Returns whether it changes something on the daemon.
    pub(crate) fn changes(&self) -> bool {
        !matches!(
            self,
            Self::Collaborators | Self::Rules | Self::DeployKeys | Self::Releases | Self::Release(_) | Self::Mirrors
        )
    }

    /// Describes the request, to follow "while" or "could not".
    pub(super) fn doing(&self, repo: &RepositoryPath) -> String {
        match self {
            Self::Collaborators => format!("listing collaborators of {repo}"),
            Self::SetCollaborator { user, permission } => format!("giving {user} {permission} access to {repo}"),
            Self::RemoveCollaborator(user) => format!("removing {user} from {repo}"),
            Self::Rules => format!("listing rules of {repo}"),
            Self::DeleteBranchRule { name, .. } => format!("deleting the branch rule {name} of {repo}"),
            Self::DeleteTagRule { pattern, .. } => format!("deleting the tag rule {pattern} of {repo}"),
            Self::DeployKeys => format!("listing deploy keys of {repo}"),
            Self::AddDeployKey(key) => format!("adding deploy key {} to {repo}", key.title),
            Self::DeleteDeployKey { title, .. } => format!("deleting deploy key {title} of {repo}"),
            Self::Releases => format!("listing releases of {repo}"),
            Self::Release(id) => format!("loading release {id} of {repo}"),
            Self::DeleteRelease { tag, .. } => format!("deleting release {tag} of {repo}"),
            Self::Mirrors => format!("listing mirrors of {repo}"),
            Self::SyncPullMirror => format!("requesting a sync of {repo}"),
            Self::SyncPushMirrors => format!("running the push mirrors of {repo}"),
            Self::DeletePushMirror(name) => format!("deleting push mirror {name} of {repo}"),
        }
    }

    /// Describes the result of a change.
    pub(crate) fn done(&self, repo: &RepositoryPath) -> String {
        match self {
            Self::SetCollaborator { user, permission } => format!("{user} has {permission} access to {repo}"),
            Self::RemoveCollaborator(user) => format!("{user} removed from {repo}"),
            Self::DeleteBranchRule { name, .. } => format!("Branch rule {name} of {repo} deleted"),
            Self::DeleteTagRule { pattern, .. } => format!("Tag rule {pattern} of {repo} deleted"),
            Self::AddDeployKey(key) => format!("Deploy key {} added to {repo}", key.title),
            Self::DeleteDeployKey { title, .. } => format!("Deploy key {title} of {repo} deleted"),
            Self::DeleteRelease { tag, .. } => format!("Release {tag} of {repo} deleted"),
            Self::SyncPullMirror => format!("Sync of {repo} requested; it runs in the background"),
            Self::SyncPushMirrors => format!("Push mirrors of {repo} synced"),
            Self::DeletePushMirror(name) => format!("Push mirror {name} of {repo} deleted"),
            Self::Collaborators
            | Self::Rules
            | Self::DeployKeys
            | Self::Releases
            | Self::Release(_)
            | Self::Mirrors => String::new(),
        }
    }
}

/// Handles a request. `part` receives the pages before the last one.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    use ManagementRequest as R;
    let Request::Manage(repo, request) = request else { return Ok(Answer::Done) };
    let repo = &repo;
    let done = |(): ()| Answer::Done;
    Ok(match request {
        R::Collaborators => collaborators(client, repo, part).await?,
        R::SetCollaborator { user, permission } => {
            done(client.put_collaborator(repo, &user, &AddCollaborator { permission }).await?)
        }
        R::RemoveCollaborator(user) => done(client.remove_collaborator(repo, &user).await?),
        R::Rules => {
            let branches = client.branch_protections(repo).await?;
            Answer::Rules(branches, client.tag_protections(repo).await?)
        }
        R::DeleteBranchRule { name, .. } => done(client.delete_branch_protection(repo, &name).await?),
        R::DeleteTagRule { id, .. } => done(client.delete_tag_protection(repo, id).await?),
        R::DeployKeys => {
            let open = |list: Vec<DeployKey>| list;
            pages(client.deploy_keys(repo), open, |key: &DeployKey| key.id, part, Answer::DeployKeys).await?
        }
        R::AddDeployKey(key) => {
            client.add_deploy_key(repo, &key).await?;
            Answer::Done
        }
        R::DeleteDeployKey { id, .. } => done(client.delete_deploy_key(repo, id).await?),
        R::Releases => {
            let open = |mut list: Vec<Release>| {
                // Lists show titles only. Thousands of complete texts could need gigabytes.
                for release in &mut list {
                    release.body = String::new();
                }
                list
            };
            pages(client.releases(repo), open, |release: &Release| release.id, part, Answer::Releases).await?
        }
        R::Release(id) => Answer::Release(Box::new(client.release_by_id(repo, id).await?)),
        R::DeleteRelease { id, .. } => done(client.delete_release(repo, id).await?),
        R::Mirrors => mirrors(client, repo).await?,
        R::SyncPullMirror => done(client.sync_mirror(repo).await?),
        R::SyncPushMirrors => done(client.sync_push_mirrors(repo).await?),
        R::DeletePushMirror(name) => done(client.delete_push_mirror(repo, &name).await?),
    })
}

/// Lists collaborators with their permissions, page by page.
async fn collaborators(client: &Client, repo: &RepositoryPath, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let mut pages = client.collaborators(repo);
    let mut rows = 0;
    while let Some(users) = pages.next(|users: Vec<User>| (0, users), |user| user.id).await? {
        let mut items = Vec::with_capacity(users.len());
        for some in users.chunks(PERMISSIONS_AT_ONCE) {
            items.extend(try_join_all(some.iter().map(|user| collaborator(client, repo, user))).await?);
        }
        rows += items.len();
        let (total, last) = (pages.total(), rows >= COLLABORATORS_MAX || !pages.more());
        let page = Answer::Collaborators(Page { items, total, last });
        if last {
            return Ok(page);
        }
        part(page);
    }
    Ok(Answer::Collaborators(Page { items: Vec::new(), total: pages.total(), last: true }))
}

/// Returns a collaborator with the permission, if the caller may see it.
async fn collaborator(client: &Client, repo: &RepositoryPath, user: &User) -> Result<Collaborator, ClientError> {
    let (permission, direct) = match client.collaborator_permission(repo, &user.login).await {
        // An older daemon sends only one permission.
        Ok(found) if found.farrier_direct.is_empty() => (found.permission.clone(), found.permission),
        Ok(found) => (found.permission, found.farrier_direct),
        // Only administrators of the repository see the permissions of others; and the user may be deleted by now.
        Err(error) if error.status().is_some_and(|status| matches!(status.as_u16(), 403 | 404)) => {
            (String::new(), String::new())
        }
        Err(error) => return Err(error),
    };
    Ok(Collaborator { login: user.login.clone(), full_name: user.full_name.clone(), permission, direct })
}

async fn mirrors(client: &Client, repo: &RepositoryPath) -> Result<Answer, ClientError> {
    let repository = Box::new(client.repository(repo).await?);
    let push = match push_mirrors(client, repo).await {
        // Everybody who may read the repository sees the state of its pull mirror.
        Err(error) if repository.mirror && error.status().is_some_and(|status| status.as_u16() == 403) => Vec::new(),
        listed => listed?,
    };
    Ok(Answer::Mirrors(repository, push))
}

async fn push_mirrors(client: &Client, repo: &RepositoryPath) -> Result<Vec<PushMirror>, ClientError> {
    let mut pages = client.push_mirrors(repo);
    let mut all = Vec::new();
    while let Some(page) = pages.next(|page: Vec<PushMirror>| (0, page), |mirror| mirror.remote_name.clone()).await? {
        all.extend(page);
    }
    Ok(all)
}
