//! The packs and loose objects of one repository.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    PACKS_MAX, ReadError, SHA1_BYTES, SHA256_BYTES,
    id::ObjectId,
    inflate::Inflater,
    loose::{self, Loose},
    pack::Pack,
};

/// Largest configuration file that is searched for the object format, bytes.
const CONFIG_MAX_BYTES: u64 = 1 << 20;

/// How often the packs are listed if one of them was removed before it was opened.
const LIST_TRIES: usize = 3;

/// The packs of a repository that are open.
type OpenPacks = Arc<[Arc<Pack>]>;

/// The objects of a repository.
#[derive(Debug)]
pub(super) struct ObjectStore {
    objects: PathBuf,
    id_bytes: usize,
    listed: Mutex<Listed>,
    /// Held while the packs are listed, so that an older list never replaces a newer one.
    listing: Mutex<()>,
    /// Position of the pack in which the last object was found.
    last: AtomicUsize,
}

/// The packs that were found when the directory was listed.
#[derive(Debug, Default)]
struct Listed {
    packs: OpenPacks,
    /// The generation of the repository and the state of the directory before it was listed.
    seen: Option<(u64, Stamp)>,
}

/// Shows whether a directory was changed. Two changes within one tick of the clock can have the same stamp, so it only
/// decides when packs are closed. An object that is not found is searched again in a new list.
type Stamp = (u64, i64, i64);

/// Where an object is.
pub(super) enum Location {
    /// In a pack, at this position.
    Pack(Arc<Pack>, u64),
    /// In a file of its own.
    Loose(Loose),
}

impl ObjectStore {
    /// Opens the objects of the repository in `directory`.
    pub(super) fn open(directory: &Path) -> Result<Self, ReadError> {
        let (objects, last) = (directory.join("objects"), AtomicUsize::new(0));
        if !objects.is_dir() {
            return Err(ReadError::Unsupported("a repository without objects"));
        }
        let id_bytes = if is_sha256(directory)? { SHA256_BYTES } else { SHA1_BYTES };
        Ok(Self { objects, id_bytes, listed: Mutex::default(), listing: Mutex::default(), last })
    }

    /// Returns the length of ids, bytes.
    pub(super) fn id_bytes(&self) -> usize {
        self.id_bytes
    }

    /// Returns the number of open packs.
    pub(super) fn packs(&self) -> usize {
        self.listed().packs.len()
    }

    /// Lists the packs if the repository has another generation or the directory was changed. Returns whether it did.
    pub(super) fn refresh_if_changed(&self, generation: u64) -> Result<bool, ReadError> {
        let now = (generation, self.stamp()?);
        if self.listed().seen == Some(now) {
            return Ok(false);
        }
        self.refresh(Some(now))?;
        Ok(true)
    }

    /// Finds an object. Packs are searched first: git removes loose objects after it has packed them. If the object is
    /// in none of the known packs, it may have been packed since they were listed.
    pub(super) fn locate(&self, id: &ObjectId, inflater: &mut Inflater) -> Result<Option<Location>, ReadError> {
        if id.as_bytes().len() != self.id_bytes {
            return Ok(None);
        }
        let packs = self.listed().packs.clone();
        if let Some(found) = self.in_packs(&packs, id)? {
            return Ok(Some(found));
        }
        if let Some(loose) = Loose::find(&self.objects, id, inflater)? {
            return Ok(Some(Location::Loose(loose)));
        }
        let newer = self.refresh(None)?;
        if packs.len() == newer.len() && packs.iter().zip(newer.iter()).all(|(old, new)| Arc::ptr_eq(old, new)) {
            return Ok(None);
        }
        if let Some(found) = self.in_packs(&newer, id)? {
            return Ok(Some(found));
        }
        Ok(Loose::find(&self.objects, id, inflater)?.map(Location::Loose))
    }

