//! The screens, one module per screen.
//!
//! A screen is state: keys become actions, responses change the state, drawing reads it. A screen neither blocks
//! nor sends requests itself; it puts commands into its [`Env`].

mod artifacts;
mod audit;
mod caches;
mod columns;
mod dashboard;
mod deleted;
mod deliveries;
mod delivery_groups;
mod form_kind;
mod hooks;
mod logs;
mod organizations;
mod panes;
mod places;
mod related;
mod repositories;
mod runs;
mod set;
mod tasks;
mod text_scroll;
mod third_pane;
mod users;

use std::time::Duration;

use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::{
    columns::columns_of,
    deliveries::{Deliveries, GroupFilter},
    form_kind::{FormAction, FormKind},
    hooks::form::generated_secret,
    logs::LogLevel,
    organizations::{OrganizationTab, questions as organization_questions},
    places::Placed,
    related::{Related, Relation},
    repositories::RepositoryTab,
    runs::RunTab,
    set::Screens,
    third_pane::{ThirdPane, ThirdPaneScroll, third_pane_areas},
    users::actions as user_actions,
};
use super::{
    keymap::{Action, Object, Scope},
    list::{BadFilter, ListView},
    net::{Answer, Problem, Request},
    world::{Env, World},
};

/// Identifies a screen. The digits never change, because users remember them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenId {
    Dashboard,
    Repositories,
    Hooks,
    Deliveries,
    DeliveryGroups,
    Artifacts,
    Audit,
    Caches,
    Users,
    Organizations,
    Runs,
    Tasks,
    Logs,
    DeletedRepositories,
    DeletedArtifacts,
}

impl ScreenId {
    /// The screens with a tab, in the order of their digits.
    pub(crate) const TABS: &[Self] = &[
        Self::Dashboard,
        Self::Repositories,
        Self::Hooks,
        Self::Deliveries,
        Self::Artifacts,
        Self::Audit,
        Self::Users,
        Self::Runs,
        Self::Tasks,
        Self::Logs,
    ];

    /// All screens. Those of deleted objects share the digit and the tab of the objects that exist, caches those of
    /// artifacts, groups of deliveries those of deliveries, and organizations those of users.
    pub(crate) const ALL: &[Self] = &[
        Self::Dashboard,
        Self::Repositories,
        Self::Hooks,
        Self::Deliveries,
        Self::DeliveryGroups,
        Self::Artifacts,
        Self::Audit,
        Self::Caches,
        Self::Users,
        Self::Organizations,
        Self::Runs,
        Self::Tasks,
        Self::Logs,
        Self::DeletedRepositories,
        Self::DeletedArtifacts,
    ];

    pub(crate) fn digit(self) -> char {
        match self {
            Self::Dashboard => '1',
            Self::Repositories | Self::DeletedRepositories => '2',
            Self::Hooks => '3',
            Self::Deliveries | Self::DeliveryGroups => '4',
            Self::Artifacts | Self::Caches | Self::DeletedArtifacts => '5',
            Self::Audit => '6',
            Self::Users | Self::Organizations => '7',
            Self::Runs => '8',
            Self::Tasks => '9',
            Self::Logs => '0',
        }
    }

