//! Finds organizations and teams by the names in a command line.

use farrier_common::api::Team;

use super::{OrganizationTab, Organizations};
use crate::ui::{
    list::ListView as _,
    net::{OrganizationKey, Request, TeamKey},
    world::Env,
};

/// An organization, or one of its teams, to open in the pane.
#[derive(Clone, Debug)]
pub(super) struct OpenTarget {
    org: String,
    team: Option<String>,
    tab: OrganizationTab,
}

impl Organizations {
    /// Opens a tab of an organization, or of one of its teams, now or as soon as they are loaded.
    pub(crate) fn open(&mut self, org: String, team: Option<String>, tab: OrganizationTab, env: &mut Env) {
        self.target = Some(OpenTarget { org, team, tab });
        self.find_target(false, env);
    }

    /// Opens the organization of the target if it is listed. `all`: all organizations are loaded now.
    pub(super) fn find_target(&mut self, all: bool, env: &mut Env) {
        let Some(target) = self.target.clone() else { return };
        let rows = self.rows.list.rows();
        let Some(id) = rows.iter().find(|org| org.name().eq_ignore_ascii_case(&target.org)).map(|org| org.id) else {
            if all {
                self.target = None;
                env.warn(format!("you see no organization {}", target.org));
            }
            return;
        };
        self.rows.list.select(id);
        // A row that the filter hides cannot have the cursor.
        while self.current().is_none_or(|org| org.id != id) && self.rows.clear_one(env) {}
        self.tab = if target.team.is_some() { OrganizationTab::Teams } else { target.tab };
        if target.team.is_none() {
            self.target = None;
        }
        if self.team.is_some() {
            self.close_team(env);
        }
        self.focus_pane(true, env);
        self.find_team(false, env);
    }

    /// Opens the team of the target if the teams of its organization are loaded. `all`: they are loaded now.
    pub(super) fn find_team(&mut self, all: bool, env: &mut Env) {
        let Some(OpenTarget { org, team: Some(name), tab }) = self.target.clone() else { return };
        if !self.of().is_some_and(|shown| shown.name.eq_ignore_ascii_case(&org)) {
            return;
        }
        let team = self.teams.list.rows().iter().find(|team| team.name.eq_ignore_ascii_case(&name)).cloned();
        match team {
            Some(team) => {
                self.target = None;
                self.teams.list.select(team.id);
                self.open_team(team, tab, env);
            }
            None if all => {
                self.target = None;
                env.warn(format!("{org} has no team {name}"));
            }
            None => self.request_pane(false, env),
        }
    }

    /// Drops the target if the list with it could not be loaded. A later refresh must not move the cursor to it.
    pub(super) fn forget_target(&mut self, failed: &Request) {
        let Some(target) = &self.target else { return };
        let is_shown = self.shown.as_ref().is_some_and(|shown| shown.name.eq_ignore_ascii_case(&target.org));
        if self.rows.awaits(failed) || (is_shown && self.teams.awaits(failed)) {
            self.target = None;
        }
    }

    /// Returns a loaded organization, for a command that changes it.
    pub(crate) fn organization_named(&self, name: &str) -> Result<OrganizationKey, String> {
        let org = self.rows.list.rows().iter().find(|org| org.name().eq_ignore_ascii_case(name));
        org.map(|org| OrganizationKey { id: org.id, name: org.name().to_owned() })
            .ok_or_else(|| format!("the organization {name} is not loaded; `org list` shows all that you may see"))
    }

    /// Returns a loaded team, for a command that changes it.
    pub(crate) fn team_named(&self, org: &str, name: &str) -> Result<TeamKey, String> {
        let is_shown = self.of().is_some_and(|shown| shown.name.eq_ignore_ascii_case(org));
        if !is_shown || !self.teams.has_all() {
            return Err(format!("the teams of {org} are not loaded; `team list {org}` shows them"));
        }
        let team = self.teams.list.rows().iter().find(|team| team.name.eq_ignore_ascii_case(name));
        team.map(|team| self.key(team)).ok_or_else(|| format!("{org} has no team {name}; r refreshes the list"))
    }

    /// Returns the loaded teams as arguments of commands, each with its description.
    pub(in crate::ui::screens) fn team_arguments(&self) -> Vec<(String, String)> {
        let Some(org) = self.of() else { return Vec::new() };
        let argument = |team: &Team| (format!("{} {}", org.name, team.name), team.description.clone());
        self.teams.list.rows().iter().map(argument).collect()
    }
}
