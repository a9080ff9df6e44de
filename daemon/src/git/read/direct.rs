//! Answers queries without a git process, where that is possible.
//!
//! Each method returns `None` if git must answer: the name or the file is not supported, or an object is damaged. Git
//! then gives the answer or the error. Refs are read from their files for each request; what was read before for the
//! same ids comes from the [`ReadCache`](super::ReadCache).

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;

use super::{
    LIST_MAX_BYTES, RepositoryReader,
    cache::{ReadKey, ReadResult},
    names::{NameBase, ObjectName},
    objects::{GitObject, ObjectInfo},
    ref_files::{self, RefBounds, RefFiles, RefValue},
    refs::Reference,
    tree::TreeEntry,
};
use crate::{
    git::{
        GitError, QUEUE_TIMEOUT,
        objects::{ObjectId, ObjectKind, ObjectLimits, ObjectReader, ReadError, StoredObject},
    },
    shares::Share,
    tasks,
};

/// Memory of a cached result and of the values made from it, as a multiple of its size.
const PARSED_FACTOR: usize = 2;
/// Memory of a ref besides its name, bytes. Counted twice, as everything that is parsed.
const REFERENCE_BYTES: usize = 160;

/// Ends the work on a blocking thread when its request ends.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl RepositoryReader {
    /// Runs `work` with the objects of the repository on a thread for blocking work, with the limits and the share of
    /// the caller. `command` names the git command that does the same.
    async fn with_objects<T: Send + 'static>(
        &self,
        command: &'static str,
        work: impl FnOnce(&mut ObjectReader) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<Option<T>, GitError> {
        let share = self.share().await?;
        let (limits, _cancel) = self.limits();
        let (git, repository) = (self.git.clone(), self.repository);
        let read = tasks::blocking(move || {
            let _share = share;
            work(&mut git.object_reader(repository, limits)?)
        });
        self.answer(command, read.await)
    }

    /// Returns the limits of a read that starts now. It ends early when the second value is dropped.
    fn limits(&self) -> (ObjectLimits, CancelOnDrop) {
        let cancelled = Arc::new(AtomicBool::new(false));
        let cancel = CancelOnDrop(cancelled.clone());
        (ObjectLimits::new(Instant::now() + self.timeout, cancelled, self.memory.clone()), cancel)
    }

    /// Waits for the share of the caller. Work of the daemon itself has none.
    async fn share(&self) -> Result<Option<Share>, GitError> {
        match self.caller {
            Some(caller) => Ok(Some(self.git.0.reads.wait(caller, QUEUE_TIMEOUT).await?)),
            None => Ok(None),
        }
    }

    /// Runs `work` that reads files of refs on a thread for blocking work. Few refs are read without the share of the
    /// caller. If there are more, `work` runs again with it.
    async fn with_refs<T: Send + 'static>(
        &self,
        work: impl Fn(&Path, RefBounds, &ObjectLimits) -> Result<T, ReadError> + Clone + Send + 'static,
    ) -> Result<Option<T>, GitError> {
        let read = match self.read_refs(None, RefBounds::FEW, work.clone()).await {
            Err(ReadError::ManyRefs) => self.read_refs(self.share().await?, RefBounds::ALL, work).await,
            read => read,
        };
        self.answer("for-each-ref", read)
    }

    async fn read_refs<T: Send + 'static>(
        &self,
        share: Option<Share>,
        bounds: RefBounds,
        work: impl FnOnce(&Path, RefBounds, &ObjectLimits) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let (limits, _cancel) = self.limits();
        let directory = self.git.directory(self.repository);
        let read = tasks::blocking(move || {
            let _share = share;
            work(&directory, bounds, &limits)
        });
        read.await
    }

    /// Converts a failed read: what git cannot do better is an error, the rest is left to git.
    fn answer<T>(&self, command: &str, read: Result<T, ReadError>) -> Result<Option<T>, GitError> {
        let command = || command.to_owned();
        match read {
            Ok(result) => Ok(Some(result)),
            Err(ReadError::Refused(refused)) => Err(refused.into()),
            Err(ReadError::Timeout) => Err(GitError::Timeout { command: command(), limit: self.timeout }),
            Err(ReadError::TooMuch(limit)) => Err(GitError::TooMuch { command: command(), limit }),
            Err(
                error @ (ReadError::Unsupported(_) | ReadError::Damaged(_) | ReadError::Io(_) | ReadError::ManyRefs),
            ) => {
                let (repository, error) = (self.repository, &error as &dyn std::error::Error);
                tracing::debug!(repository, error, "a read is left to git");
                Ok(None)
            }
        }
    }

    /// Counts a result of `bytes` bytes that was not read now.
    fn count_cached(&self, bytes: usize) -> Result<(), GitError> {
        self.memory.as_ref().map_or(Ok(()), |memory| Ok(memory.grow(bytes.saturating_mul(PARSED_FACTOR))?))
    }

    pub(super) fn cached(&self, key: &ReadKey) -> Option<ReadResult> {
        self.git.0.read_cache.get(key)
    }

    pub(super) fn keep(&self, key: ReadKey, result: ReadResult) {
        self.git.0.read_cache.insert(key, result);
    }

    /// Returns the object `id` from the cache if it was found in the current generation.
    fn cached_object(&self, id: ObjectId, generation: u64) -> Option<GitObject> {
        match self.cached(&ReadKey::Object(self.repository, id)) {
            Some(ReadResult::Object(object, found)) if found == generation => Some(object),
            _ => None,
        }
    }

    fn generation(&self) -> u64 {
        self.git.0.generations.get(self.repository)
    }

    async fn ref_value(&self, name: String) -> Result<Option<RefValue>, GitError> {
        self.with_refs(move |directory, bounds, limits| ref_files::value(directory, &name, bounds, limits)).await
    }

    /// Returns whether the repository has no refs.
    pub(super) async fn is_empty_directly(&self) -> Result<Option<bool>, GitError> {
        Ok(self.with_refs(ref_files::is_empty).await?.flatten())
    }

    /// Returns the first of `names` that names an object; inner `None` if none of them does.
    pub(super) async fn first_directly(&self, names: &[String]) -> Result<Option<Option<ObjectInfo>>, GitError> {
        for name in names {
            let Some(ObjectName { base, wanted }) = ObjectName::parse(name) else { return Ok(None) };
            let id = match base {
                NameBase::Id(id) => id,
                NameBase::Ref(name) => match self.ref_value(name).await? {
                    Some(RefValue::Id(id)) => id,
                    Some(RefValue::Missing) => continue,
                    Some(RefValue::Unsupported) | None => return Ok(None),
                },
            };
            let Some(found) = self.peeled(id, wanted).await? else { return Ok(None) };
            if found.is_some() {
                return Ok(Some(found));
            }
        }
        Ok(Some(None))
    }

    /// Returns the object `id`, or the object of the type `wanted` that it points to.
    async fn peeled(&self, id: ObjectId, wanted: Option<ObjectKind>) -> Result<Option<Option<ObjectInfo>>, GitError> {
        let generation = self.generation();
        let is_wanted = |object: &GitObject| wanted.is_none_or(|wanted| object.info.kind == wanted.word());
        if let Some(object) = self.cached_object(id, generation).filter(is_wanted) {
            return Ok(Some(Some(object.info)));
        }
        let read = self.with_objects("cat-file", move |reader| {
            let id = match wanted {
                Some(wanted) => reader.peel(&id, wanted)?,
                None => Some(id),
            };
            let Some(id) = id else { return Ok(None) };
            let Some((kind, size)) = reader.info(&id)? else { return Ok(None) };
            let info = ObjectInfo { id: id.hex(), kind: kind.word().into(), size };
            // The request will need the commit.
            let commit = if kind == ObjectKind::Commit { reader.object(&id)? } else { None };
            Ok(Some((id, info, commit.map(|commit| Bytes::from(commit.content)))))
        });
        let Some(found) = read.await? else { return Ok(None) };
        Ok(Some(found.map(|(id, info, commit)| {
            if let Some(content) = commit {
                let object = GitObject { info: info.clone(), content };
                self.keep(ReadKey::Object(self.repository, id), ReadResult::Object(object, generation));
            }
            info
        })))
    }

    /// Returns the objects that `names` name. Fails if they have more than `limit` bytes.
    pub(super) async fn objects_directly(
        &self,
        names: &[String],
        limit: usize,
    ) -> Result<Option<Vec<Option<GitObject>>>, GitError> {
        let mut ids = Vec::with_capacity(names.len());
        for name in names {
            let id = match ObjectName::parse(name) {
                Some(ObjectName { base: NameBase::Id(id), wanted: None }) => Some(id),
                Some(ObjectName { base: NameBase::Ref(name), wanted: None }) => match self.ref_value(name).await? {
                    Some(RefValue::Id(id)) => Some(id),
                    Some(RefValue::Missing) => None,
                    Some(RefValue::Unsupported) | None => return Ok(None),
                },
                _ => return Ok(None),
            };
            ids.push(id);
        }
        let generation = self.generation();
        let mut objects: Vec<Option<GitObject>> =
            ids.iter().map(|id| id.and_then(|id| self.cached_object(id, generation))).collect();
        let mut bytes: usize = objects.iter().flatten().map(|object| object.content.len()).sum();
        self.count_cached(bytes)?;
        let missing = |(at, id): (usize, &Option<ObjectId>)| id.filter(|_| objects[at].is_none()).map(|id| (at, id));
        let missing: Vec<_> = ids.iter().enumerate().filter_map(missing).collect();
        if !missing.is_empty() {
            let wanted = missing.clone();
            let read = self.with_objects("cat-file", move |reader| {
                let mut found = Vec::with_capacity(wanted.len());
                for (_, id) in wanted {
                    let object = reader.object(&id)?.map(|object| git_object(id, object));
                    let length = object.as_ref().map_or(0, |object| object.content.len());
                    bytes += length;
                    if bytes > limit {
                        return Err(ReadError::TooMuch(limit));
                    }
                    reader.limits.keep(length)?;
                    found.push(object);
                }
                Ok(found)
            });
            let Some(found) = read.await? else { return Ok(None) };
            for ((at, id), object) in missing.into_iter().zip(found) {
                if let Some(object) = &object {
                    let result = ReadResult::Object(object.clone(), generation);
                    self.keep(ReadKey::Object(self.repository, id), result);
                }
                objects[at] = object;
            }
        }
        Ok(Some(objects))
    }

    /// Returns the refs below `prefix`.
    pub(super) async fn refs_directly(&self, prefix: &str) -> Result<Option<Vec<Reference>>, GitError> {
        let at = prefix.to_owned();
        let files = self.with_refs(move |directory, bounds, limits| RefFiles::read(directory, &at, bounds, limits));
        let Some(files) = files.await?.flatten().map(Arc::new) else { return Ok(None) };
        let key = ReadKey::Refs(self.repository, prefix.to_owned());
        let known = match self.cached(&key) {
            Some(ReadResult::Refs(refs, read)) if read == files => {
                self.count_cached(refs.len() * REFERENCE_BYTES)?;
                return Ok(Some(refs.as_ref().clone()));
            }
            Some(ReadResult::Refs(refs, _)) => refs,
            _ => Arc::default(),
        };
        let (prefix, selected) = (prefix.to_owned(), files.clone());
        let read = self.with_objects("for-each-ref", move |reader| {
            // The type of an object does not change, and refs keep their objects.
            let known: HashMap<&str, &Reference> = known.iter().map(|found| (found.id.as_str(), found)).collect();
            let selected = selected.select(&prefix).ok_or(ReadError::Unsupported("packed-refs"))?;
            let mut refs = Vec::with_capacity(selected.len());
            let mut bytes = 0;
            for (name, id) in selected {
                bytes += name.len() + REFERENCE_BYTES;
                if bytes > LIST_MAX_BYTES {
                    return Err(ReadError::TooMuch(LIST_MAX_BYTES));
                }
                reader.limits.keep(name.len() + REFERENCE_BYTES)?;
                refs.push(match known.get(id) {
                    Some(known) => Reference { name: name.to_owned(), ..(*known).clone() },
                    None => reference(reader, name, id)?,
                });
            }
            Ok(refs)
        });
        let Some(refs) = read.await? else { return Ok(None) };
        self.keep(key, ReadResult::Refs(Arc::new(refs.clone()), files));
        Ok(Some(refs))
    }

    /// Returns the entries of the tree or commit `id`.
    pub(super) async fn tree_directly(&self, id: &str, recursive: bool) -> Result<Option<Vec<TreeEntry>>, GitError> {
        let Some(id) = ObjectId::parse(id) else { return Ok(None) };
        let key = ReadKey::Tree(self.repository, id);
        if !recursive && let Some(ReadResult::Tree(entries)) = self.cached(&key) {
            self.count_cached(entries.len() * REFERENCE_BYTES)?;
            return Ok(Some(entries.as_ref().clone()));
        }
        let read = self.with_objects("ls-tree", move |reader| reader.list_tree(&id, recursive, LIST_MAX_BYTES));
        let Some(listed) = read.await?.flatten() else { return Ok(None) };
        if listed.complete && !recursive {
            self.keep(key, ReadResult::Tree(Arc::new(listed.entries.clone())));
        }
        Ok(Some(listed.entries))
    }

    /// Returns the entry at `path` in the commit `commit`; inner `None` if it does not exist.
    pub(super) async fn entry_directly(&self, commit: &str, path: &str) -> Result<Option<Option<TreeEntry>>, GitError> {
        let Some(id) = ObjectId::parse(commit) else { return Ok(None) };
        let key = ReadKey::Entry(self.repository, id, path.to_owned());
        if let Some(ReadResult::Entry(entry)) = self.cached(&key) {
            return Ok(Some(Some(entry.as_ref().clone())));
        }
        let path = path.to_owned();
        let read = self.with_objects("ls-tree", move |reader| reader.entry_at(&id, &path));
        let Some(entry) = read.await? else { return Ok(None) };
        if let Some(entry) = &entry {
            self.keep(key, ReadResult::Entry(Arc::new(entry.clone())));
        }
        Ok(Some(entry))
    }
}

fn git_object(id: ObjectId, StoredObject { kind, content }: StoredObject) -> GitObject {
    let info = ObjectInfo { id: id.hex(), kind: kind.word().into(), size: content.len() as u64 };
    GitObject { info, content: content.into() }
}

/// Describes the ref `name` with the value `id`. Git reports refs to objects that do not exist.
fn reference(reader: &mut ObjectReader, name: &str, id: &str) -> Result<Reference, ReadError> {
    let missing = || ReadError::Unsupported("a ref to a missing object");
    let object_id = ObjectId::parse(id).ok_or_else(missing)?;
    let (kind, _) = reader.info(&object_id)?.ok_or_else(missing)?;
    let peeled = match kind {
        ObjectKind::Tag => {
            let target = reader.target_of_tag(&object_id)?.ok_or_else(missing)?;
            let (kind, _) = reader.info(&target)?.ok_or_else(missing)?;
            Some((target.hex(), kind.word().to_owned()))
        }
        ObjectKind::Commit | ObjectKind::Tree | ObjectKind::Blob => None,
    };
    Ok(Reference { name: name.to_owned(), id: object_id.hex(), kind: kind.word().to_owned(), peeled })
}
