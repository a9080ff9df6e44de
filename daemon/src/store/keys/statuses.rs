//! Keys of the statuses of commits.

use super::Builder;
use crate::store::engine::Key;

/// `cs/<rid>/<commit>/<sid>`
pub fn status(repository: u64, commit: &str, id: u64) -> Key {
    Builder::new("cs").id(repository).exact(commit).id(id).build()
}

/// Prefix of `cs/<rid>/<commit>/`.
pub fn statuses(repository: u64, commit: &str) -> Key {
    Builder::new("cs").id(repository).exact(commit).build()
}

/// `ct/<rid>/<commit>/<context>/<sid>`: the statuses of one context.
pub fn status_of_context(repository: u64, commit: &str, context: &str, id: u64) -> Key {
    Builder::new("ct").id(repository).exact(commit).exact(context).id(id).build()
}

/// Prefix of `ct/<rid>/<commit>/<context>/`.
pub fn statuses_of_context(repository: u64, commit: &str, context: &str) -> Key {
    Builder::new("ct").id(repository).exact(commit).exact(context).build()
}

/// `cl/<rid>/<commit>/<context>`: the last status of a context.
pub fn status_context(repository: u64, commit: &str, context: &str) -> Key {
    Builder::new("cl").id(repository).exact(commit).exact(context).build()
}

/// Prefix of `cl/<rid>/<commit>/`.
pub fn status_contexts(repository: u64, commit: &str) -> Key {
    Builder::new("cl").id(repository).exact(commit).build()
}

/// Returns the prefixes of all keys of a repository's statuses.
pub fn statuses_of_repository(repository: u64) -> [Key; 3] {
    ["cs", "ct", "cl"].map(|tag| Builder::new(tag).id(repository).build())
}

/// Returns repository and commit of a key of `cs`, `ct` or `cl`.
pub fn commit_of_status(key: &[u8]) -> Option<(u64, &str)> {
    let rest = key.get(3..)?;
    let (id, rest) = rest.split_first_chunk::<8>()?;
    let commit = rest.split(|byte| *byte == 0).next()?;
    Some((u64::from_be_bytes(*id), std::str::from_utf8(commit).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_of_a_key_is_read_back() {
        let commit = "ab".repeat(20);
        for key in [status(7, &commit, 3), status_of_context(7, &commit, "a/b", 3), status_context(7, &commit, "x")] {
            assert_eq!(commit_of_status(&key), Some((7, commit.as_str())));
        }
    }
}
