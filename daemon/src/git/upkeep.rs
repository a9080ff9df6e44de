//! Keeping a repository quick to read: loose objects and small packs become few packs, refs one
//! file, and a bitmap says what each commit reaches. Nothing is ever pruned here.

use std::{fs, io, path::Path, time::SystemTime};

use super::{Git, GitError};
use crate::tasks;

/// Objects are spread over 256 directories by their id; so many in one of them make some 2,000.
const LOOSE_IN_ONE_MAX: usize = 8;
/// A fetch opens every pack.
const PACKS_MAX: usize = 20;
/// Bytes of indexes that no bitmap covers, some 4,000 objects: below that a clone finds them as fast
/// without one.
const UNMAPPED_MAX_BYTES: u64 = 128 << 10;
/// A new bitmap costs as much as all objects; it is worth that when it covers a good part more.
const UNMAPPED_MAX_SHARE: u64 = 4;
/// Files of a repository that are measured while a client waits: some milliseconds.
const FEW_FILES: usize = 8_192;
/// Written with every bitmap, and also where git found that it cannot make one: then asking again after
/// each push would cost a lot for nothing.
const MAP: &str = "multi-pack-index";

impl Git {
    /// Tidies a repository if that is worth it; whether it was.
    pub async fn tidy(&self, repository: u64) -> Result<bool, GitError> {
        if !self.is_untidy(repository).await? {
            return Ok(false);
        }
        let _lock = self.lock(repository).await;
        if !self.is_untidy(repository).await? {
            return Ok(false); // somebody else was here
        }
        let packs = self.directory(repository).join("objects/pack");
        tasks::blocking(move || remove_unfinished(&packs)).await.map_err(GitError::io("removing unfinished packs"))?;
        // Geometric: only small packs are rewritten, so a push seldom waits long for the lock.
        let repack = ["repack", "-d", "-l", "-q", "--geometric=2", "--write-midx", "--write-bitmap-index"];
        self.run(repository, repack, "").await?;
        self.run(repository, ["pack-refs", "--all"], "").await?;
        self.run(repository, ["commit-graph", "write", "--reachable", "--split", "--no-progress"], "").await?;
        Ok(true)
    }

    /// The size of a repository: the bytes of all files below its `objects` directory.
    pub async fn size_bytes(&self, repository: u64) -> Result<u64, GitError> {
        Ok(self.measure(repository, usize::MAX).await?.unwrap_or(0))
    }

    /// The same; `None` if there are more files than can be looked at while a client waits. A tidy
    /// repository never has that many.
    pub async fn size_of_few_files(&self, repository: u64) -> Result<Option<u64>, GitError> {
        self.measure(repository, FEW_FILES).await
    }

    async fn measure(&self, repository: u64, most: usize) -> Result<Option<u64>, GitError> {
        let objects = self.directory(repository).join("objects");
        let measured = tasks::blocking(move || {
            let mut left = most;
            size(&objects, &mut left)
        });
        measured.await.map_err(GitError::io("measuring a repository"))
    }

    async fn is_untidy(&self, repository: u64) -> Result<bool, GitError> {
        let objects = self.directory(repository).join("objects");
        let look = move || {
            let loose = files(&objects.join("17"))?.len() > LOOSE_IN_ONE_MAX;
            Ok(loose || Packs::of(&objects.join("pack"))?.are_untidy())
        };
        tasks::blocking(look).await.map_err(GitError::io("looking at a repository"))
    }
}

/// The packs of a repository, as their indexes tell: a pack's own time changes when somebody pushes
/// an object that it has.
struct Packs {
    count: usize,
    /// Bytes of all indexes.
    bytes: u64,
    /// Bytes of those that came after the last map of all packs.
    unmapped: u64,
}

impl Packs {
    fn of(place: &Path) -> io::Result<Self> {
        let (mut indexes, mut mapped) = (Vec::new(), SystemTime::UNIX_EPOCH);
        for entry in files(place)? {
            // Files may go while they are looked at.
            let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
            if path.extension().is_some_and(|end| end == "idx") {
                indexes.push((about.modified()?, about.len()));
            } else if entry.file_name() == MAP {
                mapped = about.modified()?;
            }
        }
        let sum = |since: SystemTime| indexes.iter().filter(|(at, _)| *at > since).map(|(_, bytes)| bytes).sum();
        Ok(Self { count: indexes.len(), bytes: sum(SystemTime::UNIX_EPOCH), unmapped: sum(mapped) })
    }

    fn are_untidy(&self) -> bool {
        let unmapped = self.unmapped > UNMAPPED_MAX_BYTES && self.unmapped > self.bytes / UNMAPPED_MAX_SHARE;
        unmapped || self.count > PACKS_MAX
    }
}

/// Removes what packing left that died with a daemon. Pushes unpack elsewhere, and packing happens
/// under the repository's lock: none of it is in use.
pub(super) fn remove_unfinished(place: &Path) -> io::Result<()> {
    for entry in files(place)? {
        let name = entry.file_name();
        if [".tmp-", "tmp_"].iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

pub(super) fn files(place: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(place) {
        Ok(entries) => Ok(entries.flatten().collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Bytes of the files below a directory; `None`: there are more than `left` of them. Files may go while
/// they are counted.
fn size(place: &Path, left: &mut usize) -> io::Result<Option<u64>> {
    let mut bytes = 0;
    for entry in fs::read_dir(place)?.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            match size(&entry.path(), left) {
                Ok(Some(below)) => bytes += below,
                Ok(None) => return Ok(None),
                Err(_) => {}
            }
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { return Ok(None) };
        *left = fewer;
        bytes += about.len();
    }
    Ok(Some(bytes))
}
