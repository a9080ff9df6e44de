//! Users and organisations: rows, the one name space they share, e-mail addresses.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{Membership, Org, OwnerKind, OwnerName, Reference, User, Visibility};

use super::{Read, StoreError, Tx, keys};

/// The unique value that a user or an organisation shares with an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserConflict {
    /// The name belongs to a user or an organisation.
    Name,
    /// The address belongs to a user.
    Email,
}

/// The user with number `id`.
pub async fn user(read: &impl Read, id: u64) -> Result<Option<User>, StoreError> {
    read.get(&keys::user(id)).await
}

/// The accounts with these e-mail addresses, by address in lower case. Reads each address once.
pub async fn users_by_email(read: &impl Read, addresses: &[&str]) -> Result<BTreeMap<String, User>, StoreError> {
    let addresses: BTreeSet<String> = addresses.iter().map(|address| address.to_lowercase()).collect();
    let mut users = BTreeMap::new();
    for address in addresses.into_iter().filter(|address| !address.is_empty()) {
        if let Some(user) = user_by_email(read, &address).await? {
            users.insert(address, user);
        }
    }
    Ok(users)
}

/// Who holds `name`, in any case.
pub async fn by_name(read: &impl Read, name: &str) -> Result<Option<OwnerName>, StoreError> {
    read.get(&keys::owner_name(name)).await
}

/// The user called `name`, in any case.
pub async fn user_by_name(read: &impl Read, name: &str) -> Result<Option<User>, StoreError> {
    match by_name(read, name).await? {
        Some(owner) if owner.kind() == OwnerKind::User => user(read, owner.id).await,
        _ => Ok(None),
    }
}

/// The user with the address `email`, in any case.
pub async fn user_by_email(read: &impl Read, email: &str) -> Result<Option<User>, StoreError> {
    match read.get::<Reference>(&keys::user_email(email)).await? {
        Some(found) => user(read, found.id).await,
        None => Ok(None),
    }
}

/// A user or an organisation: what repositories belong to.
#[derive(Clone, Debug, PartialEq)]
pub enum Owner {
    /// A user.
    User(User),
    /// An organisation.
    Org(Org),
}

impl Owner {
    /// Its number, unique over both kinds.
    pub fn id(&self) -> u64 {
        match self {
            Self::User(user) => user.id,
            Self::Org(org) => org.id,
        }
    }

    /// Its name, as spelled when it was made.
    pub fn name(&self) -> &str {
        match self {
            Self::User(user) => &user.name,
            Self::Org(org) => &org.name,
        }
    }

    /// Which kind it is.
    pub fn kind(&self) -> OwnerKind {
        match self {
            Self::User(_) => OwnerKind::User,
            Self::Org(_) => OwnerKind::Org,
        }
    }

    /// Who may see it at all.
    pub fn visibility(&self) -> Visibility {
        match self {
            Self::User(user) => user.visibility(),
            Self::Org(org) => org.visibility(),
        }
    }
}

/// The organisation with number `id`.
pub async fn org(read: &impl Read, id: u64) -> Result<Option<Org>, StoreError> {
    read.get(&keys::org(id)).await
}

/// The owner with number `id` of a known kind.
pub async fn owner(read: &impl Read, kind: OwnerKind, id: u64) -> Result<Option<Owner>, StoreError> {
    Ok(match kind {
        OwnerKind::Org => org(read, id).await?.map(Owner::Org),
        OwnerKind::User | OwnerKind::Unspecified => user(read, id).await?.map(Owner::User),
    })
}

/// The user or organisation called `name`, in any case.
pub async fn owner_by_name(read: &impl Read, name: &str) -> Result<Option<Owner>, StoreError> {
    match by_name(read, name).await? {
        Some(found) => owner(read, found.kind(), found.id).await,
        None => Ok(None),
    }
}

/// How `user` belongs to the organisation with number `org`.
pub async fn membership(read: &impl Read, org: u64, user: u64) -> Result<Option<Membership>, StoreError> {
    read.get(&keys::org_member(org, user)).await
}

/// Inserts `row`, or says what of it is taken. An empty address is no address.
pub async fn insert_user(tx: &Tx, row: &User) -> Result<Option<UserConflict>, StoreError> {
    if !take_name(tx, &row.name, OwnerKind::User, row.id).await? {
        return Ok(Some(UserConflict::Name));
    }
    if !take_email(tx, &row.email, row.id).await? {
        return Ok(Some(UserConflict::Email));
    }
    tx.put(keys::user(row.id), row);
    Ok(None)
}

/// Writes `row` over `old`; a new name leaves a redirect behind. Says what of it is taken.
pub async fn update_user(tx: &Tx, old: &User, row: &User) -> Result<Option<UserConflict>, StoreError> {
    if !move_name(tx, &old.name, &row.name, OwnerKind::User, row.id).await? {
        return Ok(Some(UserConflict::Name));
    }
    if old.email.to_lowercase() != row.email.to_lowercase() {
        if !take_email(tx, &row.email, row.id).await? {
            return Ok(Some(UserConflict::Email));
        }
        if !old.email.is_empty() {
            tx.delete(keys::user_email(&old.email));
        }
    }
    tx.put(keys::user(row.id), row);
    Ok(None)
}

/// Removes a user's own rows: what it owns and belongs to must be gone before.
pub fn delete_user(tx: &Tx, row: &User) {
    tx.delete(keys::owner_name(&row.name));
    if !row.email.is_empty() {
        tx.delete(keys::user_email(&row.email));
    }
    tx.delete(keys::user(row.id));
}

/// Takes `name` if nobody has it; a redirect from it ends.
pub(super) async fn take_name(tx: &Tx, name: &str, kind: OwnerKind, id: u64) -> Result<bool, StoreError> {
    if by_name(tx, name).await?.is_some() {
        return Ok(false);
    }
    tx.delete(keys::owner_redirect(name));
    tx.put(keys::owner_name(name), &OwnerName { kind: kind.into(), id });
    Ok(true)
}

pub(super) async fn move_name(tx: &Tx, old: &str, new: &str, kind: OwnerKind, id: u64) -> Result<bool, StoreError> {
    if old.to_lowercase() == new.to_lowercase() {
        return Ok(true);
    }
    if !take_name(tx, new, kind, id).await? {
        return Ok(false);
    }
    tx.delete(keys::owner_name(old));
    tx.put(keys::owner_redirect(old), &OwnerName { kind: kind.into(), id });
    Ok(true)
}

async fn take_email(tx: &Tx, email: &str, id: u64) -> Result<bool, StoreError> {
    if email.is_empty() {
        return Ok(true);
    }
    let key = keys::user_email(email);
    if tx.get::<Reference>(&key).await?.is_some() {
        return Ok(false);
    }
    tx.put(key, &Reference { id });
    Ok(true)
}

/// Whom the old name `name` leads to.
pub async fn redirect(read: &impl Read, name: &str) -> Result<Option<Owner>, StoreError> {
    match read.get::<OwnerName>(&keys::owner_redirect(name)).await? {
        Some(found) => owner(read, found.kind(), found.id).await,
        None => Ok(None),
    }
}
