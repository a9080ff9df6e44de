//! Rules for the fields of teams.

use std::collections::BTreeMap;

use farrier_proto::store::{Permission, Team, TeamUnit};

use crate::{model::team_units::UNITS, service::Error};

/// Longest name, in characters.
const NAME_MAX_CHARS: usize = 255;

/// Returns an error unless `text` is a name for a team.
pub(super) fn name(text: &str) -> Result<(), Error> {
    let problem = match text {
        "" => "must not be empty",
        _ if text.len() > NAME_MAX_CHARS => "must not be longer than 255 characters",
        _ if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) => {
            "must contain only letters, digits, '-', '_' and '.'"
        }
        _ => return Ok(()),
    };
    Err(Error::invalid("name", problem))
}

/// The rights in a request. Absent fields do not change the rights of a team.
#[derive(Debug, Default)]
pub(super) struct RightsInput<'a> {
    /// `read`, `write`, `admin`; `none` and empty mean that the units decide.
    pub(super) permission: &'a str,
    /// Units that get the permission.
    pub(super) units: Option<&'a [String]>,
    /// Units with their permissions. Takes precedence, unless it gives no right and the other fields do.
    pub(super) units_map: Option<&'a BTreeMap<String, String>>,
}

impl RightsInput<'_> {
    /// Changes the rights of `team`. The result gives rights in at least one unit.
    ///
    /// A permission without units is the new level of the units that the team has, of all units if it was a team of
    /// administrators.
    pub(super) fn apply(&self, team: &mut Team) -> Result<(), Error> {
        let level = match self.permission {
            "" | "none" => None,
            "read" => Some(Permission::Read),
            "write" => Some(Permission::Write),
            "admin" => {
                team.admin = true;
                team.units.clear();
                return Ok(());
            }
            _ => return Err(Error::invalid("permission", "must be read, write or admin")),
        };
        let list = self.units.filter(|units| !units.is_empty());
        // py-gitea sends a map in which every unit is `none` beside the units that get `permission`.
        let is_default = |map: &BTreeMap<String, String>| {
            level.is_some() && list.is_some() && map.values().all(|word| word == "none")
        };
        let map = self.units_map.filter(|map| !map.is_empty() && !is_default(map));
        if level.is_none() && map.is_none() && list.is_none() {
            let has_rights = team.admin || !team.units.is_empty();
            return if has_rights { Ok(()) } else { Err(Error::invalid("units", NO_UNITS)) };
        }
        let units = match (map, list) {
            (Some(map), _) => {
                let units = map.iter().map(|(unit, word)| checked("units_map", unit, permission(word)?));
                units.collect::<Result<Vec<_>, Error>>()?
            }
            (None, Some(list)) => {
                // A team that is edited keeps the highest level of its units.
                let former = team.units.iter().map(TeamUnit::permission).max_by_key(|level| i32::from(*level));
                let is_undecided = self.permission == "none" && former.is_none();
                let level = level.or(former).unwrap_or(Permission::Read);
                if is_undecided {
                    return Err(Error::invalid("permission", "must be read, write or admin, or give units_map"));
                }
                let units = list.iter().map(|unit| checked("units", unit, level));
                units.collect::<Result<Vec<_>, Error>>()?
            }
            (None, None) if team.admin => {
                UNITS.iter().map(|unit| checked("units", unit, level.unwrap_or_default())).collect::<Result<_, _>>()?
            }
            (None, None) if team.units.is_empty() => return Err(Error::invalid("units", NO_UNITS)),
            (None, None) => {
                let level = level.unwrap_or_default();
                team.units.iter().map(|unit| TeamUnit { permission: level.into(), ..unit.clone() }).collect()
            }
        };
        let mut units: Vec<TeamUnit> = units.into_iter().filter(|unit| unit.permission() != Permission::None).collect();
        if units.is_empty() {
            return Err(Error::invalid("units_map", NO_UNITS));
        }
        units.sort_by(|a, b| a.unit.cmp(&b.unit));
        units.dedup_by(|a, b| a.unit == b.unit);
        team.admin = false;
        team.units = units;
        Ok(())
    }
}

const NO_UNITS: &str = "must give a right in at least one unit, such as repo.code";

