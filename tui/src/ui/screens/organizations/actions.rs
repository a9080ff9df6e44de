//! Actions on organizations and on their teams, members and repositories.

use farrier_common::{api::Team, client::RepositoryPath};

use super::{OrganizationTab, Organizations, form, organization_form, questions};
use crate::ui::{
    keymap::Action,
    layer::{Layer, Menu},
    list::{Feed, ListView, Row},
    net::{OrganizationKey, OrganizationMember, OrganizationRequest, Request, TeamKey},
    organization::OrganizationSummary,
    repo::RepositorySummary,
    screens::{Related, user_actions},
    world::{Cmd, Env},
};

/// Returns the request that makes the caller's membership public, or conceals it.
pub(super) fn set_public(org: &OrganizationKey, user: &str, public: bool) -> Request {
    let (org, user) = (org.clone(), user.to_owned());
    Request::Organization(OrganizationRequest::SetPublic { org, user, public })
}

/// Returns why a list has no row for an action. `one`: the action supports only one row.
fn no_row<T: Row>(feed: &Feed<T>, one: bool) -> Option<String> {
    let none = || feed.list.hidden_note().unwrap_or_else(|| "nothing selected".to_owned());
    if one {
        return feed.list.target().map_or_else(Some, |row| row.is_none().then(none));
    }
    feed.list.targets().is_empty().then(none)
}

/// Returns a text of each row of an action, one per line.
fn each<T: Row>(feed: &Feed<T>, text: impl Fn(&T) -> String) -> String {
    feed.list.targets().into_iter().map(text).collect::<Vec<_>>().join("\n")
}

impl Organizations {
    /// Returns the team of an action: the opened one, or the marked row, or the one under the cursor.
    fn target_team(&self) -> Option<&Team> {
        self.team.as_ref().or_else(|| self.teams.list.target().ok().flatten())
    }

    /// Carries out an action on the list of organizations. Returns whether the action was handled.
    pub(super) fn change_organization(&self, action: Action, env: &mut Env) -> bool {
        let target = self.rows.list.target().ok().flatten();
        match (action, target) {
            (Action::New, _) => env.open(Layer::Form(Box::new(organization_form::create()))),
            (Action::Edit, Some(org)) => env.open(Layer::Form(Box::new(organization_form::edit(&org.editable())))),
            (Action::Delete, Some(org)) => {
                let key = OrganizationKey { id: org.id, name: org.name().to_owned() };
                let question = questions::delete_organization(key, env.world);
                env.open(question);
            }
            _ => return false,
        }
        true
    }

    /// Carries out an action that changes something or shows another screen. Returns whether the action was handled.
    pub(super) fn change(&mut self, action: Action, env: &mut Env) -> bool {
        if action == Action::Copy {
            self.copy(env);
            return true;
        }
        // The rows can be those of another organization until those of this one are requested.
        let Some(org) = self.of().cloned().filter(|_| self.in_pane) else { return false };
        match (self.tab(), action) {
            (OrganizationTab::Teams, Action::Open) => {
                if let Some(team) = self.teams.list.current().cloned() {
                    self.open_team(team, OrganizationTab::Rights, env);
                }
            }
            (OrganizationTab::Teams, Action::AddEntry) => {
                env.open(Layer::Form(Box::new(form::create_team(&org.name))));
            }
            (OrganizationTab::Teams | OrganizationTab::Rights, Action::ChangeEntry) => {
                if let Some(team) = self.target_team() {
                    env.open(Layer::Form(Box::new(form::edit_team(self.key(team), team))));
                }
            }
            (OrganizationTab::Teams | OrganizationTab::Rights, Action::DeleteEntry) => {
                if let Some(team) = self.target_team() {
                    let question = questions::delete_team(self.key(team), env.world);
                    env.open(question);
                }
            }
            (OrganizationTab::Members, Action::Toggle) => self.toggle_membership(&org, env),
            (OrganizationTab::Members, Action::DeleteEntry) => {
                let users: Vec<(String, i64)> =
                    self.members.list.targets().iter().map(|member| (member.login.clone(), member.id)).collect();
                let skipped = self.members.list.hidden_note();
                env.commands.extend(questions::remove_members(&org, &users, skipped, env.world).map(opened));
            }
            (OrganizationTab::Members, Action::Open) => show_user(&self.members, env),
            (OrganizationTab::TeamMembers, Action::Open) => show_user(&self.team_members, env),
            (OrganizationTab::Repositories, Action::Open) => show_repository(&self.repositories, env),
            (OrganizationTab::TeamRepositories, Action::Open) => show_repository(&self.team_repositories, env),
            (_, action) => return self.change_team(action, env),
        }
        true
    }

