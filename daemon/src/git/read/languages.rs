//! Counts the bytes of each programming language in a commit.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use super::{
    RepositoryReader,
    cache::{ReadKey, ReadResult},
    tree::{EntryKind, TreeEntry},
};
use crate::{
    git::{GitError, objects::ObjectId},
    model::languages,
};

/// The languages of a commit with the bytes of their files, largest first.
pub type LanguageSizes = Vec<(&'static str, u64)>;

impl RepositoryReader {
    /// Returns the languages of the commit `commit`. Vendored and generated files, symbolic links and submodules are
    /// not counted. The list of files has the limits of all lists: its size, and the time of a query. A commit whose
    /// list is too long has no languages.
    pub async fn languages(&self, commit: &str) -> Result<Arc<LanguageSizes>, GitError> {
        let key = ObjectId::parse(commit).map(|id| ReadKey::Languages(self.repository, id));
        if let Some(ReadResult::Languages(sizes)) = key.as_ref().and_then(|key| self.cached(key)) {
            return Ok(sizes);
        }
        let entries = match self.tree(commit, true).await {
            Ok(entries) => entries,
            Err(GitError::TooMuch { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let sizes = Arc::new(sizes_of(&entries));
        if let Some(key) = key {
            self.keep(key, ReadResult::Languages(sizes.clone()));
        }
        Ok(sizes)
    }
}

/// Adds up the sizes of files by language. Languages of the same size are in the order of their names.
fn sizes_of(entries: &[TreeEntry]) -> LanguageSizes {
    let mut sizes = BTreeMap::<&'static str, u64>::new();
    for entry in entries.iter().filter(|entry| entry.entry_kind() == EntryKind::File && entry.size > 0) {
        if let Some(language) = languages::of_path(&entry.path) {
            let bytes = sizes.entry(language).or_default();
            *bytes = bytes.saturating_add(entry.size);
        }
    }
    let mut sizes: LanguageSizes = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, bytes)| Reverse(*bytes));
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_added_up_by_language_and_the_largest_is_first() {
        let entry = |path: &str, mode: &str, kind: &str, size: u64| TreeEntry {
            path: path.into(),
            mode: mode.into(),
            kind: kind.into(),
            id: String::new(),
            size,
        };
        let entries = [
            entry("a.py", "100644", "blob", 9),
            entry("src", "040000", "tree", 0),
            entry("src/a.rs", "100644", "blob", 30),
            entry("src/b.rs", "100755", "blob", 4),
            entry("link.rs", "120000", "blob", 500),
            entry("module.rs", "160000", "commit", 0),
            entry("vendor/x.go", "100644", "blob", 500),
            entry("empty.c", "100644", "blob", 0),
            entry("README.md", "100644", "blob", 500),
            entry("b.awk", "100644", "blob", 9),
        ];
        assert_eq!(sizes_of(&entries), [("Rust", 34), ("Awk", 9), ("Python", 9)]);
        assert!(sizes_of(&[]).is_empty());
    }
}