    /// Returns the label of its tab.
    pub(crate) fn tab(self) -> &'static str {
        match self {
            Self::Dashboard => "Dash",
            Self::Repositories | Self::DeletedRepositories => "Repos",
            Self::Hooks => "Hooks",
            Self::Deliveries | Self::DeliveryGroups => "Deliv",
            Self::Artifacts | Self::Caches | Self::DeletedArtifacts => "Artif",
            Self::Audit => "Audit",
            Self::Users => "Users",
            Self::Organizations => "Orgs",
            Self::Runs => "Runs",
            Self::Tasks => "Tasks",
            Self::Logs => "Logs",
        }
    }

    /// Returns its full name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dashboard => "Dashboard",
            Self::Repositories => "Repositories",
            Self::Deliveries => "Deliveries",
            Self::DeliveryGroups => "Delivery groups",
            Self::Hooks => "Hooks",
            Self::Artifacts => "Artifacts",
            Self::Audit => "Audit",
            Self::Caches => "Caches",
            Self::Users => "Users",
            Self::Organizations => "Organizations",
            Self::Runs => "Runs",
            Self::Tasks => "Tasks",
            Self::Logs => "Logs",
            Self::DeletedRepositories => "Deleted repositories",
            Self::DeletedArtifacts => "Deleted artifacts",
        }
    }

    /// Returns the screen that lists the objects of a kind. No screen lists contexts; the dashboard is about the
    /// daemon.
    pub(crate) fn listing(object: Object) -> Self {
        match object {
            Object::Context | Object::Event | Object::Theme => Self::Dashboard,
            Object::Repository | Object::Branch => Self::Repositories,
            Object::Hook | Object::HookHost => Self::Hooks,
            Object::Delivery => Self::Deliveries,
            Object::Artifact => Self::Artifacts,
            Object::Run => Self::Runs,
            Object::Task => Self::Tasks,
            Object::AuditEntry => Self::Audit,
            Object::LogRecord => Self::Logs,
            Object::CacheEntry => Self::Caches,
            Object::User | Object::Token | Object::Key => Self::Users,
            Object::Organization | Object::Team | Object::Member | Object::ListedRepository => Self::Organizations,
            Object::DeletedRepository => Self::DeletedRepositories,
            Object::DeletedArtifact => Self::DeletedArtifacts,
        }
    }

    /// Returns the screen that a key scope belongs to.
    pub(crate) fn of(scope: Scope) -> Option<Self> {
        match scope {
            Scope::Nowhere
            | Scope::Away
            | Scope::Refused
            | Scope::Failed
            | Scope::FailedRequest
            | Scope::Everywhere
            | Scope::List
            | Scope::Moves => None,
            Scope::Dashboard => Some(Self::Dashboard),
            Scope::Repositories
            | Scope::Repository
            | Scope::Files
            | Scope::Commits
            | Scope::Branches
            | Scope::Tags
            | Scope::Releases
            | Scope::Rules
            | Scope::Collaborators
            | Scope::DeployKeys
            | Scope::Mirrors
            | Scope::RepositoryText
            | Scope::RepositoryHooks
            | Scope::RepositoryArtifacts => Some(Self::Repositories),
            Scope::Hooks => Some(Self::Hooks),
            Scope::Deliveries | Scope::Inspector => Some(Self::Deliveries),
            Scope::DeliveryGroups => Some(Self::DeliveryGroups),
            Scope::Artifacts => Some(Self::Artifacts),
            Scope::Audit => Some(Self::Audit),
            Scope::Caches => Some(Self::Caches),
            Scope::Users | Scope::Tokens | Scope::AccountKeys => Some(Self::Users),
            Scope::Organizations
            | Scope::Teams
            | Scope::Members
            | Scope::OrganizationRepositories
            | Scope::Team
            | Scope::TeamMembers
            | Scope::TeamRepositories => Some(Self::Organizations),
            Scope::Runs | Scope::RunParts => Some(Self::Runs),
            Scope::Tasks => Some(Self::Tasks),
            Scope::Logs => Some(Self::Logs),
            Scope::DeletedRepositories => Some(Self::DeletedRepositories),
            Scope::DeletedArtifacts => Some(Self::DeletedArtifacts),
        }
    }
}

impl std::str::FromStr for ScreenId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::TABS.iter().find(|id| id.name().eq_ignore_ascii_case(text));
        known.copied().ok_or_else(|| {
            let names: Vec<String> = Self::TABS.iter().map(|id| id.name().to_lowercase()).collect();
            format!("must be one of {}", names.join(", "))
        })
    }
}

/// The objects that the actions of a screen apply to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) object: Object,
    /// Name for messages.
    pub(crate) name: String,
    /// Identifies the rows, because names may be equal.
    pub(crate) rows: String,
}

/// State and behavior of a screen.
///
/// Most methods have a default that uses the focused list.
pub(crate) trait Screen: Placed {
    fn id(&self) -> ScreenId;

