//! Applies a unified diff to a commit.

use bytes::Bytes;

use crate::{
    git::GitError,
    service::{Context, Error},
};

/// Longest part of git's message in an error, in characters.
const REASON_MAX_CHARS: usize = 300;

/// Applies `patch` to the commit `base` and returns the id of the new tree.
pub(super) async fn apply(context: &Context, repository: u64, base: &str, patch: &Bytes) -> Result<String, Error> {
    if patch.is_empty() {
        return Err(Error::invalid("content", "Required"));
    }
    let index = context.git.private_index(repository);
    index.read_tree(base).await.map_err(Error::git("reading a commit"))?;
    match index.apply(patch.clone()).await {
        Ok(()) => {}
        Err(GitError::Failed { stderr, .. }) => return Err(refusal(&stderr)),
        Err(error) => return Err(Error::git("applying a patch")(error)),
    }
    index.write_tree().await.map_err(Error::git("writing trees"))
}

/// Returns the error for a patch that git refused.
fn refusal(stderr: &str) -> Error {
    let reason: String = stderr.chars().take(REASON_MAX_CHARS).collect();
    let does_not_apply =
        ["does not apply", "does not exist in index", "already exists in index", "does not match index"]
            .iter()
            .any(|text| stderr.contains(text));
    if does_not_apply {
        return Error::Conflict { reason: format!("the patch does not apply: {reason}") };
    }
    Error::invalid("content", format!("is not a valid patch: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_that_do_not_apply_are_conflicts() {
        for (stderr, conflicts) in [
            ("error: patch failed: a:1 error: a: patch does not apply", true),
            ("error: b: does not exist in index", true),
            ("error: b: already exists in index", true),
            ("error: No valid patches in input (allow with \"--allow-empty\")", false),
            ("error: invalid path '../x'", false),
            ("error: corrupt patch at line 4", false),
        ] {
            assert_eq!(matches!(refusal(stderr), Error::Conflict { .. }), conflicts, "{stderr}");
        }
    }
}
