//! Organizations, their teams, members and repositories.
//!
//! The screen shares the digit and the tab of the users. The pane shows the tabs of the organization under the cursor,
//! or of one of its teams after it was opened.

mod actions;
mod answers;
pub(super) mod form;
mod member_rows;
pub(super) mod organization_form;
mod pane;
mod place;
pub(crate) mod questions;
mod rows;
mod tab;
mod target;

use std::time::Duration;

use farrier_common::api::Team;
use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::tab::OrganizationTab;
use self::target::OpenTarget;
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, Feed, List, ListView, TableOptions},
    net::{Answer, OrganizationKey, OrganizationMember, OrganizationRequest, Problem, Request, TeamKey},
    organization::OrganizationSummary,
    repo::RepositorySummary,
    world::{Cmd, Env, World},
};

/// Refresh interval while the screen is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// The interval is one step longer for this many visible rows: the daemon returns 50 rows per request.
const ROWS_PER_STEP: usize = 1_000;
/// Part of the width for the organizations, in percent.
const ORGANIZATIONS_SHARE: u16 = 45;

#[derive(Debug)]
pub(crate) struct Organizations {
    pub(super) rows: Feed<OrganizationSummary>,
    /// The lists of `shown`.
    pub(super) teams: Feed<Team>,
    members: Feed<OrganizationMember>,
    repositories: Feed<RepositorySummary>,
    /// The lists of `team`.
    team_members: Feed<OrganizationMember>,
    team_repositories: Feed<RepositorySummary>,
    /// The organization whose lists are loaded or requested.
    shown: Option<OrganizationKey>,
    /// The opened team.
    team: Option<Team>,
    /// The tab of the organization, and that of the team.
    tab: OrganizationTab,
    team_tab: OrganizationTab,
    /// Whether the pane has the focus.
    in_pane: bool,
    /// The organization or team to open as soon as it is loaded.
    target: Option<OpenTarget>,
}

impl Default for Organizations {
    fn default() -> Self {
        Self {
            rows: Feed::new(List::sorted(0)),
            teams: Feed::new(List::default()),
            members: Feed::new(List::sorted(0)),
            repositories: Feed::new(List::default()),
            team_members: Feed::new(List::sorted(0)),
            team_repositories: Feed::new(List::default()),
            shown: None,
            team: None,
            tab: OrganizationTab::Teams,
            team_tab: OrganizationTab::Rights,
            in_pane: false,
            target: None,
        }
    }
}

impl Organizations {
    /// Returns the organization under the cursor.
    fn current(&self) -> Option<OrganizationKey> {
        self.rows.list.current().map(|org| OrganizationKey { id: org.id, name: org.name().to_owned() })
    }

    /// Returns the organization of the pane, if its rows belong to the one under the cursor.
    fn of(&self) -> Option<&OrganizationKey> {
        let current = self.current();
        self.shown.as_ref().filter(|shown| current.as_ref() == Some(*shown))
    }

    /// Returns the key of a team of the shown organization.
    fn key(&self, team: &Team) -> TeamKey {
        let org = self.shown.as_ref().map_or_else(String::new, |org| org.name.clone());
        TeamKey { id: team.id, org, name: team.name.clone() }
    }

    /// Returns the shown tab.
    fn tab(&self) -> OrganizationTab {
        if self.team.is_some() { self.team_tab } else { self.tab }
    }

    /// Returns the list of the shown tab; the rights of a team are a text.
    fn pane_list(&self) -> Option<&dyn ListView> {
        match self.tab() {
            OrganizationTab::Teams => Some(&self.teams),
            OrganizationTab::Members => Some(&self.members),
            OrganizationTab::Repositories => Some(&self.repositories),
            OrganizationTab::Rights => None,
            OrganizationTab::TeamMembers => Some(&self.team_members),
            OrganizationTab::TeamRepositories => Some(&self.team_repositories),
        }
    }

    fn pane_list_mut(&mut self) -> Option<&mut dyn ListView> {
        match self.tab() {
            OrganizationTab::Teams => Some(&mut self.teams),
            OrganizationTab::Members => Some(&mut self.members),
            OrganizationTab::Repositories => Some(&mut self.repositories),
            OrganizationTab::Rights => None,
            OrganizationTab::TeamMembers => Some(&mut self.team_members),
            OrganizationTab::TeamRepositories => Some(&mut self.team_repositories),
        }
    }

