//! Receives the bytes of one object: they are written and hashed, or only hashed.

use std::mem;

use bytes::Bytes;
use farrier_proto::store::LfsObject;
use sha2::{Digest as _, Sha256};

use super::upload_key;
use crate::{
    blob::RequestedChecksums,
    service::{Context, Error, claimed_writer::ClaimedWriter, disk_space::SpaceClaim},
    store::lfs::Oid,
    tasks,
};

/// Most bytes that are hashed on the thread of the request. More take more than about a tenth of a millisecond.
const HASHED_HERE_MAX: usize = 64 << 10;

/// Where the bytes of an object go.
pub(super) enum ObjectSink {
    /// To a new file. The thread that writes them hashes them, while the next ones arrive.
    Stored(ClaimedWriter),
    /// Nowhere, because the pool has them. They are hashed, because the sender must prove that it has them.
    Compared(Sha256),
}

impl ObjectSink {
    /// Returns the sink of an object that is not stored yet. The caller has marked it.
    pub(super) fn stored(context: &Context, object: &LfsObject, space: SpaceClaim) -> Self {
        let requested = RequestedChecksums { sha256: true, ..RequestedChecksums::default() };
        let writer = context.blobs.create(upload_key(object.id), object.file, requested, None);
        Self::Stored(ClaimedWriter::new(writer, space, "writing an LFS object"))
    }

    /// Returns the sink of an object that is stored already.
    pub(super) fn compared() -> Self {
        Self::Compared(Sha256::new())
    }

    /// Appends bytes. After a cancelled call, the SHA-256 is not that of the object.
    pub(super) async fn write(&mut self, context: &Context, bytes: Bytes) -> Result<(), Error> {
        match self {
            Self::Stored(writer) => writer.write(context, bytes).await,
            Self::Compared(hasher) if bytes.len() <= HASHED_HERE_MAX => {
                hasher.update(&bytes);
                Ok(())
            }
            Self::Compared(hasher) => {
                let mut continued = mem::take(hasher);
                *hasher = tasks::blocking(move || {
                    continued.update(&bytes);
                    continued
                })
                .await;
                Ok(())
            }
        }
    }

    /// Returns the SHA-256 of all bytes. Written bytes are durable then. They stay marked until their rows are written,
    /// so those of another object than the expected one are removed with the mark.
    pub(super) async fn finish(self) -> Result<Oid, Error> {
        match self {
            Self::Stored(writer) => Ok(writer.finish().await?.sha256.expect("it was requested")),
            Self::Compared(hasher) => Ok(hasher.finalize().into()),
        }
    }
}
