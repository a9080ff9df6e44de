//! Brings a branch of a fork up to date with the same branch of its source.
//!
//! Works without a working copy: a workspace reads the objects of both repositories. The new objects are checked and
//! copied to the fork like those of a push, and the branch is moved by the function that moves all refs of the API.

use farrier_proto::store::Repository;

use super::{
    Context, Error,
    access::{self, Action},
    browse::Browse,
    initial, lfs, migrations, packs,
    ref_changes::{self, Written},
    repositories::{self, FoundRepository},
};
use crate::{
    git::{
        GitError, MergedTree, PublishError, Workspace,
        ref_name::{HEADS, is_valid_short},
    },
    model::identity::{Account, Identity},
    store::{Tx, refs, repositories as rows},
};

/// Number of retries after a branch was moved by another writer.
const RETRIES: usize = 3;
/// Most paths with conflicts in an error.
const PATHS_MAX: usize = 20;
/// The message of merge commits, as in the API family.
const MESSAGE: &str = "merge upstream";

/// How a branch was brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeType {
    /// It has all commits of the source.
    UpToDate,
    /// It was moved to the commit of the source.
    FastForward,
    /// It got a merge commit.
    Merge,
    /// Nothing was done: it has commits of its own, and only moving it was allowed.
    Diverged,
}

/// How a branch of a fork differs from that of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The commit of the fork.
    pub fork: String,
    /// The commit of the source.
    pub source: String,
    /// Number of commits of the source that the fork does not have.
    pub behind: u64,
    /// Whether the fork has no commits of its own.
    pub is_ancestor: bool,
}

/// Merges the branch `branch` of the source into that of the fork `browse`, which `account` may write to.
pub async fn merge(
    context: &Context,
    account: &Account,
    identity: &Identity,
    browse: &Browse,
    branch: &str,
    ff_only: bool,
) -> Result<MergeType, Error> {
    access::require_writable(&browse.found.repository)?;
    let source = source_of(context, identity, browse).await?;
    check_branch(branch)?;
    let workspace = workspace(browse, &source).await?;
    let merged = merge_in(&workspace, context, account, browse, &source, branch, ff_only).await;
    workspace.remove().await;
    merged
}

/// Compares the branch `branch` with that of the source.
pub async fn compare(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    branch: &str,
) -> Result<Difference, Error> {
    let source = source_of(context, identity, browse).await?;
    check_branch(branch)?;
    let [fork, source_tip] = tips(context, browse, &source, branch).await?;
    let workspace = workspace(browse, &source).await?;
    let compared = async {
        let base = workspace.merge_base(&fork, &source_tip).await?;
        Ok::<_, GitError>((base, workspace.count_commits(&fork, &source_tip).await?))
    }
    .await;
    workspace.remove().await;
    let (base, behind) = compared.map_err(Error::git("comparing branches"))?;
    Ok(Difference { is_ancestor: base.as_ref() == Some(&fork), fork, source: source_tip, behind })
}