    /// Returns the key scopes, the most specific first.
    fn scopes(&self, world: &World) -> Vec<Scope>;

    /// Returns the list that has the focus.
    fn list(&self) -> Option<&dyn ListView> {
        None
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        None
    }

    /// Called when the screen becomes visible or the daemon is reachable again: requests missing data.
    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    /// Requests all data again.
    fn refresh(&mut self, env: &mut Env);

    /// Called at the refresh interval while the screen is visible: requests data that may have changed.
    fn poll(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    /// Called while the screen is visible, after a change that another screen reports: requests data that may have
    /// changed.
    fn changed_elsewhere(&mut self, env: &mut Env) {
        self.poll(env);
    }

    /// Called when the cursor may be on another row, and when it stops moving: requests details of the row.
    fn cursor_moved(&mut self, _env: &mut Env) {}

    /// Returns the refresh interval while the screen is visible.
    fn refresh_interval(&self) -> Option<Duration> {
        None
    }

    /// Returns whether the screen shows how long it has been loading.
    fn is_loading(&self) -> bool {
        self.list().is_some_and(ListView::is_loading)
    }

    /// Carries out an action. Returns whether the action belongs to this screen.
    fn act(&mut self, action: Action, env: &mut Env) -> bool;

    /// Returns why an action is not available now.
    fn unavailable(&self, _action: Action) -> Option<String> {
        None
    }

    /// Handles a response to a request of this screen.
    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env);

    /// Filters the focused list. An invalid filter changes nothing.
    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), BadFilter> {
        if let Some(list) = self.list_mut() {
            list.set_filter(text)?;
        }
        self.cursor_moved(env);
        Ok(())
    }

    fn filter_text(&self) -> String {
        self.list().map(|list| list.filter().text().to_owned()).unwrap_or_default()
    }

    /// Returns the sortable columns of the focused list, with their indexes.
    fn sortable(&self) -> Vec<(usize, &'static str)> {
        self.list().map(ListView::sortable).unwrap_or_default()
    }

    fn sort(&mut self, column: usize) {
        if let Some(list) = self.list_mut() {
            list.sort(column);
        }
    }

    /// Returns whether the right one of two panes has the focus; `None` if only one pane can have it.
    fn right_has_focus(&self) -> Option<bool> {
        None
    }

    /// Returns what belongs to the object under the cursor, for the third pane of wide terminals, which has `room`
    /// columns. `None` if the screen has no such pane, or no row.
    fn third_pane(&self, _world: &World, _room: u16) -> Option<ThirdPane> {
        None
    }

    /// Handles a click on a cell.
    fn click(&mut self, x: u16, y: u16, env: &mut Env) {
        if self.list_mut().is_some_and(|list| list.click(x, y)) {
            self.cursor_moved(env);
        }
    }

    /// Describes the objects that actions apply to, if there are any.
    fn subject(&self) -> Option<String> {
        None
    }

    /// Returns the objects that actions apply to, for a command that runs later.
    fn selection(&self) -> Option<Selection> {
        None
    }

    /// Returns the objects that belong to the object under the cursor.
    fn related(&self) -> Vec<Related> {
        Vec::new()
    }

    /// Returns the last problem.
    fn problem(&self) -> Option<&Problem> {
        self.list().and_then(ListView::problem)
    }

    /// Returns whether the problem is the only content of the screen.
    fn is_failed(&self) -> bool {
        self.list().is_some_and(ListView::is_failed)
    }

    /// Returns the name of an object of an open confirmation that no longer exists, as far as this screen knows.
    fn missing_target(&self, _ask: &Request) -> Option<String> {
        None
    }

    /// Returns the text at the right of the status line, which is shown while there is no notice.
    fn status_note(&self, world: &World) -> Option<String> {
        self.list().and_then(|list| list.new_above(world))
    }

    /// Returns the left half of the status line.
    fn status(&self, _world: &World) -> String {
        self.list().map(ListView::status_text).unwrap_or_default()
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer);
}
