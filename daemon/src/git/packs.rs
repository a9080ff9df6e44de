//! The packs in the directory of a repository, for the manifest in the store.
//!
//! A pack belongs to a repository as soon as `<name>.pack` and `<name>.idx` are in its directory of packs. Both end
//! with digests that git has computed: the index has that of the pack and its own. So a pack is described without
//! reading it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Git, GitError, PackHasher, incoming, repository::sync_dir, upkeep};
use crate::tasks;

/// Ends of the names of the files of a pack.
const PACK: &str = "pack";
const INDEX: &str = "idx";
/// The operation that errors name.
const DOING: &str = "reading the packs of a repository";
/// Size of one read of a file whose digest is computed, bytes.
const READ_BYTES: usize = 256 << 10;
/// Longest time for reading all objects of a repository.
const OBJECTS_MAX: Duration = Duration::from_secs(3_600);

/// What the manifest has of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackFacts {
    /// The size of the pack, bytes.
    pub bytes: u64,
    /// The digest with which the pack ends.
    pub digest: Vec<u8>,
    /// The size of the index, bytes.
    pub index_bytes: u64,
    /// The digest with which the index ends.
    pub index_digest: Vec<u8>,
    /// The number of objects.
    pub objects: u32,
}

/// How the packs in the directory of a repository differ from a manifest.
#[derive(Debug, Default)]
pub struct PackChanges {
    /// The packs that the manifest does not have. Their files are on stable storage under these names.
    pub added: Vec<(String, PackFacts)>,
    /// The names of packs in the manifest of which a file is missing in the directory.
    pub missing: Vec<String>,
    /// The names of packs that the manifest does not have and that cannot be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// The paths of the two files of a pack.
#[derive(Clone, Debug)]
pub struct PackPaths {
    /// The objects.
    pub pack: PathBuf,
    /// Where each of them is.
    pub index: PathBuf,
}

impl PackPaths {
    /// Returns the paths of the files with this name.
    pub fn new(directory: &Path, name: &str) -> Self {
        let path = |end| directory.join(format!("{name}.{end}"));
        Self { pack: path(PACK), index: path(INDEX) }
    }

    /// Returns how the files differ from what their manifest has; `None`: not at all. Reads their whole content.
    pub fn problem(&self, expected: &PackFacts, sha256: bool) -> Option<String> {
        match self.describe(sha256) {
            Err(error) => Some(error.to_string()),
            Ok(found) if found != *expected => Some(difference(&found, expected).to_owned()),
            Ok(_) => self.wrong_content(expected, sha256),
        }
    }

    /// Returns the size of both files in bytes.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(self.pack.metadata()?.len() + self.index.metadata()?.len())
    }

    /// Returns the content of both files, which are small: the objects, and where each of them is.
    pub fn read(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        Ok((fs::read(&self.pack)?, fs::read(&self.index)?))
    }

    /// Describes a pack. Fails if it is cut off, or if its index belongs to another pack.
    fn describe(&self, sha256: bool) -> io::Result<PackFacts> {
        let length = PackHasher::digest_bytes(sha256);
        let (objects, bytes) = incoming::measure(&self.pack)?;
        let [of_pack] = last::<1>(&File::open(&self.pack)?, length)?;
        let index = File::open(&self.index)?;
        // See gitformat-pack(5).
        let [of_indexed, of_index] = last::<2>(&index, length)?;
        if of_pack != of_indexed {
            return Err(io::Error::other("the pack does not end with the digest in its index"));
        }
        let index_bytes = index.metadata()?.len();
        Ok(PackFacts { bytes, digest: of_pack, index_bytes, index_digest: of_index, objects })
    }

    /// Returns how the content of a pack or of its index is wrong; `None`: it has the digest with which it ends.
    fn wrong_content(&self, expected: &PackFacts, sha256: bool) -> Option<String> {
        for (path, end, bytes, digest) in [
            (&self.pack, PACK, expected.bytes, &expected.digest),
            (&self.index, INDEX, expected.index_bytes, &expected.index_digest),
        ] {
            match content_digest(path, bytes, digest.len(), sha256) {
                Ok(found) if found == *digest => {}
                Ok(_) => return Some(format!("the content of the file .{end} is damaged")),
                Err(error) => return Some(error.to_string()),
            }
        }
        None
    }
}

