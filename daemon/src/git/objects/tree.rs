//! Reads trees: entries by path, and lists as `git ls-tree -l` prints them.

use super::{ObjectId, ObjectKind, ObjectReader, ReadError};
use crate::git::read::tree::TreeEntry;

/// Most bytes around the path in a line of `git ls-tree -z -l` with SHA-1 ids. The limit of a list is that of git's
/// output.
const LINE_BYTES: usize = 62;
/// Memory of an entry besides its path, bytes. Counted twice, as everything that is parsed.
const ENTRY_BYTES: usize = 100;
/// Deepest directories of a recursive list. Each level uses the stack of the thread, and the end of the stack would end
/// the daemon.
const DEPTH_MAX: usize = 256;

const DAMAGED: ReadError = ReadError::Damaged("a tree is not valid");

/// An entry as it is stored.
#[derive(Clone, Copy, Debug)]
struct RawEntry<'a> {
    mode: Mode,
    name: &'a [u8],
    id: ObjectId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    File,
    Executable,
    Symlink,
    Directory,
    Submodule,
}

impl Mode {
    /// Converts a stored mode as git does: of permissions, only the owner's execute bit counts.
    fn of(stored: u32) -> Self {
        match stored & 0o170_000 {
            0o100_000 if stored & 0o100 != 0 => Self::Executable,
            0o100_000 => Self::File,
            0o120_000 => Self::Symlink,
            0o040_000 => Self::Directory,
            _ => Self::Submodule,
        }
    }

    fn digits(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Directory => "040000",
            Self::Submodule => "160000",
        }
    }

    fn kind(self) -> ObjectKind {
        match self {
            Self::File | Self::Executable | Self::Symlink => ObjectKind::Blob,
            Self::Directory => ObjectKind::Tree,
            Self::Submodule => ObjectKind::Commit,
        }
    }
}

/// Iterates over the entries of a tree: octal mode, a blank, the name, a zero byte, the id.
struct Entries<'a> {
    rest: &'a [u8],
    id_bytes: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<RawEntry<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.parse();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry.ok_or(DAMAGED))
    }
}

impl<'a> Entries<'a> {
    fn parse(&mut self) -> Option<RawEntry<'a>> {
        let blank = self.rest.iter().take(8).position(|byte| *byte == b' ')?;
        let (mode, after) = (&self.rest[..blank], &self.rest[blank + 1..]);
        if mode.is_empty() || !mode.iter().all(|digit| (b'0'..=b'7').contains(digit)) {
            return None;
        }
        let mode = mode.iter().fold(0, |mode, digit| mode * 8 + u32::from(digit - b'0'));
        let end = after.iter().position(|byte| *byte == 0).filter(|end| *end > 0)?;
        let raw = after.get(end + 1..end + 1 + self.id_bytes)?;
        self.rest = &after[end + 1 + self.id_bytes..];
        Some(RawEntry { mode: Mode::of(mode), name: &after[..end], id: ObjectId::from_raw(raw)? })
    }
}

/// A list of entries within its limits.
struct Listing {
    entries: Vec<TreeEntry>,
    /// Size of the same list in the output of git, bytes.
    bytes: usize,
    max_bytes: usize,
    recursive: bool,
    /// Whether the sizes of all blobs are known.
    complete: bool,
}

/// The entries of a tree.
#[derive(Debug)]
pub(in crate::git) struct ListedTree {
    /// In git's order.
    pub(in crate::git) entries: Vec<TreeEntry>,
    /// Whether all blobs exist. Missing ones have the size 0.
    pub(in crate::git) complete: bool,
}

impl ObjectReader {
    /// Lists the tree that `id` is or points to. `None`: it does not exist. Fails if git's list would have more than
    /// `max_bytes` bytes.
    pub(in crate::git) fn list_tree(
        &mut self,
        id: &ObjectId,
        recursive: bool,
        max_bytes: usize,
    ) -> Result<Option<ListedTree>, ReadError> {
        let Some(tree) = self.peel(id, ObjectKind::Tree)? else { return Ok(None) };
        let mut listing = Listing { entries: Vec::new(), bytes: 0, max_bytes, recursive, complete: true };
        self.add_tree(&tree, "", 0, &mut listing)?;
        Ok(Some(ListedTree { entries: listing.entries, complete: listing.complete }))
    }

