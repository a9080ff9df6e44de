//! Imports a repository from another server. The fetch writes to a staging directory, which is renamed to its
//! final name when the fetch is complete.
//!
//! Only branches and tags are fetched. The configuration of the source is not copied. Refs whose names farrier does not
//! accept are left out, because no row can have them.

mod new_refs;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::io::AsyncReadExt as _;

pub use self::new_refs::NewRef;
use self::new_refs::pack_fetched_refs;
pub(super) use self::new_refs::write_packed_refs;
use super::{
    Git, GitCommand, GitError, GitProcess,
    error::cleaned,
    repository::{NEW, rename_into_place},
    source::ImportSource,
};
use crate::{shares::Holder, tasks};

const REFSPECS: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
/// How often the size of the staging directory is measured.
const MEASURE_INTERVAL: Duration = Duration::from_millis(500);
/// Limit of the output that is kept for an error message, bytes. Progress lines are not kept.
const ERROR_MAX_BYTES: usize = 4_096;
/// Limit of a list of refs, bytes.
const REFS_MAX_BYTES: usize = 128 << 20;
/// How often the removal of a staging directory is tried. A killed process may still write to it for a moment.
const REMOVE_TRIES: u32 = 20;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

/// A repository that is being fetched into a staging directory.
#[derive(Debug)]
pub struct Staged {
    git: Git,
    repository: u64,
    directory: PathBuf,
    holder: Holder,
}

/// The relevant part of a source's ref advertisement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    /// The branch that `HEAD` points to, or a guess if the source does not advertise one.
    pub head: Option<String>,
    /// Whether the object format is SHA-256.
    pub sha256: bool,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The branches and tags, sorted by name.
    pub refs: Vec<NewRef>,
    /// Total size of the files below the `objects` directory, bytes.
    pub bytes: u64,
}

impl Git {
    /// Returns a staging directory for the repository with number `repository`. Nothing is created yet. The fetch
    /// counts to the share of `holder`.
    pub fn stage(&self, repository: u64, holder: Holder) -> Staged {
        Staged { git: self.clone(), repository, directory: self.staging(NEW, repository), holder }
    }
}

impl Staged {
    /// Runs `ls-remote` against the source. Fails if the source does not exist, does not answer or denies
    /// access.
    pub async fn advertised(&self, source: &ImportSource) -> Result<Advertised, GitError> {
        // `ls-remote` needs no repository. The repository does not exist yet.
        let call = self.git.call(self.repository, ["ls-remote", "--symref"]).output_max_bytes(REFS_MAX_BYTES);
        let listed = source.allow(call).operands([source.url(), "HEAD", "refs/heads/*"]).run().await?;
        Ok(parse_ls_remote(&String::from_utf8_lossy(&listed.stdout)))
    }

    /// Creates an empty repository and fetches branches and tags into it. Calls `on_progress` with git's
    /// progress lines and the bytes on disk. Fails with [`GitError::TooMuch`] if the repository grows beyond
    /// `max_bytes`.
    pub async fn fetch(
        &self,
        source: &ImportSource,
        head: &str,
        sha256: bool,
        max_bytes: u64,
        on_progress: impl Fn(&str, u64) + Send + Sync,
    ) -> Result<Imported, GitError> {
        let format = if sha256 { "sha256" } else { "sha1" };
        self.call(&["init", "--bare", "--quiet", "--template="])
            .args([format!("--object-format={format}"), format!("--initial-branch={head}")])
            .run()
            .await?;
        self.receive(source, max_bytes, on_progress).await?;
        let refs = new_refs::list(self.call(&new_refs::LIST), self.repository).await?;
        let (directory, packed) = (self.directory.clone(), refs.clone());
        let written = tasks::blocking(move || pack_fetched_refs(&directory, &packed)).await;
        written.map_err(GitError::io("writing the refs of an import"))?;
        Ok(Imported { refs, bytes: self.objects_size().await })
    }

    async fn receive(
        &self,
        source: &ImportSource,
        max_bytes: u64,
        on_progress: impl Fn(&str, u64) + Send + Sync,
    ) -> Result<(), GitError> {
        let call = self.call(&["fetch", "--progress", "--no-write-fetch-head", "--no-tags", "--no-recurse-submodules"]);
        // As a pack, like all objects: git would write a few of them one by one.
        let call = call.config("fetch.unpackLimit", "1");
        let process = source.allow(call).operands([source.url()]).args(REFSPECS).stream(self.holder).await?;
        receive_into(process, &self.directory, max_bytes, on_progress).await
    }

    /// Renames the staging directory to the repository's directory. If that fails, the staging directory is
    /// removed.
    pub async fn publish(self) -> Result<(), GitError> {
        let target = self.git.directory(self.repository);
        let from = self.directory.clone();
        let published = tasks::blocking(move || rename_into_place(&from, &target)).await;
        if published.is_err() {
            self.discard().await;
        }
        published.map_err(GitError::io("moving an imported repository to its directory"))
    }

