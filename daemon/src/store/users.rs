//! Users as a list, and what a user leaves behind.

use farrier_proto::store::User;

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// A piece of all users by number, and where the next one begins.
pub async fn piece(
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

/// Ends every collaboration of `user`; a piece of at most `limit`. Whether that was all.
pub async fn end_collaborations(tx: &Tx, user: u64, limit: usize) -> Result<bool, StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(keys::collaborations(user)), limit)).await?;
    for repository in pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)) {
        tx.delete(keys::collaboration(user, repository));
        tx.delete(keys::collaborator(repository, user));
    }
    Ok(pairs.len() < limit)
}
