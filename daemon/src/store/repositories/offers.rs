//! Offers of repositories to other owners. An offer is a field of the row of the repository; an index sorts the offers
//! by their end.

use farrier_proto::store::{Repository, TransferOffer};

use super::{get, many, put};
use crate::store::{Read, StoreError, Tx, engine::Scan, first_time, keys};

/// Returns the offer of a repository that has not ended.
pub fn live(row: &Repository, now_ms: i64) -> Option<&TransferOffer> {
    row.transfer.as_ref().filter(|offer| offer.expires_ms > now_ms && !row.deleted)
}

/// Returns the repositories whose offers ended at `until_ms` or before, first ended first, at most `limit`.
pub async fn ended(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::transfer_offers(until_ms), limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}

/// Returns when the next offer ends.
pub async fn first_end_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::transfer_offers(i64::MAX)).await
}

/// Ends the offer of a repository if it ended at `until_ms` or before. The repository stays where it is.
pub async fn end(tx: &Tx, repository: u64, until_ms: i64) -> Result<(), StoreError> {
    let Some(before) = get(tx, repository).await? else { return Ok(()) };
    if before.transfer.as_ref().is_some_and(|offer| offer.expires_ms <= until_ms) {
        put(tx, Some(&before), &Repository { transfer: None, ..before.clone() });
    }
    Ok(())
}

/// Ends all offers that `account` made or that were made to it, because it is deleted.
pub async fn end_of_account(tx: &Tx, account: u64) -> Result<(), StoreError> {
    for before in ended(tx, i64::MAX, usize::MAX).await? {
        let concerns = |offer: &TransferOffer| offer.doer_id == account || offer.recipient_id == account;
        if before.transfer.as_ref().is_some_and(concerns) {
            put(tx, Some(&before), &Repository { transfer: None, ..before.clone() });
        }
    }
    Ok(())
}
