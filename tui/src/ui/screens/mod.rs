//! The screens, one module each.
//!
//! A screen is state: keys become actions, answers change it, drawing reads it. It neither waits nor
//! asks by itself; what it wants goes through its [`Env`].

mod artifact_rows;
mod artifacts;
mod branch_form;
mod dashboard;
mod repo_form;
mod repo_pane;
mod repo_rows;
mod repositories;

use std::{fmt::Debug, time::Duration};

use farrier_common::client::RepositoryPath;
use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::{artifacts::Artifacts, dashboard::Dashboard, repositories::Repositories};
use super::{
    form::Form,
    keymap::{Action, Scope},
    net::{Answer, Ask, Problem},
    world::{Env, World},
};

/// A screen, by what it shows. Digits never change: fingers remember them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenId {
    Dashboard,
    Repositories,
    Artifacts,
}

impl ScreenId {
    /// The screens that there are, in the order of their digits.
    pub(crate) const ALL: &[Self] = &[Self::Dashboard, Self::Repositories, Self::Artifacts];

    pub(crate) fn digit(self) -> char {
        match self {
            Self::Dashboard => '1',
            Self::Repositories => '2',
            Self::Artifacts => '5',
        }
    }

    /// The word on its tab.
    pub(crate) fn tab(self) -> &'static str {
        match self {
            Self::Dashboard => "Dash",
            Self::Repositories => "Repos",
            Self::Artifacts => "Artif",
        }
    }

    /// Its whole name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dashboard => "Dashboard",
            Self::Repositories => "Repositories",
            Self::Artifacts => "Artifacts",
        }
    }

    /// The screen that a scope belongs to.
    pub(crate) fn of(scope: Scope) -> Option<Self> {
        match scope {
            Scope::Everywhere | Scope::List => None,
            Scope::Dashboard => Some(Self::Dashboard),
            Scope::Repositories | Scope::Repository | Scope::Branches => Some(Self::Repositories),
            Scope::ArtifactPlaces | Scope::Artifacts => Some(Self::Artifacts),
        }
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

    /// How often it wants to be refreshed while it is visible.
    fn pace(&self) -> Option<Duration> {
        None
    }

    /// Whether it counts time while it waits.
    fn is_loading(&self) -> bool {
        false
    }

    /// Carries out an action. Says whether it is one of its own.
    fn act(&mut self, action: Action, env: &mut Env) -> bool;

    /// Why an action makes no sense now.
    fn off(&self, _action: Action) -> Option<String> {
        None
    }

    /// Takes an answer that may be for it.
    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env);

    /// Filters the focused list; says what is wrong with the text.
    fn filter(&mut self, _text: &str) -> Result<(), String> {
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

    /// What went wrong last.
    fn problem(&self) -> Option<&Problem> {
        None
    }

    /// Work that ends with the program.
    fn running(&self) -> Option<String> {
        None
    }

    /// The left half of the status line.
    fn standing(&self, world: &World) -> String;

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer);
}

/// What a form is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    CreateRepository,
    EditRepository(RepositoryPath),
    Migrate,
    CreateBranch(RepositoryPath),
}

impl Purpose {
    /// What a form asks for, or which field is wrong and why.
    pub(crate) fn ask(&self, form: &Form) -> Result<Ask, (&'static str, String)> {
        match self {
            Self::CreateRepository => Ok(repo_form::create_ask(form)),
            Self::EditRepository(path) => Ok(repo_form::edit_ask(path, form)),
            Self::Migrate => repo_form::migrate_ask(form),
            Self::CreateBranch(path) => Ok(branch_form::ask(path, form)),
        }
    }
}

/// The columns of a list that have an order.
pub(super) fn sortable<T: super::list::Row>() -> Vec<(usize, &'static str)> {
    T::columns().iter().enumerate().filter(|(_, column)| column.order.is_some()).map(|(at, c)| (at, c.title)).collect()
}
