//! Changes files of a branch through the API: one commit for each request, made without a working copy.
//!
//! The objects of the commit are written first. Then the branch is moved like a push: by the function that moves all
//! refs of the API, only if it still points to the parent of the commit. If it was moved meanwhile, the commit is made
//! again, unless somebody changed the same files.

mod input;
mod patch;

use std::sync::Arc;

use bytes::Bytes;
use farrier_common::api::CommitOptions;
use farrier_proto::store::Repository;

use self::input::{CommitText, check_all, default_message};
pub use self::input::{FileChange, FileOperation};
use super::{
    Context, Error,
    browse::{
        Browse,
        contents::ContentEntry,
        objects::{self, SHOWN_MAX_BYTES},
    },
    initial, ref_changes,
    repositories::rules,
};
use crate::{
    git::{
        read::{commit::CommitObject, tree::TreeEntry},
        ref_name::HEADS,
        tree_edit::{EditEntry, PathConflict, TreeEdit},
    },
    model::identity::Account,
};

/// How often a commit is made again because its branch was moved.
const RETRIES: usize = 3;

/// What a request changes.
#[derive(Clone, Debug)]
pub enum Edit {
    /// These files.
    Files(Vec<FileChange>),
    /// What a unified diff says.
    Patch(Bytes),
}

/// A commit that changed files.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The commit.
    pub commit: Arc<CommitObject>,
    /// Its parent; `None` for the first commit of a repository.
    pub parent: Option<CommitObject>,
    /// The branch that has it.
    pub branch: String,
    /// The changed files in the order of the request; `None` for a deleted file.
    pub files: Vec<Option<ContentEntry>>,
}

/// Where a commit starts, and the branch that gets it.
struct Target {
    /// The parent; `None` in an empty repository.
    base: Option<String>,
    branch: String,
    /// The value of the branch before the change.
    old: Option<String>,
}

