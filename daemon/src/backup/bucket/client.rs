//! The requests to the bucket. All calls block, on a thread that may block.

use std::{
    collections::{BTreeSet, HashMap},
    io::{self, Read},
    path::{Path, PathBuf},
};

use bytes::{Buf as _, Bytes};
use futures_util::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};
use object_store::{
    Error, GetOptions, MultipartId, ObjectMeta, ObjectStore as _, PutOptions, PutPayload,
    aws::AmazonS3,
    multipart::{MultipartStore as _, PartId},
    path::Path as ObjectPath,
};
use tokio::runtime::Handle;

use crate::{
    backup::{
        BackupError, BackupProgress,
        manifest::MANIFEST,
        place::{
            BACKUPS, FILES, MARK, MeasuredContent, RECORD_BYTES_MAX, ReadSeek, StoredBackups, UNREACHABLE, content_path,
        },
    },
    blob::open_bucket,
    config::{BlobsConfig, BucketUrl},
};

/// Size of a part of a large object, bytes, and most parts that S3 allows.
const PART_BYTES: u64 = 8 << 20;
const PARTS_MAX: u64 = 10_000;

/// A prefix of a bucket.
pub(in crate::backup) struct BucketClient {
    objects: AmazonS3,
    prefix: ObjectPath,
    url: PathBuf,
    runtime: Handle,
}

impl BucketClient {
    /// Opens the prefix `url` with the server and the keys of `config`. Sends no request. Call it in the context of a
    /// runtime.
    pub(in crate::backup) fn open(config: &BlobsConfig, url: &BucketUrl) -> Result<Self, BackupError> {
        let (objects, prefix) = open_bucket(config, url).map_err(BackupError::OpenBucket)?;
        Ok(Self { objects, prefix, url: url.to_string().into(), runtime: Handle::current() })
    }

