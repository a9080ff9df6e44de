//! What `git ls-tree -z -l` prints.

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path below the tree that was listed.
    pub path: String,
    /// Six octal digits.
    pub mode: String,
    /// `blob`, `tree` or `commit`.
    pub kind: String,
    /// Object id.
    pub id: String,
    /// Bytes of a blob, else 0.
    pub size: u64,
}

/// What an entry is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A file, executable or not.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A commit of another repository.
    Submodule,
}

impl Entry {
    /// What it is.
    pub fn shape(&self) -> Shape {
        match (self.mode.as_str(), self.kind.as_str()) {
            (_, "tree") => Shape::Directory,
            (_, "commit") => Shape::Submodule,
            ("120000", _) => Shape::Symlink,
            _ => Shape::File,
        }
    }
}

/// Reads entries in git's order.
pub fn parse(output: &[u8]) -> Vec<Entry> {
    output.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// `mode kind id size \t path`
fn entry(token: &[u8]) -> Option<Entry> {
    let token = String::from_utf8_lossy(token);
    let (about, path) = token.split_once('\t')?;
    let mut words = about.split_ascii_whitespace().map(str::to_owned);
    let (mode, kind, id) = (words.next()?, words.next()?, words.next()?);
    let size = words.next().and_then(|size| size.parse().ok()).unwrap_or(0);
    Some(Entry { path: path.to_owned(), mode, kind, id, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_entry() {
        let lines = [
            "100755 blob aa    1234\trun me.sh",
            "040000 tree bb       -\tsrc",
            "120000 blob cc       4\tlänk",
            "160000 commit dd       -\tmod",
            "100644 blob ee       0\ta\tb\n",
        ];
        let output = lines.map(|line| format!("{line}\0")).concat();
        let read = parse(output.as_bytes());
        let short: Vec<_> = read.iter().map(|e| (e.path.as_str(), e.mode.as_str(), e.size, e.shape())).collect();
        assert_eq!(
            short,
            [
                ("run me.sh", "100755", 1234, Shape::File),
                ("src", "040000", 0, Shape::Directory),
                ("länk", "120000", 4, Shape::Symlink),
                ("mod", "160000", 0, Shape::Submodule),
                ("a\tb\n", "100644", 0, Shape::File),
            ]
        );
    }
}
