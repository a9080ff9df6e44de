//! Layers over a screen: help, palette, menus, questions and forms.
//!
//! The top layer gets every key first. A layer changes only itself and returns a [`Step`] for everything else.

mod confirm;
mod help;
pub(crate) mod menu;
mod palette;
mod search;
mod text_view;

use farrier_common::client::RepositoryPath;
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

pub(crate) use self::{
    confirm::Confirm,
    help::Help,
    menu::Menu,
    palette::{Offer, Palette},
    search::Search,
    text_view::TextView,
};
use super::{
    app::{Mouse, RequestOwner},
    form::Form,
    key::Key,
    keymap::Binding,
    net::{ExpectedRepository, Request, Ticket},
    redacted::Redacted,
    screens::Selection,
    world::{Cmd, World},
};

/// Identifies an open layer. IDs are not used again.
pub(crate) type LayerId = u64;

/// A layer above the screen.
#[derive(Clone, Debug)]
pub(crate) struct OpenLayer {
    pub(crate) id: LayerId,
    /// The owner of requests that an action in the layer sends.
    pub(crate) opener: RequestOwner,
    pub(crate) layer: Layer,
    /// The repositories that its changes are about.
    pub(crate) expected: Vec<ExpectedRepository>,
}

/// The result of a key in a layer.
#[derive(Debug)]
pub(crate) enum Step {
    Stay,
    Close,
    /// Close, then run commands.
    Then(Vec<Cmd>),
    /// Run commands and stay open.
    Do(Vec<Cmd>),
    /// Request data for the layer itself and stay open.
    Load(Request),
    /// Close, then run a binding; with a selection, only while it is unchanged.
    Press(&'static Binding, Option<Selection>),
    /// Run the typed line, and close on success.
    Run(String),
    /// Close, then sort by a column.
    Sort(usize),
    /// Apply a filter and stay open.
    Filter(String),
    /// Start a background check of a field and stay open.
    CheckField(&'static str, Request),
    /// Send a request and stay open until the response arrives.
    Submit(Request),
    /// Open a text in the user's editor and stay open.
    Edit(Redacted),
}

/// A layer over the screen.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Help(Help),
    Palette(Palette),
    Menu(Menu),
    Confirm(Confirm),
    Form(Box<Form>),
    Search(Search),
    TextView(TextView),
}

impl Layer {
    pub(crate) fn key(&mut self, key: Key, world: &World) -> Step {
        match self {
            Self::Help(layer) => layer.key(key),
            Self::Palette(layer) => layer.key(key),
            Self::Menu(layer) => layer.key(key),
            Self::Confirm(layer) => layer.key(key, world),
            Self::Form(form) => form.key(key, world),
            Self::Search(layer) => layer.key(key),
            Self::TextView(layer) => layer.key(key),
        }
    }

    /// Handles a click or the wheel. Questions and forms ignore both.
    pub(crate) fn mouse(&mut self, mouse: Mouse) -> Step {
        match (self, mouse) {
            (Self::Menu(layer), Mouse::Click { x, y }) => layer.click(Position { x, y }),
            (Self::Menu(layer), Mouse::Up { .. }) => layer.key(Key::Up),
            (Self::Menu(layer), Mouse::Down { .. }) => layer.key(Key::Down),
            (Self::Help(layer), Mouse::Up { .. }) => layer.key(Key::Up),
            (Self::Help(layer), Mouse::Down { .. }) => layer.key(Key::Down),
            (Self::Palette(layer), Mouse::Click { x, y }) => layer.click(Position { x, y }),
            (Self::Palette(layer), Mouse::Up { .. }) => layer.wheel_up(),
            (Self::Palette(layer), Mouse::Down { .. }) => layer.key(Key::Down),
            (Self::TextView(layer), Mouse::Up { .. }) => layer.key(Key::Up),
            (Self::TextView(layer), Mouse::Down { .. }) => layer.key(Key::Down),
            _ => Step::Stay,
        }
    }

    /// Returns whether printable keys are text. Then they must not have another meaning.
    pub(crate) fn takes_text(&self) -> bool {
        self.typed().is_some()
    }

    /// Returns the content of the focused text field.
    pub(crate) fn typed(&self) -> Option<&str> {
        match self {
            Self::Help(layer) => Some(layer.typed()),
            Self::Palette(layer) => Some(layer.typed()),
            Self::Search(layer) => Some(layer.typed()),
            Self::Confirm(layer) => layer.typed_text(),
            Self::Form(form) => form.typed(),
            Self::Menu(_) | Self::TextView(_) => None,
        }
    }

    /// Pastes into a text field. Elsewhere pasted text is dropped: it must never answer a question.
    pub(crate) fn paste(&mut self, text: &str) -> Step {
        match self {
            Self::Form(form) => form.paste(text),
            Self::Search(layer) => return layer.paste(text),
            Self::Palette(layer) => layer.paste(text),
            Self::Help(layer) => layer.paste(text),
            Self::Menu(_) | Self::Confirm(_) | Self::TextView(_) => {}
        }
        Step::Stay
    }

    /// Draws it over `body`. Returns the position of the text cursor, if there is one.
    pub(crate) fn draw(&self, world: &World, body: Rect, status: Rect, buf: &mut Buffer) -> Option<Position> {
        match self {
            Self::Help(layer) => return Some(layer.draw(body, buf)),
            Self::Palette(layer) => return Some(layer.draw(body, buf)),
            Self::Menu(layer) => layer.draw(body, buf),
            Self::Confirm(layer) => return layer.draw(world, body, buf),
            Self::Form(form) => return form.draw(world, body, buf),
            Self::Search(layer) => return Some(layer.draw(status, buf)),
            Self::TextView(layer) => layer.draw(body, buf),
        }
        None
    }

    /// Returns whether it is drawn in the status line.
    pub(crate) fn owns_status(&self) -> bool {
        matches!(self, Self::Search(_))
    }

    /// Returns whether rows must keep their order below it. A filter is the exception, because it changes the rows.
    pub(crate) fn keeps_row_order(&self) -> bool {
        !matches!(self, Self::Search(_))
    }

    pub(crate) fn hints(&self) -> Vec<(String, String)> {
        let list: &[(&str, &str)] = match self {
            Self::Help(_) => &[("type", "to search"), ("arrows", "scroll"), ("Esc", "close")],
            Self::Palette(_) => &[("Enter", "run"), ("Tab", "complete"), ("Up Down", "choose"), ("Esc", "close")],
            Self::Menu(layer) => layer.hints(),
            Self::Confirm(layer) => layer.hints(),
            Self::Form(form) => form.hints(),
            Self::Search(_) => {
                &[("Enter", "keep"), ("Up", "earlier"), ("!x ^x x$ ~x column:x", "syntax"), ("Esc", "clear")]
            }
            Self::TextView(layer) => return layer.hints(),
        };
        list.iter().map(|(key, what)| ((*key).to_owned(), (*what).to_owned())).collect()
    }

    /// Returns the requests for the data that it shows.
    pub(crate) fn requests(&self) -> Vec<Request> {
        match self {
            Self::Form(form) => form.kind.requests(),
            Self::Confirm(question) => question.count_request().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the repositories that it changes and addresses by name.
    pub(crate) fn changed_repositories(&self) -> Vec<&RepositoryPath> {
        match self {
            Self::Form(form) => form.kind.repository().into_iter().collect(),
            Self::Confirm(question) => question.request().changed_repositories(),
            _ => Vec::new(),
        }
    }

    /// Returns the request that it waits for.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Form(form) => form.ticket,
            _ => None,
        }
    }
}