    /// Carries out an action on the members or repositories of the opened team.
    fn change_team(&self, action: Action, env: &mut Env) -> bool {
        let Some(team) = self.team.as_ref().map(|team| self.key(team)) else { return false };
        match (self.tab(), action) {
            (OrganizationTab::TeamMembers, Action::AddEntry) => {
                env.open(Layer::Form(Box::new(form::add_member(team))));
            }
            (OrganizationTab::TeamRepositories, Action::AddEntry) => {
                env.open(Layer::Form(Box::new(form::add_repository(team))));
            }
            (OrganizationTab::TeamMembers, Action::DeleteEntry) => {
                let list = &self.team_members.list;
                let users: Vec<_> = list.targets().iter().map(|one| (one.login.clone(), one.id)).collect();
                let question = questions::remove_team_members(&team, &users, list.hidden_note(), env.world);
                env.commands.extend(question.map(opened));
            }
            (OrganizationTab::TeamRepositories, Action::DeleteEntry) => {
                let list = &self.team_repositories.list;
                let repo =
                    |repo: &&RepositorySummary| Some((repo.full_name().parse::<RepositoryPath>().ok()?, repo.id));
                let repos: Vec<_> = list.targets().iter().filter_map(repo).collect();
                let question = questions::remove_team_repositories(&team, &repos, list.hidden_note(), env.world);
                env.commands.extend(question.map(opened));
            }
            _ => return false,
        }
        true
    }

    /// Makes the own membership public, or conceals it.
    fn toggle_membership(&self, org: &OrganizationKey, env: &mut Env) {
        let Some(member) = self.members.list.target().ok().flatten() else { return };
        if !user_actions::is_own(&member.login, env.world) {
            return env.warn("members decide themselves whether their membership is public");
        }
        env.send(set_public(org, &member.login, member.is_public != Some(true)));
    }

    fn copy(&self, env: &mut Env) {
        let named = |name: String, id: String| vec![('n', "name", name), ('i', "ID", id)];
        let texts = match self.tab() {
            _ if !self.in_pane => named(
                each(&self.rows, |org: &OrganizationSummary| org.name().to_owned()),
                each(&self.rows, |org| org.id.to_string()),
            ),
            OrganizationTab::Teams => {
                named(each(&self.teams, |team: &Team| team.name.clone()), each(&self.teams, |team| team.id.to_string()))
            }
            OrganizationTab::Rights => {
                let Some(team) = &self.team else { return };
                named(team.name.clone(), team.id.to_string())
            }
            OrganizationTab::Members => member_texts(&self.members),
            OrganizationTab::TeamMembers => member_texts(&self.team_members),
            OrganizationTab::Repositories => repository_texts(&self.repositories),
            OrganizationTab::TeamRepositories => repository_texts(&self.team_repositories),
        };
        env.open(Layer::Menu(Menu::copies("Copy", texts)));
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        if matches!(action, Action::Edit | Action::Delete) {
            return no_row(&self.rows, true);
        }
        if !matches!(
            action,
            Action::Open | Action::Copy | Action::ChangeEntry | Action::DeleteEntry | Action::Toggle | Action::AddEntry
        ) {
            return None;
        }
        if !self.in_pane {
            return no_row(&self.rows, false);
        }
        if self.of().is_none() {
            return Some("not loaded yet".to_owned());
        }
        let has_all = self.team.as_ref().is_some_and(|team| team.includes_all_repositories);
        let changes_list = matches!(action, Action::AddEntry | Action::DeleteEntry);
        if self.tab() == OrganizationTab::TeamRepositories && has_all && changes_list {
            return Some("the team has all repositories of the organization".to_owned());
        }
        let changes_team = matches!(action, Action::ChangeEntry | Action::DeleteEntry);
        match self.tab() {
            _ if action == Action::AddEntry => None,
            OrganizationTab::Teams | OrganizationTab::Rights if changes_team => match self.target_team() {
                None => no_row(&self.teams, true),
                Some(team) if team.permission == "owner" => {
                    Some(format!("the team {} cannot be changed or deleted", team.name))
                }
                Some(_) => None,
            },
            OrganizationTab::Rights => None,
            OrganizationTab::Teams => no_row(&self.teams, false),
            OrganizationTab::Members => no_row(&self.members, action == Action::Toggle),
            OrganizationTab::Repositories => no_row(&self.repositories, false),
            OrganizationTab::TeamMembers => no_row(&self.team_members, false),
            OrganizationTab::TeamRepositories => no_row(&self.team_repositories, false),
        }
    }

