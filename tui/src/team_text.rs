//! Describes the rights of teams, for the command line and the full screen.

use farrier_common::api::Team;

/// The units in which rights have an effect.
pub(crate) const UNITS: [&str; 3] = ["repo.actions", "repo.code", "repo.releases"];

/// Returns the name of a unit without its prefix.
pub(crate) fn unit(name: &str) -> &str {
    name.strip_prefix("repo.").unwrap_or(name)
}

/// Returns the rights of a team as one text, such as `code=write releases=read`.
pub(crate) fn rights(team: &Team) -> String {
    if team.permission != "none" {
        return team.permission.clone();
    }
    let one = |(name, right): (&String, &String)| format!("{}={right}", unit(name));
    team.units_map.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_a_word_or_one_word_for_each_unit() {
        let units = [("repo.releases", "read"), ("repo.code", "write")];
        let team = |permission: &str| Team {
            permission: permission.into(),
            units_map: units.map(|(unit, right)| (unit.to_owned(), right.to_owned())).into(),
            ..Team::default()
        };
        assert_eq!(rights(&team("none")), "code=write releases=read");
        assert_eq!((rights(&team("admin")), rights(&team("owner"))), ("admin".into(), "owner".into()));
    }
}