fn checked(field: &'static str, unit: &str, permission: Permission) -> Result<TeamUnit, Error> {
    if UNITS.contains(&unit) {
        return Ok(TeamUnit { unit: unit.to_owned(), permission: permission.into() });
    }
    Err(Error::invalid(field, format!("{:.100} is not a unit; the units are {}", unit, UNITS.join(", "))))
}

fn permission(word: &str) -> Result<Permission, Error> {
    Ok(match word {
        "none" => Permission::None,
        "read" => Permission::Read,
        "write" => Permission::Write,
        // The highest right in a unit. Only `permission` makes a team administer repositories.
        "admin" => Permission::Admin,
        _ => return Err(Error::invalid("units_map", "values must be none, read, write or admin")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(team: &Team) -> String {
        if team.admin {
            return "admin".into();
        }
        let word = |unit: &TeamUnit| format!("{}={:?}", unit.unit.trim_start_matches("repo."), unit.permission());
        team.units.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn apply(before: &Team, permission: &str, units: &[&str], map: &[(&str, &str)]) -> Result<String, Error> {
        let mut team = before.clone();
        let units: Vec<String> = units.iter().map(|unit| format!("repo.{unit}")).collect();
        let map = map.iter().map(|(unit, word)| (format!("repo.{unit}"), (*word).to_owned())).collect();
        RightsInput { permission, units: Some(&units), units_map: Some(&map) }.apply(&mut team)?;
        Ok(rights(&team))
    }

    #[test]
    fn units_map_takes_precedence_over_units_and_permission() {
        let none = Team::default();
        let good = |permission, units: &[&str], map: &[(&str, &str)]| apply(&none, permission, units, map).ok();
        assert_eq!(good("write", &["code"], &[]).as_deref(), Some("code=Write"));
        assert_eq!(good("", &["code", "code", "actions"], &[]).as_deref(), Some("actions=Read code=Read"));
        assert_eq!(good("write", &["wiki"], &[("code", "read")]).as_deref(), Some("code=Read"));
        assert_eq!(good("none", &[], &[("code", "read"), ("wiki", "none")]).as_deref(), Some("code=Read"));
        assert_eq!(good("admin", &["code"], &[("code", "read")]).as_deref(), Some("admin"));
        assert_eq!(good("read", &["code"], &[("code", "none"), ("wiki", "none")]).as_deref(), Some("code=Read"));
        assert_eq!(good("", &["code"], &[("code", "none")]), None);
    }

    #[test]
    fn rights_that_give_nothing_or_name_unknown_units_are_refused() {
        let none = Team::default();
        for (permission, units, map) in [
            ("", &[][..], &[][..]),
            ("write", &[], &[]),
            ("owner", &["code"], &[]),
            ("none", &["code"], &[]),
            ("read", &["nothing"], &[]),
            ("", &[], &[("code", "none")]),
            ("", &[], &[("code", "owner")]),
            ("", &[], &[("nothing", "read")]),
        ] {
            assert!(apply(&none, permission, units, map).is_err(), "{permission} {units:?} {map:?}");
        }
    }

    #[test]
    fn absent_rights_of_an_edit_keep_those_of_the_team() {
        let code = TeamUnit { unit: "repo.code".into(), permission: Permission::Write.into() };
        let team = Team { units: vec![code], ..Team::default() };
        assert_eq!(apply(&team, "", &[], &[]).ok().as_deref(), Some("code=Write"));
        assert_eq!(apply(&team, "none", &[], &[]).ok().as_deref(), Some("code=Write"));
        assert_eq!(apply(&team, "read", &[], &[]).ok().as_deref(), Some("code=Read"));
        assert_eq!(apply(&team, "", &["actions"], &[]).ok().as_deref(), Some("actions=Write"));
        let admins = Team { admin: true, ..Team::default() };
        assert_eq!(apply(&admins, "", &[], &[]).ok().as_deref(), Some("admin"));
        assert!(apply(&admins, "read", &[], &[]).is_ok_and(|rights| rights.contains("code=Read")));
    }

    #[test]
    fn names_of_teams_are_checked() {
        let long = "a".repeat(256);
        assert!(["a", "Dev_1.x-", &"a".repeat(255)].iter().all(|text| name(text).is_ok()));
        assert!(["", "a b", "a/b", "ä", &long].iter().all(|text| name(text).is_err()));
    }
}
