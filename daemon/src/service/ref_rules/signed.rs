//! Whether the new commits of a branch are signed.

use std::collections::HashMap;

use crate::{
    git::{GitError, Workspace, read::commit::CommitObject},
    service::{
        Context, Error,
        signatures::{self, SignedObject, Verdict},
    },
    shares::Holder,
};

/// Most commits of a push whose signatures are verified. Each takes up to some milliseconds.
pub(super) const COMMITS_MAX: usize = 1_000;
/// Characters of the id of a commit that a reason shows.
const SHOWN_ID_CHARS: usize = 12;

/// Returns why `new` may not become the tip of a branch that requires signed commits; `None` if it may. `old`: the tip
/// before, if the branch exists. `left`: how many commits may still be verified. The verification counts to `holder`.
pub(super) async fn refusal(
    context: &Context,
    holder: Holder,
    objects: &Workspace,
    (old, new): (Option<&str>, &str),
    left: &mut usize,
) -> Result<Option<String>, Error> {
    let commits = match objects.new_commits(old, new, *left).await {
        Ok(Some(commits)) => commits,
        Ok(None) => {
            let reason = format!("its commits must be signed; push at most {COMMITS_MAX} new commits at once");
            return Ok(Some(reason));
        }
        // Git refuses such updates as well.
        Err(GitError::Failed { .. }) => return Ok(Some("the new commits cannot be read".into())),
        Err(GitError::TooMuch { .. }) => return Ok(Some("the new commits are too large to verify them".into())),
        Err(error) => return Err(Error::git("reading the new commits of a protected branch")(error)),
    };
    *left -= commits.len();
    let signed: Vec<_> = commits.iter().filter_map(SignedObject::of_commit).collect();
    let mut verdicts = HashMap::with_capacity(signed.len());
    for group in signed.chunks(signatures::GROUP) {
        verdicts.extend(signatures::verify(context, holder, group).await?);
    }
    let is_unverified = |commit: &&CommitObject| !verdicts.get(&commit.id).is_some_and(Verdict::is_verified);
    Ok(commits.iter().find(is_unverified).map(|commit| {
        let id: String = commit.id.chars().take(SHOWN_ID_CHARS).collect();
        match verdicts.get(&commit.id) {
            None => format!("its commits must be signed, and commit {id} is not"),
            Some(Verdict::NoKey) => format!(
                "commit {id} must be signed with a key of the account that has the e-mail address of the committer"
            ),
            Some(verdict) => format!("the signature of commit {id} is not valid ({})", verdict.reason()),
        }
    }))
}
