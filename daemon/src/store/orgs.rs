//! Organization rows and memberships, indexed in both directions.

use farrier_proto::store::{Membership, Org, OwnerKind, OwnerName, User};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys, owners, teams,
};

/// Most members of an organization, and most organizations of a user.
pub const MEMBERS_MAX: usize = 10_000;

/// Returns the organization with the name `name`, without regard to case.
pub async fn by_name(read: &impl Read, name: &str) -> Result<Option<Org>, StoreError> {
    match owners::by_name(read, name).await? {
        Some(owner) if owner.kind() == OwnerKind::Org => owners::org(read, owner.id).await,
        _ => Ok(None),
    }
}

/// Inserts an organization. Returns `false` if a user or an organization has its name.
pub async fn insert(tx: &Tx, row: &Org) -> Result<bool, StoreError> {
    let free = owners::claim_name(tx, &row.name, OwnerKind::Org, row.id).await?;
    if free {
        tx.put(keys::org(row.id), row);
    }
    Ok(free)
}

/// Updates an organization. A changed name leaves a redirect. Returns `false` if the new name is in use.
pub async fn update(tx: &Tx, old: &Org, row: &Org) -> Result<bool, StoreError> {
    let free = owners::move_name(tx, &old.name, &row.name, OwnerKind::Org, row.id).await?;
    if free {
        tx.put(keys::org(row.id), row);
    }
    Ok(free)
}

/// Deletes an organization with its teams and memberships. The caller has deleted everything that it owned.
pub async fn delete(tx: &Tx, row: &Org) -> Result<(), StoreError> {
    teams::delete_of_org(tx, row.id).await?;
    for user in member_ids(tx, row.id).await? {
        remove_member(tx, row.id, user);
    }
    tx.delete(keys::owner_name(&row.name));
    tx.delete(keys::org(row.id));
    Ok(())
}

/// Adds `user` to the organization or updates the membership. Memberships follow from teams, see [`teams`].
pub fn put_member(tx: &Tx, org: u64, user: u64, row: &Membership) {
    tx.put(keys::org_member(org, user), row);
    tx.put(keys::user_org(user, org), row);
}

/// Removes `user` from the organization. Its teams are removed by [`teams::leave`].
pub(super) fn remove_member(tx: &Tx, org: u64, user: u64) {
    tx.delete(keys::org_member(org, user));
    tx.delete(keys::user_org(user, org));
}

/// Returns the ids of the members of an organization, in ascending order.
pub async fn member_ids(read: &impl Read, org: u64) -> Result<Vec<u64>, StoreError> {
    trailing_ids(read, Range::prefix(keys::org_members(org))).await
}

/// Returns the ids of the organizations of `user`, in ascending order.
pub async fn ids_of_user(read: &impl Read, user: u64) -> Result<Vec<u64>, StoreError> {
    trailing_ids(read, Range::prefix(keys::user_orgs(user))).await
}

async fn trailing_ids(read: &impl Read, range: Range) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range, MEMBERS_MAX)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns the members of an organization with their memberships, sorted by id.
pub async fn members(read: &impl Read, org: u64) -> Result<Vec<(User, Membership)>, StoreError> {
    let pairs = read.scan::<Membership>(&Scan::of(Range::prefix(keys::org_members(org)), MEMBERS_MAX)).await?;
    let users: Vec<_> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).map(keys::user).collect();
    let users: Vec<Option<User>> = read.get_many(&users).await?;
    let found = users.into_iter().zip(pairs).filter_map(|(user, (_, membership))| Some((user?, membership)));
    Ok(found.collect())
}

/// Returns the organizations of `user`, sorted by id.
pub async fn of_user(read: &impl Read, user: u64) -> Result<Vec<Org>, StoreError> {
    let rows: Vec<_> = ids_of_user(read, user).await?.into_iter().map(keys::org).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Returns the next organizations by name, and the key after which the next batch starts.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<Org>, Option<Vec<u8>>), StoreError> {
    let all = Range::prefix(keys::owner_names());
    let range = after.map_or(all.clone(), |key| all.after(key));
    let names = read.scan::<OwnerName>(&Scan::of(range, limit)).await?;
    let next = if names.len() < limit { None } else { names.last().map(|(key, _)| key.clone()) };
    let orgs = names.iter().filter(|(_, name)| name.kind() == OwnerKind::Org);
    let rows: Vec<_> = orgs.map(|(_, name)| keys::org(name.id)).collect();
    Ok((read.get_many(&rows).await?.into_iter().flatten().collect(), next))
}
