//! Reads the current values of refs, and removes lock files that stopped processes left.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Git, GitError, RepositoryLock,
    ref_name::{is_object_id, is_valid},
    stale_locks::{LOCK_FILES, locks_of_refs},
};
use crate::tasks;

/// Output limit for a list of all branches and tags, bytes.
const LIST_MAX_BYTES: usize = 64 << 20;

impl Git {
    /// Returns the object id of each of `names`; `None` if the ref does not exist.
    ///
    /// Reads the files directly, because starting a process takes longer than a whole small push. Cases that it
    /// does not support are left to git.
    pub async fn tips(&self, repository: u64, names: Vec<String>) -> Result<Vec<Option<String>>, GitError> {
        let directory = self.directory(repository);
        let requested = names.clone();
        let read = tasks::blocking(move || read_tips(&directory, &requested)).await;
        if let Some(tips) = read.map_err(GitError::io("reading refs"))? {
            return Ok(tips);
        }
        let all: HashMap<String, String> = self.all_tips(repository).await?.into_iter().collect();
        Ok(names.iter().map(|name| all.get(name).cloned()).collect())
    }

    /// Returns all branches and tags with their object ids.
    pub async fn all_tips(&self, repository: u64) -> Result<Vec<(String, String)>, GitError> {
        let call = self.call(repository, ["for-each-ref", "--format=%(objectname) %(refname)"]);
        let output = call.args(["refs/heads/", "refs/tags/"]).output_max_bytes(LIST_MAX_BYTES).run().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
    }

    /// Returns the quarantine directories of pushes that were not completed.
    pub async fn quarantines(&self, repository: u64) -> Result<Vec<PathBuf>, GitError> {
        let objects = self.directory(repository).join("objects");
        tasks::blocking(move || find_quarantines(&objects)).await.map_err(GitError::io("looking for unfinished pushes"))
    }

    /// Removes what processes that died with an earlier daemon left: lock files, and `quarantines`, which
    /// [`Git::quarantines`] listed before this daemon served its first push. Pushes of this daemon may have
    /// created other quarantine directories since; these are not removed.
    ///
    /// The caller holds the repository's lock, so nothing else updates refs or packs them.
    pub async fn clean(
        &self,
        repository: u64,
        quarantines: Vec<PathBuf>,
        _lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        let directory = self.directory(repository);
        let remove = move || remove_leftovers(&directory, &quarantines);
        tasks::blocking(remove).await.map_err(GitError::io("removing leftovers"))
    }
}

/// Reads refs from their files. Returns `Ok(None)` for cases that only git supports.
fn read_tips(directory: &Path, names: &[String]) -> io::Result<Option<Vec<Option<String>>>> {
    let mut tips = Vec::with_capacity(names.len());
    let mut packed: Option<HashMap<String, String>> = None;
    for name in names {
        if !is_valid(name) {
            tips.push(None);
            continue;
        }
        match fs::read_to_string(directory.join(name)) {
            Ok(text) if is_object_id(text.trim_end()) => {
                tips.push(Some(text.trim_end().to_owned()));
                continue;
            }
            Ok(_) => return Ok(None),
            // A directory, or a prefix of the name is a file: the loose ref does not exist.
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
        if packed.is_none() {
            packed = Some(read_packed(directory)?);
        }
        tips.push(packed.as_ref().and_then(|packed| packed.get(name).cloned()));
    }
    Ok(Some(tips))
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | IsADirectory | NotADirectory)
}

fn read_packed(directory: &Path) -> io::Result<HashMap<String, String>> {
    let bytes = match fs::read(directory.join("packed-refs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        bytes => bytes?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.lines().filter_map(|line| line.split_once(' ')).filter(|(id, _)| is_object_id(id));
    Ok(pairs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
}

fn find_quarantines(objects: &Path) -> io::Result<Vec<PathBuf>> {
    let all = match entries(objects) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        all => all?,
    };
    let is_quarantine =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp_objdir-"));
    Ok(all.into_iter().filter(is_quarantine).collect())
}

fn remove_leftovers(directory: &Path, quarantines: &[PathBuf]) -> io::Result<()> {
    for lock in LOCK_FILES.iter().map(|file| directory.join(file)).chain(locks_of_refs(directory)?) {
        ignore_missing(fs::remove_file(lock))?;
    }
    for quarantine in quarantines {
        ignore_missing(fs::remove_dir_all(quarantine))?;
    }
    Ok(())
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_refs_override_packed_refs_and_symbolic_refs_are_left_to_git() {
        let dir = tempfile::tempdir().expect("a directory");
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        file("refs/heads/loose", &format!("{one}\n"));
        file("refs/heads/dir/below", &format!("{one}\n"));
        let packed = format!("# pack-refs with: peeled\n{two} refs/heads/loose\n{two} refs/tags/v1\n^{one}\n");
        file("packed-refs", &packed);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let requested =
            names(&["refs/heads/loose", "refs/tags/v1", "refs/heads/dir", "refs/heads/loose/x", "refs/../packed-refs"]);
        let tips = read_tips(dir.path(), &requested).expect("readable");
        assert_eq!(tips, Some(vec![Some(one), Some(two), None, None, None]));
        file("refs/heads/symbolic", "ref: refs/heads/loose\n");
        assert_eq!(read_tips(dir.path(), &names(&["refs/heads/symbolic"])).expect("readable"), None);

        file("refs/heads/a/b.lock", "");
        file("objects/tmp_objdir-incoming-x/pack/tmp", "");
        file("HEAD.lock", "");
        let found = find_quarantines(&dir.path().join("objects")).expect("readable");
        remove_leftovers(dir.path(), &found).expect("removed");
        assert!(!dir.path().join("refs/heads/a/b.lock").exists() && !dir.path().join("HEAD.lock").exists());
        assert!(entries(&dir.path().join("objects")).expect("a directory").is_empty());
    }

    #[test]
    fn objects_of_a_push_that_began_after_the_start_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let objects = dir.path().join("objects");
        assert_eq!(find_quarantines(&objects).expect("no directory"), [] as [PathBuf; 0]);
        fs::create_dir_all(objects.join("tmp_objdir-incoming-old/pack")).expect("a directory");
        fs::create_dir_all(objects.join("pack")).expect("a directory");
        fs::create_dir_all(dir.path().join("refs")).expect("a directory");
        let at_start = find_quarantines(&objects).expect("readable");
        let live = objects.join("tmp_objdir-incoming-live");
        fs::create_dir_all(live.join("pack")).expect("a directory");
        remove_leftovers(dir.path(), &at_start).expect("removed");
        assert_eq!((at_start.len(), find_quarantines(&objects).expect("readable")), (1, vec![live]));
        assert!(objects.join("pack").exists());
    }
}
