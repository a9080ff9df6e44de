//! Changes directories of a commit without a working copy: reads the trees above the changed paths, changes them in
//! memory, and writes new trees.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{GitError, Workspace, read::RepositoryReader};

/// Output limit for the trees that are read, bytes.
const TREES_MAX_BYTES: usize = 64 << 20;
/// The mode of a directory.
const DIRECTORY: &str = "040000";
/// The mode of a submodule.
const SUBMODULE: &str = "160000";
/// The mode of a symbolic link.
const LINK: &str = "120000";

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditEntry {
    /// File mode, six octal digits.
    pub mode: String,
    /// Object id.
    pub id: String,
}

impl EditEntry {
    /// The mode of a file that is not executable.
    pub const FILE: &'static str = "100644";

    /// Returns whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.mode == DIRECTORY
    }

    /// Returns whether it is a submodule.
    pub fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }

    /// Returns whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }

    fn kind(&self) -> &'static str {
        match self.mode.as_str() {
            DIRECTORY => "tree",
            SUBMODULE => "commit",
            _ => "blob",
        }
    }
}

/// A part of a path is used both as a file and as a directory. Contains that part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConflict(pub String);

type Entries = BTreeMap<Vec<u8>, EditEntry>;

/// The directories of a commit that contain the paths to change, with the changes so far.
#[derive(Clone, Debug, Default)]
pub struct TreeEdit {
    /// Directories by path; the root has an empty path.
    directories: BTreeMap<String, Entries>,
    /// Paths of the directories to write.
    changed: BTreeSet<String>,
}

/// Returns the directory of a path and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the paths of all directories above `path`, the root last.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(split(path).0), |directory| (!directory.is_empty()).then(|| split(directory).0))
}

impl TreeEdit {
    /// Reads the directories above `paths` in the commit `commit`; `None`: there is no commit yet.
    pub async fn read(reader: &RepositoryReader, commit: Option<&str>, paths: &[&str]) -> Result<Self, GitError> {
        let Some(commit) = commit else { return Ok(Self::default()) };
        let directories: BTreeSet<String> = paths.iter().flat_map(|path| ancestors(path)).map(str::to_owned).collect();
        let names: Vec<String> = directories.iter().map(|directory| format!("{commit}:{directory}")).collect();
        let found = reader.objects(&names, TREES_MAX_BYTES).await?;
        let mut edit = Self::default();
        for (directory, object) in directories.into_iter().zip(found) {
            if let Some(object) = object.filter(|object| object.info.kind == "tree") {
                edit.directories.insert(directory, parse(&object.content, object.info.id.len() / 2));
            }
        }
        Ok(edit)
    }

    /// Returns the entry at `path`.
    pub fn get(&self, path: &str) -> Option<&EditEntry> {
        let (directory, name) = split(path);
        self.directories.get(directory)?.get(name.as_bytes())
    }

    /// Sets the entry at `path` and creates the directories above it. Fails if one of these is not a directory, or if
    /// `path` is one.
    pub fn set(&mut self, path: &str, entry: EditEntry) -> Result<(), PathConflict> {
        if self.get(path).is_some_and(EditEntry::is_directory) || self.has_new_directory(path) {
            return Err(PathConflict(path.to_owned()));
        }
        for directory in ancestors(path).filter(|directory| !directory.is_empty()) {
            if self.get(directory).is_some_and(|entry| !entry.is_directory()) {
                return Err(PathConflict(directory.to_owned()));
            }
        }
        self.mark(path);
        let (directory, name) = split(path);
        self.directories.entry(directory.to_owned()).or_default().insert(name.into(), entry);
        Ok(())
    }

    /// Removes the entry at `path`. Directories that become empty are removed when the trees are written.
    pub fn remove(&mut self, path: &str) {
        self.mark(path);
        let (directory, name) = split(path);
        if let Some(entries) = self.directories.get_mut(directory) {
            entries.remove(name.as_bytes());
        }
    }

    /// Returns whether `path` is a directory that this edit has created, because a file is in it or below it.
    fn has_new_directory(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let in_it = self.directories.get(path).into_iter();
        let below_it =
            self.directories.range(below.clone()..).take_while(|(directory, _)| directory.starts_with(&below));
        self.get(path).is_none() && in_it.chain(below_it.map(|(_, entries)| entries)).any(|entries| !entries.is_empty())
    }

    fn mark(&mut self, path: &str) {
        for directory in ancestors(path) {
            self.changed.insert(directory.to_owned());
            self.directories.entry(directory.to_owned()).or_default();
        }
    }

    /// Writes the changed trees and returns the id of the root. Starts one process for each level of directories.
    pub async fn write(mut self, workspace: &Workspace) -> Result<String, GitError> {
        let mut levels = BTreeMap::<usize, Vec<String>>::new();
        for directory in std::mem::take(&mut self.changed).into_iter().filter(|directory| !directory.is_empty()) {
            levels.entry(depth(&directory)).or_default().push(directory);
        }
        while let Some((_, level)) = levels.pop_last() {
            let (full, empty): (Vec<String>, Vec<String>) =
                level.into_iter().partition(|directory| !self.directories[directory].is_empty());
            let trees: Vec<&Entries> = full.iter().map(|directory| &self.directories[directory]).collect();
            let ids = workspace.write_trees(&trees).await?;
            for (directory, id) in full.iter().zip(ids) {
                let (parent, name) = split(directory);
                let entry = EditEntry { mode: DIRECTORY.to_owned(), id };
                self.directories.entry(parent.to_owned()).or_default().insert(name.into(), entry);
            }
            for directory in empty {
                let (parent, name) = split(&directory);
                let entries = self.directories.entry(parent.to_owned()).or_default();
                // A file may have taken the place of the directory.
                if entries.get(name.as_bytes()).is_some_and(EditEntry::is_directory) {
                    entries.remove(name.as_bytes());
                }
            }
        }
        let root = self.directories.remove("").unwrap_or_default();
        let mut ids = workspace.write_trees(&[&root]).await?;
        ids.pop().ok_or_else(|| missing_output("mktree"))
    }
}