impl Git {
    /// Compares the packs in the directory of a repository with the names in its manifest. Packs that were dropped are
    /// left out. `sha256`: the repository has object ids of this kind.
    ///
    /// The directory is synced before packs are returned, so a transaction may name them afterwards. Their content was
    /// synced when they got their names: by git, or before they were moved to the repository.
    pub async fn pack_changes(
        &self,
        repository: u64,
        sha256: bool,
        (known, dropped): (BTreeSet<String>, BTreeSet<String>),
    ) -> Result<PackChanges, GitError> {
        let packs = self.packs(repository);
        let compare = move || -> io::Result<PackChanges> {
            let mut found = names(&packs)?;
            found.retain(|name| !dropped.contains(name));
            let mut changes = PackChanges::default();
            changes.missing.extend(known.difference(&found).cloned());
            let new: Vec<&String> = found.difference(&known).collect();
            if !new.is_empty() {
                sync_dir(&packs)?;
            }
            for name in new {
                match PackPaths::new(&packs, name).describe(sha256) {
                    Ok(facts) => changes.added.push((name.clone(), facts)),
                    Err(error) => changes.unreadable.push((name.clone(), error.to_string())),
                }
            }
            Ok(changes)
        };
        tasks::blocking(compare).await.map_err(GitError::io(DOING))
    }

    /// Compares the files of packs with what their manifest has. Returns the names of those that differ, with the
    /// reason. `content`: reads each pack as a whole and computes its digest.
    pub async fn damaged_packs(
        &self,
        repository: u64,
        sha256: bool,
        known: BTreeMap<String, PackFacts>,
        content: bool,
    ) -> Vec<(String, String)> {
        let packs = self.packs(repository);
        let check = move || {
            let problem = |(name, expected): (String, PackFacts)| {
                let files = PackPaths::new(&packs, &name);
                let problem = match files.describe(sha256) {
                    Err(error) => error.to_string(),
                    Ok(found) if found != expected => difference(&found, &expected).to_owned(),
                    Ok(_) if content => files.wrong_content(&expected, sha256)?,
                    Ok(_) => return None,
                };
                Some((name, problem))
            };
            known.into_iter().filter_map(problem).collect()
        };
        tasks::blocking(check).await
    }

    /// Returns whether the file of a pack exists, with or without its index.
    pub async fn has_pack_file(&self, repository: u64, name: &str) -> bool {
        let pack = self.packs(repository).join(format!("{name}.{PACK}"));
        tasks::blocking(move || pack.exists()).await
    }

    /// Creates the index of a pack again whose index is missing. Writes nothing else.
    pub async fn index_pack_again(&self, repository: u64, name: &str) -> Result<(), GitError> {
        let pack = self.packs(repository).join(format!("{name}.{PACK}"));
        let call = self.call(repository, ["index-pack"]).config("pack.writeReverseIndex", "false");
        call.args([pack]).run().await?;
        let packs = self.packs(repository);
        tasks::blocking(move || sync_dir(&packs)).await.map_err(GitError::io("writing the index of a pack"))
    }