    fn lists_mut(&mut self) -> [&mut dyn ListView; 6] {
        [
            &mut self.rows,
            &mut self.teams,
            &mut self.members,
            &mut self.repositories,
            &mut self.team_members,
            &mut self.team_repositories,
        ]
    }

    /// Empties the lists of the opened team.
    fn forget_team_lists(&mut self, env: &mut Env) {
        for list in [&mut self.team_members as &mut dyn ListView, &mut self.team_repositories] {
            list.stop(env);
            list.empty();
        }
    }

    /// Requests the list of the shown tab if it is visible. With `again`, also if it is loaded.
    fn request_pane(&mut self, again: bool, env: &mut Env) {
        let is_visible = self.in_pane || env.world.split();
        let Some(org) = self.current().filter(|_| is_visible) else { return };
        let is_same = self.shown.as_ref() == Some(&org);
        // The rights of a team are those of its row.
        let was_requested = self.pane_list().unwrap_or(&self.teams).was_requested();
        if is_same && was_requested && !again {
            return;
        }
        // After a change, the list is requested again even if the cursor moves.
        if !(is_same && again) && env.is_cursor_moving() {
            return;
        }
        if !is_same {
            self.team = None;
            self.forget_team_lists(env);
            for list in [&mut self.teams as &mut dyn ListView, &mut self.members, &mut self.repositories] {
                list.stop(env);
                list.empty();
            }
            self.shown = Some(org.clone());
        }
        let teams = Request::Organization(OrganizationRequest::Teams(org.clone()));
        let team = self.team.as_ref().map(|team| self.key(team));
        let of_team = match (team, self.tab()) {
            (Some(team), OrganizationTab::TeamMembers) => Some(OrganizationRequest::TeamMembers(team)),
            (Some(team), OrganizationTab::TeamRepositories) => Some(OrganizationRequest::TeamRepositories(team)),
            _ => None,
        };
        let of_org = match self.tab() {
            OrganizationTab::Members => Some(OrganizationRequest::Members(org)),
            OrganizationTab::Repositories => Some(OrganizationRequest::Repositories(org)),
            _ => None,
        };
        // While a team is open, its row shows whether it still exists.
        if of_org.is_none() && (of_team.is_none() || again) {
            self.teams.request(teams, env);
        }
        if let (Some(request), Some(list)) = (of_team.or(of_org), self.pane_list_mut()) {
            list.request(Request::Organization(request), env);
        }
    }

    fn focus_pane(&mut self, on: bool, env: &mut Env) {
        self.in_pane = on && self.rows.list.current().is_some();
        self.request_pane(false, env);
    }

    /// Opens a team in the pane.
    fn open_team(&mut self, team: Team, tab: OrganizationTab, env: &mut Env) {
        self.forget_team_lists(env);
        (self.team, self.team_tab) = (Some(team), tab);
        self.request_pane(false, env);
    }

    fn close_team(&mut self, env: &mut Env) {
        self.team = None;
        self.forget_team_lists(env);
        self.request_pane(false, env);
    }

    /// Shows another tab of the organization or of the opened team.
    fn turn(&mut self, tab: OrganizationTab, env: &mut Env) {
        if !self.in_pane && !env.world.split() {
            return env.notify("Enter opens the organization; its teams, members and repositories are there");
        }
        *(if self.team.is_some() { &mut self.team_tab } else { &mut self.tab }) = tab;
        self.request_pane(true, env);
    }

    fn back(&mut self, env: &mut Env) {
        if !self.in_pane {
            if !self.rows.clear_one(env) {
                env.push(Cmd::Screen(ScreenId::Users));
            }
        } else if !self.pane_list_mut().is_some_and(|list| list.clear_one(env)) {
            if self.team.is_some() {
                self.close_team(env);
            } else {
                self.focus_pane(false, env);
            }
        }
    }
}

