//! Whether ids that are in use could be given again.

use farrier_proto::store::{Delivery, Sequence};

use super::super::{
    Read, Store, StoreError, Tx,
    engine::{Range, Scan},
    ids::Kind,
    keys,
};

/// Keys that are read at a time where ids are not in order.
const PAGE: usize = 1_000;

/// A sequence that would give an id that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// What it counts.
    pub kind: Kind,
    /// The highest id that is in use.
    pub used: u64,
}

/// The sequences that are behind. `outside` gives the highest id of a kind that is in use outside of the
/// store, or that an identity file says was reserved.
pub async fn behind(read: &impl Read, outside: impl Fn(Kind) -> u64 + Send + Sync) -> Result<Vec<Behind>, StoreError> {
    let owners = last_id(read, "u").await?.max(last_id(read, "o").await?);
    let used = [
        (Kind::Owner, owners),
        (Kind::Token, highest_token(read).await?),
        (Kind::Repository, last_id(read, "r").await?),
        (Kind::Run, last_id(read, "j").await?),
        (Kind::Job, last_id(read, "ji").await?),
        (Kind::Artifact, last_id(read, "a").await?),
        (Kind::Event, last_id(read, "e").await?.max(last_told(read).await?)),
        (Kind::Hook, last_id(read, "h").await?),
        (Kind::BlockFile, 0),
    ];
    let mut found = Vec::new();
    for (kind, used) in used {
        let used = used.max(outside(kind));
        let next = read.get::<Sequence>(&keys::sequence(kind)).await?.map_or(1, |sequence| sequence.next);
        if used >= next {
            found.push(Behind { kind, used });
        }
    }
    Ok(found)
}

/// Lets a sequence go on behind what is in use.
pub async fn raise(store: &Store, behind: Behind) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            tx.put(keys::sequence(behind.kind), &Sequence { next: behind.used + 1 });
            Ok(())
        })
        .await
}

/// The highest id of keys that end with it and are sorted by it; 0 when there is none.
async fn last_id(read: &impl Read, tag: &str) -> Result<u64, StoreError> {
    let scan = Scan { range: Range::prefix(keys::tag(tag)), reverse: true, skip: 0, limit: 1 };
    let last = read.scan_bytes(&scan).await?.pop();
    Ok(last.and_then(|(key, _)| keys::trailing_id(&key)).unwrap_or(0))
}

/// The event of the newest delivery: tests have numbers of events and are none.
async fn last_told(read: &impl Read) -> Result<u64, StoreError> {
    let newest = read.scan::<Delivery>(&Scan::of(Range::prefix(keys::deliveries()), 1)).await?;
    Ok(newest.first().map_or(0, |(_, row)| row.event_id))
}

/// Tokens are listed by account.
async fn highest_token(read: &impl Read) -> Result<u64, StoreError> {
    let (mut range, mut highest) = (Range::prefix(keys::tag("tu")), 0);
    loop {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), PAGE)).await?;
        highest = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).fold(highest, u64::max);
        match pairs.last() {
            Some((last, _)) if pairs.len() == PAGE => range = range.after(last),
            _ => return Ok(highest),
        }
    }
}
