//! Reads objects of repositories without a git process: by id, from packs and loose files.
//!
//! This module answers "which object has this id", and what follows from it: peeling, trees, paths. It trusts no file.
//! Sizes are checked before memory is allocated, each step checks the time, and a damaged file is an error. The caller
//! ([`super::read`]) then asks git, which also reads what this module does not support: large objects, histories,
//! names other than ids. `objects/info/alternates`, replace refs and grafts have no effect here, because nothing reads
//! them, and quarantine directories are never searched. They have an effect on what is left to git.
//!
//! Open packs are kept for the next reads, within [`STORES_MAX`] and [`PACKS_MAX`].

mod delta;
pub mod fuzzing;
mod id;
mod incoming;
mod inflate;
mod limits;
mod loose;
mod pack;
mod pack_index;
mod store;
mod tree;

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

pub(super) use self::{
    id::{ObjectId, SHA1_BYTES, SHA256_BYTES},
    limits::ObjectLimits,
    loose::open as open_regular,
};
use self::{inflate::Inflater, store::ObjectStore};
use super::{Git, inspect::EMPTY_TREES};
use crate::shares::Refused;

/// Repositories whose packs are kept open.
const STORES_MAX: usize = 32;
/// Packs that are kept open in total. Each has two file descriptors and about 1 KiB of memory.
const PACKS_MAX: usize = 128;
/// Longest chain of tags that point to tags.
const TAGS_MAX: usize = 32;
/// Largest tag object that is read for a list of refs, bytes.
const TAG_MAX_BYTES: u64 = 64 << 10;

/// Why an object was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// Only git supports this.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// A file does not have git's format.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// A file cannot be read.
    #[error("a file of a repository cannot be read")]
    Io(#[from] io::Error),
    /// The result is larger than its limit, bytes.
    #[error("the result has more than {0} bytes")]
    TooMuch(usize),
    /// There are more refs than this read may take without a share of the caller.
    #[error("many refs")]
    ManyRefs,
    /// The read took too long, or its request has ended.
    #[error("the read took too long")]
    Timeout,
    /// The memory of requests is in use.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl ObjectKind {
    /// Returns git's word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// Parses git's word.
    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag].into_iter().find(|kind| kind.word() == word)
    }
}

/// An object.
#[derive(Debug)]
pub(super) struct StoredObject {
    /// Its type.
    pub(super) kind: ObjectKind,
    /// Its content.
    pub(super) content: Vec<u8>,
}

/// The repositories whose packs are open.
#[derive(Debug, Default)]
pub(super) struct ObjectStores(Mutex<OpenStores>);

#[derive(Debug, Default)]
struct OpenStores {
    stores: HashMap<u64, (Arc<ObjectStore>, u64)>,
    /// Number of uses so far. Each store has the number of its last use.
    uses: u64,
}

impl ObjectStores {
    /// Closes the packs of a repository, so that the space of removed packs is free.
    fn forget(&self, repository: u64) {
        let forgotten = self.lock().stores.remove(&repository);
        drop(forgotten);
    }

    fn get(&self, repository: u64) -> Option<Arc<ObjectStore>> {
        let mut open = self.lock();
        open.uses += 1;
        let now = open.uses;
        let (store, used) = open.stores.get_mut(&repository)?;
        *used = now;
        Some(store.clone())
    }

    /// Keeps `store` and closes those that were not used for the longest time.
    fn insert(&self, repository: u64, store: Arc<ObjectStore>) {
        let mut closed = Vec::new();
        let mut open = self.lock();
        let now = open.uses;
        open.stores.insert(repository, (store, now));
        while open.stores.len() > 1
            && (open.stores.len() > STORES_MAX
                || open.stores.values().map(|(store, _)| store.packs()).sum::<usize>() > PACKS_MAX)
        {
            let others = open.stores.iter().filter(|(id, _)| **id != repository);
            let Some(least) = others.min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id) else { break };
            closed.extend(open.stores.remove(&least));
        }
        drop(open);
        drop(closed);
    }

    fn lock(&self) -> MutexGuard<'_, OpenStores> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a repository has the objects that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedObjects {
    /// Some of them are missing.
    Missing,
    /// All of them are in packs.
    InPacks,
    /// All of them exist, some in files of their own.
    Loose,
}

/// Closes the packs of a repository when it is dropped.
pub(super) struct CloseAtEnd<'a> {
    git: &'a Git,
    repository: u64,
}

impl Drop for CloseAtEnd<'_> {
    fn drop(&mut self) {
        self.git.close_packs(self.repository);
    }
}

impl Git {
    /// Closes the packs of a repository that were kept open for reads.
    pub(super) fn close_packs(&self, repository: u64) {
        self.0.object_stores.forget(repository);
    }