    /// Returns the objects that belong to the row under the cursor.
    pub(super) fn related_objects(&self) -> Vec<Related> {
        let of_org = |org: &OrganizationSummary| {
            vec![Related::repositories_of(org.name()), Related::audit_of("organization", &org.id.to_string())]
        };
        if !self.in_pane {
            return self.rows.list.current().map(of_org).unwrap_or_default();
        }
        let of_team = |team: &Team| Related::audit_of("team", &team.id.to_string());
        let of_user = |member: &OrganizationMember| Related::user(&member.login);
        let of_repo = |repo: &RepositorySummary| Related::repository(repo.full_name());
        let related = match self.tab() {
            OrganizationTab::Teams => self.teams.list.current().map(of_team),
            OrganizationTab::Rights => self.team.as_ref().map(of_team),
            OrganizationTab::Members => self.members.list.current().map(of_user),
            OrganizationTab::TeamMembers => self.team_members.list.current().map(of_user),
            OrganizationTab::Repositories => self.repositories.list.current().map(of_repo),
            OrganizationTab::TeamRepositories => self.team_repositories.list.current().map(of_repo),
        };
        related.into_iter().collect()
    }

    /// Returns the name of the object of an open question that no longer exists.
    pub(super) fn lost(&self, ask: &Request) -> Option<String> {
        fn is_lost<T: Row<Id = i64>>(feed: &Feed<T>, id: i64) -> bool {
            feed.has_all() && !feed.list.rows().iter().any(|row| row.id() == id)
        }
        let ask = match ask {
            Request::Organization(ask) => ask,
            Request::Batch(batch) => return batch.items.iter().find_map(|(_, request)| self.lost(request)),
            _ => return None,
        };
        // The lists are those of the shown organization and of the opened team.
        let is_of_team = |team: &TeamKey| self.team.as_ref().is_some_and(|shown| shown.id == team.id);
        match ask {
            OrganizationRequest::Delete(org) => {
                is_lost(&self.rows, org.id).then(|| format!("organization {}", org.name))
            }
            OrganizationRequest::DeleteTeam(team) => {
                let is_of_org = self.shown.as_ref().is_some_and(|org| org.name == team.org);
                (is_of_org && is_lost(&self.teams, team.id)).then(|| format!("team {team}"))
            }
            OrganizationRequest::RemoveMember { org, user, id } => {
                let is_replaced = is_lost(&self.rows, org.id);
                let is_gone = self.shown.as_ref() == Some(org) && is_lost(&self.members, *id);
                (is_replaced || is_gone).then(|| user.clone())
            }
            OrganizationRequest::RemoveTeamMember { team, user, id: Some(id) } => {
                (is_of_team(team) && is_lost(&self.team_members, *id)).then(|| user.clone())
            }
            OrganizationRequest::RemoveTeamRepository { team, repo, id: Some(id) } => {
                (is_of_team(team) && is_lost(&self.team_repositories, *id)).then(|| repo.to_string())
            }
            _ => None,
        }
    }
}

/// Returns the command that opens a layer.
fn opened(layer: Layer) -> Cmd {
    Cmd::Open(Box::new(layer))
}

fn show_user(members: &Feed<OrganizationMember>, env: &mut Env) {
    env.commands.extend(members.list.current().map(|member| Cmd::Line(Related::user(&member.login).line)));
}

fn show_repository(repos: &Feed<RepositorySummary>, env: &mut Env) {
    env.commands.extend(repos.list.current().map(|repo| Cmd::Repository(repo.id)));
}

fn member_texts(members: &Feed<OrganizationMember>) -> Vec<(char, &'static str, String)> {
    let (names, ids) = (each(members, |one| one.login.clone()), each(members, |one| one.id.to_string()));
    vec![('n', "name", names), ('i', "ID", ids)]
}

fn repository_texts(repos: &Feed<RepositorySummary>) -> Vec<(char, &'static str, String)> {
    let ids = each(repos, |repo| repo.id.to_string());
    vec![
        ('n', "name", each(repos, |repo| repo.full_name().to_owned())),
        ('h', "https", each(repos, RepositorySummary::clone_url)),
        ('i', "ID", ids),
    ]
}