/// Returns the number of slashes in the path of a directory.
fn depth(directory: &str) -> usize {
    directory.matches('/').count()
}

fn missing_output(command: &str) -> GitError {
    let source = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, format!("git {command} printed too few ids"));
    GitError::Io { doing: "reading ids", source }
}

fn ids(output: &[u8], expected: usize, command: &str) -> Result<Vec<String>, GitError> {
    let ids: Vec<String> = String::from_utf8_lossy(output).lines().map(str::to_owned).collect();
    if ids.len() == expected { Ok(ids) } else { Err(missing_output(command)) }
}

impl Workspace {
    /// Writes trees and returns their ids, in the same order.
    async fn write_trees(&self, trees: &[&Entries]) -> Result<Vec<String>, GitError> {
        if trees.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = Vec::new();
        for entries in trees {
            for (name, entry) in *entries {
                input.extend_from_slice(format!("{} {} {}\t", entry.mode, entry.kind(), entry.id).as_bytes());
                input.extend_from_slice(name);
                input.push(0);
            }
            input.push(0);
        }
        self.count(input.len())?;
        // The objects of the entries are checked when the commit is published.
        let output = self.run(["mktree", "-z", "--batch", "--missing"], input).await?;
        ids(&output.stdout, trees.len(), "mktree")
    }

    /// Writes blobs and returns their ids, in the same order.
    pub async fn write_blobs(&self, contents: &[&[u8]]) -> Result<Vec<String>, GitError> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = contents.iter().map(|content| content.len() + 64).sum();
        self.count(bytes)?;
        let mut input = Vec::with_capacity(bytes);
        for (number, content) in contents.iter().enumerate() {
            let mark = number + 1;
            let mut head = String::new();
            let _ = write!(head, "blob\nmark :{mark}\ndata {}\n", content.len());
            input.extend_from_slice(head.as_bytes());
            input.extend_from_slice(content);
            input.extend_from_slice(format!("\nget-mark :{mark}\n").as_bytes());
        }
        input.extend_from_slice(b"done\n");
        let output = self.run(["fast-import", "--quiet", "--done"], input).await?;
        ids(&output.stdout, contents.len(), "fast-import")
    }
}

/// Parses the content of a tree object whose ids have `id_bytes` bytes.
fn parse(content: &[u8], id_bytes: usize) -> Entries {
    let mut entries = Entries::new();
    let mut rest = content;
    while let Some(space) = rest.iter().position(|byte| *byte == b' ') {
        let mode = String::from_utf8_lossy(&rest[..space]).into_owned();
        rest = &rest[space + 1..];
        let Some(end) = rest.iter().position(|byte| *byte == 0) else { break };
        let name = rest[..end].to_vec();
        rest = &rest[end + 1..];
        let Some((id, after)) = rest.split_at_checked(id_bytes) else { break };
        rest = after;
        entries.insert(name, EditEntry { mode: format!("{mode:0>6}"), id: hex::encode(id) });
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str) -> EditEntry {
        EditEntry { mode: EditEntry::FILE.into(), id: id.into() }
    }

    fn edit() -> TreeEdit {
        let root = Entries::from([
            (b"a".to_vec(), file("1")),
            (b"src".to_vec(), EditEntry { mode: DIRECTORY.into(), id: "2".into() }),
        ]);
        let src = Entries::from([(b"b".to_vec(), file("3"))]);
        TreeEdit { directories: [(String::new(), root), ("src".to_owned(), src)].into(), changed: BTreeSet::new() }
    }

    #[test]
    fn a_path_is_either_a_file_or_a_directory() {
        let conflict = |path: &str| edit().set(path, file("9")).expect_err(path).0;
        assert_eq!([conflict("src"), conflict("a/x"), conflict("src/b/c/d")], ["src", "a", "src/b"]);
        let mut both = edit();
        both.set("new/file", file("9")).expect("free");
        assert_eq!(both.set("new", file("9")), Err(PathConflict("new".into())));
        assert_eq!(both.set("new/file/x", file("9")), Err(PathConflict("new/file".into())));
        both.set("deep/er/file", file("9")).expect("free");
        assert_eq!(both.set("deep", file("9")), Err(PathConflict("deep".into())));
        both.set("deepest", file("9")).expect("another name");
        both.remove("new/file");
        both.set("new", file("9")).expect("the directory is empty now");
    }

    #[test]
    fn changed_directories_include_all_above_a_path() {
        let mut edit = edit();
        edit.set("src/deep/er/x", file("9")).expect("free");
        assert_eq!(edit.changed, ["", "src", "src/deep", "src/deep/er"].map(String::from).into());
        assert_eq!(edit.get("src/deep/er/x"), Some(&file("9")));
        assert_eq!(edit.get("src/b"), Some(&file("3")));
        assert_eq!(edit.get("nothing/there"), None);
    }

    #[test]
    fn the_content_of_a_tree_is_parsed() {
        let content = [b"40000 src\0".as_slice(), &[0xab; 20], b"100755 \xff x\0", &[0xcd; 20]].concat();
        let entries = parse(&content, 20);
        assert_eq!(entries[b"src".as_slice()], EditEntry { mode: DIRECTORY.into(), id: "ab".repeat(20) });
        assert_eq!(entries[b"\xff x".as_slice()], EditEntry { mode: "100755".into(), id: "cd".repeat(20) });
        assert_eq!(parse(b"40000 cut\0abc", 20), Entries::new());
    }
}
