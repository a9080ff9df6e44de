//! Lists and reads the files of an artifact.

use std::ops::Range;

use farrier_proto::store::{Artifact, Content};
use futures_util::StreamExt as _;

use super::super::{MISSING, RunArtifactFilter, block_refs, list_run};
use crate::{
    blob::{BlockReader, UploadKey},
    model::zip_records::{self, ZipFile},
    service::{Context, Error, authentication::JobIdentity},
};

/// Largest directory that is read, in bytes. An upload has at most 50,000 chunks.
const DIRECTORY_MAX: u64 = 256 << 20;
/// Longest record of a file in the directory, in bytes.
const RECORD_MAX: u64 = 8 << 10;

/// The files of an artifact.
#[derive(Debug)]
pub struct StoredFiles {
    /// The artifact.
    pub artifact: Artifact,
    /// The path of each file, and the position by which [`file()`] finds it.
    pub files: Vec<(String, u64)>,
}

/// Returns the files of the artifact `id` of the run of `job`.
pub async fn list_files(context: &Context, job: &JobIdentity, id: u64) -> Result<StoredFiles, Error> {
    let (artifact, content) = find(context, job, id).await?;
    let range = directory_of(context, id, &content).await?;
    if range.end - range.start > DIRECTORY_MAX {
        return Err(Error::Precondition { reason: "the artifact has too many files".into() });
    }
    let bytes = read(context, id, &content, range.clone()).await?;
    let (mut at, mut files) = (0, Vec::new());
    while let Some((file, length)) = bytes.get(at..).and_then(ZipFile::read) {
        files.push((file.path, range.start + at as u64));
        at += length;
    }
    Ok(StoredFiles { artifact, files })
}

/// A file of an artifact, with the reader of its stored bytes.
#[derive(Debug)]
pub struct StoredFile {
    /// The file.
    pub file: ZipFile,
    /// Its stored bytes.
    pub bytes: BlockReader,
}

/// Returns the file of the artifact `id` of the run of `job` whose record in the directory is at `position`.
pub async fn file(context: &Context, job: &JobIdentity, id: u64, position: u64) -> Result<StoredFile, Error> {
    let (_, content) = find(context, job, id).await?;
    let directory = directory_of(context, id, &content).await?;
    if !directory.contains(&position) {
        return Err(MISSING);
    }
    let record = read(context, id, &content, position..directory.end.min(position + RECORD_MAX)).await?;
    let (file, _) = ZipFile::read(&record).ok_or(MISSING)?;
    let start = file.data_offset();
    let end = start.checked_add(file.stored).filter(|end| *end <= directory.start).ok_or(MISSING)?;
    let bytes = reader(context, id, &content, start..end).await?;
    Ok(StoredFile { file, bytes })
}

async fn find(context: &Context, job: &JobIdentity, id: u64) -> Result<(Artifact, Content), Error> {
    let filter = RunArtifactFilter { name: None, id: i64::try_from(id).ok(), has_files: true };
    let found = list_run(context, job, &filter).await?.pop().ok_or(MISSING)?;
    let content = found.content.clone().filter(|content| content.version == super::VERSION).ok_or(MISSING)?;
    Ok((found, content))
}

async fn directory_of(context: &Context, id: u64, content: &Content) -> Result<Range<u64>, Error> {
    let size = content.size;
    let last = read(context, id, content, size - zip_records::end_length(size)..size).await?;
    zip_records::directory(&last, size).ok_or(MISSING)
}

async fn read(context: &Context, id: u64, content: &Content, range: Range<u64>) -> Result<Vec<u8>, Error> {
    let mut reader = reader(context, id, content, range).await?;
    let mut bytes = Vec::new();
    while let Some(next) = reader.next().await {
        bytes.extend_from_slice(&next.map_err(|source| Error::Blob { doing: "reading an artifact", source })?);
    }
    Ok(bytes)
}

async fn reader(context: &Context, id: u64, content: &Content, range: Range<u64>) -> Result<BlockReader, Error> {
    let key = UploadKey { artifact: id, generation: content.generation };
    let refs = block_refs(&context.store.read().await?, key).await?;
    Ok(context.blobs.read(key, refs, range))
}