    /// Like [`BucketClient::open`], for a prefix that must have backups.
    pub(in crate::backup) fn open_existing(config: &BlobsConfig, url: &BucketUrl) -> Result<Self, BackupError> {
        let client = Self::open(config, url)?;
        match client.get(MARK) {
            Ok(_) => Ok(client),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BackupError::NoBackup { path: client.url, name: None })
            }
            Err(error) => Err(BackupError::reading(&client.at(MARK))(error)),
        }
    }

    /// Returns the URL of an object, for messages.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.url.join(path)
    }

    fn object(&self, path: &str) -> ObjectPath {
        path.split('/').fold(self.prefix.clone(), ObjectPath::join)
    }

    /// Reads an object.
    pub(super) fn get(&self, path: &str) -> io::Result<Vec<u8>> {
        let object = self.object(path);
        let read = async {
            let found = self.objects.get_opts(&object, GetOptions::default()).await.map_err(failed)?;
            if found.meta.size > RECORD_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
            }
            found.bytes().await.map(Vec::from).map_err(failed)
        };
        self.runtime.block_on(read)
    }

    /// Writes an object. Returns when the server has acknowledged it.
    pub(super) fn put(&self, path: &str, content: Vec<u8>) -> Result<(), BackupError> {
        let (object, payload) = (self.object(path), PutPayload::from_bytes(content.into()));
        let put = self.runtime.block_on(self.objects.put_opts(&object, payload, PutOptions::default()));
        put.map(drop).map_err(|error| BackupError::writing(&self.at(path))(failed(error)))
    }

    /// Writes an object of any size. It exists only after its last byte was compared with its SHA-256.
    pub(super) fn put_measured(
        &self,
        path: &str,
        measured: &MeasuredContent,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<(), BackupError> {
        if measured.bytes <= PART_BYTES {
            let mut content = Vec::new();
            measured.copy(from, source, progress, |piece| {
                content.extend_from_slice(piece);
                Ok(())
            })?;
            return self.put(path, content);
        }
        let object = self.object(path);
        let writing = |error| BackupError::writing(&self.at(path))(failed(error));
        let id = self.runtime.block_on(self.objects.create_multipart(&object)).map_err(writing)?;
        let sent = self.send_parts(&object, &id, measured, from, source, progress).and_then(|parts| {
            self.runtime.block_on(self.objects.complete_multipart(&object, &id, parts)).map(drop).map_err(writing)
        });
        if sent.is_err() {
            // Safe: only the completion creates an object. If this fails, a rule of the bucket must remove the parts.
            _ = self.runtime.block_on(self.objects.abort_multipart(&object, &id));
        }
        sent
    }

    fn send_parts(
        &self,
        object: &ObjectPath,
        id: &MultipartId,
        measured: &MeasuredContent,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<Vec<PartId>, BackupError> {
        let part_bytes = usize::try_from(measured.bytes.div_ceil(PARTS_MAX).max(PART_BYTES)).unwrap_or(usize::MAX);
        let (mut parts, mut waiting) = (Vec::new(), Vec::new());
        let mut send_part = |content: Vec<u8>| -> Result<(), BackupError> {
            let payload = PutPayload::from_bytes(content.into());
            let part = self.runtime.block_on(self.objects.put_part(object, id, parts.len(), payload));
            parts.push(part.map_err(|error| BackupError::writing(Path::new(&object.to_string()))(failed(error)))?);
            Ok(())
        };
        measured.copy(from, source, progress, |piece| {
            waiting.extend_from_slice(piece);
            if waiting.len() < part_bytes {
                return Ok(());
            }
            let rest = waiting.split_off(part_bytes);
            send_part(std::mem::replace(&mut waiting, rest))
        })?;
        if !waiting.is_empty() {
            send_part(waiting)?;
        }
        Ok(parts)
    }

    /// Returns the paths and sizes of all objects below the path `below`; all if it is empty.
    pub(super) fn list(&self, below: &str) -> Result<Vec<(String, u64)>, BackupError> {
        let prefix = if below.is_empty() { self.prefix.clone() } else { self.object(below) };
        let listing = self.objects.list(Some(&prefix)).try_collect::<Vec<ObjectMeta>>();
        let found = self.runtime.block_on(listing);
        let found = found.map_err(|error| BackupError::reading(&self.at(below))(failed(error)))?;
        let path = |object: &ObjectMeta| {
            let parts = object.location.prefix_match(&self.prefix)?;
            let parts = parts.map(|part| {
                let name: &str = part.as_ref();
                name.to_owned()
            });
            Some(parts.collect::<Vec<_>>().join("/"))
        };
        Ok(found.iter().filter_map(|object| Some((path(object)?, object.size))).collect())
    }

    /// Returns the contents that the bucket has, by SHA-256, with their sizes.
    pub(super) fn contents(&self) -> Result<HashMap<String, u64>, BackupError> {
        let named = |(path, size): (String, u64)| {
            let sha256 = path.rsplit('/').next().unwrap_or_default();
            (path == content_path(sha256)).then(|| (sha256.to_owned(), size))
        };
        Ok(self.list(FILES)?.into_iter().filter_map(named).collect())
    }

    /// Returns the names of all backups that have `file`.
    pub(super) fn backups_with(&self, file: &str) -> Result<Vec<String>, BackupError> {
        let name = |(path, _): &(String, u64)| {
            let (name, found) = path.strip_prefix(BACKUPS)?.strip_prefix('/')?.split_once('/')?;
            (found == file).then(|| name.to_owned())
        };
        let names: BTreeSet<String> = self.list(BACKUPS)?.iter().filter_map(name).collect();
        Ok(names.into_iter().collect())
    }

    /// Deletes an object. Succeeds if it does not exist. The caller guarantees that no complete backup needs it.
    pub(super) fn delete(&self, path: &str) -> Result<(), BackupError> {
        let mut deleted = self.objects.delete_stream(stream::iter([Ok(self.object(path))]).boxed());
        match self.runtime.block_on(deleted.next()) {
            None | Some(Ok(_) | Err(Error::NotFound { .. })) => Ok(()),
            Some(Err(error)) => Err(BackupError::writing(&self.at(path))(failed(error))),
        }
    }
}

impl StoredBackups for BucketClient {
    fn place(&self) -> &Path {
        &self.url
    }

    fn complete(&self) -> Result<Vec<String>, BackupError> {
        self.backups_with(MANIFEST)
    }

    fn read(&self, name: &str, file: &str) -> io::Result<Vec<u8>> {
        self.get(&format!("{BACKUPS}/{name}/{file}"))
    }

    fn open(&self, sha256: &str) -> io::Result<Box<dyn Read + '_>> {
        let object = self.object(&content_path(sha256));
        let found = self.runtime.block_on(self.objects.get_opts(&object, GetOptions::default())).map_err(failed)?;
        Ok(Box::new(ObjectReader { runtime: &self.runtime, chunks: found.into_stream(), chunk: Bytes::new() }))
    }
}

/// Reads an object.
struct ObjectReader<'a> {
    runtime: &'a Handle,
    chunks: BoxStream<'static, object_store::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for ObjectReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.runtime.block_on(self.chunks.next()) {
                Some(chunk) => self.chunk = chunk.map_err(failed)?,
                None => return Ok(0),
            }
        }
        let length = self.chunk.len().min(buffer.len());
        self.chunk.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// Converts an error. Its text names the object and the error code of the server.
fn failed(error: Error) -> io::Error {
    let kind = if matches!(error, Error::NotFound { .. }) { io::ErrorKind::NotFound } else { UNREACHABLE };
    io::Error::new(kind, error)
}
