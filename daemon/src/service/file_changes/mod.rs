//! Changes files of a branch through the API: one commit for each request, made without a working copy.
//!
//! The objects of the commit are written to a workspace, checked like those of a push and stored in the repository as
//! one pack. Then the branch is moved like in a push: by the function that moves all refs of the API, only if it still
//! points to the parent of the commit. If another writer has moved it, the commit is created again, unless the same
//! files were changed.

mod commit_text;
mod input;
mod patch;

use std::sync::Arc;

use bytes::Bytes;
use farrier_common::api::CommitOptions;
use farrier_proto::store::Repository;

pub(super) use self::input::path as checked_path;
pub use self::input::{FileChange, FileOperation};
use self::{
    commit_text::CommitText,
    input::{check_all, default_message},
};
use super::{
    Context, Error, access,
    browse::{
        Browse,
        contents::ContentEntry,
        objects::{self, SHOWN_MAX_BYTES},
    },
    initial, packs,
    ref_changes::{self, Written},
    repositories::rules,
};
use crate::{
    git::{
        PublishError, Workspace,
        read::{commit::CommitObject, tree::TreeEntry},
        ref_name::{HEADS, is_valid_short},
        tree_edit::{EditEntry, PathConflict, TreeEdit},
    },
    model::identity::Account,
    store::refs,
};

/// Number of retries after the branch was moved by another writer.
const RETRIES: usize = 3;

/// What a request changes.
#[derive(Clone, Debug)]
pub enum Edit {
    /// These files.
    Files(Vec<FileChange>),
    /// A unified diff to apply.
    Patch(Bytes),
}

/// A commit that changed files.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The commit.
    pub commit: Arc<CommitObject>,
    /// Its parent; `None` for the first commit of a repository.
    pub parent: Option<CommitObject>,
    /// The branch that points to the commit.
    pub branch: String,
    /// The changed files in the order of the request; `None` for a deleted file.
    pub files: Vec<Option<ContentEntry>>,
}

/// The parent of a commit and the branch to move.
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
    access::require_writable(&browse.found.repository)?;
    match &edit {
        Edit::Files(changes) => check_all(changes)?,
        Edit::Patch(patch) => patch::check(patch)?,
    }
    let message = || match &edit {
        Edit::Files(changes) => default_message(changes),
        Edit::Patch(_) => "Apply a patch".to_owned(),
    };
    let text = CommitText::new(options, &initial::identity(context, account), message, context.now_ms())?;
    let workspace = browse.git.workspace().await.map_err(Error::git("preparing a change"))?;
    let committed = commit_in(&workspace, context, account, browse, &edit, &text, options).await;
    workspace.remove().await;
    committed
}

