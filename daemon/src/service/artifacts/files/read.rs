//! Lists and reads the files of an artifact.

use std::{collections::BTreeMap, ops::Range};

use farrier_proto::store::{Artifact, Content};
use futures_util::StreamExt as _;

use super::{
    super::{MISSING, RunArtifactFilter, block_refs, list_run, rows, visible},
    limits,
};
use crate::{
    blob::{BlockReader, UploadKey},
    model::zip_records::{self, ZipFile},
    service::{Context, Error, authentication::JobIdentity},
    shares::RequestMemory,
};

/// Memory for a directory and the paths in it, as a multiple of its size.
const COPIES_OF_DIRECTORY: u64 = 2;
/// Longest record of a file in the directory, in bytes.
const RECORD_MAX: u64 = 8 << 10;

/// Where [`file()`] finds a file.
#[derive(Clone, Copy, Debug)]
pub struct FileLocation {
    /// The ID of the artifact that contains it.
    pub artifact: u64,
    /// The position of its record.
    pub position: u64,
}

/// The files of all artifacts of one name.
#[derive(Debug)]
pub struct StoredFiles {
    /// The name of the artifacts.
    pub name: String,
    /// The files by their paths.
    pub files: BTreeMap<String, FileLocation>,
}

/// Returns the files of all artifacts of the run of `job` that have the name of the artifact `id`. Of several files
/// with the same path, it returns that of the newest artifact.
///
/// `memory`: of the request, to which the list is counted.
pub async fn list_files(
    context: &Context,
    job: &JobIdentity,
    id: u64,
    memory: Option<&RequestMemory>,
) -> Result<StoredFiles, Error> {
    let (Artifact { name, .. }, _) = find(context, job, id).await?;
    let filter = RunArtifactFilter { name: Some(name.clone()), id: None, has_files: true };
    let found = list_run(context, job, &filter).await?;
    let mut files = BTreeMap::new();
    for row in found.iter().rev() {
        let Some(content) = &row.content else { continue };
        add_files(context, row.id, content, &mut files, memory).await?;
    }
    Ok(StoredFiles { name, files })
}

/// Adds the files of `artifact` whose paths `files` does not have.
async fn add_files(
    context: &Context,
    artifact: u64,
    content: &Content,
    files: &mut BTreeMap<String, FileLocation>,
    memory: Option<&RequestMemory>,
) -> Result<(), Error> {
    let range = directory_of(context, artifact, content).await?;
    let length = range.end - range.start;
    if length > limits::DIRECTORY_MAX_BYTES {
        return Err(Error::Precondition { reason: "the artifact has too many files".into() });
    }
    limits::grow(memory, length * COPIES_OF_DIRECTORY)?;
    let bytes = read(context, artifact, content, range.clone()).await?;
    let mut at = 0;
    while let Some((file, record_bytes)) = bytes.get(at..).and_then(ZipFile::read) {
        files.entry(file.path).or_insert(FileLocation { artifact, position: range.start + at as u64 });
        at += record_bytes;
    }
    Ok(())
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
    let row = rows::get(&context.store.read().await?, id).await?;
    let row = row.filter(|row| row.run_id == job.run_id).ok_or(MISSING)?;
    let content = visible(&row, context.now_ms()).filter(|content| content.version == super::VERSION);
    let content = content.cloned().ok_or(MISSING)?;
    Ok((row, content))
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
