//! Receives the bytes of objects.
//!
//! The bytes are written to a marked file and hashed on the way. One transaction after the sync removes the mark and
//! writes the rows. Bytes that the pool already has are only hashed: the client must prove that it has them, also if
//! another repository has the object.

use std::{fmt::Display, pin::pin};

use bytes::Bytes;
use farrier_proto::store::{AssetMark, LfsEntry, LfsObject};
use futures_util::{Stream, StreamExt as _};

use super::{MISSING_REPOSITORY, grants, is_intact, largest, quota_exceeded, quota_left, rows, sink::ObjectSink};
use crate::{
    model::{identity::Identity, lfs_address::LfsGrant},
    service::{Context, Error, access_watch::AccessWatch, disk_space::DiskSpace, marked_uploads::MarkedUpload},
    shares::Holder,
    store::{
        Tx,
        ids::IdKind,
        lfs::{Oid, unreferenced},
        releases::assets,
        repositories,
    },
};

/// The object that a repository gets.
pub(super) struct NewLfsEntry {
    pub(super) repository: u64,
    pub(super) oid: Oid,
    pub(super) size: u64,
    /// The account that adds it, or 0.
    pub(super) added_by: u64,
    /// Whether the repository is being migrated, so that clients cannot write to it.
    pub(super) is_import: bool,
}

/// The bytes of an upload.
pub struct UploadInput<S> {
    /// `Content-Length`, if the client sent it.
    pub length: Option<u64>,
    /// The client, for the shares of uploads. An account replaces it.
    pub holder: Holder,
    /// The bytes. An error means that the client disconnected, stalled or sent an invalid body.
    pub body: S,
}

/// Receives the object of an address. It is durable when this returns.
pub async fn upload<S, E>(context: &Context, grant: &LfsGrant, input: UploadInput<S>) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Display,
{
    let mut access = grants::access(context, grant).await?;
    if grant.size > largest(context) {
        return Err(Error::TooLarge { limit: largest(context) });
    }
    if let Some(length) = input.length.filter(|length| *length != grant.size) {
        return Err(wrong_size(grant, &length.to_string()));
    }
    let read = context.store.read().await?;
    let is_new = rows::entry(&read, grant.repository, &grant.oid).await?.is_none();
    if is_new && grant.size > quota_left(context, &read, &access.repository).await? {
        return Err(quota_exceeded(context));
    }
    let known = rows::object(&read, &grant.oid).await?;
    drop(read);
    let is_stored = match &known {
        Some(row) => is_intact(context, row).await?,
        None => false,
    };
    let entry = |access: &AccessWatch| NewLfsEntry {
        repository: grant.repository,
        oid: grant.oid,
        size: grant.size,
        added_by: access.identity().actor_id(),
        is_import: false,
    };
    let holder = match (input.holder, access.watch.identity()) {
        (Holder::Address(_), caller @ Identity::Account(_)) => Holder::caller(caller, None),
        (holder, _) => holder,
    };
    let _share = context.work.uploads.take(holder)?;
    if is_stored {
        Receiver::new(context, grant, &mut access.watch).receive(input.body, ObjectSink::compared()).await?;
        return record(context, &entry(&access.watch), None, None).await;
    }
    let object = LfsObject {
        id: context.store.next_id(IdKind::Artifact).await?,
        file: context.store.next_id(IdKind::BlockFile).await?,
        size: grant.size,
        unreferenced_ms: 0,
    };
    let space = DiskSpace::claim_for_upload(context, grant.size).await?;
    let mark = AssetMark {
        repository_id: grant.repository,
        since_ms: context.now_ms(),
        begun_by: Some(context.node.this_start()),
    };
    context
        .store
        .write(async |tx: Tx| {
            assets::mark(&tx, object.id, &mark);
            Ok::<_, Error>(())
        })
        .await?;
    let mut upload = MarkedUpload::new(context, object.id);
    let sink = ObjectSink::stored(context, &object, space);
    Receiver::new(context, grant, &mut access.watch).receive(input.body, sink).await?;
    record(context, &entry(&access.watch), Some(&object), known.as_ref()).await?;
    upload.recorded();
    Ok(())
}

fn wrong_size(grant: &LfsGrant, received: &str) -> Error {
    Error::Unusable { reason: format!("the body has {received} bytes, and the object has {}", grant.size) }
}

/// Reads a body and compares it with its grant.
struct Receiver<'a> {
    context: &'a Context,
    grant: &'a LfsGrant,
    access: &'a mut AccessWatch,
}