    fn add_tree(&mut self, tree: &ObjectId, below: &str, depth: usize, listing: &mut Listing) -> Result<(), ReadError> {
        if depth == DEPTH_MAX {
            return Err(ReadError::Unsupported("deep directories"));
        }
        let content = self.tree_content(tree)?.ok_or(DAMAGED)?;
        if listing.recursive {
            // It is kept while its subdirectories are listed.
            self.limits.keep(content.len() / 2)?;
        }
        for entry in (Entries { rest: &content, id_bytes: tree.as_bytes().len() }) {
            let RawEntry { mode, name, id } = entry?;
            let path = format!("{below}{}", String::from_utf8_lossy(name));
            listing.bytes += below.len() + name.len() + LINE_BYTES;
            if listing.bytes > listing.max_bytes {
                return Err(ReadError::TooMuch(listing.max_bytes));
            }
            self.limits.keep(ENTRY_BYTES + path.len())?;
            let size = if mode.kind() == ObjectKind::Blob { self.info(&id)?.map(|(_, size)| size) } else { Some(0) };
            listing.complete &= size.is_some();
            let directory = (listing.recursive && mode == Mode::Directory).then(|| format!("{path}/"));
            listing.entries.push(TreeEntry {
                path,
                mode: mode.digits().to_owned(),
                kind: mode.kind().word().to_owned(),
                id: id.hex(),
                size: size.unwrap_or(0),
            });
            if let Some(directory) = directory {
                self.add_tree(&id, &directory, depth + 1, listing)?;
            }
        }
        Ok(())
    }

    /// Returns the entry at `path` below the tree that `id` is or points to.
    pub(in crate::git) fn entry_at(&mut self, id: &ObjectId, path: &str) -> Result<Option<TreeEntry>, ReadError> {
        let Some(mut tree) = self.peel(id, ObjectKind::Tree)? else { return Ok(None) };
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let content = self.tree_content(&tree)?.ok_or(DAMAGED)?;
            let mut found = None;
            for entry in (Entries { rest: &content, id_bytes: tree.as_bytes().len() }) {
                let entry = entry?;
                if entry.name == part.as_bytes() {
                    found = Some((entry.mode, entry.id));
                    break;
                }
            }
            let Some((mode, id)) = found else { return Ok(None) };
            if parts.peek().is_none() {
                let size =
                    if mode.kind() == ObjectKind::Blob { self.info(&id)?.map_or(0, |(_, size)| size) } else { 0 };
                let (mode, kind) = (mode.digits().to_owned(), mode.kind().word().to_owned());
                return Ok(Some(TreeEntry { path: path.to_owned(), mode, kind, id: id.hex(), size }));
            }
            if mode != Mode::Directory {
                return Ok(None);
            }
            tree = id;
        }
        Ok(None)
    }

    /// Returns the content of a tree; `None` if it does not exist.
    fn tree_content(&mut self, id: &ObjectId) -> Result<Option<Vec<u8>>, ReadError> {
        match self.object(id)? {
            Some(object) if object.kind == ObjectKind::Tree => Ok(Some(object.content)),
            Some(_) => Err(DAMAGED),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_parsed_and_invalid_ones_end_the_list_with_an_error() {
        let raw = |mode: &str, name: &[u8]| [mode.as_bytes(), b" ", name, b"\0", &[7; 20]].concat();
        let tree = [raw("100644", b"a"), raw("100775", b"\xff"), raw("40000", b"d"), raw("160000", b"m")].concat();
        let entries: Result<Vec<_>, _> = Entries { rest: &tree, id_bytes: 20 }.collect();
        let modes: Vec<_> = entries.expect("valid").iter().map(|entry| (entry.mode.digits(), entry.name)).collect();
        let expected: [(&str, &[u8]); 4] = [("100644", b"a"), ("100755", b"\xff"), ("040000", b"d"), ("160000", b"m")];
        assert_eq!(modes, expected);
        for bad in [raw("", b"a"), raw("10064x", b"a"), raw("100644", b""), tree[..30].to_vec(), vec![0]] {
            let entries: Vec<_> = Entries { rest: &bad, id_bytes: 20 }.collect();
            assert!(entries.last().is_some_and(Result::is_err), "{bad:?}");
        }
    }
}