/// Commits `edit` to the repository of `browse`, which `account` may write to.
pub async fn commit(
    context: &Context,
    account: &Account,
    browse: &Browse,
    edit: Edit,
    options: &CommitOptions,
) -> Result<Committed, Error> {
    let repository = &browse.found.repository;
    if repository.archived {
        return Err(Error::Archived);
    }
    if let Edit::Files(changes) = &edit {
        check_all(changes)?;
    }
    let message = || match &edit {
        Edit::Files(changes) => default_message(changes),
        Edit::Patch(_) => "Apply a patch".to_owned(),
    };
    let text = CommitText::new(options, &initial::identity(context, account), message, context.now_ms())?;
    // The blobs do not depend on the branch, so they are written once.
    let blobs = match &edit {
        Edit::Files(changes) => write_blobs(context, repository, changes).await?,
        Edit::Patch(_) => Vec::new(),
    };
    let mut seen = None;
    for _ in 0..=RETRIES {
        let target = target(context, browse, options).await?;
        let (tree, entries) = match &edit {
            Edit::Files(changes) => {
                let mut trees = read_trees(browse, target.base.as_deref(), changes).await?;
                let before: Vec<_> = changes.iter().map(|change| trees.get(change.old_path()).cloned()).collect();
                if seen.get_or_insert_with(|| before.clone()) != &before {
                    return Err(Error::Conflict {
                        reason: "the same files were changed meanwhile; read them again".into(),
                    });
                }
                let entries = apply(&mut trees, changes, &blobs)?;
                let tree = trees.write(&context.git, repository.id).await.map_err(Error::git("writing trees"))?;
                (tree, entries)
            }
            Edit::Patch(patch) => {
                let base = target.base.as_deref().ok_or(Error::NotFound { what: "the branch" })?;
                (patch::apply(context, repository.id, base, patch).await?, Vec::new())
            }
        };
        let object = text.object(&tree, target.base.as_deref());
        let id = context.git.write_object(repository.id, "commit", object).await;
        let id = id.map_err(Error::git("writing a commit"))?;
        let moved = ref_changes::move_branch(
            context,
            browse,
            account.user.id,
            (&target.branch, target.old.clone()),
            (id.clone(), blobs.iter().flatten().cloned().collect()),
        );
        match moved.await {
            Ok(()) => return committed(browse, &edit, &id, target, entries).await,
            // Another change came first: start again from the new tip.
            Err(Error::Conflict { reason }) => {
                if branch_tip(context, repository, &target.branch).await? == target.old {
                    return Err(Error::Conflict { reason });
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict { reason: "the branch is changed too often at the moment; try again".into() })
}

/// Returns where the commit starts and which branch gets it.
async fn target(context: &Context, browse: &Browse, options: &CommitOptions) -> Result<Target, Error> {
    let repository = &browse.found.repository;
    let branch = match options.branch.as_str() {
        "" => repository.default_branch.clone(),
        branch => branch.to_owned(),
    };
    let base = branch_tip(context, repository, &branch).await?;
    let new_branch = options.new_branch.as_str();
    if !new_branch.is_empty() {
        rules::branch("new_branch", new_branch)?;
    }
    if base.is_none() {
        if !repository.empty && !browse.git.is_empty().await? {
            return Err(Error::NotFound { what: "the branch" });
        }
        let branch = if new_branch.is_empty() { branch } else { new_branch.to_owned() };
        rules::branch("branch", &branch)?;
        return Ok(Target { base: None, branch, old: None });
    }
    if new_branch.is_empty() || new_branch == branch {
        return Ok(Target { old: base.clone(), base, branch });
    }
    let old = branch_tip(context, repository, new_branch).await?;
    if old.is_some() && !options.force_push {
        return Err(Error::invalid("new_branch", format!("branch already exists: {new_branch}")));
    }
    Ok(Target { base, branch: new_branch.to_owned(), old })
}

async fn branch_tip(context: &Context, repository: &Repository, branch: &str) -> Result<Option<String>, Error> {
    let names = vec![format!("{HEADS}{branch}")];
    let found = context.git.tips(repository.id, names).await.map_err(Error::git("reading refs"))?;
    Ok(found.into_iter().next().flatten())
}

/// Writes the new contents. Returns the id of the blob of each change that has one.
async fn write_blobs(
    context: &Context,
    repository: &Repository,
    changes: &[FileChange],
) -> Result<Vec<Option<String>>, Error> {
    let content = |change: &FileChange| match &change.content {
        _ if change.operation == FileOperation::Delete => None,
        Some(content) => Some(content.clone()),
        None if change.moved_from().is_some() => None,
        None => Some(Bytes::new()),
    };
    let contents: Vec<Option<Bytes>> = changes.iter().map(content).collect();
    let present: Vec<&[u8]> = contents.iter().flatten().map(|content| &content[..]).collect();
    let ids = context.git.write_blobs(repository.id, &present).await.map_err(Error::git("writing files"))?;
    let mut ids = ids.into_iter();
    Ok(contents.iter().map(|content| content.as_ref().and_then(|_| ids.next())).collect())
}

async fn read_trees(browse: &Browse, base: Option<&str>, changes: &[FileChange]) -> Result<TreeEdit, Error> {
    let mut paths = Vec::with_capacity(changes.len());
    for change in changes {
        paths.push(change.path.as_str());
        paths.extend(change.moved_from());
    }
    Ok(TreeEdit::read(&browse.git, base, &paths).await?)
}

/// Applies the changes to the trees. Returns the new entry of each; `None` for a deleted file.
fn apply(
    trees: &mut TreeEdit,
    changes: &[FileChange],
    blobs: &[Option<String>],
) -> Result<Vec<Option<EditEntry>>, Error> {
    // Old files first, so that a new file can take the place of a moved one.
    let old: Vec<Option<EditEntry>> =
        changes.iter().map(|change| old_entry(trees, change)).collect::<Result<_, _>>()?;
    for change in changes {
        if change.operation == FileOperation::Delete {
            trees.remove(&change.path);
        }
        if let Some(from) = change.moved_from() {
            trees.remove(from);
        }
    }
    let mut new = Vec::with_capacity(changes.len());
    for ((change, old), blob) in changes.iter().zip(old).zip(blobs) {
        if change.operation == FileOperation::Delete {
            new.push(None);
            continue;
        }
        if change.moved_from().is_some() && trees.get(&change.path).is_some() {
            return Err(exists(&change.path));
        }
        let mode = old.as_ref().map_or(EditEntry::FILE, |old| old.mode.as_str()).to_owned();
        let id = blob.clone().or(old.map(|old| old.id)).unwrap_or_default();
        let entry = EditEntry { mode, id };
        let conflict = |PathConflict(at): PathConflict| {
            Error::invalid("path", format!("{at:?} is already used, as a file or as a directory"))
        };
        trees.set(&change.path, entry.clone()).map_err(conflict)?;
        new.push(Some(entry));
    }
    Ok(new)
}

fn exists(path: &str) -> Error {
    Error::invalid("path", format!("file already exists: {path}"))
}

/// Returns the existing file of a change, if it may be changed.
fn old_entry(trees: &TreeEdit, change: &FileChange) -> Result<Option<EditEntry>, Error> {
    let found = trees.get(change.old_path());
    let entry = match (change.operation, found) {
        (FileOperation::Create, Some(_)) => return Err(exists(&change.path)),
        (FileOperation::Create | FileOperation::Upload, None) => return Ok(None),
        (_, None) => return Err(Error::NotFound { what: "the file" }),
        (_, Some(entry)) => entry,
    };
    if entry.is_directory() || (entry.is_submodule() && change.operation != FileOperation::Delete) {
        return Err(Error::invalid("path", format!("{:?} is not a file", change.old_path())));
    }
    if !change.sha.is_empty() && change.sha != entry.id {
        let reason = format!("sha does not match: the request has {}, the file has {}", change.sha, entry.id);
        return Err(Error::invalid("sha", reason));
    }
    Ok(Some(entry.clone()))
}

/// Returns the result of a commit that its branch has.
async fn committed(
    browse: &Browse,
    edit: &Edit,
    id: &str,
    target: Target,
    entries: Vec<Option<EditEntry>>,
) -> Result<Committed, Error> {
    let commit = Arc::new(browse.commit(id).await?);
    let parent = match &target.base {
        Some(base) => Some(browse.commit(base).await?),
        None => None,
    };
    let changes = if let Edit::Files(changes) = edit { changes.as_slice() } else { &[] };
    let mut files = Vec::with_capacity(changes.len());
    for (change, entry) in changes.iter().zip(entries) {
        let Some(EditEntry { mode, id }) = entry else {
            files.push(None);
            continue;
        };
        let (size, content) = match &change.content {
            Some(content) => (content.len() as u64, Some(content.clone())),
            None if change.moved_from().is_none() => (0, Some(Bytes::new())),
            None => moved_content(browse, &id).await?,
        };
        files.push(Some(ContentEntry {
            path: change.path.clone(),
            entry: TreeEntry { path: change.path.clone(), mode, kind: "blob".to_owned(), id, size },
            last_commit: Arc::clone(&commit),
            content: content.filter(|_| size <= SHOWN_MAX_BYTES),
            submodule_url: None,
        }));
    }
    Ok(Committed { commit, parent, branch: target.branch, files })
}

/// Returns the size of a file that was moved without a new content, and the content unless it is too large for JSON.
async fn moved_content(browse: &Browse, id: &str) -> Result<(u64, Option<Bytes>), Error> {
    let info = browse.git.infos(&[id.to_owned()]).await?.into_iter().flatten().next();
    let size = info.map_or(0, |info| info.size);
    Ok((size, objects::content(browse, id, size).await?))
}