impl Screen for Organizations {
    fn id(&self) -> ScreenId {
        ScreenId::Organizations
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        let own = if self.in_pane { self.tab().scope() } else { Scope::Organizations };
        if own == Scope::Team {
            return vec![own, Scope::Everywhere];
        }
        vec![own, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn right_has_focus(&self) -> Option<bool> {
        Some(self.in_pane)
    }

    fn list(&self) -> Option<&dyn ListView> {
        if self.in_pane { self.pane_list() } else { Some(&self.rows) }
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        if self.in_pane { self.pane_list_mut() } else { Some(&mut self.rows) }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::Organization(OrganizationRequest::List), env);
        self.request_pane(true, env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        self.request_pane(false, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let rows = self.rows.loaded_count() + self.pane_list().map_or(0, ListView::loaded_count);
        let slower = u32::try_from(rows / ROWS_PER_STEP).unwrap_or(u32::MAX - 1);
        Some(REFRESH_INTERVAL.saturating_mul(slower + 1))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open if !self.in_pane => self.focus_pane(true, env),
            action if self.change_organization(action, env) => {}
            Action::OtherPane => self.focus_pane(!self.in_pane, env),
            Action::NextPart => self.turn(self.tab().step(1), env),
            Action::PreviousPart => self.turn(self.tab().step(2), env),
            Action::Part(at) => self.turn(self.tab().row().get(at).copied().unwrap_or(self.tab()), env),
            Action::Back => self.back(env),
            action if self.change(action, env) => {}
            action if self.in_pane => return self.pane_list_mut().is_some_and(|list| list.act(action)),
            action => {
                let acted = self.rows.act(action);
                self.cursor_moved(env);
                return acted;
            }
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn click(&mut self, x: u16, y: u16, env: &mut Env) {
        // A list that is not drawn still has the area of its last drawing.
        let split = env.world.split();
        if (split || !self.in_pane) && self.rows.click(x, y) {
            self.in_pane = false;
        } else if split || self.in_pane {
            self.in_pane |= self.pane_list_mut().is_some_and(|list| list.click(x, y));
        }
        self.cursor_moved(env);
    }

    fn subject(&self) -> Option<String> {
        if !self.in_pane {
            return self.rows.list.subject(|org| org.name().to_owned(), "organizations");
        }
        self.of()?;
        let noun = self.tab().noun();
        match self.tab() {
            OrganizationTab::Teams => self.teams.list.subject(|team| format!("team {}", self.key(team)), noun),
            OrganizationTab::Rights => self.team.as_ref().map(|team| format!("team {}", self.key(team))),
            OrganizationTab::Members => self.members.list.subject(|member| member.login.clone(), noun),
            OrganizationTab::TeamMembers => self.team_members.list.subject(|member| member.login.clone(), noun),
            OrganizationTab::Repositories => self.repositories.list.subject(|repo| repo.full_name().to_owned(), noun),
            OrganizationTab::TeamRepositories => {
                self.team_repositories.list.subject(|repo| repo.full_name().to_owned(), noun)
            }
        }
    }

    fn third_pane(&self, world: &World, room: u16) -> Option<ThirdPane> {
        pane::third_pane(self, &world.clock, room)
    }

    fn selection(&self) -> Option<Selection> {
        let name = self.subject()?;
        if !self.in_pane {
            return self.rows.list.selection(Object::Organization, name);
        }
        match self.tab() {
            OrganizationTab::Teams => self.teams.list.selection(Object::Team, name),
            OrganizationTab::Rights => {
                let team = self.team.as_ref()?;
                Some(Selection { object: Object::Team, name, rows: team.id.to_string() })
            }
            OrganizationTab::Members => self.members.list.selection(Object::Member, name),
            OrganizationTab::TeamMembers => self.team_members.list.selection(Object::Member, name),
            OrganizationTab::Repositories => self.repositories.list.selection(Object::ListedRepository, name),
            OrganizationTab::TeamRepositories => self.team_repositories.list.selection(Object::ListedRepository, name),
        }
    }

    fn related(&self) -> Vec<Related> {
        self.related_objects()
    }

    fn missing_target(&self, ask: &Request) -> Option<String> {
        self.lost(ask)
    }

    fn status(&self, _: &World) -> String {
        match (self.list(), self.team.as_ref()) {
            (Some(list), _) => list.status_text(),
            (None, Some(team)) => format!("team {}", self.key(team)),
            (None, None) => String::new(),
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let empty: &[&str] = &["No organizations that you may see.", "", "n creates one"];
        let options = TableOptions { what: "organizations", empty, focused: !self.in_pane };
        if world.split() {
            let (left, right) = panes::side_by_side_focused(area, ORGANIZATIONS_SHARE, self.in_pane, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            pane::draw(self, world, right, buf);
        } else if self.in_pane {
            pane::draw(self, world, area, buf);
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}
