//! Deliveries as they begin: in the transaction of the event that they tell of.

use farrier_proto::store::{Delivery, Reference};

use crate::store::{Tx, keys};

/// Bits of a delivery's number that tell the hooks of one event apart.
const PLACE_BITS: u32 = 10;
/// Most deliveries of one event.
pub const PER_EVENT_MAX: usize = 1 << PLACE_BITS;

/// The number of the delivery of `event` to the hook in `place` among those that want it. A test, a
/// ping take an event's number, too, and place 0: nothing else counts deliveries.
pub fn number(event: u64, place: usize) -> u64 {
    let place = place.min(PER_EVENT_MAX - 1) as u64;
    event << PLACE_BITS | place
}

/// The identifier that receivers see for the delivery with number `id`: a UUID of version 4 whose
/// last six bytes are the number.
pub fn uuid(id: u64, random: [u8; 10]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..10].copy_from_slice(&random);
    bytes[10..].copy_from_slice(&id.to_be_bytes()[2..]);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// Inserts a delivery and puts it at the end of its hook's line.
pub fn enqueue(tx: &Tx, row: &Delivery) {
    tx.put(keys::delivery(row.id), row);
    tx.put(keys::hook_delivery(row.hook_id, row.id), &Reference::default());
    tx.put(keys::queued(row.hook_id, row.id), &Reference::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_events_and_fit_into_identifiers() {
        assert!(number(7, 0) < number(7, 1) && number(7, PER_EVENT_MAX) < number(8, 0));
        let id = number(1 << 37, 3);
        let shown = uuid::Uuid::from_bytes(uuid(id, [0xff; 10]));
        assert_eq!((shown.get_version_num(), shown.get_variant()), (4, uuid::Variant::RFC4122));
        let last = shown.as_bytes()[10..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        assert_eq!(last, id);
    }
}
