//! The list of all users, and the removal of a user's collaborations.

use farrier_proto::store::User;

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// Returns the next users by id, and the key after which the next batch starts.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<User>, Option<Vec<u8>>), StoreError> {
    let all = Range::prefix(keys::users());
    let range = after.map_or(all.clone(), |key| all.after(key));
    let rows = read.scan::<User>(&Scan::of(range, limit)).await?;
    let next = if rows.len() < limit { None } else { rows.last().map(|(key, _)| key.clone()) };
    Ok((rows.into_iter().map(|(_, row)| row).collect(), next))
}

/// Removes at most `limit` collaborations of `user`. Returns whether none are left.
pub async fn end_collaborations(tx: &Tx, user: u64, limit: usize) -> Result<bool, StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(keys::collaborations(user)), limit)).await?;
    for repository in pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)) {
        tx.delete(keys::collaboration(user, repository));
        tx.delete(keys::collaborator(repository, user));
    }
    Ok(pairs.len() < limit)
}
