//! Payloads of events. The payload of a push may be larger than one value.

use bytes::{Bytes, BytesMut};
use farrier_proto::store::Payload;

use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, VALUE_MAX_BYTES},
    keys, value,
};

/// Size of one piece, bytes: the largest value without the other fields of its message.
const PIECE_BYTES: usize = VALUE_MAX_BYTES - 1_024;

/// The payload of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPayload {
    /// The JSON.
    pub json: Bytes,
    /// Whether the commits of a push must still be added.
    pub incomplete: bool,
    /// While the payload of a new branch is incomplete: the tips of the other branches before the push.
    pub known: Vec<String>,
}

/// Returns the payload of `event`; `None` if it was deleted.
pub async fn payload(read: &impl Read, event: u64) -> Result<Option<EventPayload>, StoreError> {
    let key = keys::payload(event);
    let Some(bytes) = read.get_bytes(&key).await? else { return Ok(None) };
    let first: Payload = value::decode_shared(&key, &bytes)?;
    if first.pieces == 0 {
        return Ok(Some(EventPayload { json: first.json, incomplete: first.incomplete, known: first.known }));
    }
    let further: Vec<_> = (1..=first.pieces).map(|piece| keys::payload_piece(event, piece)).collect();
    let mut json = BytesMut::from(first.json.as_ref());
    for piece in read.get_many::<Payload>(&further).await?.into_iter().flatten() {
        json.extend_from_slice(&piece.json);
    }
    Ok(Some(EventPayload { json: json.freeze(), incomplete: first.incomplete, known: first.known }))
}

/// Writes the payload of `event` with its first deliveries. It is small, and it may be incomplete.
pub fn put_initial_payload(tx: &Tx, event: u64, first: &Payload) {
    tx.put(keys::payload(event), first);
}

/// Returns whether the payload of `event` exists, without reading it.
pub async fn has_payload(read: &impl Read, event: u64) -> Result<bool, StoreError> {
    let key = keys::payload(event);
    let range = Range { high: Some([key.as_slice(), &[0]].concat()), low: key };
    Ok(read.count(&range, 1).await? > 0)
}

/// Returns whether the payload of `event` is incomplete; `None` if it was deleted.
pub async fn is_incomplete(read: &impl Read, event: u64) -> Result<Option<bool>, StoreError> {
    Ok(read.get::<Payload>(&keys::payload(event)).await?.map(|first| first.incomplete))
}

/// Writes the complete payload of `event`.
pub fn put_payload(tx: &Tx, event: u64, json: &Bytes) {
    let piece = |start: usize| json.slice(start..json.len().min(start + PIECE_BYTES));
    let mut pieces = (0..json.len()).step_by(PIECE_BYTES).map(piece);
    let first = pieces.next().unwrap_or_default();
    let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    tx.put(keys::payload(event), &Payload { json: first, pieces: count, ..Payload::default() });
    for (number, piece) in (1..).zip(pieces) {
        tx.put(keys::payload_piece(event, number), &Payload { json: piece, ..Payload::default() });
    }
}
