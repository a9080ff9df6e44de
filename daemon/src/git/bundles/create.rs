//! Writes bundles with git, and compares them with the refs of the repository.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::{Bundle, BundleSet, Bundles, SUFFIX, UNFINISHED};
use crate::{
    git::{
        Git, GitError, GitProcess,
        fetch_cache::request::Digest,
        ref_list::RefList,
        ref_name::{HEADS, TAGS},
        repository::create_dir,
    },
    model::secret,
    shares::RequestMemory,
    tasks,
};

/// Limit of the list of branches and tags in a bundle, bytes: about 60,000 of them. It stays in memory.
pub(super) const TIPS_MAX_BYTES: usize = 4 << 20;

/// A bundle that is being written. Dropping it removes the file, which blocks the thread: see
/// [`BundleWriter::discard`].
#[derive(Debug)]
pub struct BundleWriter {
    temporary: NamedTempFile,
    file: Arc<File>,
    size: u64,
}

impl Bundles {
    /// Creates a file for a bundle of the repository.
    pub async fn create_file(&self, repository: u64) -> Result<BundleWriter, GitError> {
        let directory = self.directory.join(repository.to_string());
        let create = move || {
            create_dir(&directory)?;
            let temporary = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&directory)?;
            let file = Arc::new(temporary.as_file().try_clone()?);
            Ok(BundleWriter { temporary, file, size: 0 })
        };
        tasks::blocking(create).await.map_err(GitError::io("creating a file for a bundle"))
    }
}

impl BundleWriter {
    /// Appends `bytes`.
    pub async fn append(&mut self, bytes: Bytes) -> Result<(), GitError> {
        let (file, offset, length) = (self.file.clone(), self.size, bytes.len() as u64);
        let written = tasks::blocking(move || file.write_all_at(&bytes, offset)).await;
        written.map_err(GitError::io("writing a bundle"))?;
        self.size += length;
        Ok(())
    }

    /// Removes the file.
    pub async fn discard(self) {
        tasks::blocking(move || drop(self)).await;
    }

    /// Checks the bundle with git, and gives the file its name: the start `kind`, and a random token. The caller has
    /// read all output of git, and git exited with status 0.
    pub async fn finish(self, git: &Git, repository: u64, kind: &str, creation_token: u64) -> Result<Bundle, GitError> {
        let path = self.temporary.path().to_owned();
        let tips = match checked_tips(git, repository, &path).await {
            Ok(tips) => tips,
            Err(error) => {
                self.discard().await;
                return Err(error);
            }
        };
        let Self { temporary, size, .. } = self;
        let token = hex::encode(secret::random_bytes::<16>());
        let path = path.with_file_name(format!("{kind}-{token}{SUFFIX}"));
        let renamed = path.clone();
        let persist = move || temporary.persist(renamed).map(drop).map_err(io::Error::from);
        tasks::blocking(persist).await.map_err(GitError::io("renaming a bundle"))?;
        Ok(Bundle { token, size, creation_token, tips, path })
    }
}

/// Checks the header of a bundle, and that the repository has the commits that the bundle needs. Returns names and ids
/// of the branches and tags in it.
async fn checked_tips(git: &Git, repository: u64, path: &Path) -> Result<Vec<(String, String)>, GitError> {
    git.call(repository, ["bundle", "verify", "--quiet"]).args([path]).run().await?;
    let listed = git.call(repository, ["bundle", "list-heads"]).args([path]);
    let listed = listed.output_max_bytes(TIPS_MAX_BYTES).run().await?;
    Ok(tips_in(&String::from_utf8_lossy(&listed.stdout)))
}

/// Parses the lines `id name`.
fn tips_in(listed: &str) -> Vec<(String, String)> {
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
}

