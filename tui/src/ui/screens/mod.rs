//! The screens, one module each.
//!
//! A screen is state: keys become actions, answers change it, drawing reads it. It neither waits nor
//! asks by itself; what it wants goes through its [`Env`].

mod artifact_rows;
mod artifacts;
mod dashboard;
mod deleted;
mod deliveries;
mod form_kind;
mod hooks;
mod offers;
mod panes;
mod repositories;
mod set;

use std::{fmt::Debug, time::Duration};

use farrier_common::api::{Delivery, Hook};
use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::{
    deliveries::Deliveries,
    form_kind::{FormAction, FormKind},
    hooks::form::generated_secret,
    offers::Selection,
    set::Screens,
};
use super::{
    keymap::{Action, Scope},
    list::BadFilter,
    net::{Answer, Ask, Problem},
    repo::RepositorySummary,
    world::{Env, World},
};

/// A screen, by what it shows. Digits never change: fingers remember them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenId {
    Dashboard,
    Repositories,
    Hooks,
    Deliveries,
    Artifacts,
    DeletedRepositories,
    DeletedArtifacts,
}

impl ScreenId {
    /// The screens with a tab, in the order of their digits.
    pub(crate) const TABS: &[Self] =
        &[Self::Dashboard, Self::Repositories, Self::Hooks, Self::Deliveries, Self::Artifacts];

    /// All screens. Those of deleted objects share the digit and the tab of the objects that exist.
    pub(crate) const ALL: &[Self] = &[
        Self::Dashboard,
        Self::Repositories,
        Self::Hooks,
        Self::Deliveries,
        Self::Artifacts,
        Self::DeletedRepositories,
        Self::DeletedArtifacts,
    ];

    pub(crate) fn digit(self) -> char {
        match self {
            Self::Dashboard => '1',
            Self::Repositories | Self::DeletedRepositories => '2',
            Self::Hooks => '3',
            Self::Deliveries => '4',
            Self::Artifacts | Self::DeletedArtifacts => '5',
        }
    }

    /// The word on its tab.
    pub(crate) fn tab(self) -> &'static str {
        match self {
            Self::Dashboard => "Dash",
            Self::Repositories | Self::DeletedRepositories => "Repos",
            Self::Hooks => "Hooks",
            Self::Deliveries => "Deliv",
            Self::Artifacts | Self::DeletedArtifacts => "Artif",
        }
    }

    /// Its whole name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dashboard => "Dashboard",
            Self::Repositories => "Repositories",
            Self::Deliveries => "Deliveries",
            Self::Hooks => "Hooks",
            Self::Artifacts => "Artifacts",
            Self::DeletedRepositories => "Deleted repositories",
            Self::DeletedArtifacts => "Deleted artifacts",
        }
    }

    /// The screen that a scope belongs to.
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
            Scope::Repositories | Scope::Repository | Scope::Branches | Scope::RepositoryParts => {
                Some(Self::Repositories)
            }
            Scope::Hooks => Some(Self::Hooks),
            Scope::Deliveries | Scope::Inspector => Some(Self::Deliveries),
            Scope::Artifacts => Some(Self::Artifacts),
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

/// What a screen does.
pub(crate) trait Screen: Debug {
    fn id(&self) -> ScreenId;

    /// Where its keys are looked for, the particular first.
    fn scopes(&self, world: &World) -> Vec<Scope>;

    /// It became visible, or the daemon came back: asks for what it has not got.
    fn entered(&mut self, env: &mut Env);

    /// Asks for everything again.
    fn refresh(&mut self, env: &mut Env);

    /// It has been visible for a while: asks for what may have changed.
    fn poll(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    /// The cursor stands still again: asks about what is under it.
    fn cursor_rested(&mut self, _env: &mut Env) {}

    /// How often it wants to be refreshed while it is visible.
    fn refresh_interval(&self) -> Option<Duration> {
        None
    }

    /// Whether it counts time while it waits.
    fn is_loading(&self) -> bool {
        false
    }

    /// Carries out an action. Says whether it is one of its own.
    fn act(&mut self, action: Action, env: &mut Env) -> bool;

    /// Why an action makes no sense now.
    fn unavailable(&self, _action: Action) -> Option<String> {
        None
    }

    /// Takes an answer that may be for it.
    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env);

    /// Filters the focused list. A text that cannot be understood changes nothing.
    fn filter(&mut self, _text: &str, _env: &mut Env) -> Result<(), BadFilter> {
        Ok(())
    }

    fn filter_text(&self) -> String {
        String::new()
    }

    /// Columns that the focused list can be sorted by, with their places.
    fn sortable(&self) -> Vec<(usize, &'static str)> {
        Vec::new()
    }

    fn sort(&mut self, _column: usize) {}

    /// Takes a click on a cell.
    fn click(&mut self, _x: u16, _y: u16, _env: &mut Env) {}

    /// What its actions are about, when that is something.
    fn subject(&self) -> Option<String> {
        None
    }

    /// The same, for a command that may be carried out a little later.
    fn selection(&self) -> Option<Selection> {
        None
    }

    /// What went wrong last.
    fn problem(&self) -> Option<&Problem> {
        None
    }

    /// Whether there is nothing to be seen but that.
    fn is_failed(&self) -> bool {
        false
    }

    /// What a question is about and is not there any more, as far as this screen knows.
    fn missing_target(&self, _ask: &Ask) -> Option<String> {
        None
    }

    /// What stands at the right of the status line while nothing is said there.
    fn status_note(&self, _world: &World) -> Option<String> {
        None
    }

    /// The left half of the status line.
    fn status(&self, world: &World) -> String;

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer);
}

/// The names of the columns of a list, as a configuration names both.
pub(crate) fn columns_of(list: &str) -> Vec<String> {
    fn titles<T: super::list::Row>() -> Vec<String> {
        T::columns().iter().map(|column| column.title.to_lowercase()).collect()
    }
    match list {
        "repositories" => titles::<RepositorySummary>(),
        "branches" => titles::<repositories::branch_rows::BranchRow>(),
        "hooks" => titles::<Hook>(),
        "deliveries" => titles::<Delivery>(),
        "runs" => titles::<artifacts::tree::Node>(),
        _ => Vec::new(),
    }
}

/// The columns of a list that have an order.
pub(super) fn sortable<T: super::list::Row>() -> Vec<(usize, &'static str)> {
    T::columns().iter().enumerate().filter(|(_, column)| column.order.is_some()).map(|(at, c)| (at, c.title)).collect()
}