    fn in_packs(&self, packs: &[Arc<Pack>], id: &ObjectId) -> Result<Option<Location>, ReadError> {
        let last = self.last.load(Ordering::Relaxed).min(packs.len());
        for (at, pack) in packs.iter().enumerate().skip(last).chain(packs.iter().enumerate().take(last)) {
            if let Some(offset) = pack.find(id)? {
                self.last.store(at, Ordering::Relaxed);
                return Ok(Some(Location::Pack(pack.clone(), offset)));
            }
        }
        Ok(None)
    }

    /// Lists the packs and returns them. Those that are open and still exist stay open. Without `seen`, the next read
    /// lists them again only if the directory was changed.
    fn refresh(&self, seen: Option<(u64, Stamp)>) -> Result<OpenPacks, ReadError> {
        let _listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tries = LIST_TRIES;
        let packs = loop {
            let (packs, is_complete) = self.open_packs()?;
            tries -= 1;
            // The pack that replaces a removed one may be newer than the list. An index without a pack stays one.
            if is_complete || tries == 0 {
                break packs;
            }
        };
        let mut listed = self.listed();
        let replaced = std::mem::replace(&mut listed.packs, packs.clone());
        listed.seen = seen.or(listed.seen);
        drop(listed);
        // Closes files.
        drop(replaced);
        Ok(packs)
    }

    /// Lists the directory and opens new packs. Returns whether all of them still exist.
    fn open_packs(&self) -> Result<(OpenPacks, bool), ReadError> {
        let directory = self.objects.join("pack");
        let mut names = Vec::new();
        for entry in existing(fs::read_dir(&directory))?.into_iter().flatten() {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if let Some(stem) = name.strip_suffix(".idx").filter(|stem| stem.starts_with("pack-")) {
                names.push(stem.to_owned());
            }
        }
        if names.len() > PACKS_MAX / 2 {
            return Err(ReadError::Unsupported("many packs"));
        }
        names.sort_unstable();
        let known = self.listed().packs.clone();
        let (mut packs, mut is_complete) = (Vec::with_capacity(names.len()), true);
        for name in names {
            if let Some(open) = known.iter().find(|pack| pack.name == name) {
                packs.push(open.clone());
                continue;
            }
            let index = loose::open(&directory.join(format!("{name}.idx")))?;
            let data = loose::open(&directory.join(format!("{name}.pack")))?;
            // One of them is missing if the pack is just being removed.
            if let (Some(index), Some(data)) = (index, data) {
                packs.push(Arc::new(Pack::open(name, index, data, self.id_bytes)?));
            } else {
                is_complete = false;
            }
        }
        Ok((packs.into(), is_complete))
    }

    fn stamp(&self) -> Result<Stamp, ReadError> {
        let metadata = existing(fs::metadata(self.objects.join("pack")))?;
        Ok(metadata.map_or((0, 0, 0), |found| (found.ino(), found.mtime(), found.mtime_nsec())))
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the configuration names SHA-256 as the object format.
fn is_sha256(directory: &Path) -> Result<bool, ReadError> {
    // A repository without a configuration has the defaults of git.
    let Some(file) = loose::open(&directory.join("config"))? else { return Ok(false) };
    if file.metadata()?.len() > CONFIG_MAX_BYTES {
        return Err(ReadError::Unsupported("a large configuration"));
    }
    let text = io::read_to_string(file)?.to_ascii_lowercase();
    let mut values = text.lines().filter_map(|line| line.split_once('='));
    Ok(values.any(|(key, value)| key.trim() == "objectformat" && value.trim() == "sha256"))
}

fn existing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_without_a_pack_is_skipped() {
        let dir = tempfile::tempdir().expect("a directory");
        let packs = dir.path().join("objects/pack");
        fs::create_dir_all(&packs).expect("a directory");
        fs::write(packs.join("pack-1.idx"), "an index").expect("a file");
        let store = ObjectStore::open(dir.path()).expect("objects");
        assert!(store.refresh_if_changed(1).expect("listed"));
        assert!(!store.refresh_if_changed(1).expect("listed"), "nothing changed");
        assert_eq!(store.packs(), 0);
    }
}
