//! Opens the bytes of objects.

use std::ops::Range;

use farrier_proto::store::{LfsObject, Repository};

use super::{MISSING, grants, is_intact, rows, upload_key};
use crate::{
    blob::{BlockReader, BlockRef},
    model::lfs_address::LfsGrant,
    service::{Context, Error, access_watch::AccessWatch},
    store::{Read, lfs::Oid},
};

/// The bytes of an object.
#[derive(Clone, Debug)]
pub struct LfsContent {
    row: LfsObject,
    oid: Oid,
}

/// The result of opening an object that the repository has.
pub enum Opened {
    /// Its bytes, and the access of the caller.
    Content(LfsContent, Box<AccessWatch>),
    /// Its bytes were lost.
    Lost,
}

/// Opens the object of an address, if its caller still has access and the repository still has the object.
pub async fn open(context: &Context, grant: &LfsGrant) -> Result<Opened, Error> {
    let access = grants::access(context, grant).await?;
    let read = &context.store.read().await?;
    match of_repository(context, read, &access.repository, &grant.oid).await? {
        Some(content) if content.row.size == grant.size => Ok(Opened::Content(content, Box::new(access.watch))),
        Some(_) => Err(MISSING),
        None => Ok(Opened::Lost),
    }
}

/// Returns the bytes of an object of a repository; `None` if they were lost.
pub async fn of_repository(
    context: &Context,
    read: &impl Read,
    repository: &Repository,
    oid: &Oid,
) -> Result<Option<LfsContent>, Error> {
    rows::entry(read, repository.id, oid).await?.ok_or(MISSING)?;
    let Some(row) = rows::object(read, oid).await? else { return Ok(None) };
    Ok(is_intact(context, &row).await?.then_some(LfsContent { row, oid: *oid }))
}

impl LfsContent {
    /// Returns the number of bytes.
    pub fn size(&self) -> u64 {
        self.row.size
    }

    /// Returns the SHA-256 in hexadecimal digits.
    pub fn oid(&self) -> String {
        hex::encode(self.oid)
    }

    /// Reads `range`, which must be inside the content. All bytes are compared with their SHA-256 while they are read,
    /// unless that was done recently.
    pub fn bytes(&self, context: &Context, range: Range<u64>) -> BlockReader {
        let (key, is_whole) = (upload_key(self.row.id), range == (0..self.row.size));
        let reader = context.blobs.read(key, [BlockRef { file: self.row.file, size: self.row.size }].into(), range);
        if !is_whole || !context.verified.is_due(key, context.now_ms()) {
            return reader;
        }
        let context = context.clone();
        reader.verified(key, self.oid.to_vec(), move |matches| {
            if matches {
                context.verified.record(key, context.now_ms());
            } else {
                context.metrics.damaged_artifacts.inc();
            }
        })
    }
}

/// Checks that a repository has an object with this size.
pub async fn verify(context: &Context, grant: &LfsGrant, size: u64) -> Result<(), Error> {
    let access = grants::access(context, grant).await?;
    let read = &context.store.read().await?;
    let found = of_repository(context, read, &access.repository, &grant.oid).await?.ok_or(MISSING)?;
    if found.size() != size {
        let reason = format!("the object has {} bytes and not {size}", found.size());
        return Err(Error::Unusable { reason });
    }
    Ok(())
}