    /// Returns whether a repository has every object that `tips` reach. Reads all of them, which takes long.
    pub async fn has_all_objects(&self, repository: u64, tips: &[String]) -> Result<bool, GitError> {
        let list =
            self.call(repository, ["rev-list", "--objects", "--stdin", "--quiet"]).config("core.commitGraph", "false");
        match list.stdin(tips.join("\n") + "\n").timeout(OBJECTS_MAX).run().await {
            Ok(_) => Ok(true),
            Err(GitError::Failed { status: Some(_), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a repository has objects that are not in packs. Earlier releases wrote such objects.
    pub async fn has_loose_objects(&self, repository: u64) -> Result<bool, GitError> {
        let objects = self.directory(repository).join("objects");
        let look = move || -> io::Result<bool> {
            for directory in upkeep::loose_directories(&objects)? {
                if !upkeep::files(&directory)?.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        tasks::blocking(look).await.map_err(GitError::io("looking for loose objects"))
    }

    /// Returns the directory of the packs of a repository.
    pub fn packs(&self, repository: u64) -> PathBuf {
        directory(&self.directory(repository))
    }
}

/// Returns the directory of the packs of the repository at `repository`.
pub(super) fn directory(repository: &Path) -> PathBuf {
    repository.join("objects").join("pack")
}

/// Returns the names of the packs that have an index.
pub(super) fn names(packs: &Path) -> io::Result<BTreeSet<String>> {
    let (mut with_pack, mut with_index) = (BTreeSet::new(), BTreeSet::new());
    for entry in upkeep::files(packs)? {
        let path = entry.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        match path.extension().and_then(|end| end.to_str()) {
            Some(PACK) => with_pack.insert(name.to_owned()),
            Some(INDEX) => with_index.insert(name.to_owned()),
            _ => continue,
        };
    }
    Ok(with_pack.intersection(&with_index).cloned().collect())
}

/// Returns the last digests of a file, each of `length` bytes.
fn last<const N: usize>(file: &File, length: usize) -> io::Result<[Vec<u8>; N]> {
    let mut end = vec![0; N * length];
    let at = file.metadata()?.len().checked_sub(end.len() as u64);
    file.read_exact_at(&mut end, at.ok_or(io::ErrorKind::UnexpectedEof)?)?;
    Ok(std::array::from_fn(|number| end[number * length..(number + 1) * length].to_vec()))
}

/// Says how a pack differs from its row.
fn difference(found: &PackFacts, expected: &PackFacts) -> &'static str {
    if found.bytes != expected.bytes {
        "the size of the pack differs"
    } else if found.digest != expected.digest || found.objects != expected.objects {
        "it is another pack"
    } else {
        "the index differs"
    }
}

/// Computes the digest of a file without the `end` bytes of digest at its end.
fn content_digest(path: &Path, bytes: u64, end: usize, sha256: bool) -> io::Result<Vec<u8>> {
    let (file, mut at) = (File::open(path)?, 0);
    let mut hasher = PackHasher::new(sha256);
    let mut left = bytes.saturating_sub(end as u64);
    let mut part = vec![0; READ_BYTES];
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES);
        file.read_exact_at(&mut part[..length], at)?;
        hasher.update(&part[..length]);
        at += length as u64;
        left -= length as u64;
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::tests::git;

    const ID: u64 = 1;

    /// Creates a repository with a commit in one pack, and returns its name and facts.
    async fn with_pack(git: &Git, sha256: bool) -> (String, PackFacts) {
        git.init_bare(ID, "main", sha256).await.expect("created");
        let stream =
            "commit refs/heads/main\ncommitter C <c@x> 1 +0000\ndata 1\nx\nM 644 inline a\ndata 1\nx\n\ndone\n";
        let import = git.call(ID, ["fast-import", "--quiet", "--done"]).config("fastimport.unpackLimit", "1");
        import.stdin(stream).run().await.expect("a commit");
        assert!(!git.has_loose_objects(ID).await.expect("readable"));
        let changes = git.pack_changes(ID, sha256, (BTreeSet::new(), BTreeSet::new())).await.expect("readable");
        assert!(changes.missing.is_empty() && changes.unreadable.is_empty(), "{changes:?}");
        let [pack] = <[_; 1]>::try_from(changes.added).expect("one pack");
        pack
    }

    fn files(git: &Git, name: &str) -> [PathBuf; 2] {
        [PACK, INDEX].map(|end| git.packs(ID).join(format!("{name}.{end}")))
    }

    #[tokio::test]
    async fn packs_are_described_by_the_digests_at_their_ends() {
        for (sha256, length) in [(false, 20), (true, 32)] {
            let dir = tempfile::tempdir().expect("a directory");
            let git = git(dir.path());
            let (name, facts) = with_pack(&git, sha256).await;
            assert_eq!((facts.objects, facts.digest.len(), facts.index_digest.len()), (3, length, length));
            let sizes = files(&git, &name).map(|path| path.metadata().expect("a file").len());
            assert_eq!([facts.bytes, facts.index_bytes], sizes);
            let known = || BTreeMap::from([(name.clone(), facts.clone())]);
            assert_eq!(git.damaged_packs(ID, sha256, known(), true).await, []);
            let names = BTreeSet::from([name.clone(), "pack-lost".to_owned()]);
            let changes = git.pack_changes(ID, sha256, (names, BTreeSet::new())).await.expect("readable");
            assert_eq!((changes.added.len(), changes.missing), (0, vec!["pack-lost".to_owned()]));
        }
    }

    #[tokio::test]
    async fn missing_truncated_and_changed_files_are_found_and_an_index_is_created_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        let (name, facts) = with_pack(&git, false).await;
        let [pack, index] = files(&git, &name);
        let damaged = async |content| {
            let known = BTreeMap::from([(name.clone(), facts.clone())]);
            let found = git.damaged_packs(ID, false, known, content).await;
            found.into_iter().next().map(|(_, problem)| problem)
        };
        let missing = async || {
            let known = BTreeSet::from([name.clone()]);
            git.pack_changes(ID, false, (known, BTreeSet::new())).await.expect("read").missing
        };
        fs::remove_file(&index).expect("removed");
        assert_eq!(missing().await, std::slice::from_ref(&name));
        git.index_pack_again(ID, &name).await.expect("indexed");
        assert_eq!((damaged(true).await, missing().await), (None, Vec::new()));
        let whole = fs::read(&pack).expect("a pack");
        let replace = |bytes: &[u8]| {
            fs::remove_file(&pack).expect("removed");
            fs::write(&pack, bytes).expect("written");
        };
        replace(&whole[..whole.len() - 1]);
        assert_eq!(damaged(false).await.as_deref(), Some("the pack does not end with the digest in its index"));
        let unreadable =
            git.pack_changes(ID, false, (BTreeSet::new(), BTreeSet::new())).await.expect("read").unreadable;
        assert_eq!(unreadable.len(), 1, "a pack that is cut off is never added");
        let mut flipped = whole.clone();
        flipped[20] ^= 1;
        replace(&flipped);
        assert_eq!(damaged(false).await, None, "only the content differs");
        assert_eq!(damaged(true).await.as_deref(), Some("the content of the file .pack is damaged"));
        replace(&whole);
        assert_eq!(damaged(true).await, None);
    }
}
