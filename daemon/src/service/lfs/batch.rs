//! Decides for a list of objects which ones a client must upload or can download.

use std::collections::BTreeSet;

use farrier_proto::store::Repository;

use super::{is_intact, largest, quota_left, rows};
use crate::{
    service::{Context, Error},
    store::{
        Read, Tx,
        lfs::{Oid, unreferenced::set_unreferenced},
    },
};

/// How often the states are determined if objects are removed at the same time.
const TRIES: usize = 3;

/// What a client wants to do with the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOperation {
    /// Send the bytes.
    Upload,
    /// Get the bytes.
    Download,
}

/// An object of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchObject {
    /// SHA-256 of the bytes.
    pub oid: Oid,
    /// Their number.
    pub size: u64,
}

/// What the client can do with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectState {
    /// Upload it.
    Upload,
    /// Nothing: the repository has it.
    Present,
    /// Download it.
    Download,
    /// Neither.
    Refused(ObjectProblem),
}

/// Why an object cannot be transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectProblem {
    /// The repository does not have it.
    Missing,
    /// The repository has it, but its bytes were lost.
    Lost,
    /// The repository has it with another size.
    OtherSize {
        /// Its size, bytes.
        size: u64,
    },
    /// It is larger than `lfs.max_object_bytes`.
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The owner of the repository would have more bytes than `lfs.quota_bytes`.
    Quota {
        /// The limit.
        limit: u64,
    },
}

/// Returns the state of each object in a repository. A new object that does not fit in the quota together with
/// those before it is refused. An object that the client need not upload is kept as if it had just been uploaded.
pub async fn batch(
    context: &Context,
    repository: &Repository,
    operation: BatchOperation,
    objects: &[BatchObject],
) -> Result<Vec<ObjectState>, Error> {
    for _ in 0..TRIES {
        let states = states(context, repository, operation, objects).await?;
        let present = objects.iter().zip(&states).filter(|(_, state)| **state == ObjectState::Present);
        let present: Vec<Oid> = present.map(|(object, _)| object.oid).collect();
        if keep(context, repository.id, &present).await? {
            return Ok(states);
        }
    }
    Err(Error::Busy)
}

/// Notes that a client was told not to upload `present`, because files that name them may follow. Returns `false` if
/// one was removed meanwhile.
async fn keep(context: &Context, repository: u64, present: &[Oid]) -> Result<bool, Error> {
    let read = context.store.read().await?;
    let mut unreferenced = Vec::new();
    for oid in present {
        if rows::entry(&read, repository, oid).await?.is_none_or(|row| row.unreferenced_ms != 0) {
            unreferenced.push(*oid);
        }
    }
    drop(read);
    if unreferenced.is_empty() {
        return Ok(true);
    }
    context
        .store
        .write(async |tx: Tx| {
            let mut is_complete = true;
            for oid in &unreferenced {
                is_complete &= set_unreferenced(&tx, repository, oid, 0).await?;
            }
            Ok(is_complete)
        })
        .await
}

async fn states(
    context: &Context,
    repository: &Repository,
    operation: BatchOperation,
    objects: &[BatchObject],
) -> Result<Vec<ObjectState>, Error> {
    let read = context.store.read().await?;
    let mut left = match operation {
        BatchOperation::Upload => quota_left(context, &read, repository).await?,
        BatchOperation::Download => 0,
    };
    let (mut states, mut counted) = (Vec::with_capacity(objects.len()), BTreeSet::new());
    for object in objects {
        let mut state = state(context, &read, repository, operation, object).await?;
        if state == ObjectState::Upload && counted.insert(object.oid) {
            if let Some(rest) = left.checked_sub(object.size) {
                left = rest;
            } else {
                counted.remove(&object.oid);
                let limit = context.config.lfs.quota_bytes;
                state = ObjectState::Refused(ObjectProblem::Quota { limit });
            }
        }
        states.push(state);
    }
    Ok(states)
}

async fn state(
    context: &Context,
    read: &impl Read,
    repository: &Repository,
    operation: BatchOperation,
    object: &BatchObject,
) -> Result<ObjectState, Error> {
    let entry = rows::entry(read, repository.id, &object.oid).await?;
    if let Some(entry) = &entry
        && entry.size != object.size
    {
        return Ok(ObjectState::Refused(ObjectProblem::OtherSize { size: entry.size }));
    }
    let is_intact = match rows::object(read, &object.oid).await? {
        Some(row) if entry.is_some() => is_intact(context, &row).await?,
        _ => false,
    };
    Ok(match (operation, entry.is_some(), is_intact) {
        (BatchOperation::Upload, true, true) => ObjectState::Present,
        (BatchOperation::Upload, ..) if object.size > largest(context) => {
            ObjectState::Refused(ObjectProblem::TooLarge { limit: largest(context) })
        }
        (BatchOperation::Upload, ..) => ObjectState::Upload,
        (BatchOperation::Download, true, true) => ObjectState::Download,
        (BatchOperation::Download, true, false) => ObjectState::Refused(ObjectProblem::Lost),
        (BatchOperation::Download, false, _) => ObjectState::Refused(ObjectProblem::Missing),
    })
}
