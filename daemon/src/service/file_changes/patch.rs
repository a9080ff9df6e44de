//! Applies a unified diff to a commit.

use bytes::Bytes;

use crate::{
    git::{GitError, Workspace},
    service::Error,
};

/// Longest part of git's message in an error, in characters.
const REASON_MAX_CHARS: usize = 300;

/// The line before the content of a binary file. Git decompresses that content before its size can be limited.
const BINARY: &[u8] = b"GIT binary patch";
/// Messages of `git apply` about a patch that does not fit to the files of the commit.
const CONFLICTS: [&str; 4] =
    ["does not apply", "does not exist in index", "already exists in index", "does not match index"];
/// Other messages of `git apply` that name an error of the patch.
const INVALID: [&str; 21] = [
    "No valid patches in input",
    "bad git-diff",
    "beyond a symbolic link",
    "binary patch",
    "corrupt patch",
    "depends on old contents",
    "does not match old mode",
    "expected",
    "filename",
    "has been renamed/deleted",
    "inconsistent header lines",
    "invalid mode",
    "invalid path",
    "patch fragment without header",
    "patch too large",
    "patch with only garbage",
    "removal patch leaves file contents",
    "still has contents",
    "unable to add cache entry",
    "unrecognized input",
    "wrong type",
];

/// Checks a patch from a client.
pub(super) fn check(patch: &[u8]) -> Result<(), Error> {
    if patch.is_empty() {
        return Err(Error::invalid("content", "Required"));
    }
    let is_binary = |line: &[u8]| line.trim_ascii_end() == BINARY;
    if patch.split(|byte| *byte == b'\n').any(is_binary) {
        return Err(Error::invalid("content", "has a binary file; send such files with POST /contents"));
    }
    Ok(())
}

/// Applies `patch` to the commit `base` and returns the id of the new tree.
pub(super) async fn apply(workspace: &Workspace, base: &str, patch: &Bytes) -> Result<String, Error> {
    workspace.read_tree(base).await.map_err(Error::git("reading a commit"))?;
    match workspace.apply(patch.clone()).await {
        Ok(()) => workspace.write_tree().await.map_err(Error::git("writing trees")),
        Err(error) => Err(refusal(&error).unwrap_or_else(|| Error::git("applying a patch")(error))),
    }
}

/// Returns the error for a patch that git refused. `None`: git failed for another reason.
fn refusal(error: &GitError) -> Option<Error> {
    let GitError::Failed { status: Some(1 | 128), stderr, .. } = error else { return None };
    let reason: String = stderr.chars().take(REASON_MAX_CHARS).collect();
    let has = |messages: &[&str]| messages.iter().any(|message| stderr.contains(message));
    if has(&CONFLICTS) {
        return Some(Error::Conflict { reason: format!("the patch does not apply: {reason}") });
    }
    has(&INVALID).then(|| Error::invalid("content", format!("is not a valid patch: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_the_patch_are_errors_of_the_client() {
        let failed = |status: i32, stderr: &str| {
            let error = GitError::Failed { command: "apply".into(), status: Some(status), stderr: stderr.to_owned() };
            match refusal(&error) {
                Some(Error::Conflict { .. }) => "conflict",
                Some(Error::Invalid { .. }) => "invalid",
                Some(other) => panic!("{other}"),
                None => "failure",
            }
        };
        for (status, stderr, kind) in [
            (1, "error: patch failed: a:1; error: a: patch does not apply", "conflict"),
            (1, "error: b: does not exist in index", "conflict"),
            (1, "error: b: already exists in index", "conflict"),
            (128, "error: No valid patches in input (allow with \"--allow-empty\")", "invalid"),
            (1, "error: invalid path '../x'", "invalid"),
            (128, "error: corrupt patch at line 4", "invalid"),
            (128, "fatal: unable to write new index file", "failure"),
            (128, "fatal: Out of memory, malloc failed", "failure"),
            (139, "error: corrupt patch at line 4", "failure"),
        ] {
            assert_eq!(failed(status, stderr), kind, "{stderr}");
        }
    }

    #[test]
    fn binary_patches_are_refused() {
        for bad in ["", "diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "GIT binary patch\r"] {
            assert!(check(bad.as_bytes()).is_err(), "{bad}");
        }
        check(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-GIT binary patch\n+GIT binary patch 2\n").expect("a text");
    }
}
