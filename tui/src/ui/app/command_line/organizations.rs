//! Commands about organizations and teams.
//!
//! An organization is looked up among the loaded ones, and a team among the loaded teams of the shown organization.
//! Requests contain the number.

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
    /// Runs a command about organizations.
    pub(super) fn org_line(&mut self, command: args::Org) -> LineResult {
        use OrganizationRequest as R;
        match command {
            args::Org::List { .. } => self.go(ScreenId::Organizations),
            args::Org::Show { name } => self.show_organization(name, None, OrganizationTab::Teams),
            args::Org::Create(args) => {
                let owner = args.owner.clone();
                return self.change_organization(R::Create(owner, Box::new(args.request())));
            }
            args::Org::Edit(args) => {
                let org = self.screens.organizations.organization_named(&args.name)?;
                let request = args.request();
                if request == farrier_common::api::EditOrg::default() {
                    return Err("nothing to change; add a flag such as --description TEXT, or press `e` for the form"
                        .to_owned());
                }
                return self.change_organization(R::Edit(org, Box::new(request)));
            }
            args::Org::Delete { name, .. } => {
                let org = self.screens.organizations.organization_named(&name)?;
                return self.question(ScreenId::Organizations, |_, world| questions::delete_organization(org, world));
            }
        }
        Ok(())
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
                return self.change_organization(R::CreateTeam(org, Box::new(args.request())));
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
                return self.change_organization(R::EditTeam(team, Box::new(request)));
            }
            args::Team::Delete { team, .. } => {
                let team = self.team(&team)?;
                return self.question(ScreenId::Organizations, |_, world| questions::delete_team(team, world));
            }
            args::Team::AddMember { team, user } => {
                let team = self.team(&team)?;
                return self.change_organization(R::AddTeamMember(team, user));
            }
            args::Team::AddRepo { team, repo } => {
                let team = self.team(&team)?;
                return self.change_organization(R::AddTeamRepository(team, repo));
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

    fn change_organization(&mut self, request: OrganizationRequest) -> LineResult {
        self.change(ScreenId::Organizations, Request::Organization(request))
    }

    fn show_organization(&mut self, org: String, team: Option<String>, tab: OrganizationTab) {
        // Choose before the screen is entered, because entering sends the missing requests.
        self.with_screens(ScreenId::Organizations, |screens, env| screens.organizations.open(org, team, tab, env));
        self.go(ScreenId::Organizations);
    }
}