impl Bundle {
    /// Opens the file. `None`: the bundle was dropped.
    pub async fn open(&self) -> io::Result<Option<File>> {
        let path = self.path.clone();
        match tasks::blocking(move || File::open(path)).await {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the file of a bundle that was not published.
    pub async fn discard(&self) {
        let path = self.path.clone();
        // A file that stays is removed at the next start.
        let _ = tasks::blocking(move || fs::remove_file(path)).await;
    }
}

impl Git {
    /// Starts git, which writes a bundle with all branches and tags to its standard output. It reads the commits that
    /// the bundle need not contain from its standard input, as `^` and the id.
    pub async fn start_bundle(&self, repository: u64) -> Result<GitProcess, GitError> {
        let call = self.call(repository, ["bundle", "create", "--quiet", "-", "--branches", "--tags", "--stdin"]);
        call.stream_own().await
    }

    /// Returns whether the branches and tags have commits or tags that the bundles lack. The list of refs counts to
    /// `memory`. `None`: the refs of the repository cannot be compared or are too many, so no bundle is written.
    pub async fn has_news(
        &self,
        repository: u64,
        known: &BTreeSet<&str>,
        memory: &Arc<RequestMemory>,
    ) -> Result<Option<bool>, GitError> {
        let list = self.ref_list(repository, memory).await?;
        let list = list.filter(|list| visible(list).map(line_bytes).sum::<usize>() <= TIPS_MAX_BYTES);
        Ok(list.map(|list| visible(&list).any(|(_, id)| !known.contains(id))))
    }

    /// Returns whether every branch and tag in the bundles exists, every tag is the same, and every commit in them is
    /// reachable from the branches and tags of the repository. `None`: the refs cannot be compared now.
    ///
    /// The refs are those in the files, so a push counts from the moment at which they are written. The list of refs
    /// counts to `memory`.
    pub async fn bundles_are_current(
        &self,
        set: &Arc<BundleSet>,
        memory: &Arc<RequestMemory>,
    ) -> Result<Option<bool>, GitError> {
        let repository = set.facts().repository;
        let Some(list) = self.ref_list(repository, memory).await? else { return Ok(None) };
        let (compared, memory) = (set.clone(), memory.clone());
        // Comparing, hashing and freeing a long list takes too long for a thread that serves requests.
        let difference = tasks::blocking(move || {
            let difference = Difference::between(&compared, &list);
            drop(list);
            drop(memory);
            difference
        });
        let (refs, revisions) = match difference.await {
            Difference::None => return Ok(Some(true)),
            Difference::Lost => return Ok(Some(false)),
            Difference::Moved { refs, revisions } => (refs, revisions),
        };
        let mut verified = set.verified.lock().await;
        if *verified == Some(refs) {
            return Ok(Some(true));
        }
        let lost = self.run(repository, ["rev-list", "--max-count=1", "--stdin"], revisions).await;
        let is_current = match lost {
            Ok(lost) => lost.stdout.is_empty(),
            // A commit in the bundles was removed from the repository.
            Err(GitError::Failed { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_current {
            *verified = Some(refs);
        }
        Ok(Some(is_current))
    }
}

/// How the branches and tags of a repository differ from those in its bundles.
enum Difference {
    /// Those in the bundles are the same.
    None,
    /// A branch or tag is missing, or a tag was moved.
    Lost,
    /// Branches were moved.
    Moved {
        /// The digest of all branches and tags of the repository.
        refs: Digest,
        /// Input for `git rev-list`, which then lists the commits in the bundles that no branch or tag reaches.
        revisions: String,
    },
}

impl Difference {
    fn between(set: &BundleSet, list: &RefList) -> Self {
        let mut moved = BTreeSet::new();
        for (name, id) in set.bundles().iter().flat_map(|bundle| &bundle.tips) {
            match list.tips.get(name) {
                Some(tip) if tip.id == *id => {}
                Some(_) if name.starts_with(HEADS) => drop(moved.insert(id.as_str())),
                _ => return Self::Lost,
            }
        }
        if moved.is_empty() {
            return Self::None;
        }
        let mut revisions = String::new();
        for id in moved {
            revisions.extend([id, "\n"]);
        }
        visible(list).for_each(|(_, id)| revisions.extend(["^", id, "\n"]));
        Self::Moved { refs: digest(list), revisions }
    }
}

/// Returns names and ids of the branches and tags.
fn visible(list: &RefList) -> impl Iterator<Item = (&str, &str)> {
    let refs = list.tips.iter().filter(|(name, _)| name.starts_with(HEADS) || name.starts_with(TAGS));
    refs.map(|(name, tip)| (name.as_str(), tip.id.as_str()))
}

/// Returns the length of the line `id name`.
fn line_bytes((name, id): (&str, &str)) -> usize {
    name.len() + id.len() + 2
}

fn digest(list: &RefList) -> Digest {
    let mut hash = Sha256::new();
    // Neither names nor ids contain a line break.
    visible(list).for_each(|(name, id)| hash.update(format!("{id} {name}\n")));
    hash.finalize().into()
}