/// Commits `edit`. New objects are written to `workspace` first.
async fn commit_in(
    workspace: &Workspace,
    context: &Context,
    account: &Account,
    browse: &Browse,
    edit: &Edit,
    text: &CommitText,
    options: &CommitOptions,
) -> Result<Committed, Error> {
    let (mut first_entries, mut blobs) = (None, None);
    for _ in 0..=RETRIES {
        let target = target(context, browse, options).await?;
        let base = target.base.as_deref();
        let parent = match base {
            Some(base) => Some(browse.commit(base).await?),
            None => None,
        };
        let (tree, entries) = match edit {
            Edit::Files(changes) => {
                let mut trees = read_trees(browse, base, changes).await?;
                let before: Vec<_> = changes.iter().map(|change| trees.get(change.old_path()).cloned()).collect();
                if first_entries.get_or_insert_with(|| before.clone()) != &before {
                    return Err(Error::Conflict {
                        reason: "the same files were changed meanwhile; read them again".into(),
                    });
                }
                let old = changes.iter().map(|change| old_entry(&trees, change)).collect::<Result<Vec<_>, _>>()?;
                // The blobs do not depend on the branch, so they are written once.
                if blobs.is_none() {
                    blobs = Some(write_blobs(workspace, changes).await?);
                }
                let entries = apply(&mut trees, changes, old, blobs.as_deref().unwrap_or_default())?;
                (trees.write(workspace).await.map_err(Error::git("writing trees"))?, entries)
            }
            Edit::Patch(patch) => {
                let base = base.ok_or(Error::NotFound { what: "the branch" })?;
                (patch::apply(workspace, base, patch).await?, Vec::new())
            }
        };
        let object = text.object(&tree, base);
        let id = workspace.write_object("commit", &object).await.map_err(Error::git("writing a commit"))?;
        // Everything in the answer is read before the branch moves, so that a change that was made is not answered
        // with an error.
        let commit = Arc::new(CommitObject::parse(&id, object.as_bytes()));
        let files = changed_files(browse, edit, entries, &commit).await?;
        // Before the objects are stored in the repository, so that a refused change leaves nothing there.
        let change = (target.branch.as_str(), target.old.clone());
        ref_changes::check_branch(context, browse, account.user.id, change, (&id, workspace)).await?;
        let written_bytes = packs::store(context, browse.found.repository.id, workspace, (&id, base), refused).await?;
        let Target { base, branch, old } = target;
        let new = Written { commit: id, bytes: written_bytes, base };
        match ref_changes::move_branch(context, browse, account.user.id, (&branch, old.clone()), new).await {
            Ok(()) => return Ok(Committed { commit, parent, branch, files }),
            // Another change came first: start again from the new tip.
            Err(Error::Conflict { reason }) => {
                if branch_tip(context, &browse.found.repository, &branch).await? == old {
                    return Err(Error::Conflict { reason });
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict { reason: "the branch is changed too often at the moment; try again".into() })
}

/// Returns the error for a change that was not stored in the repository.
pub(super) fn refused(error: PublishError) -> Error {
    match error {
        PublishError::Git(error) => Error::git("writing a change")(error),
        error @ PublishError::Refused(_) => Error::Unusable { reason: error.to_string() },
    }
}

/// Returns the parent of the commit and the branch to move.
async fn target(context: &Context, browse: &Browse, options: &CommitOptions) -> Result<Target, Error> {
    let repository = &browse.found.repository;
    let branch = match options.branch.as_str() {
        "" => repository.default_branch.clone(),
        branch => branch.to_owned(),
    };
    if !is_valid_short(&branch) {
        return Err(Error::invalid("branch", "GitRefName: is not a valid name of a branch"));
    }
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
    let found = refs::tips(&context.store.read().await?, repository.id, &names).await?;
    context.copies.follow_others(repository.id).await?;
    Ok(found.into_iter().next().flatten())
}

/// Writes the new contents. Returns the id of the blob of each change that has one.
async fn write_blobs(workspace: &Workspace, changes: &[FileChange]) -> Result<Vec<Option<String>>, Error> {
    let content = |change: &FileChange| match &change.content {
        _ if change.operation == FileOperation::Delete => None,
        Some(content) => Some(content.clone()),
        None if change.moved_from().is_some() => None,
        None => Some(Bytes::new()),
    };
    let contents: Vec<Option<Bytes>> = changes.iter().map(content).collect();
    let present: Vec<&[u8]> = contents.iter().flatten().map(|content| &content[..]).collect();
    let ids = workspace.write_blobs(&present).await.map_err(Error::git("writing files"))?;
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

/// Applies the changes to the trees. `old`: the existing file of each change. Returns the new entry of each; `None` for
/// a deleted file.
fn apply(
    trees: &mut TreeEdit,
    changes: &[FileChange],
    old: Vec<Option<EditEntry>>,
    blobs: &[Option<String>],
) -> Result<Vec<Option<EditEntry>>, Error> {
    // Old files first, so that a new file can take the place of a moved one.
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
        // New content of a symbolic link would be its target.
        let kept = old.as_ref().filter(|old| !(old.is_link() && blob.is_some()));
        let mode = kept.map_or(EditEntry::FILE, |old| old.mode.as_str()).to_owned();
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

/// Returns the changed files as they are in `commit`; `None` for a deleted file.
async fn changed_files(
    browse: &Browse,
    edit: &Edit,
    entries: Vec<Option<EditEntry>>,
    commit: &Arc<CommitObject>,
) -> Result<Vec<Option<ContentEntry>>, Error> {
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
            last_commit: Arc::clone(commit),
            content: content.filter(|_| size <= SHOWN_MAX_BYTES),
            submodule_url: None,
        }));
    }
    Ok(files)
}

/// Returns the size of a file that was moved without a new content, and the content unless it is too large for JSON.
async fn moved_content(browse: &Browse, id: &str) -> Result<(u64, Option<Bytes>), Error> {
    let info = browse.git.first(&[id.to_owned()]).await?;
    let size = info.map_or(0, |info| info.size);
    Ok((size, objects::content(browse, id, size).await?))
}
