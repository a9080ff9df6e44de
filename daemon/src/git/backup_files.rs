//! Lists the files of a repository for a backup.
//!
//! Refs and `HEAD` come from the rows of the backup's snapshot ([`files_of_refs`]). Files of objects never change and
//! are only named: a hold of [`Git::removals`] keeps them until they were copied. They are listed after the snapshot,
//! and an object is on disk before a row names it, so the copy has every object that its refs reach, also while clients
//! push.
//!
//! A repository whose packs are in a bucket has the files of an empty one ([`Git::files_of_new`]), its refs and its
//! packs: its directory is a copy, which may be missing.
//!
//! In a repository of an earlier release that was not adopted yet, the files of refs decide. They are read while the
//! lock of the repository is held.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    EMPTY_REPOSITORY, Git, GitError, RepositoryLock,
    copy_file::COPY_FILE,
    fork::{ALTERNATES, is_unfinished},
    packed_refs,
    repository::NEW,
};
use crate::tasks;

/// Directory of the files of objects.
const OBJECTS: &str = "objects";
/// Directory of files about the repository, which the daemon writes.
const INFO: &str = "info";
/// End of the names of lock files. Git allows no ref with it.
const LOCK: &str = ".lock";
/// Directory of files that git derives from the objects, such as the commit graph. Git creates them again.
const DERIVED: &str = "info";
/// The files and the directory with `HEAD` and the refs of a repository.
const REFS: [&str; 3] = ["HEAD", packed_refs::FILE, "refs"];
/// Starts of the names of indexes over several packs. Git creates them again.
const MULTI_PACK_INDEX: &str = "multi-pack-index";

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFile {
    /// Path below the directory of the repository.
    pub path: PathBuf,
    /// The content. `None`: the file never changes and is to be read later.
    pub content: Option<Vec<u8>>,
}

impl Git {
    /// Returns the files of a repository that a backup needs; `None` if it has no directory. `with_refs`: including
    /// `HEAD` and the files of refs. The caller holds removals until it has read the files of objects.
    pub async fn files_for_backup(
        &self,
        repository: u64,
        with_refs: bool,
        _lock: &RepositoryLock,
    ) -> Result<Option<Vec<RepositoryFile>>, GitError> {
        let directory = self.directory(repository);
        let list = move || -> io::Result<Option<Vec<RepositoryFile>>> {
            if !directory.try_exists()? {
                return Ok(None);
            }
            let mut files = Vec::new();
            add_files(&directory, Path::new(""), with_refs, &mut files)?;
            Ok(Some(files))
        };
        tasks::blocking(list).await.map_err(GitError::io("listing the files of a repository"))
    }

    /// Returns the files of an empty repository without `HEAD` and refs, as git creates them now. `below`: a directory
    /// of the caller.
    pub async fn files_of_new(&self, sha256: bool, below: &Path) -> Result<Vec<RepositoryFile>, GitError> {
        let directory = below.join(if sha256 { "empty-sha256.git" } else { "empty-sha1.git" });
        self.init_at(EMPTY_REPOSITORY, &directory, "main", sha256).await?;
        let read = move || {
            let mut files = Vec::new();
            add_files(&directory, Path::new(""), false, &mut files)?;
            // It was created above.
            fs::remove_dir_all(&directory)?;
            Ok(files)
        };
        tasks::blocking(read).await.map_err(GitError::io("reading the files of an empty repository"))
    }
}

/// Returns `HEAD` and the file of refs of a repository. `refs`: name, object id, and the object to which a tag object
/// leads, sorted by name.
pub fn files_of_refs(
    default_branch: &str,
    refs: impl IntoIterator<Item = (String, String, Option<String>)>,
) -> [RepositoryFile; 2] {
    let mut packed = packed_refs::HEADER.to_owned();
    for (name, id, peeled) in refs {
        packed.push_str(&packed_refs::lines(&name, &id, peeled.as_deref()));
    }
    let head = format!("ref: refs/heads/{default_branch}\n");
    [("HEAD", head), (packed_refs::FILE, packed)]
        .map(|(path, text)| RepositoryFile { path: path.into(), content: Some(text.into_bytes()) })
}

/// Returns the branches and tags in `files` with their object ids. Reads only the files, so a busy daemon needs no
/// process for it. A symbolic ref has its text instead of an id.
pub fn tips_in(files: &[RepositoryFile]) -> BTreeMap<String, String> {
    let is_recorded = |name: &str| name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
    let mut tips = BTreeMap::new();
    let contents = || files.iter().filter_map(|file| Some((file.path.to_str()?, file.content.as_deref()?)));
    for (_, content) in contents().filter(|(path, _)| *path == packed_refs::FILE) {
        let text = String::from_utf8_lossy(content);
        // Lines with `#` describe the file, and lines with `^` the object of the tag before.
        let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
        let named = lines.filter_map(|line| line.split_once(' ')).filter(|(_, name)| is_recorded(name));
        tips.extend(named.map(|(id, name)| (name.to_owned(), id.to_owned())));
    }
    // A file of its own is newer than a line of the common file.
    for (path, content) in contents().filter(|(path, _)| is_recorded(path)) {
        tips.insert(path.to_owned(), String::from_utf8_lossy(content).trim_end().to_owned());
    }
    tips
}