    /// Removes the staging directory. No other copy of the data is touched.
    pub async fn discard(self) {
        for _ in 0..REMOVE_TRIES {
            let directory = self.directory.clone();
            match tasks::blocking(move || fs::remove_dir_all(directory)).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => tokio::time::sleep(REMOVE_PAUSE).await,
                _ => return,
            }
        }
        tracing::warn!(
            repository = self.repository,
            "the staging directory of an import could not be removed; the next start removes it"
        );
    }

    pub(super) fn call(&self, args: &[&str]) -> GitCommand {
        self.git.call(self.repository, args).env("GIT_DIR", &self.directory).config("safe.directory", &self.directory)
    }

    async fn objects_size(&self) -> u64 {
        let objects = self.directory.join("objects");
        tasks::blocking(move || size_of(&objects)).await
    }
}

/// Waits for the end of a process that receives objects into `directory`. Calls `on_progress` with git's progress lines
/// and the bytes on disk. Fails with [`GitError::TooMuch`] if the directory grows beyond `max_bytes`.
pub(super) async fn receive_into(
    mut process: GitProcess,
    directory: &Path,
    max_bytes: u64,
    on_progress: impl Fn(&str, u64) + Send + Sync,
) -> Result<(), GitError> {
    let size_now = async || {
        let directory = directory.to_owned();
        tasks::blocking(move || size_of(&directory)).await
    };
    let mut stderr = process.take_stderr().expect("stderr is taken once");
    let (mut line, mut stderr_text, mut bytes) = (Vec::new(), Vec::new(), [0; 4_096]);
    let mut measure = tokio::time::interval(MEASURE_INTERVAL);
    let mut size = 0;
    loop {
        let read = tokio::select! {
            read = stderr.read(&mut bytes) => read.map_err(GitError::io("reading its progress"))?,
            _ = measure.tick() => {
                size = size_now().await;
                if size > max_bytes {
                    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
                    return Err(GitError::TooMuch { command: "fetch".into(), limit });
                }
                on_progress("", size);
                continue;
            }
        };
        if read == 0 {
            break;
        }
        for byte in &bytes[..read] {
            match byte {
                b'\r' | b'\n' => {
                    on_progress(&cleaned(&line), size);
                    // A line that ends with a carriage return is progress, which the next line overwrites.
                    if *byte == b'\n' && stderr_text.len() + line.len() < ERROR_MAX_BYTES {
                        stderr_text.append(&mut line);
                        stderr_text.push(b'\n');
                    }
                    line.clear();
                }
                byte if line.len() < ERROR_MAX_BYTES => line.push(*byte),
                _ => {}
            }
        }
    }
    stderr_text.append(&mut line);
    let exit = process.wait().await?;
    match exit.status {
        Some(0) => Ok(()),
        status => Err(GitError::Failed { command: exit.command, status, stderr: cleaned(&stderr_text) }),
    }
}

/// Returns the total size of all files below a directory. Files that are removed meanwhile count 0.
fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_of(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Parses the output of `ls-remote --symref`.
pub fn parse_ls_remote(listed: &str) -> Advertised {
    let mut advertised = Advertised::default();
    let (mut head_id, mut branches) = (None, Vec::new());
    for (left, name) in listed.lines().filter_map(|line| line.split_once('\t')) {
        match (left.strip_prefix("ref: refs/heads/"), name.strip_prefix("refs/heads/")) {
            (Some(branch), _) if name == "HEAD" => advertised.head = Some(branch.to_owned()),
            (None, Some(branch)) => branches.push((branch, left)),
            (None, None) if name == "HEAD" => head_id = Some(left),
            _ => {}
        }
        advertised.sha256 |= left.len() == 64 && left.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let find_branch = |name: &str| branches.iter().find(|(branch, _)| *branch == name);
    if advertised.head.as_deref().is_none_or(|head| find_branch(head).is_none()) {
        let same = branches.iter().find(|(_, id)| Some(*id) == head_id);
        let likely = find_branch("main")
            .or_else(|| find_branch("master"))
            .filter(|(_, id)| head_id.is_none_or(|head| head == *id));
        advertised.head = likely.or(same).or(branches.first()).map(|(branch, _)| (*branch).to_owned());
    }
    advertised
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_source_is_found_or_guessed() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        for (listed, head) in [
            (format!("ref: refs/heads/x\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/main\n{a}\trefs/heads/x\n"), Some("x")),
            (format!("{a}\tHEAD\n{b}\trefs/heads/main\n{a}\trefs/heads/x\n"), Some("x")),
            (format!("{a}\tHEAD\n{a}\trefs/heads/a\n{a}\trefs/heads/main\n"), Some("main")),
            (format!("ref: refs/heads/gone\tHEAD\n{b}\trefs/heads/only\n"), Some("only")),
            (String::new(), None),
        ] {
            assert_eq!(
                parse_ls_remote(&listed),
                Advertised { head: head.map(str::to_owned), sha256: false },
                "{listed}"
            );
        }
        assert!(parse_ls_remote(&format!("{}\trefs/heads/m\n", "c".repeat(64))).sha256);
    }
}
