//! Finds the LFS objects that the files of a repository name.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use super::{Git, GitCommand, GitError, import::Staged};
use crate::model::lfs_pointer::{self, LfsPointer};

/// Limit of the list of small blobs, bytes: about three million. A repository with more is not searched.
const LIST_MAX_BYTES: usize = 128 << 20;
/// Time limit of a walk over a whole history.
const WALK_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Blobs that are read at a time.
const BLOBS_AT_ONCE: usize = 10_000;
/// Limit of the objects that the files of a repository name. A repository with more is not searched.
const NAMED_MAX: usize = 8 << 20;
/// Limit of the output for one blob, bytes: a pointer file, and ID, type, size and line breaks.
const BLOB_MAX_BYTES: usize = 1_024 + 96;

impl Git {
    /// Returns the IDs of the objects that all refs point to, also refs that are neither branches nor tags. Fails if
    /// git ignores a ref that it cannot read.
    pub async fn ref_ids(&self, repository: u64) -> Result<BTreeSet<String>, GitError> {
        let listed = self.list_refs(repository, "%(objectname)").await?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    /// Returns the SHA-256 of each LFS object that a small file names whose blob is reachable from `from` and not from
    /// `known`. Reads every text that may be a pointer, also if it is not written exactly as git-lfs writes it. An
    /// error means that some may be missing from the result.
    pub async fn lfs_objects(
        &self,
        repository: u64,
        from: &BTreeSet<String>,
        known: &BTreeSet<String>,
    ) -> Result<HashSet<[u8; 32]>, GitError> {
        let mut named = HashSet::new();
        let call = |args: &[&str]| self.call(repository, args);
        let note = |content: &[u8]| {
            if named.len() <= NAMED_MAX {
                named.extend(lfs_pointer::named_objects(content));
            }
        };
        each_small_blob(call, from, known, note).await?;
        if named.len() > NAMED_MAX {
            return Err(GitError::TooMuch { command: "cat-file".into(), limit: NAMED_MAX });
        }
        Ok(named)
    }
}

impl Git {
    /// Returns the pointers of Git LFS whose blobs are reachable from `from` and not from `known`, each object once.
    pub async fn lfs_pointers(
        &self,
        repository: u64,
        from: &BTreeSet<String>,
        known: &BTreeSet<String>,
    ) -> Result<Vec<LfsPointer>, GitError> {
        pointers(|args| self.call(repository, args), from, known).await
    }
}

impl Staged {
    /// Returns the pointers of Git LFS in all branches and tags, each object once.
    pub async fn lfs_pointers(&self, refs: &[(String, String)]) -> Result<Vec<LfsPointer>, GitError> {
        let from = refs.iter().map(|(_, id)| id.clone()).collect();
        pointers(|args| self.call(args), &from, &BTreeSet::new()).await
    }
}

/// Returns the pointers whose blobs are reachable from `from` and not from `known`, each object once.
async fn pointers(
    call: impl Fn(&[&str]) -> GitCommand,
    from: &BTreeSet<String>,
    known: &BTreeSet<String>,
) -> Result<Vec<LfsPointer>, GitError> {
    let mut pointers = BTreeMap::new();
    let note = |content: &[u8]| {
        if let Some(pointer) = LfsPointer::parse(content) {
            pointers.entry(pointer.oid.clone()).or_insert(pointer);
        }
    };
    each_small_blob(call, from, known, note).await?;
    Ok(pointers.into_values().collect())
}

/// Calls `each` with the content of every blob that may be a pointer and is reachable from `from` and not from `known`.
/// `call` returns a git command with the given arguments.
async fn each_small_blob(
    call: impl Fn(&[&str]) -> GitCommand,
    from: &BTreeSet<String>,
    known: &BTreeSet<String>,
    mut each: impl FnMut(&[u8]),
) -> Result<(), GitError> {
    // Without a starting point, git prints its usage and fails.
    if from.is_subset(known) {
        return Ok(());
    }
    let filter = format!("--filter=combine:blob:limit={}+object:type=blob", lfs_pointer::POINTER_MAX_BYTES);
    let listing =
        call(&["rev-list", "--objects", "--no-object-names", "--filter-provided-objects", &filter, "--stdin"]);
    let lines = from.iter().cloned().chain(known.iter().map(|id| format!("^{id}")));
    let listing = listing.stdin(lines.fold(String::new(), |all, line| all + &line + "\n"));
    let blobs = listing.output_max_bytes(LIST_MAX_BYTES).timeout(WALK_TIMEOUT).run().await?.stdout;
    let blobs: Vec<&[u8]> = blobs.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    for some in blobs.chunks(BLOBS_AT_ONCE) {
        let reading = call(&["cat-file", "--batch", "--buffer"]).stdin(some.join(&b'\n'));
        let limit = some.len() * BLOB_MAX_BYTES;
        let read = reading.output_max_bytes(limit).timeout(WALK_TIMEOUT).run().await?.stdout;
        if for_each_content(&read, &mut each) != Some(some.len()) {
            let stderr = "its output is incomplete".to_owned();
            return Err(GitError::Failed { command: "cat-file".into(), status: Some(0), stderr });
        }
    }
    Ok(())
}

/// Calls `each` with the content of each blob in the output of `cat-file --batch`. Returns the number of blobs; `None`
/// if an object is missing or the output is incomplete.
fn for_each_content(mut output: &[u8], mut each: impl FnMut(&[u8])) -> Option<usize> {
    let mut count = 0;
    while !output.is_empty() {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let head = std::str::from_utf8(&output[..end]).ok()?;
        let mut words = head.split(' ');
        let (Some(_), Some("blob"), Some(size), None) = (words.next(), words.next(), words.next(), words.next()) else {
            return None;
        };
        let size: usize = size.parse().ok()?;
        let rest = &output[end + 1..];
        each(rest.get(..size)?);
        output = rest.get(size..)?.strip_prefix(b"\n")?;
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_content_is_read_and_incomplete_output_is_noticed() {
        let output = b"aa blob 3\na\nb\nbb blob 0\n\n";
        let mut read = Vec::new();
        assert_eq!(for_each_content(output, |content| read.push(content.to_vec())), Some(2));
        assert_eq!(read, [b"a\nb".to_vec(), Vec::new()]);
        for bad in
            [&output[..output.len() - 1], b"aa missing\n", b"aa tree 1\nx\n", b"aa blob 9\nx\n", b"aa blob x\n\n"]
        {
            assert_eq!(for_each_content(bad, |_| ()), None, "{}", bad.escape_ascii());
        }
    }
}
