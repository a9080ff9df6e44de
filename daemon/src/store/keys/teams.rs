//! Keys of teams, their members and repositories.

use super::Builder;
use crate::store::engine::Key;

/// `ya/<team>`
pub fn team(id: u64) -> Key {
    Builder::new("ya").id(id).build()
}

/// `yb/<org>/<lower name>`: the teams of an organization by name.
pub fn team_name(org: u64, name: &str) -> Key {
    Builder::new("yb").id(org).text(name).build()
}

/// Returns the prefix of `yb/<org>/`.
pub fn team_names(org: u64) -> Key {
    Builder::new("yb").id(org).build()
}

/// `ym/<team>/<uid>`
pub fn team_member(team: u64, user: u64) -> Key {
    Builder::new("ym").id(team).id(user).build()
}

/// Returns the prefix of `ym/<team>/`.
pub fn team_members(team: u64) -> Key {
    Builder::new("ym").id(team).build()
}

/// `yu/<uid>/<org>/<team>`: the teams of a user.
pub fn user_team(user: u64, org: u64, team: u64) -> Key {
    Builder::new("yu").id(user).id(org).id(team).build()
}

/// Returns the prefix of `yu/<uid>/`.
pub fn user_teams(user: u64) -> Key {
    Builder::new("yu").id(user).build()
}

/// Returns the prefix of `yu/<uid>/<org>/`.
pub fn user_teams_in(user: u64, org: u64) -> Key {
    Builder::new("yu").id(user).id(org).build()
}

/// `yr/<team>/<rid>`
pub fn team_repository(team: u64, repository: u64) -> Key {
    Builder::new("yr").id(team).id(repository).build()
}

/// Returns the prefix of `yr/<team>/`.
pub fn team_repositories(team: u64) -> Key {
    Builder::new("yr").id(team).build()
}

/// `yx/<rid>/<team>`: the inverse index of `yr`.
pub fn repository_team(repository: u64, team: u64) -> Key {
    Builder::new("yx").id(repository).id(team).build()
}

/// Returns the prefix of `yx/<rid>/`.
pub fn repository_teams(repository: u64) -> Key {
    Builder::new("yx").id(repository).build()
}
