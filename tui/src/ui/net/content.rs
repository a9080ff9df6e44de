//! Requests about the content of repositories: directories, files, commits and tags.

use farrier_common::{
    api::{Commit, Tag, Tree, TreeEntry},
    client::{Chunks, Client, ClientError, RepositoryPath},
};

use super::{Answer, Page, Request, fetch::pages};
use crate::ui::words;

/// Size up to which files and diffs are loaded, in bytes. The rest is not shown.
pub(crate) const CONTENT_MAX_BYTES: usize = 512 << 10;

/// The beginning of a file or of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) bytes: Vec<u8>,
    /// Whether bytes are missing at the end.
    pub(crate) is_cut: bool,
}

/// The data of a commit that lists show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitSummary {
    pub(crate) sha: String,
    /// First line of the message.
    pub(crate) title: String,
    pub(crate) author: String,
    /// When it was committed.
    pub(crate) committed_at: String,
}

impl From<&Commit> for CommitSummary {
    fn from(commit: &Commit) -> Self {
        Self {
            sha: commit.sha.clone(),
            title: words::title(&commit.commit.message),
            author: commit.commit.author.name.clone(),
            committed_at: commit.created.clone(),
        }
    }
}

/// One page of a directory at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) commit: Commit,
    /// The path of the directory. If the requested directory does not exist, that of the closest one above it.
    pub(crate) path: String,
    pub(crate) entries: Page<TreeEntry>,
}

/// Numbers of commits that a push added to a branch and removed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushedCommits {
    pub(crate) added: i64,
    pub(crate) removed: i64,
}

/// Handles a request about content. `part` receives pages before the final response.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Directory { repo, reference, path } => directory(client, &repo, &reference, &path, part).await?,
        Request::FileContent { repo, commit, path } => {
            Answer::FileContent(excerpt(client.file(&repo, &path, &commit).await?).await?)
        }
        Request::Commits { repo, reference, path, rows } => commits(client, &repo, &reference, &path, rows).await?,
        Request::Commit(repo, sha) => {
            let commit = client.commit(&repo, &sha).await?;
            let diff = excerpt(client.commit_diff(&repo, &sha).await?).await?;
            Answer::Commit(Box::new((commit, diff)))
        }
        Request::PushedCommits { repo, before, after } => {
            let added = client.new_commits(&repo, &before, &after).count().await?;
            let removed = client.new_commits(&repo, &after, &before).count().await?;
            match (added, removed) {
                (Some(added), Some(removed)) => Answer::PushedCommits(PushedCommits { added, removed }),
                // An older daemon does not report the numbers.
                _ => Answer::Done,
            }
        }
        Request::Tags(repo) => {
            let open = |found: Vec<Tag>| found;
            pages(client.tags(&repo), open, |tag: &Tag| tag.name.clone(), part, Answer::Tags).await?
        }
        _ => Answer::Done,
    })
}

/// Lists a directory, page by page. Its tree is looked up from the root, one directory after the other.
async fn directory(
    client: &Client,
    repo: &RepositoryPath,
    reference: &str,
    path: &str,
    part: &impl Fn(Answer),
) -> Result<Answer, ClientError> {
    let mut commit = client.commit(repo, reference).await?;
    // The commit is part of every page.
    commit.commit.message = words::title(&commit.commit.message);
    let mut tree = commit.commit.tree.sha.clone();
    let mut found = String::new();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let Some(below) = subtree(client, repo, &tree, name).await? else { break };
        tree = below;
        found = if found.is_empty() { name.to_owned() } else { format!("{found}/{name}") };
    }
    let open = |tree: Tree| tree.tree;
    let wrap =
        |entries| Answer::Directory(Box::new(Directory { commit: commit.clone(), path: found.clone(), entries }));
    pages(client.tree(repo, &tree), open, |entry: &TreeEntry| entry.path.clone(), part, wrap).await
}

/// Returns the ID of a directory in a tree, if it exists.
async fn subtree(
    client: &Client,
    repo: &RepositoryPath,
    tree: &str,
    name: &str,
) -> Result<Option<String>, ClientError> {
    let mut pages = client.tree(repo, tree);
    while let Some(entries) = pages.next(|tree: Tree| (0, tree.tree), |entry| entry.path.clone()).await? {
        let found = entries.into_iter().find(|entry| entry.kind == "tree" && entry.path == name);
        if let Some(entry) = found {
            return Ok(Some(entry.sha));
        }
    }
    Ok(None)
}

/// Loads the newest commits, with the titles of their messages.
async fn commits(
    client: &Client,
    repo: &RepositoryPath,
    reference: &str,
    path: &str,
    rows: usize,
) -> Result<Answer, ClientError> {
    let mut pages = client.commits(repo, reference, path);
    let mut items = Vec::new();
    while let Some(mut page) = pages.next(|page: Vec<Commit>| (0, page), |commit| commit.sha.clone()).await? {
        // Lists show titles only. Thousands of complete messages could need gigabytes.
        for commit in &mut page {
            commit.commit.message = words::title(&commit.commit.message);
        }
        items.append(&mut page);
        if items.len() >= rows {
            break;
        }
    }
    Ok(Answer::Commits(Page { items, total: pages.total(), last: true }))
}

/// Reads the beginning of a body. Dropping the rest closes the connection, so the daemon stops sending.
async fn excerpt(mut chunks: Chunks) -> Result<Excerpt, ClientError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > CONTENT_MAX_BYTES {
            bytes.truncate(CONTENT_MAX_BYTES);
            return Ok(Excerpt { bytes, is_cut: true });
        }
    }
    Ok(Excerpt { bytes, is_cut: false })
}
