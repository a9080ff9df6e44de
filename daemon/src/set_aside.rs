//! Moves data out of use without deleting it.
//!
//! The daemon sets data aside when no row of the store refers to it. The data is renamed, on the same file system, to
//! `set-aside/<date>/` in the data directory:
//!
//! | data | target below `set-aside/<YYYY-MM-DD>/` |
//! |---|---|
//! | directory of a repository | `repositories/<id>.git` |
//! | blocks of an artifact | `artifacts/<artifact>/<generation>` |
//! | a replaced store file | `store/<file name>` |
//!
//! Nothing is overwritten: if the target exists, the name gets the suffix `-2`, `-3` and so on. This module has no
//! knowledge of ids and rows; `git` and `blob` map ids to directories.

mod inventory;

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{CWD, RenameFlags},
    io::Errno,
};

pub use self::inventory::{ItemKind, SetAsideEntry};
use crate::{clock::Clock, tasks};

/// Name of the directory for data that was set aside, in the data directory.
pub const DIRECTORY: &str = "set-aside";
/// Maximum number of targets with the same name per day. More would mean that a bug sets the same data aside in a loop.
const SAME_NAME_MAX: u32 = 10_000;

/// Moves directories and files of one data directory to `set-aside/<date>/`. Clones are cheap.
#[derive(Clone, Debug)]
pub struct SetAside {
    root: PathBuf,
    clock: Clock,
    last_listing: Arc<inventory::LastListing>,
}

impl SetAside {
    /// Creates a value for the data directory `data_dir`. `clock` provides the date (UTC). Creates no directory.
    pub fn new(data_dir: &Path, clock: Clock) -> Self {
        Self { root: data_dir.join(DIRECTORY), clock, last_listing: Arc::default() }
    }

    /// Returns the directory that contains one directory per date.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Moves `from` to `<today>/<target>` and returns the new path, or `None` if `from` does not exist.
    ///
    /// The move survives a power failure once this returns. If `from` is on another file system than the data
    /// directory, this fails and `from` is not moved.
    pub async fn take(&self, from: PathBuf, target: PathBuf) -> io::Result<Option<PathBuf>> {
        let target = self.root.join(self.today()).join(target);
        tasks::blocking(move || take(&from, &target)).await
    }

    /// Returns today's date (UTC) as `YYYY-MM-DD`, the name of the directory that [`SetAside::take`] uses.
    pub fn today(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.clock.now_ms()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        now.strftime("%Y-%m-%d").to_string()
    }
}

fn take(from: &Path, target: &Path) -> io::Result<Option<PathBuf>> {
    match from.symlink_metadata() {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let directory = parent(target);
    create_dirs(directory)?;
    for number in 1..=SAME_NAME_MAX {
        let path = numbered(target, number);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match rename_new(from, &path) {
            Ok(()) => {
                sync(directory)?;
                sync(parent(from))?;
                return Ok(Some(path));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists {SAME_NAME_MAX} times", target.display())))
}

/// Returns `path` with the suffix `-<number>`, or unchanged for number 1.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    path.with_file_name(name)
}

/// Renames `from` to `to`, which must not exist.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // The file system does not support renaming without replacing. The caller has checked that `to` does not exist,
        // and only one process at a time sets data aside.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        Err(error) => Err(error.into()),
    }
}

/// Creates `path` and its parents for the daemon's user only, and syncs each new entry.
fn create_dirs(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    create_dirs(parent(path))?;
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync(parent(path)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const DAY_MS: i64 = 86_400_000;

    fn data() -> (tempfile::TempDir, SetAside, Clock) {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = Clock::manual(20_000 * DAY_MS);
        let aside = SetAside::new(dir.path(), clock.clone());
        (dir, aside, clock)
    }

    #[tokio::test]
    async fn a_directory_moves_with_its_content_below_the_date() {
        let (dir, aside, clock) = data();
        let from = dir.path().join("repositories/7.git");
        for day in ["2024-10-04", "2024-10-05"] {
            fs::create_dir_all(from.join("refs")).expect("created");
            fs::write(from.join("HEAD"), day).expect("written");
            let to = aside.take(from.clone(), "repositories/7.git".into()).await.expect("moved").expect("a new path");
            assert_eq!(to, dir.path().join("set-aside").join(day).join("repositories/7.git"));
            assert_eq!(fs::read_to_string(to.join("HEAD")).expect("a file"), day);
            assert!(!from.exists());
            let mode = dir.path().join("set-aside").metadata().expect("created").permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
            clock.advance_ms(DAY_MS);
        }
    }

    #[tokio::test]
    async fn data_that_was_set_aside_earlier_is_not_overwritten() {
        let (dir, aside, _) = data();
        let from = dir.path().join("farrier.redb");
        for (text, name) in [("a", "farrier.redb"), ("b", "farrier.redb-2"), ("c", "farrier.redb-3")] {
            fs::write(&from, text).expect("written");
            let to = aside.take(from.clone(), "store/farrier.redb".into()).await.expect("moved").expect("a new path");
            assert_eq!(
                (to.file_name(), fs::read_to_string(&to).expect("kept")),
                (Some(name.as_ref()), text.to_owned())
            );
        }
        let first = aside.root().join(aside.today()).join("store/farrier.redb");
        assert_eq!(fs::read_to_string(first).expect("kept"), "a");
    }

    #[tokio::test]
    async fn a_path_that_does_not_exist_creates_nothing() {
        let (dir, aside, _) = data();
        let missing =
            aside.take(dir.path().join("artifacts/1/1"), "artifacts/1/1".into()).await.expect("nothing to do");
        assert_eq!(missing, None);
        assert!(!aside.root().exists());
    }
}