/// Adds the files in the directory `below`, a path from `root`. The file that says which rows the files of refs follow
/// is left out, because it belongs to this directory only, and so is a list of refs that is not complete.
fn add_files(root: &Path, below: &Path, with_refs: bool, files: &mut Vec<RepositoryFile>) -> io::Result<()> {
    let (top, in_objects) = (below == Path::new(OBJECTS), below.starts_with(OBJECTS));
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let path = below.join(&name);
        let is_directory = entry.file_type()?.is_dir();
        // Names of refs may look like those of unfinished files of objects, but never end like locks.
        let is_left_out = if in_objects {
            is_unfinished(&text)
        } else {
            text.ends_with(LOCK) || (below == Path::new(INFO) && text.starts_with(NEW))
        };
        let is_ref = below == Path::new("") && REFS.contains(&&*text);
        let is_of_directory = below == Path::new("") && [COPY_FILE, packed_refs::NEW].contains(&&*text);
        if is_left_out || is_of_directory || (is_ref && !with_refs) {
            continue;
        }
        if is_directory {
            if top && text == DERIVED {
                refuse_alternates(&entry.path())?;
                continue;
            }
            add_files(root, &path, with_refs, files)?;
        } else if !in_objects {
            files.push(RepositoryFile { content: Some(fs::read(entry.path())?), path });
        } else if !text.starts_with(MULTI_PACK_INDEX) {
            files.push(RepositoryFile { path, content: None });
        }
    }
    Ok(())
}

/// Fails if a repository uses the objects of another one, which the daemon never sets up: the copy would lack them.
fn refuse_alternates(info: &Path) -> io::Result<()> {
    if info.join(ALTERNATES).try_exists()? {
        return Err(io::Error::other("the repository uses the objects of another repository"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tips_are_those_of_the_files_of_refs() {
        let file = |path: &str, content: &str| RepositoryFile { path: path.into(), content: Some(content.into()) };
        let packed =
            "# pack-refs with: peeled\n1a refs/heads/main\n2b refs/heads/old\n3c refs/tags/v1\n^4d\n5e refs/x/y\n";
        let files = [
            file("packed-refs", packed),
            file("refs/heads/main", "6f\n"),
            file("refs/x/z", "7a\n"),
            file("HEAD", "ref: refs/heads/main\n"),
            RepositoryFile { path: "objects/ab/cd".into(), content: None },
        ];
        let tips = tips_in(&files);
        let tips: Vec<_> = tips.iter().map(|(name, id)| (name.as_str(), id.as_str())).collect();
        assert_eq!(tips, [("refs/heads/main", "6f"), ("refs/heads/old", "2b"), ("refs/tags/v1", "3c")]);
    }

    #[test]
    fn refs_of_rows_are_written_as_git_packs_them() {
        let row =
            |name: &str, id: &str, peeled: Option<&str>| (name.to_owned(), id.to_owned(), peeled.map(str::to_owned));
        let rows = [row("refs/heads/main", "1a", None), row("refs/tags/v1", "2b", Some("1a"))];
        let [head, packed] = files_of_refs("main", rows);
        let text = |file: &RepositoryFile| String::from_utf8(file.content.clone().expect("content")).expect("text");
        assert_eq!((head.path.to_str(), text(&head).as_str()), (Some("HEAD"), "ref: refs/heads/main\n"));
        let lines = "1a refs/heads/main\n2b refs/tags/v1\n^1a\n";
        assert_eq!(packed.path.to_str(), Some("packed-refs"));
        assert_eq!(text(&packed), format!("{}{lines}", packed_refs::HEADER));
        let tips: Vec<(String, String)> = tips_in(&[head, packed]).into_iter().collect();
        let tip = |name: &str, id: &str| (name.to_owned(), id.to_owned());
        assert_eq!(tips, [tip("refs/heads/main", "1a"), tip("refs/tags/v1", "2b")]);
    }

    #[test]
    fn refs_are_read_and_files_of_objects_are_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "x").expect("a file");
        };
        let refs = ["refs/heads/a.keep", "refs/heads/main", "refs/heads/new-x", "refs/heads/tmp_x"];
        let read = [&["HEAD", "config", "info/attributes", "packed-refs"][..], &refs].concat();
        let named = ["objects/ab/cd", "objects/pack/pack-1.pack", "objects/pack/pack-1.idx"];
        let left_out = [
            "farrier-copy",
            "HEAD.lock",
            "packed-refs.new",
            "refs/heads/main.lock",
            "info/new-7-ab",
            "objects/info/commit-graph",
            "objects/pack/multi-pack-index",
            "objects/pack/multi-pack-index-1.bitmap",
            "objects/pack/tmp_pack_x",
            "objects/pack/pack-1.keep",
            "objects/tmp_objdir-incoming-x/ab/cd",
        ];
        for path in read.iter().chain(&named).chain(&left_out) {
            write(path);
        }
        let mut files = Vec::new();
        add_files(dir.path(), Path::new(""), true, &mut files).expect("listed");
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let paths = |with: bool| -> Vec<&str> {
            let chosen = files.iter().filter(|file| file.content.is_some() == with);
            chosen.map(|file| file.path.to_str().expect("text")).collect()
        };
        assert_eq!(paths(true), read);
        assert_eq!(paths(false), ["objects/ab/cd", "objects/pack/pack-1.idx", "objects/pack/pack-1.pack"]);
        let mut without_refs = Vec::new();
        add_files(dir.path(), Path::new(""), false, &mut without_refs).expect("listed");
        let mut paths: Vec<_> = without_refs.iter().filter_map(|file| file.path.to_str()).collect();
        paths.sort_unstable();
        let mut expected = [&["config", "info/attributes"], &named[..]].concat();
        expected.sort_unstable();
        assert_eq!(paths, expected);
        write("objects/info/alternates");
        let listed = add_files(dir.path(), Path::new(""), true, &mut Vec::new());
        assert!(listed.is_err(), "objects of another repository");
    }
}
