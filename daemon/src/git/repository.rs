//! Creates and removes repository directories. A new directory is completed under a temporary name and then
//! renamed; a removed directory is renamed first. A directory with its final name is therefore always complete.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::{Git, GitError};
use crate::{model::secret, tasks};

/// Prefix of the names of directories that are being created.
pub(super) const NEW: &str = "new-";
/// The content of `info/attributes`.
const ATTRIBUTES: &[u8] = b"* -export-subst\n";
/// Prefix of the names of directories that are being deleted.
pub(super) const TRASH: &str = "trash-";

impl Git {
    /// Creates an empty bare repository whose `HEAD` names `default_branch`. The number must never have been
    /// used before.
    pub async fn init_bare(&self, repository: u64, default_branch: &str, sha256: bool) -> Result<(), GitError> {
        let staging = self.staging(NEW, repository);
        let created = self.init_at(repository, &staging, default_branch, sha256).await;
        let target = self.directory(repository);
        let published = tasks::blocking(move || {
            let result = created.and_then(|()| {
                rename_into_place(&staging, &target).map_err(GitError::io("moving a repository to its directory"))
            });
            if result.is_err() {
                let _ = fs::remove_dir_all(&staging);
            }
            result
        });
        published.await
    }

    /// Creates an empty bare repository at `path`.
    pub(super) async fn init_at(
        &self,
        repository: u64,
        path: &Path,
        default_branch: &str,
        sha256: bool,
    ) -> Result<(), GitError> {
        let format = if sha256 { "sha256" } else { "sha1" };
        let call = self.call(repository, ["init", "--bare", "--quiet", "--template="]);
        let call = call.args([format!("--object-format={format}"), format!("--initial-branch={default_branch}")]);
        call.env("GIT_DIR", path).config("safe.directory", path).run().await.map(drop)
    }

    /// Deletes a repository. Succeeds if it does not exist.
    pub async fn remove(&self, repository: u64) -> Result<(), GitError> {
        let (from, to) = (self.directory(repository), self.staging(TRASH, repository));
        let _closed = self.close_packs_at_end(repository);
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

    /// Sets `HEAD` to `branch`. Takes `HEAD.lock` as git does.
    pub async fn set_head(&self, repository: u64, branch: &str) -> Result<(), GitError> {
        let head = self.directory(repository).join("HEAD");
        let text = format!("ref: refs/heads/{branch}\n");
        tasks::blocking(move || replace(&head, text.as_bytes())).await.map_err(GitError::io("setting HEAD"))
    }

    /// Turns off the attribute `export-subst` for all paths of a repository.
    ///
    /// With this attribute, which a pushed `.gitattributes` file can set, `git archive` expands placeholders in files.
    /// Some of them verify the commit's signature, for which git starts gpg or gpgsm, and these programs contact
    /// addresses that the signature names. `info/attributes` takes precedence over the attributes of a commit.
    pub async fn disable_export_subst(&self, repository: u64) -> Result<(), GitError> {
        let directory = self.directory(repository).join("info");
        let (path, staging) = (directory.join("attributes"), directory.join(unique_name(NEW, repository)));
        let written = tasks::blocking(move || {
            // A file that is damaged or left incomplete by a power failure is written again.
            if fs::read(&path).is_ok_and(|content| content == ATTRIBUTES) {
                return Ok(());
            }
            fs::create_dir_all(&directory)?;
            fs::write(&staging, ATTRIBUTES)?;
            fs::rename(&staging, &path)
        });
        written.await.map_err(GitError::io("writing info/attributes"))
    }

    pub(super) fn staging(&self, kind: &str, repository: u64) -> PathBuf {
        self.0.root.join(unique_name(kind, repository))
    }
}

fn unique_name(kind: &str, repository: u64) -> String {
    format!("{kind}{repository}-{}", hex::encode(secret::random_bytes::<4>()))
}

/// The directories below the root of repositories.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Numbers of the complete repositories.
    pub(super) complete: Vec<u64>,
    /// Directories whose creation or deletion was interrupted.
    pub(super) partial: Vec<PathBuf>,
}

/// Lists the directories below `root`.
pub(super) fn list(root: &Path) -> io::Result<Listed> {
    let mut listed = Listed::default();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(NEW) || name.starts_with(TRASH) {
            listed.partial.push(entry.path());
        } else if let Some(id) = name.strip_suffix(".git").and_then(|id| id.parse().ok()) {
            listed.complete.push(id);
        }
    }
    Ok(listed)
}

/// Removes directories whose creation or deletion was interrupted, and returns the numbers of the repositories.
/// Their names start with [`NEW`] or [`TRASH`], so no acknowledged repository is affected.
///
/// A directory that cannot be removed is left for the next start, because it must not prevent the daemon from starting.
pub(super) fn scan(root: &Path) -> io::Result<Vec<u64>> {
    let listed = list(root)?;
    for partial in listed.partial {
        if let Err(error) = fs::remove_dir_all(&partial) {
            tracing::warn!(path = %partial.display(), %error, "an unfinished directory was not removed; the next start tries again");
        }
    }
    Ok(listed.complete)
}

/// Syncs the files of a completed directory and renames it to its final name.
pub(super) fn rename_into_place(staging: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(staging)? {
        File::open(entry?.path())?.sync_all()?;
    }
    sync_dir(staging)?;
    if target.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the repository exists"));
    }
    fs::rename(staging, target)?;
    sync_dir(target.parent().unwrap_or(target))
}

/// Replaces a file of a repository while holding the lock file that git uses for it.
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

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Creates a repository without commits at `path` if it does not exist.
pub(super) fn create_without_commits(path: &Path) -> io::Result<()> {
    for part in ["objects", "refs"] {
        create_dir(&path.join(part))?;
    }
    // Git recognizes a repository by these three entries.
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n")
}

/// Creates a directory that only the daemon's user can access.
pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
