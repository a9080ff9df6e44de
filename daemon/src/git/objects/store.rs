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

/// The objects of a repository.
#[derive(Debug)]
pub(super) struct ObjectStore {
    objects: PathBuf,
    id_bytes: usize,
    listed: Mutex<Listed>,
    /// Position of the pack in which the last object was found.
    last: AtomicUsize,
}

/// The packs that were found when the directory was listed.
#[derive(Debug, Default)]
struct Listed {
    packs: Arc<[Arc<Pack>]>,
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
        Ok(Self { objects, id_bytes, listed: Mutex::default(), last })
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
        self.refresh(None)?;
        let newer = self.listed().packs.clone();
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

    /// Lists the packs. Those that are open and still exist stay open. Without `seen`, the next read lists them again
    /// only if the directory was changed.
    fn refresh(&self, seen: Option<(u64, Stamp)>) -> Result<(), ReadError> {
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
        let mut packs = Vec::with_capacity(names.len());
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
            }
        }
        let mut listed = self.listed();
        let replaced = std::mem::replace(&mut listed.packs, packs.into());
        listed.seen = seen.or(listed.seen);
        drop(listed);
        // Closes files.
        drop((known, replaced));
        Ok(())
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
