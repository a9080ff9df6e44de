//! Rules of the index check for teams.

use bytes::Bytes;
use farrier_proto::store::{Team, TeamMember};

use super::{
    super::{StoreError, engine::Key, keys, value},
    tables::{IndexEntry, references},
};

/// Returns the index entry of a team.
pub(super) fn team(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Team = value::decode(key, bytes)?;
    Ok(references([keys::team_name(row.org_id, &row.name)], row.id))
}

/// Returns the key of the organization of a team.
pub(super) fn org(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    Ok(vec![keys::org(value::decode::<Team>(key, bytes)?.org_id)])
}

/// Returns the index entry of a member.
pub(super) fn member(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: TeamMember = value::decode(key, bytes)?;
    let entry = keys::trailing_ids(key).map(|(team, user)| references([keys::user_team(user, row.org_id, team)], team));
    Ok(entry.unwrap_or_default())
}

/// Returns the keys of the team and the account of a member.
#[expect(clippy::unnecessary_wraps, reason = "the type of all rules of the check")]
pub(super) fn team_and_user(key: &[u8], _: &Bytes) -> Result<Vec<Key>, StoreError> {
    let keys = keys::trailing_ids(key).map(|(team, user)| vec![keys::team(team), keys::user(user)]);
    Ok(keys.unwrap_or_default())
}

/// Returns the index entry of a repository of a team.
#[expect(clippy::unnecessary_wraps, reason = "the type of all rules of the check")]
pub(super) fn repository(key: &[u8], _: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let entry =
        keys::trailing_ids(key).map(|(team, repository)| references([keys::repository_team(repository, team)], team));
    Ok(entry.unwrap_or_default())
}

/// Returns the keys of the team and the repository of a repository of a team.
#[expect(clippy::unnecessary_wraps, reason = "the type of all rules of the check")]
pub(super) fn team_and_repository(key: &[u8], _: &Bytes) -> Result<Vec<Key>, StoreError> {
    let keys = keys::trailing_ids(key).map(|(team, repository)| vec![keys::team(team), keys::repository(repository)]);
    Ok(keys.unwrap_or_default())
}
