//! Directories of repositories: made beside their place and renamed into it, removed the other
//! way round. A directory under its final name is whole.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::{Git, GitError};
use crate::{model::secret, tasks};

/// Begin of the names of directories that are being made.
pub(super) const NEW: &str = "new-";
/// Begin of the names of directories that are being deleted.
const TRASH: &str = "trash-";

impl Git {
    /// Makes an empty bare repository whose `HEAD` names `default_branch`. The number must never
    /// have had a repository.
    pub async fn init_bare(&self, repository: u64, default_branch: &str, sha256: bool) -> Result<(), GitError> {
        let format = if sha256 { "sha256" } else { "sha1" };
        let staging = self.staging(NEW, repository);
        let made = self
            .call(repository, ["init", "--bare", "--quiet", "--template="])
            .args([format!("--object-format={format}"), format!("--initial-branch={default_branch}")])
            .env("GIT_DIR", &staging)
            .config("safe.directory", &staging)
            .run()
            .await;
        let target = self.directory(repository);
        let placed = tasks::blocking(move || {
            let result = made.and_then(|_| place(&staging, &target).map_err(GitError::io("placing a repository")));
            if result.is_err() {
                let _ = fs::remove_dir_all(&staging);
            }
            result
        });
        placed.await
    }

    /// Removes a repository; one that is not there is removed already.
    pub async fn remove(&self, repository: u64) -> Result<(), GitError> {
        let (from, to) = (self.directory(repository), self.staging(TRASH, repository));
        let removed = tasks::blocking(move || {
            match fs::rename(&from, &to) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            }
            sync_dir(from.parent().unwrap_or(&from))?;
            fs::remove_dir_all(&to)
        });
        removed.await.map_err(GitError::io("removing a repository"))
    }

    /// Makes `HEAD` name `branch`, as git itself would: through the lock beside it.
    pub async fn set_head(&self, repository: u64, branch: &str) -> Result<(), GitError> {
        let head = self.directory(repository).join("HEAD");
        let text = format!("ref: refs/heads/{branch}\n");
        tasks::blocking(move || replace(&head, text.as_bytes())).await.map_err(GitError::io("setting HEAD"))
    }

    pub(super) fn staging(&self, kind: &str, repository: u64) -> PathBuf {
        let unique = hex::encode(secret::random_bytes::<4>());
        self.0.root.join(format!("{kind}{repository}-{unique}"))
    }
}

/// What lies below the root of repositories.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Numbers of the repositories.
    pub(super) whole: Vec<u64>,
    /// Directories that are half made or half deleted.
    pub(super) partial: Vec<PathBuf>,
}

/// Lists what is there.
pub(super) fn list(root: &Path) -> io::Result<Listed> {
    let mut listed = Listed::default();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(NEW) || name.starts_with(TRASH) {
            listed.partial.push(entry.path());
        } else if let Some(id) = name.strip_suffix(".git").and_then(|id| id.parse().ok()) {
            listed.whole.push(id);
        }
    }
    Ok(listed)
}

/// Removes directories that were half made or half deleted, and returns the numbers of the repositories.
///
/// A git process that outlived a killed daemon may still write into such a directory. One that cannot be removed
/// is left for the next start: it must not keep the daemon from starting.
pub(super) fn scan(root: &Path) -> io::Result<Vec<u64>> {
    let listed = list(root)?;
    for partial in listed.partial {
        if let Err(error) = fs::remove_dir_all(&partial) {
            tracing::warn!(path = %partial.display(), %error, "an unfinished directory was not removed; the next start tries again");
        }
    }
    Ok(listed.whole)
}

/// Renames a finished directory into its place. The files in it are synced first.
pub(super) fn place(staging: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(staging)? {
        File::open(entry?.path())?.sync_all()?;
    }
    sync_dir(staging)?;
    if target.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a repository already"));
    }
    fs::rename(staging, target)?;
    sync_dir(target.parent().unwrap_or(target))
}

/// Replaces a file of a repository under the lock that git takes for it.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let lock = path.with_extension("lock");
    let mut file = File::create_new(&lock)?;
    let written = file.write_all(content).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&lock, path));
    if written.is_err() {
        let _ = fs::remove_file(&lock);
    }
    written?;
    sync_dir(path.parent().unwrap_or(path))
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes a repository without a commit at `path`, unless it is there.
pub(super) fn make_nothing(path: &Path) -> io::Result<()> {
    for part in ["objects", "refs"] {
        make_dir(&path.join(part))?;
    }
    // What git takes a directory with these for a repository by.
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n")
}

/// Makes a directory for the daemon's user alone.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
