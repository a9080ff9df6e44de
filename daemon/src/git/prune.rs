//! Removes objects that have been unreachable for a configured time.
//!
//! Git keeps unreachable objects in a cruft pack, with a time for each object. Git takes that time from the
//! file in which it finds the object, which may be much older than the moment at which the object became
//! unreachable. So all packs and loose objects get the current time first. The time of an object in the cruft
//! pack is then the time at which it was first found unreachable.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use super::{Git, GitError, RepositoryLock, upkeep};
use crate::tasks;

/// Signature, version and hash function of a `.mtimes` file, bytes.
const MTIMES_HEADER: usize = 12;
/// A `.mtimes` file ends with two checksums, each as long as an object's id.
const CHECKSUMS: usize = 2;

/// The packs that replace those of a repository.
#[derive(Debug)]
pub struct Pruned {
    /// Their names, the pack with the reachable objects first. Empty if no object is left.
    pub new: Vec<String>,
    /// The time of the oldest unreachable object that is kept, in seconds; `None` if there is none.
    pub oldest: Option<u64>,
}

impl Git {
    /// Returns whether a repository may have objects that no ref reaches. An object that is stored twice also counts.
    pub async fn has_unreachable(&self, repository: u64, _lock: &RepositoryLock) -> Result<bool, GitError> {
        let counted = self.run(repository, ["count-objects", "-v"], "").await?;
        let text = String::from_utf8_lossy(&counted.stdout);
        let numbers = text.lines().filter_map(|line| line.strip_prefix("count: ").or(line.strip_prefix("in-pack: ")));
        let stored: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
        let reached = ["rev-list", "--count", "--objects", "--all", "--use-bitmap-index"];
        let reached = self.run(repository, reached, "").await?;
        Ok(String::from_utf8_lossy(&reached.stdout).trim().parse() != Ok(stored))
    }

    /// Makes the packs that replace `packs`, all packs of a repository: one with the objects that refs reach, and a
    /// cruft pack with the others. Objects that were found unreachable before `expiry_secs` are left out, unless a
    /// newer unreachable object needs them. Both times are seconds since the Unix epoch.
    ///
    /// The new packs are in the repository afterwards, and `packs` as well. While the lock is held, no ref moves. The
    /// caller has ensured that the files of refs have the values of the rows.
    pub async fn prune(
        &self,
        repository: u64,
        (now_secs, expiry_secs): (u64, u64),
        packs: &[String],
        lock: &RepositoryLock,
    ) -> Result<Pruned, GitError> {
        // Also after an error: the repository may have new packs.
        let _changed = self.0.generations.raise_at_end(repository);
        let pruned = self.replace_packs(repository, (now_secs, expiry_secs), packs, lock);
        self.with_lock_files(repository, lock, pruned).await
    }

    async fn replace_packs(
        &self,
        repository: u64,
        (now_secs, expiry_secs): (u64, u64),
        packs: &[String],
        lock: &RepositoryLock,
    ) -> Result<Pruned, GitError> {
        self.remove_unfinished(repository, lock).await?;
        let objects = self.directory(repository).join("objects");
        let own = objects.clone();
        let stamp = move || stamp_objects(&own, SystemTime::UNIX_EPOCH + Duration::from_secs(now_secs));
        tasks::blocking(stamp).await.map_err(GitError::io("setting the times of objects"))?;
        self.run(repository, ["pack-refs", "--all"], "").await?;
        // Before objects are removed: if the graph contained a removed commit, git would assume that the commit
        // exists.
        self.write_commit_graph(repository, "--split=replace").await?;
        let reachable = match self.pack_reachable(repository, lock).await? {
            Some(pack) => {
                let name = pack.name();
                pack.install(repository).await?;
                Some(name)
            }
            None => None,
        };
        let cruft = self.write_cruft_pack(repository, reachable.as_deref(), packs, expiry_secs, lock).await?;
        let times = cruft.as_ref().map(|name| objects.join("pack").join(format!("{name}.mtimes")));
        let oldest = tasks::blocking(move || times.map(|file| oldest_unreachable(&file)).transpose()).await;
        let oldest = oldest.map_err(GitError::io("reading the times of unreachable objects"))?.flatten();
        Ok(Pruned { new: reachable.into_iter().chain(cruft).collect(), oldest })
    }
}

/// Sets the time of all loose objects and of all packs except cruft packs.
fn stamp_objects(objects: &Path, now: SystemTime) -> io::Result<()> {
    for entry in upkeep::files(&objects.join("pack"))? {
        let path = entry.path();
        let is_pack = path.extension().is_some_and(|end| end == "pack");
        if is_pack && !path.with_extension("mtimes").try_exists()? {
            File::open(&path)?.set_modified(now)?;
        }
    }
    for directory in upkeep::loose_directories(objects)? {
        for entry in upkeep::files(&directory)? {
            File::open(entry.path())?.set_modified(now)?;
        }
    }
    Ok(())
}

/// Returns the smallest time in a `.mtimes` file.
fn oldest_unreachable(file: &Path) -> io::Result<Option<u64>> {
    Ok(times(&fs::read(file)?).into_iter().min())
}

/// Returns the times in a `.mtimes` file. Format: gitformat-pack(5).
fn times(file: &[u8]) -> Vec<u64> {
    let id_bytes = if file.get(8..MTIMES_HEADER) == Some(&[0, 0, 0, 2]) { 32 } else { 20 };
    let end = file.len().saturating_sub(CHECKSUMS * id_bytes);
    let (times, _) = file.get(MTIMES_HEADER..end).unwrap_or_default().as_chunks::<4>();
    times.iter().map(|time| u32::from_be_bytes(*time).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_between_the_header_and_the_checksums() {
        for (hash, id_bytes) in [(1, 20), (2, 32)] {
            let header = [b'M', b'T', b'M', b'E', 0, 0, 0, 1, 0, 0, 0, hash];
            let file = |times: &[u32]| {
                let mut file = header.to_vec();
                file.extend(times.iter().flat_map(|time| time.to_be_bytes()));
                file.extend(vec![255; 2 * id_bytes]);
                file
            };
            assert_eq!(times(&file(&[7, 9, u32::MAX])), [7, 9, u64::from(u32::MAX)]);
            assert_eq!(times(&file(&[])), [] as [u64; 0]);
            assert_eq!(times(&header), [] as [u64; 0]);
        }
        assert_eq!(times(b""), [] as [u64; 0]);
    }
}
