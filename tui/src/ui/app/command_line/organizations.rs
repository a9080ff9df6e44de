//! Commands about organizations and teams.
//!
//! A team is looked up among the loaded teams of the shown organization, and requests contain its number.

use super::LineResult;
use crate::{
    args,
    ui::{
        app::App,
        net::{OrganizationRequest, Request, TeamKey},
        screens::{OrganizationTab, ScreenId, organization_questions as questions},
    },
};

impl App {
    /// Runs a command about organizations. Returns `None` if it runs only in the shell.
    pub(super) fn org_line(&mut self, command: args::Org) -> Option<LineResult> {
        match command {
            args::Org::List { .. } => self.go(ScreenId::Organizations),
            args::Org::Show { name } => self.show_organization(name, None, OrganizationTab::Teams),
            _ => return None,
        }
        Some(Ok(()))
    }

    /// Runs a command about teams.
    pub(super) fn team_line(&mut self, command: args::Team) -> LineResult {
        use OrganizationRequest as R;
        match command {
            args::Team::List { org, .. } => self.show_organization(org, None, OrganizationTab::Teams),
            args::Team::Members { team, .. } => {
                self.show_organization(team.org, Some(team.team), OrganizationTab::TeamMembers);
            }
            args::Team::Repos { team, .. } => {
                self.show_organization(team.org, Some(team.team), OrganizationTab::TeamRepositories);
            }
            args::Team::Create(args) => {
                let org = args.team.org.clone();
                return self.change_team(R::CreateTeam(org, Box::new(args.request())));
            }
            args::Team::Edit(args) => {
                let team = self.team(&args.team)?;
                let request = args.request();
                if request == farrier_common::api::EditTeam::default() {
                    return Err(
                        "nothing to change; add a flag such as --unit repo.code=write, or press `e` for the form"
                            .to_owned(),
                    );
                }
                return self.change_team(R::EditTeam(team, Box::new(request)));
            }
            args::Team::Delete { team, .. } => {
                let team = self.team(&team)?;
                return self.question(ScreenId::Organizations, |_, world| questions::delete_team(team, world));
            }
            args::Team::AddMember { team, user } => {
                let team = self.team(&team)?;
                return self.change_team(R::AddTeamMember(team, user));
            }
            args::Team::AddRepo { team, repo } => {
                let team = self.team(&team)?;
                return self.change_team(R::AddTeamRepository(team, repo));
            }
            args::Team::RemoveMember { team, user } => {
                let team = self.team(&team)?;
                return self
                    .question(ScreenId::Organizations, |_, world| questions::remove_team_member(&team, user, world));
            }
            args::Team::RemoveRepo { team, repo } => {
                let team = self.team(&team)?;
                return self.question(ScreenId::Organizations, |_, world| {
                    questions::remove_team_repository(&team, repo, world)
                });
            }
        }
        Ok(())
    }

    /// Returns the loaded team that a command names.
    fn team(&self, team: &args::TeamArgs) -> Result<TeamKey, String> {
        self.screens.organizations.team_named(&team.org, &team.team)
    }

    fn change_team(&mut self, request: OrganizationRequest) -> LineResult {
        self.change(ScreenId::Organizations, Request::Organization(request))
    }

    fn show_organization(&mut self, org: String, team: Option<String>, tab: OrganizationTab) {
        // Choose before the screen is entered, because entering sends the missing requests.
        self.with_screens(ScreenId::Organizations, |screens, env| screens.organizations.open(org, team, tab, env));
        self.go(ScreenId::Organizations);
    }
}
