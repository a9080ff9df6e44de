//! What an event says to hooks. A push may say more than one value holds.

use bytes::{Bytes, BytesMut};
use farrier_proto::store::Payload;

use crate::store::{Read, StoreError, Tx, engine::VALUE_MAX_BYTES, keys, value};

/// Bytes of one piece: a value with room for what stands around them.
const PIECE_BYTES: usize = VALUE_MAX_BYTES - 1_024;

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its JSON.
    pub json: Bytes,
    /// Whether git must still add to it.
    pub incomplete: bool,
    /// Until then, for a branch that was made: where the others were.
    pub known: Vec<String>,
}

/// What `event` says; `None` when it is forgotten.
pub async fn payload(read: &impl Read, event: u64) -> Result<Option<Said>, StoreError> {
    let key = keys::payload(event);
    let Some(bytes) = read.get_bytes(&key).await? else { return Ok(None) };
    let first: Payload = value::decode_shared(&key, &bytes)?;
    if first.pieces == 0 {
        return Ok(Some(Said { json: first.json, incomplete: first.incomplete, known: first.known }));
    }
    let further: Vec<_> = (1..=first.pieces).map(|piece| keys::payload_piece(event, piece)).collect();
    let mut json = BytesMut::from(first.json.as_ref());
    for piece in read.get_many::<Payload>(&further).await?.into_iter().flatten() {
        json.extend_from_slice(&piece.json);
    }
    Ok(Some(Said { json: json.freeze(), incomplete: first.incomplete, known: first.known }))
}

/// Writes what `event` says, as far as it is known when it happens: small, and perhaps for git to
/// complete.
pub fn put_first(tx: &Tx, event: u64, first: &Payload) {
    tx.put(keys::payload(event), first);
}

/// Whether git must still add to what `event` says; `None` when it is forgotten.
pub async fn is_incomplete(read: &impl Read, event: u64) -> Result<Option<bool>, StoreError> {
    Ok(read.get::<Payload>(&keys::payload(event)).await?.map(|first| first.incomplete))
}

/// Writes what `event` says, complete.
pub fn put_payload(tx: &Tx, event: u64, json: &Bytes) {
    let piece = |at: usize| json.slice(at..json.len().min(at + PIECE_BYTES));
    let mut pieces = (0..json.len()).step_by(PIECE_BYTES).map(piece);
    let first = pieces.next().unwrap_or_default();
    let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    tx.put(keys::payload(event), &Payload { json: first, pieces: count, ..Payload::default() });
    for (number, piece) in (1..).zip(pieces) {
        tx.put(keys::payload_piece(event, number), &Payload { json: piece, ..Payload::default() });
    }
}
