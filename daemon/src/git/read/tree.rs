//! Parses the output of `git ls-tree -z -l`.

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path relative to the listed tree.
    pub path: String,
    /// File mode, six octal digits.
    pub mode: String,
    /// `blob`, `tree` or `commit`.
    pub kind: String,
    /// Object id.
    pub id: String,
    /// Size of a blob, bytes; 0 for other types.
    pub size: u64,
}

/// What an entry represents in a working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, executable or not.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A commit of another repository (gitlink).
    Submodule,
}

impl TreeEntry {
    /// Returns what the entry represents.
    pub fn entry_kind(&self) -> EntryKind {
        match (self.mode.as_str(), self.kind.as_str()) {
            (_, "tree") => EntryKind::Directory,
            (_, "commit") => EntryKind::Submodule,
            ("120000", _) => EntryKind::Symlink,
            _ => EntryKind::File,
        }
    }
}

/// Parses entries in git's order.
pub fn parse(output: &[u8]) -> Vec<TreeEntry> {
    output.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// Parses `mode kind id size \t path`.
fn entry(token: &[u8]) -> Option<TreeEntry> {
    let token = String::from_utf8_lossy(token);
    let (fields, path) = token.split_once('\t')?;
    let mut words = fields.split_ascii_whitespace().map(str::to_owned);
    let (mode, kind, id) = (words.next()?, words.next()?, words.next()?);
    let size = words.next().and_then(|size| size.parse().ok()).unwrap_or(0);
    Some(TreeEntry { path: path.to_owned(), mode, kind, id, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry_is_parsed() {
        let lines = [
            "100755 blob aa    1234\trun me.sh",
            "040000 tree bb       -\tsrc",
            "120000 blob cc       4\tlänk",
            "160000 commit dd       -\tmod",
            "100644 blob ee       0\ta\tb\n",
        ];
        let output = lines.map(|line| format!("{line}\0")).concat();
        let read = parse(output.as_bytes());
        let short: Vec<_> = read.iter().map(|e| (e.path.as_str(), e.mode.as_str(), e.size, e.entry_kind())).collect();
        assert_eq!(
            short,
            [
                ("run me.sh", "100755", 1234, EntryKind::File),
                ("src", "040000", 0, EntryKind::Directory),
                ("länk", "120000", 4, EntryKind::Symlink),
                ("mod", "160000", 0, EntryKind::Submodule),
                ("a\tb\n", "100644", 0, EntryKind::File),
            ]
        );
    }
}
