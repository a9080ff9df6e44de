//! Fetching a repository from elsewhere: beside its place, and renamed into it when it is whole.
//!
//! Only branches and tags come over, and nothing of the source's configuration.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::io::AsyncReadExt as _;

use super::{
    Call, Git, GitError,
    error::cleaned,
    repository::{NEW, place},
    source::Source,
};
use crate::tasks;

const REFSPECS: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
/// How often the size on disk is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Of what git says that is no progress, so much is kept for an error.
const SAID_MAX_BYTES: usize = 4_096;
/// Listing the refs of a source.
const REFS_MAX_BYTES: usize = 64 << 20;
/// A killed process may still write for a moment.
const REMOVE_TRIES: u32 = 20;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

/// A repository that is being fetched into a directory of its own.
#[derive(Debug)]
pub struct Staged {
    git: Git,
    repository: u64,
    directory: PathBuf,
}

/// What a source says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    /// The branch that its `HEAD` names; a likely one if it does not say.
    pub head: Option<String>,
    /// Whether its objects are named with SHA-256.
    pub sha256: bool,
}

/// What came over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Full names of branches and tags with the objects that they name.
    pub refs: Vec<(String, String)>,
    /// Bytes of all files below the `objects` directory.
    pub bytes: u64,
}

impl Git {
    /// A place to fetch the repository with number `repository` into.
    pub fn stage(&self, repository: u64) -> Staged {
        Staged { git: self.clone(), repository, directory: self.staging(NEW, repository) }
    }
}

impl Staged {
    /// Asks the source for its branches: whether it is there, answers, and lets us in.
    pub async fn advertised(&self, source: &Source) -> Result<Advertised, GitError> {
        // No repository is needed, and there is none yet.
        let call = self.git.call(self.repository, ["ls-remote", "--symref"]).output_max_bytes(REFS_MAX_BYTES);
        let listed = source.open(call).operands([source.url(), "HEAD", "refs/heads/*"]).run().await?;
        Ok(understand(&String::from_utf8_lossy(&listed.stdout)))
    }

    /// Makes an empty repository and fetches branches and tags into it. `said` hears git's lines
    /// about its progress and the bytes on disk; more than `max_bytes` of them end it.
    pub async fn fetch(
        &self,
        source: &Source,
        head: &str,
        sha256: bool,
        max_bytes: u64,
        said: impl Fn(&str, u64) + Send + Sync,
    ) -> Result<Imported, GitError> {
        let format = if sha256 { "sha256" } else { "sha1" };
        self.call(["init", "--bare", "--quiet", "--template="])
            .args([format!("--object-format={format}"), format!("--initial-branch={head}")])
            .run()
            .await?;
        self.receive(source, max_bytes, said).await?;
        let listed = self
            .call(["for-each-ref", "--format=%(objectname) %(refname)"])
            .output_max_bytes(REFS_MAX_BYTES)
            .run()
            .await?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let refs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(Imported {
            refs: refs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect(),
            bytes: self.objects_size().await,
        })
    }

    async fn receive(
        &self,
        source: &Source,
        max_bytes: u64,
        said: impl Fn(&str, u64) + Send + Sync,
    ) -> Result<(), GitError> {
        let call = self.call(["fetch", "--progress", "--no-write-fetch-head", "--no-tags", "--no-recurse-submodules"]);
        let mut process = source.open(call).operands([source.url()]).args(REFSPECS).stream().await?;
        let mut stderr = process.take_stderr().expect("nobody has taken it");
        let (mut line, mut kept, mut bytes) = (Vec::new(), Vec::new(), [0; 4_096]);
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut size = 0;
        loop {
            let read = tokio::select! {
                read = stderr.read(&mut bytes) => read.map_err(GitError::io("reading its progress"))?,
                _ = look.tick() => {
                    size = self.size().await;
                    if size > max_bytes {
                        let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
                        return Err(GitError::TooMuch { command: "fetch".into(), limit });
                    }
                    said("", size);
                    continue;
                }
            };
            if read == 0 {
                break;
            }
            for byte in &bytes[..read] {
                match byte {
                    b'\r' | b'\n' => {
                        said(&cleaned(&line), size);
                        // What ends with a carriage return is overwritten by the next line.
                        if *byte == b'\n' && kept.len() + line.len() < SAID_MAX_BYTES {
                            kept.append(&mut line);
                            kept.push(b'\n');
                        }
                        line.clear();
                    }
                    byte if line.len() < SAID_MAX_BYTES => line.push(*byte),
                    _ => {}
                }
            }
        }
        kept.append(&mut line);
        let ended = process.wait().await?;
        match ended.status {
            Some(0) => Ok(()),
            status => Err(GitError::Failed { command: ended.command, status, stderr: cleaned(&kept) }),
        }
    }

    /// Puts the fetched repository into its place.
    pub async fn place(self) -> Result<(), GitError> {
        let target = self.git.directory(self.repository);
        let from = self.directory.clone();
        let placed = tasks::blocking(move || place(&from, &target)).await;
        if placed.is_err() {
            self.discard().await;
        }
        placed.map_err(GitError::io("placing a repository"))
    }

    /// Removes what was fetched.
    pub async fn discard(self) {
        for _ in 0..REMOVE_TRIES {
            let directory = self.directory.clone();
            match tasks::blocking(move || fs::remove_dir_all(directory)).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => tokio::time::sleep(REMOVE_PAUSE).await,
                _ => return,
            }
        }
        tracing::warn!(repository = self.repository, "what a migration left goes at the next start");
    }

    fn call<const N: usize>(&self, args: [&str; N]) -> Call {
        self.git.call(self.repository, args).env("GIT_DIR", &self.directory).config("safe.directory", &self.directory)
    }

    async fn objects_size(&self) -> u64 {
        let objects = self.directory.join("objects");
        tasks::blocking(move || size_of(&objects)).await
    }

    async fn size(&self) -> u64 {
        let directory = self.directory.clone();
        tasks::blocking(move || size_of(&directory)).await
    }
}

/// Bytes of all files below a directory; what vanishes meanwhile counts nothing.
fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_of(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Reads what `ls-remote --symref` writes.
fn understand(listed: &str) -> Advertised {
    let mut said = Advertised::default();
    let (mut head_id, mut branches) = (None, Vec::new());
    for (left, name) in listed.lines().filter_map(|line| line.split_once('\t')) {
        match (left.strip_prefix("ref: refs/heads/"), name.strip_prefix("refs/heads/")) {
            (Some(branch), _) if name == "HEAD" => said.head = Some(branch.to_owned()),
            (None, Some(branch)) => branches.push((branch, left)),
            (None, None) if name == "HEAD" => head_id = Some(left),
            _ => {}
        }
        said.sha256 |= left.len() == 64 && left.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let has = |wanted: &str| branches.iter().find(|(branch, _)| *branch == wanted);
    if said.head.as_deref().is_none_or(|head| has(head).is_none()) {
        let same = branches.iter().find(|(_, id)| Some(*id) == head_id);
        let likely = has("main").or_else(|| has("master")).filter(|(_, id)| head_id.is_none_or(|head| head == *id));
        said.head = likely.or(same).or(branches.first()).map(|(branch, _)| (*branch).to_owned());
    }
    said
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
            assert_eq!(understand(&listed), Advertised { head: head.map(str::to_owned), sha256: false }, "{listed}");
        }
        assert!(understand(&format!("{}\trefs/heads/m\n", "c".repeat(64))).sha256);
    }
}
