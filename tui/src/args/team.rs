//! Arguments of `farrier team`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use farrier_common::{api, client::RepositoryPath};

use super::Limit;
use crate::team_text::UNITS;

#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    /// List the teams of an organization
    List {
        /// Organization
        #[arg(value_name = "ORG")]
        org: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Create a team
    Create(CreateTeam),
    /// Change a team; omitted options are unchanged
    Edit(EditTeam),
    /// Delete a team; its repositories stay, and members without another team leave the organization
    Delete {
        #[command(flatten)]
        team: TeamArgs,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// List the members of a team
    Members {
        #[command(flatten)]
        team: TeamArgs,
        #[command(flatten)]
        limit: Limit,
    },
    /// Add a user to a team, and thereby to the organization
    AddMember {
        #[command(flatten)]
        team: TeamArgs,
        /// Name of the user
        user: String,
    },
    /// Remove a user from a team; without another team, the user leaves the organization
    RemoveMember {
        #[command(flatten)]
        team: TeamArgs,
        /// Name of the user
        user: String,
    },
    /// List the repositories of a team
    Repos {
        #[command(flatten)]
        team: TeamArgs,
        #[command(flatten)]
        limit: Limit,
    },
    /// Add a repository of the organization to a team
    AddRepo {
        #[command(flatten)]
        team: TeamArgs,
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
    /// Remove a repository from a team; the repository stays
    RemoveRepo {
        #[command(flatten)]
        team: TeamArgs,
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
}

/// A team, by its name.
#[derive(Args, Debug)]
pub(crate) struct TeamArgs {
    /// Organization
    #[arg(value_name = "ORG")]
    pub(crate) org: String,
    /// Name of the team
    #[arg(value_name = "TEAM")]
    pub(crate) team: String,
}

/// Rights of a team.
#[derive(Args, Debug)]
pub(crate) struct Rights {
    /// Right in the repositories: read, write, or admin to administer them [default of new teams: read]
    #[arg(long, value_name = "RIGHT", value_parser = ["read", "write", "admin"])]
    pub(crate) permission: Option<String>,
    /// Right in a unit, such as repo.code=write; can be repeated, and takes precedence over --permission
    #[arg(long = "unit", value_name = "UNIT=RIGHT", value_parser = unit)]
    pub(crate) units: Vec<(String, String)>,
}

#[derive(Args, Debug)]
pub(crate) struct CreateTeam {
    #[command(flatten)]
    pub(crate) team: TeamArgs,
    /// Description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    #[command(flatten)]
    pub(crate) rights: Rights,
    /// Give the team all repositories of the organization, also new ones
    #[arg(long)]
    pub(crate) all_repos: bool,
    /// Allow the members to create repositories in the organization
    #[arg(long)]
    pub(crate) create_repos: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EditTeam {
    #[command(flatten)]
    pub(crate) team: TeamArgs,
    /// New name
    #[arg(long, value_name = "NAME")]
    pub(crate) rename: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) rights: Rights,
    /// Whether the team has all repositories of the organization, also new ones
    #[arg(long, value_name = "BOOL")]
    pub(crate) all_repos: Option<bool>,
    /// Whether the members may create repositories in the organization
    #[arg(long, value_name = "BOOL")]
    pub(crate) create_repos: Option<bool>,
}

impl Rights {
    fn units_map(self) -> Option<BTreeMap<String, String>> {
        (!self.units.is_empty()).then(|| self.units.into_iter().collect())
    }
}

impl CreateTeam {
    /// Returns the request for a new team. Without `--unit`, it gets its right in the units that have an effect.
    pub(crate) fn request(self) -> api::CreateTeam {
        let units = self.rights.units.is_empty().then(|| UNITS.map(str::to_owned).to_vec());
        api::CreateTeam {
            name: self.team.team,
            description: self.description,
            permission: self.rights.permission.clone().unwrap_or_default(),
            units,
            units_map: self.rights.units_map(),
            includes_all_repositories: self.all_repos,
            can_create_org_repo: self.create_repos,
            visibility: String::new(),
        }
    }
}

impl EditTeam {
    /// Returns the request with the given changes.
    pub(crate) fn request(self) -> api::EditTeam {
        api::EditTeam {
            name: self.rename,
            description: self.description,
            permission: self.rights.permission.clone(),
            units: None,
            units_map: self.rights.units_map(),
            includes_all_repositories: self.all_repos,
            can_create_org_repo: self.create_repos,
            visibility: None,
        }
    }
}

/// Parses `UNIT=RIGHT`. The daemon checks both words.
fn unit(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((unit, right)) if !unit.is_empty() && !right.is_empty() => Ok((unit.to_owned(), right.to_owned())),
        _ => Err("expected UNIT=RIGHT, such as repo.code=write".to_owned()),
    }
}