async fn merge_in(
    workspace: &Workspace,
    context: &Context,
    account: &Account,
    browse: &Browse,
    source: &FoundRepository,
    branch: &str,
    ff_only: bool,
) -> Result<MergeType, Error> {
    let failed = || Error::git("merging branches");
    for _ in 0..=RETRIES {
        let [ours, theirs] = tips(context, browse, source, branch).await?;
        if ours == theirs {
            return Ok(MergeType::UpToDate);
        }
        let base = workspace.merge_base(&ours, &theirs).await.map_err(failed())?;
        let (new, merge_type) = match base {
            Some(base) if base == theirs => return Ok(MergeType::UpToDate),
            Some(base) if base == ours => (theirs, MergeType::FastForward),
            _ if ff_only => return Ok(MergeType::Diverged),
            Some(_) => (merge_commit(workspace, context, account, &ours, &theirs).await?, MergeType::Merge),
            None => return Err(Error::Conflict { reason: "the branches have no common history".into() }),
        };
        // Before the objects are copied to the fork, so that a refused merge leaves nothing there.
        let change = (branch, Some(ours.clone()));
        ref_changes::check_branch(context, browse, account.user.id, change, (&new, workspace)).await?;
        let written_bytes =
            packs::store(context, browse.found.repository.id, workspace, (&new, Some(&ours)), refused).await?;
        copy_lfs_objects(context, browse.found.repository.id, &source.repository).await?;
        let old = (branch, Some(ours.clone()));
        let new = Written { commit: new, bytes: written_bytes, base: Some(ours.clone()) };
        match ref_changes::move_branch(context, browse, account.user.id, old, new).await {
            Ok(()) => return Ok(merge_type),
            // Another change came first: start again from the new tip.
            Err(Error::Conflict { reason }) => {
                let [now, _] = tips(context, browse, source, branch).await?;
                if now == ours {
                    return Err(Error::Conflict { reason });
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict { reason: "the branch is changed too often at the moment; try again".into() })
}

/// Writes the merge commit and returns its id.
async fn merge_commit(
    workspace: &Workspace,
    context: &Context,
    account: &Account,
    ours: &str,
    theirs: &str,
) -> Result<String, Error> {
    let tree = match workspace.merge_trees(ours, theirs).await.map_err(Error::git("merging branches"))? {
        MergedTree::Clean(tree) => tree,
        MergedTree::Conflicts(paths) => return Err(Error::Conflict { reason: conflicts(&paths) }),
    };
    let person = initial::identity(context, account);
    let person = format!("{} <{}> {} +0000", person.name, person.email, context.now_ms().div_euclid(1_000));
    let text =
        format!("tree {tree}\nparent {ours}\nparent {theirs}\nauthor {person}\ncommitter {person}\n\n{MESSAGE}\n");
    workspace.write_object("commit", &text).await.map_err(Error::git("writing a commit"))
}

/// Returns the error text for paths with conflicts.
fn conflicts(paths: &[String]) -> String {
    let listed = paths.iter().take(PATHS_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(PATHS_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("the branches have conflicting changes in {listed}{more}; merge them in a working copy")
}

/// Returns the error for a change that was not stored in the repository.
fn refused(error: PublishError) -> Error {
    match error {
        PublishError::Git(error) => Error::git("writing a merge")(error),
        error @ PublishError::Refused(_) => Error::Unusable { reason: error.to_string() },
    }
}

/// Gives the fork the LFS objects of its source, which the new commits may name.
async fn copy_lfs_objects(context: &Context, fork: u64, source: &Repository) -> Result<(), Error> {
    if source.lfs_size == 0 {
        return Ok(());
    }
    context
        .store
        .write(async |tx: Tx| {
            let before = rows::get(&tx, fork).await?.filter(|row| !row.deleted);
            let before = before.ok_or(Error::NotFound { what: "the repository" })?;
            let mut row = before.clone();
            lfs::copy_objects(context, &tx, source.id, &mut row).await?;
            if row != before {
                rows::put(&tx, Some(&before), &row);
            }
            Ok::<_, Error>(())
        })
        .await
}

/// Returns the source of the fork, which the caller must be able to read.
async fn source_of(context: &Context, identity: &Identity, browse: &Browse) -> Result<FoundRepository, Error> {
    let parent = browse.found.repository.parent;
    let read = context.store.read().await?;
    let source = match parent {
        0 => None,
        parent => repositories::allowing(&read, identity, parent, Action::Read).await?,
    };
    drop(read);
    let source = source.ok_or_else(|| Error::Unusable {
        reason: "the repository is no fork, or you cannot read the repository from which it was forked".into(),
    })?;
    if let Some(reason) = migrations::pending(&source.repository) {
        return Err(Error::Conflict { reason: reason.into() });
    }
    // The fork itself is current since its reader was created.
    context.copies.current(source.repository.id).await?;
    Ok(source)
}

fn check_branch(branch: &str) -> Result<(), Error> {
    match branch {
        "" => Err(Error::invalid("branch", "Required")),
        branch if is_valid_short(branch) => Ok(()),
        _ => Err(Error::invalid("branch", "GitRefName: is not a valid name of a branch")),
    }
}

/// Returns the commits of the branch in the fork and in the source.
async fn tips(
    context: &Context,
    browse: &Browse,
    source: &FoundRepository,
    branch: &str,
) -> Result<[String; 2], Error> {
    let read = &context.store.read().await?;
    let name = &[format!("{HEADS}{branch}")];
    let tip = async |repository: u64, what: &'static str| {
        let found = refs::tips(read, repository, name).await?;
        found.into_iter().next().flatten().ok_or(Error::NotFound { what })
    };
    let (fork, source) = (browse.found.repository.id, source.repository.id);
    let tips = [tip(fork, "the branch").await?, tip(source, "the branch of the source").await?];
    for id in [fork, source] {
        context.copies.follow_others(id).await?;
    }
    Ok(tips)
}

async fn workspace(browse: &Browse, source: &FoundRepository) -> Result<Workspace, Error> {
    let workspace = browse.git.workspace().await.map_err(Error::git("preparing a merge"))?;
    Ok(workspace.reading(source.repository.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_conflicts_are_cut() {
        let paths: Vec<String> = (0..22).map(|number| format!("f{number}")).collect();
        assert!(conflicts(&paths).contains("f19 and 2 more; "), "{}", conflicts(&paths));
        assert!(conflicts(&paths[..2]).contains(" in f0, f1; "), "{}", conflicts(&paths[..2]));
    }
}
