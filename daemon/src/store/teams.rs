//! Teams of organizations.

use farrier_proto::store::Team;

use super::{Read, StoreError};

/// Returns the team `name` of an organization.
pub async fn by_name(_read: &impl Read, _org: u64, _name: &str) -> Result<Option<Team>, StoreError> {
    Ok(None)
}

/// Returns the team `id`.
pub async fn get(_read: &impl Read, _id: u64) -> Result<Option<Team>, StoreError> {
    Ok(None)
}

/// Returns whether a user is a member of any of `teams`.
pub async fn is_member_of_any(_read: &impl Read, _teams: &[u64], _user: u64) -> Result<bool, StoreError> {
    Ok(false)
}
