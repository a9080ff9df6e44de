//! The files of packs that were dropped from the manifest of a repository.
//!
//! First a dropped pack is hidden: its index is removed, so processes that begin later do not find the pack. Processes
//! that began before keep the index open and may still open the pack, or list the packs again when they miss the
//! index. When they have ended, the other files are removed.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::Path,
    time::SystemTime,
};

use super::{Git, GitError, RepositoryLock, multi_pack_index, repository::sync_dir};
use crate::tasks;

/// Ends of the names of files that processes which have opened the pack do not need: its index, and the times in a
/// cruft pack.
const HIDDEN: [&str; 2] = ["idx", "mtimes"];
/// Ends of the names of the other files of a pack. The pack is last: the others are useless without it.
const OTHERS: [&str; 3] = ["rev", "bitmap", "pack"];

impl Git {
    /// Hides packs, for processes that begin later. The multi-pack index is removed if it names one of them.
    ///
    /// The caller has committed the transaction that drops the packs, and no backup needs them.
    pub async fn hide_packs(
        &self,
        repository: u64,
        names: BTreeSet<String>,
        _lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        self.remove_dropped(repository, names, hide).await
    }

    /// Like [`Git::hide_packs`]. Afterwards, the packs stay hidden also after a power cut.
    pub async fn hide_packs_durably(
        &self,
        repository: u64,
        names: BTreeSet<String>,
        _lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        self.remove_dropped(repository, names, |packs, names| {
            hide(packs, names)?;
            sync_existing(packs)
        })
        .await
    }

    /// Removes the files of packs. The conditions are those of [`Git::hide_packs`].
    pub async fn remove_packs(
        &self,
        repository: u64,
        names: BTreeSet<String>,
        _lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        self.remove_dropped(repository, names, remove).await
    }

    pub(super) async fn remove_dropped(
        &self,
        repository: u64,
        names: BTreeSet<String>,
        remove: fn(&Path, &BTreeSet<String>) -> io::Result<()>,
    ) -> Result<(), GitError> {
        if names.is_empty() {
            return Ok(());
        }
        self.forget_installed(repository, &names);
        // Also after an error: some may be hidden.
        let _closed = self.close_packs_at_end(repository);
        let _changed = self.0.generations.raise_at_end(repository);
        let packs = self.directory(repository).join("objects").join("pack");
        let removed = tasks::blocking(move || remove(&packs, &names)).await;
        removed.map_err(GitError::io("removing packs of a repository"))
    }
}

/// Removes the indexes of packs. The time of each pack is then that at which it was hidden.
pub(super) fn hide(packs: &Path, names: &BTreeSet<String>) -> io::Result<()> {
    for name in names {
        note_hidden(packs, name)?;
    }
    if multi_pack_index::names_any(packs, names)? {
        multi_pack_index::remove(packs)?;
    }
    remove_all(packs, names, &HIDDEN)
}

pub(super) fn remove(packs: &Path, names: &BTreeSet<String>) -> io::Result<()> {
    hide(packs, names)?;
    remove_all(packs, names, &OTHERS)?;
    sync_existing(packs)
}

/// Removes the files with these names and ends that exist.
fn remove_all(packs: &Path, names: &BTreeSet<String>, ends: &[&str]) -> io::Result<()> {
    for name in names {
        for end in ends {
            match fs::remove_file(packs.join(format!("{name}.{end}"))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Sets the time of a pack that has an index to now.
fn note_hidden(packs: &Path, name: &str) -> io::Result<()> {
    if !packs.join(format!("{name}.idx")).try_exists()? {
        return Ok(());
    }
    #[expect(clippy::disallowed_methods, reason = "compared with times of files")]
    let now = SystemTime::now();
    match File::open(packs.join(format!("{name}.pack"))) {
        Ok(pack) => pack.set_modified(now),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Syncs a directory. The directory of a repository that was deleted does not exist any more.
fn sync_existing(packs: &Path) -> io::Result<()> {
    match sync_dir(packs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::git;

    const ID: u64 = 1;

    fn files(packs: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(packs).expect("a directory").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[tokio::test]
    async fn a_hidden_pack_keeps_its_other_files_and_a_multi_pack_index_that_names_it_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        git.init_bare(ID, "main", false).await.expect("created");
        for text in ["a", "b"] {
            let stream = format!("blob\ndata 1\n{text}\nblob\ndata 2\n{text}2\ndone\n");
            let import = git.call(ID, ["fast-import", "--quiet", "--done"]).config("fastimport.unpackLimit", "1");
            import.stdin(stream).run().await.expect("a pack");
        }
        let packs = git.directory(ID).join("objects/pack");
        let names: Vec<String> =
            files(&packs).iter().filter_map(|name| Some(name.strip_suffix(".pack")?.to_owned())).collect();
        let [first, second] = <[String; 2]>::try_from(names).expect("two packs");
        let write = async |names: &[&String]| {
            let lines: String = names.iter().flat_map(|name| [name.as_str(), ".idx\n"]).collect();
            let index = ["multi-pack-index", "write", "--stdin-packs", "--no-progress"];
            git.run(ID, index, lines).await.expect("written");
        };
        let lock = git.lock(ID).await;
        let hidden = || BTreeSet::from([first.clone()]);
        write(&[&second]).await;
        assert!(!multi_pack_index::names_any(&packs, &hidden()).expect("read"));
        assert!(multi_pack_index::names_any(&packs, &BTreeSet::from([second.clone()])).expect("read"));
        write(&[&first, &second]).await;
        git.hide_packs(ID, hidden(), &lock).await.expect("hidden");
        let left = files(&packs);
        assert!(!left.contains(multi_pack_index::FILE) && !left.contains(&format!("{first}.idx")), "{left:?}");
        assert!(left.contains(&format!("{first}.pack")) && left.contains(&format!("{second}.idx")), "{left:?}");
        git.remove_packs(ID, hidden(), &lock).await.expect("removed");
        git.remove_packs(ID, hidden(), &lock).await.expect("nothing is left");
        let left = files(&packs);
        assert!(!left.iter().any(|name| name.starts_with(&first)), "{left:?}");
        fs::write(packs.join(multi_pack_index::FILE), "not an index").expect("a file");
        assert!(multi_pack_index::names_any(&packs, &hidden()).expect("read"), "unknown content");
    }
}