impl<'a> Receiver<'a> {
    fn new(context: &'a Context, grant: &'a LfsGrant, access: &'a mut AccessWatch) -> Self {
        Self { context, grant, access }
    }

    /// Reads the complete body to `sink`. Returns an error unless it has the size and the SHA-256 of the grant.
    async fn receive<S, E>(self, body: S, mut sink: ObjectSink) -> Result<(), Error>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Display,
    {
        let Self { context, grant, access } = self;
        let lost = || Error::Forbidden { reason: "the caller has lost its access".into() };
        let mut received = 0_u64;
        let mut body = pin!(body);
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(|error| Error::Body { reason: format!("the body ended early: {error}") })?;
            received += bytes.len() as u64;
            if received > grant.size {
                return Err(wrong_size(grant, &format!("more than {}", grant.size)));
            }
            if !access.holds().await {
                return Err(lost());
            }
            sink.write(context, bytes).await?;
        }
        if received != grant.size {
            return Err(wrong_size(grant, &received.to_string()));
        }
        let found = sink.finish().await?;
        if found != grant.oid {
            let (found, expected) = (hex::encode(found), hex::encode(grant.oid));
            return Err(Error::Unusable { reason: format!("the body has the SHA-256 {found} and not {expected}") });
        }
        if access.holds().await { Ok(()) } else { Err(lost()) }
    }
}

/// Returns whether two rows of an object name the same bytes. The rest of a row changes when repositories lose the
/// object.
fn has_place_of(row: &LfsObject, other: &LfsObject) -> bool {
    (row.id, row.file) == (other.id, other.file)
}

/// Writes the rows of a received object. `stored`: its new bytes, `None` if the pool had them. `lost`: the row of the
/// object whose bytes were lost, which `stored` replaces.
///
/// Another upload of the same object, or the sweep, may have committed first. The transaction reads the row of the
/// object: if there is one, its bytes are used and the new ones are discarded. If the bytes were only hashed and the
/// sweep removed the row, the client has to send them again.
pub(super) async fn record(
    context: &Context,
    new: &NewLfsEntry,
    stored: Option<&LfsObject>,
    lost: Option<&LfsObject>,
) -> Result<(), Error> {
    let now = context.now_ms();
    let entry = LfsEntry { size: new.size, added_ms: now, added_by: new.added_by, unreferenced_ms: 0 };
    let is_discarded = context
        .store
        .write(async |tx: Tx| {
            let repository = repositories::get(&tx, new.repository).await?.filter(|row| !row.deleted);
            let repository = repository.ok_or(MISSING_REPOSITORY)?;
            if !new.is_import {
                grants::require_writable(&repository)?;
            }
            let current = rows::object(&tx, &new.oid).await?;
            let mut is_discarded = false;
            let object = match (current, stored) {
                (Some(current), None) => current,
                (None, None) => return Err(Error::Busy),
                (current, Some(own)) => {
                    if !assets::is_marked(&tx, own.id).await? {
                        return Err(Error::Busy); // it was abandoned
                    }
                    match current {
                        Some(current) if !lost.is_some_and(|lost| has_place_of(&current, lost)) => {
                            assets::abandon(&tx, own.id, now);
                            is_discarded = true;
                            current
                        }
                        current => {
                            assets::unmark(&tx, own.id);
                            match current {
                                Some(lost) => rows::replace_object(&tx, &new.oid, &lost, own, now),
                                None => rows::put_object(&tx, &new.oid, None, own),
                            }
                            *own
                        }
                    }
                }
            };
            if rows::entry(&tx, repository.id, &new.oid).await?.is_none() {
                // Other uploads may have been recorded meanwhile.
                if new.size > quota_left(context, &tx, &repository).await? {
                    return Err(quota_exceeded(context));
                }
                rows::add_entry(&tx, &repository, &new.oid, &object, &entry);
            } else {
                // The files that name the object may follow.
                unreferenced::set_unreferenced(&tx, repository.id, &new.oid, 0).await?;
            }
            Ok::<_, Error>(is_discarded)
        })
        .await?;
    if is_discarded {
        context.sweep.now();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_whose_bytes_were_lost_is_recognized_after_its_last_repository_was_removed() {
        let lost = LfsObject { id: 5, file: 6, size: 10, unreferenced_ms: 0 };
        assert!(has_place_of(&LfsObject { unreferenced_ms: 50, ..lost }, &lost));
        for other in [LfsObject { id: 7, ..lost }, LfsObject { file: 7, ..lost }] {
            assert!(!has_place_of(&other, &lost), "another upload has stored it");
        }
    }
}
