//! Results of reads that are kept for the next requests.
//!
//! What belongs to an object id never changes: the content of an object, the entries of a tree, the history of a
//! commit. Only existence changes, when unreachable objects are pruned. So an object has the generation of the
//! repository in which it was found, and is looked up again in a newer one. The other results are returned only for ids
//! that the caller has resolved. Refs are compared with the files from which they were read.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    HistoryQuery, history::Changes, languages::LanguageSizes, objects::GitObject, refs::Reference, tree::TreeEntry,
};
use crate::git::objects::ObjectId;

/// Memory of all results, bytes. Half of it is for results that were used recently.
const CACHE_MAX_BYTES: usize = 6 << 20;
/// Memory of one result, bytes. Larger results are not kept.
const RESULT_MAX_BYTES: usize = 512 << 10;
/// Memory of a key, of the table, and of the small allocations of a result, bytes.
const OVERHEAD_BYTES: usize = 320;

/// What a result belongs to. The first part is the repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReadKey {
    Object(u64, ObjectId),
    Tree(u64, ObjectId),
    Entry(u64, ObjectId, String),
    History(u64, HistoryQuery),
    Count(u64, HistoryQuery),
    LastChanges(u64, ObjectId, String),
    Refs(u64, String),
    Languages(u64, ObjectId),
}

impl ReadKey {
    /// Returns the memory of its texts, bytes. Clients choose paths, which can be long.
    fn bytes(&self) -> usize {
        match self {
            Self::Object(..) | Self::Tree(..) | Self::Languages(..) => 0,
            Self::Entry(_, _, path) | Self::LastChanges(_, _, path) | Self::Refs(_, path) => path.len(),
            Self::History(_, query) | Self::Count(_, query) => {
                query.from.len() + query.path.len() + query.not.iter().map(|id| id.len() + 24).sum::<usize>()
            }
        }
    }
}

/// The id of the last commit that changed an entry of a directory, by the name of the entry.
pub type LastChanges = HashMap<String, String>;

/// A result.
#[derive(Clone, Debug)]
pub(super) enum ReadResult {
    /// The object, and the generation in which it was found.
    Object(GitObject, u64),
    Tree(Arc<Vec<TreeEntry>>),
    Entry(Arc<TreeEntry>),
    History(Arc<Vec<Changes>>),
    Count(u64),
    LastChanges(Arc<LastChanges>),
    /// The refs, and the files from which they were read.
    Refs(Arc<Vec<Reference>>, Arc<super::ref_files::RefFiles>),
    Languages(Arc<LanguageSizes>),
}

impl ReadResult {
    fn bytes(&self) -> usize {
        let sum = |sizes: &mut dyn Iterator<Item = usize>| sizes.sum::<usize>();
        OVERHEAD_BYTES
            + match self {
                Self::Object(object, _) => object.content.len(),
                Self::Tree(entries) => sum(&mut entries.iter().map(|entry| entry.path.len() + 240)),
                Self::Entry(entry) => entry.path.len() + 240,
                Self::History(commits) => sum(&mut commits
                    .iter()
                    .map(|commit| 160 + sum(&mut commit.files.iter().map(|(path, _)| path.len() + 56)))),
                Self::Languages(sizes) => sizes.len() * 32,
                Self::Count(_) => 0,
                Self::LastChanges(entries) => sum(&mut entries.iter().map(|(name, id)| name.len() + id.len() + 112)),
                Self::Refs(refs, files) => files.bytes() + sum(&mut refs.iter().map(|found| found.name.len() + 320)),
            }
    }
}

/// The results. Those that were not used while half of the memory was filled again are removed.
#[derive(Debug, Default)]
pub(in crate::git) struct ReadCache(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    recent: HashMap<ReadKey, ReadResult>,
    older: HashMap<ReadKey, ReadResult>,
    recent_bytes: usize,
}

impl ReadCache {
    /// Returns the result of `key`.
    pub(super) fn get(&self, key: &ReadKey) -> Option<ReadResult> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = halves.recent.get(key) {
            return Some(found.clone());
        }
        let (key, found) = halves.older.remove_entry(key)?;
        let removed = halves.insert(key, found.clone());
        drop(halves);
        drop(removed);
        Some(found)
    }

    /// Forgets all results.
    #[cfg(test)]
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Halves::default();
    }

    /// Keeps a result if it is small.
    pub(super) fn insert(&self, key: ReadKey, result: ReadResult) {
        if key.bytes() + result.bytes() > RESULT_MAX_BYTES {
            return;
        }
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = halves.older.remove(&key);
        let removed = halves.insert(key, result);
        drop(halves);
        drop((replaced, removed));
    }
}

impl Halves {
    /// Inserts into the recent half. Returns the older half if it was replaced.
    fn insert(&mut self, key: ReadKey, result: ReadResult) -> HashMap<ReadKey, ReadResult> {
        let key_bytes = key.bytes();
        self.recent_bytes += key_bytes + result.bytes();
        if let Some(replaced) = self.recent.insert(key, result) {
            self.recent_bytes -= key_bytes + replaced.bytes();
        }
        if self.recent_bytes <= CACHE_MAX_BYTES / 2 {
            return HashMap::new();
        }
        self.recent_bytes = 0;
        mem::replace(&mut self.older, mem::take(&mut self.recent))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{super::objects::ObjectInfo, *};

    fn object(size: usize) -> ReadResult {
        let info = ObjectInfo { id: String::new(), kind: "blob".into(), size: size as u64 };
        ReadResult::Object(GitObject { info, content: Bytes::from(vec![0; size]) }, 1)
    }

    #[test]
    fn results_that_are_used_stay_and_the_memory_is_limited() {
        let cache = ReadCache::default();
        cache.insert(ReadKey::Count(1, HistoryQuery::default()), ReadResult::Count(5));
        let id = |n: u32| ObjectId::from_raw(&[&n.to_be_bytes()[..], &[0; 16]].concat()).expect("20 bytes");
        for n in 0..200 {
            cache.insert(ReadKey::Object(1, id(n)), object(100 << 10));
            assert!(cache.get(&ReadKey::Count(1, HistoryQuery::default())).is_some(), "used");
        }
        assert!(cache.get(&ReadKey::Object(1, id(199))).is_some() && cache.get(&ReadKey::Object(1, id(0))).is_none());
        let halves = cache.0.lock().expect("not poisoned");
        let bytes: usize = halves.recent.values().chain(halves.older.values()).map(ReadResult::bytes).sum();
        assert!(bytes <= CACHE_MAX_BYTES + RESULT_MAX_BYTES, "{bytes}");
        drop(halves);
        cache.insert(ReadKey::Object(2, id(0)), object(RESULT_MAX_BYTES));
        assert!(cache.get(&ReadKey::Object(2, id(0))).is_none(), "too large");
    }

    #[test]
    fn the_memory_of_long_paths_is_limited() {
        let cache = ReadCache::default();
        let key = |n: usize| {
            ReadKey::Count(1, HistoryQuery { path: format!("{n}{}", "x".repeat(64 << 10)), ..HistoryQuery::default() })
        };
        for n in 0..300 {
            cache.insert(key(n), ReadResult::Count(0));
        }
        assert!(cache.get(&key(299)).is_some() && cache.get(&key(0)).is_none());
        let halves = cache.0.lock().expect("not poisoned");
        let bytes: usize = halves.recent.keys().chain(halves.older.keys()).map(ReadKey::bytes).sum();
        assert!(bytes <= CACHE_MAX_BYTES + RESULT_MAX_BYTES, "{bytes}");
    }
}
