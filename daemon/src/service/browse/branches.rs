//! Reads branches.

use farrier_proto::store::BranchRule;

use super::{Browse, PageWithTotal, page_of};
use crate::{
    git::read::{commit::CommitObject, rev},
    model::ref_rules::BranchRights,
    service::{
        Error,
        ref_rules::{self, RefChanger},
    },
    store::Read,
};

const BRANCHES: &str = "refs/heads/";

/// A branch and its tip.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Name without `refs/heads/`.
    pub name: String,
    /// Its tip.
    pub commit: CommitObject,
}

/// A branch with its rule and the rights that the rule gives a caller.
#[derive(Clone, Debug)]
pub struct BranchWithRights {
    /// The branch.
    pub branch: Branch,
    /// `None`: no rule protects the branch.
    pub rule: Option<(BranchRule, BranchRights)>,
}

/// Returns branches with their rules and the rights that these give `changer`.
pub async fn with_rights(
    read: &impl Read,
    repository: u64,
    changer: RefChanger,
    branches: Vec<Branch>,
) -> Result<Vec<BranchWithRights>, Error> {
    let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
    let rules = ref_rules::branch_rights(read, repository, changer, &names).await?;
    Ok(branches.into_iter().zip(rules).map(|(branch, rule)| BranchWithRights { branch, rule }).collect())
}

/// Returns a page of the branches, by name.
pub async fn list(browse: &Browse, skip: u64, limit: usize) -> Result<PageWithTotal<Branch>, Error> {
    let (refs, total) = page_of(browse.git.refs(BRANCHES).await?, skip, limit);
    let ids: Vec<String> = refs.iter().map(|reference| reference.id.clone()).collect();
    let commits = browse.git.commits(&ids).await?;
    let mut branches = Vec::with_capacity(refs.len());
    for reference in refs {
        let name = reference.name.strip_prefix(BRANCHES).unwrap_or(&reference.name).to_owned();
        if let Some(commit) = commits.iter().find(|commit| commit.id == reference.id) {
            branches.push(Branch { name, commit: commit.clone() });
        }
    }
    Ok((branches, total))
}

/// Returns the branch `name`.
pub async fn get(browse: &Browse, name: &str) -> Result<Branch, Error> {
    let missing = || Error::NotFound { what: "the branch" };
    if !rev::is_revision(name) || name.contains(['~', '^']) {
        return Err(missing());
    }
    let tip = browse.git.commits(&[format!("{BRANCHES}{name}")]).await?.into_iter().next();
    Ok(Branch { name: name.to_owned(), commit: tip.ok_or_else(missing)? })
}