    /// Does the same when the returned value is dropped, also if the work in between fails.
    pub(super) fn close_packs_at_end(&self, repository: u64) -> CloseAtEnd<'_> {
        CloseAtEnd { git: self, repository }
    }

    /// Begins to read objects of a repository. Blocks the thread, as do all methods of the reader.
    pub(super) fn object_reader(&self, repository: u64, limits: ObjectLimits) -> Result<ObjectReader, ReadError> {
        // Before the directory is listed: what changes meanwhile belongs to a newer generation.
        let generation = self.0.generations.get(repository);
        let stores = &self.0.object_stores;
        let store = match stores.get(repository) {
            Some(store) => store,
            None => Arc::new(ObjectStore::open(&self.directory(repository))?),
        };
        if store.refresh_if_changed(generation)? {
            stores.insert(repository, store.clone());
        }
        Ok(ObjectReader { store, inflater: Inflater::new(), limits })
    }

    /// Returns whether a repository has all of `ids`. Blocks the thread.
    pub(super) fn find_objects(&self, repository: u64, ids: &[ObjectId]) -> Result<NamedObjects, ReadError> {
        let limits = ObjectLimits::new(Instant::now() + self.timeout(), Arc::default(), None);
        let mut reader = self.object_reader(repository, limits)?;
        let mut found = NamedObjects::InPacks;
        for id in ids {
            reader.limits.check_time()?;
            match reader.store.locate(id, &mut reader.inflater)? {
                Some(store::Location::Pack(..)) => {}
                Some(store::Location::Loose(_)) => found = NamedObjects::Loose,
                None => return Ok(NamedObjects::Missing),
            }
        }
        Ok(found)
    }
}

/// Reads objects of one repository for one request.
pub(super) struct ObjectReader {
    store: Arc<ObjectStore>,
    inflater: Inflater,
    /// The limits of the request.
    pub(super) limits: ObjectLimits,
}

impl ObjectReader {
    /// Returns type and size of an object.
    pub(super) fn info(&mut self, id: &ObjectId) -> Result<Option<(ObjectKind, u64)>, ReadError> {
        self.limits.check_time()?;
        let (inflater, limits) = (&mut self.inflater, &mut self.limits);
        match self.store.locate(id, inflater)? {
            Some(store::Location::Pack(pack, offset)) => pack.info(offset, inflater, limits).map(Some),
            Some(store::Location::Loose(loose)) => Ok(Some(loose.info())),
            None => Ok(is_empty_tree(id).then_some((ObjectKind::Tree, 0))),
        }
    }

    /// Returns an object with its content.
    pub(super) fn object(&mut self, id: &ObjectId) -> Result<Option<StoredObject>, ReadError> {
        self.limits.check_time()?;
        let (inflater, limits) = (&mut self.inflater, &mut self.limits);
        match self.store.locate(id, inflater)? {
            Some(store::Location::Pack(pack, offset)) => pack.object(offset, inflater, limits).map(Some),
            Some(store::Location::Loose(loose)) => loose.object(inflater, limits).map(Some),
            None => Ok(is_empty_tree(id).then(|| StoredObject { kind: ObjectKind::Tree, content: Vec::new() })),
        }
    }

    /// Returns the id that a tag object points to; `None` if the tag does not exist.
    pub(super) fn target_of_tag(&mut self, id: &ObjectId) -> Result<Option<ObjectId>, ReadError> {
        let Some(object) = self.object(id)? else { return Ok(None) };
        first_header(&object.content, b"object ").map(Some).ok_or(ReadError::Damaged("a tag"))
    }

    /// Follows tags, beginning with `id`, until another object. Returns `id` if it is not a tag. `None`: an object does
    /// not exist, a tag is large, or the chain of tags is long.
    pub(super) fn behind_tags(&mut self, id: &ObjectId) -> Result<Option<ObjectId>, ReadError> {
        let mut at = *id;
        for _ in 0..TAGS_MAX {
            match self.info(&at)? {
                Some((ObjectKind::Tag, size)) if size <= TAG_MAX_BYTES => {}
                Some((ObjectKind::Tag, _)) | None => return Ok(None),
                Some(_) => return Ok(Some(at)),
            }
            let Some(target) = self.target_of_tag(&at)? else { return Ok(None) };
            at = target;
        }
        Ok(None)
    }

    /// Follows tags, and commits if a tree is requested, until an object of the type `wanted`. `None`: an object does
    /// not exist, or there is none of this type.
    pub(super) fn peel(&mut self, id: &ObjectId, wanted: ObjectKind) -> Result<Option<ObjectId>, ReadError> {
        let mut id = *id;
        for _ in 0..TAGS_MAX {
            let Some((kind, _)) = self.info(&id)? else { return Ok(None) };
            if kind == wanted {
                return Ok(Some(id));
            }
            let header: &[u8] = match kind {
                ObjectKind::Tag => b"object ",
                ObjectKind::Commit if wanted == ObjectKind::Tree => b"tree ",
                ObjectKind::Commit | ObjectKind::Tree | ObjectKind::Blob => return Ok(None),
            };
            let Some(object) = self.object(&id)? else { return Ok(None) };
            id = first_header(&object.content, header).ok_or(ReadError::Damaged("a tag or a commit"))?;
        }
        Err(ReadError::Unsupported("a long chain of tags"))
    }
}

/// Returns whether this is the tree without entries. Git knows it also in repositories that do not have it.
fn is_empty_tree(id: &ObjectId) -> bool {
    EMPTY_TREES.iter().any(|empty| ObjectId::parse(empty).as_ref() == Some(id))
}

/// Returns the id in the first line of a commit or a tag.
fn first_header(content: &[u8], header: &[u8]) -> Option<ObjectId> {
    let line = content.split(|byte| *byte == b'\n').next()?;
    ObjectId::parse(std::str::from_utf8(line.strip_prefix(header)?).ok()?)
}
