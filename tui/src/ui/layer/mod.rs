//! What lies over a screen: help, palette, menus, questions, forms.
//!
//! The top layer gets every key first. A layer changes only itself; what it wants is a [`Step`].

mod confirm;
mod help;
pub(crate) mod menu;
mod palette;
mod reader;
mod search;

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

pub(crate) use self::{
    confirm::{Confirm, TYPED_ABOVE},
    help::Help,
    menu::Menu,
    palette::{Offer, Palette},
    reader::Reader,
    search::Search,
};
use super::{
    form::Form,
    key::Key,
    keymap::Binding,
    net::{Ask, Ticket},
    screens::Selection,
    world::{Cmd, World},
};

/// What a layer wants.
#[derive(Debug)]
pub(crate) enum Step {
    Stay,
    Close,
    /// Close, then do.
    Then(Vec<Cmd>),
    /// Do, and stay open.
    Do(Vec<Cmd>),
    /// Close, then act as the key would; only on the selected object if one is given.
    Press(&'static Binding, Option<Selection>),
    /// Carry out the line that was typed, and close if that can be done.
    Run(String),
    /// Close, then sort by a column.
    Sort(usize),
    /// Filter while it is typed.
    Filter(String),
    /// Ask about a field of the form, and stay.
    Wonder(&'static str, Ask),
    /// Ask, and stay until the answer is there.
    Submit(Ask),
}

/// Something over the screen.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Help(Help),
    Palette(Palette),
    Menu(Menu),
    Confirm(Confirm),
    Form(Box<Form>),
    Search(Search),
    Reader(Reader),
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
            Self::Reader(layer) => layer.key(key),
        }
    }

    /// Whether printable keys are text here. While this is so they must not mean anything else.
    pub(crate) fn takes_text(&self) -> bool {
        self.typed().is_some()
    }

    /// What is in the text field that has the focus.
    pub(crate) fn typed(&self) -> Option<&str> {
        match self {
            Self::Help(layer) => Some(layer.typed()),
            Self::Palette(layer) => Some(layer.typed()),
            Self::Search(layer) => Some(layer.typed()),
            Self::Confirm(layer) => layer.typed_text(),
            Self::Form(form) => form.typed(),
            Self::Menu(_) | Self::Reader(_) => None,
        }
    }

    /// Pasted text is typed where text is typed, and means nothing elsewhere: least of all an answer
    /// to a question.
    pub(crate) fn paste(&mut self, text: &str) -> Step {
        match self {
            Self::Form(form) => form.paste(text),
            Self::Search(layer) => return layer.paste(text),
            Self::Palette(layer) => layer.paste(text),
            Self::Help(layer) => layer.paste(text),
            Self::Menu(_) | Self::Confirm(_) | Self::Reader(_) => {}
        }
        Step::Stay
    }

    /// Draws it over `body`. Answers where the cursor is, if somebody types.
    pub(crate) fn draw(&self, world: &World, body: Rect, status: Rect, buf: &mut Buffer) -> Option<Position> {
        match self {
            Self::Help(layer) => return Some(layer.draw(body, buf)),
            Self::Palette(layer) => return Some(layer.draw(body, buf)),
            Self::Menu(layer) => layer.draw(body, buf),
            Self::Confirm(layer) => return layer.draw(world, body, buf),
            Self::Form(form) => return form.draw(world, body, buf),
            Self::Search(layer) => return Some(layer.draw(status, buf)),
            Self::Reader(layer) => layer.draw(body, buf),
        }
        None
    }

    /// Whether it is drawn in the status line.
    pub(crate) fn owns_status(&self) -> bool {
        matches!(self, Self::Search(_))
    }

    /// Whether rows must not move below it: not while a filter is typed, which is about them all.
    pub(crate) fn holds_still(&self) -> bool {
        !matches!(self, Self::Search(_))
    }

    pub(crate) fn hints(&self) -> Vec<(String, String)> {
        let list: &[(&str, &str)] = match self {
            Self::Help(_) => &[("type", "to search"), ("arrows", "scroll"), ("Esc", "close")],
            Self::Palette(_) => &[("Enter", "run"), ("Tab", "complete"), ("Up Down", "choose"), ("Esc", "close")],
            Self::Menu(_) => &[("letter", "runs it"), ("j k", "move"), ("Enter", "run"), ("Esc", "close")],
            Self::Confirm(layer) => layer.hints(),
            Self::Form(form) => form.hints(),
            Self::Search(_) => {
                &[("Enter", "keep"), ("Up", "earlier"), ("!x ^x x$ ~x column:x", "grammar"), ("Esc", "clear")]
            }
            Self::Reader(layer) => return layer.hints(),
        };
        list.iter().map(|(key, what)| ((*key).to_owned(), (*what).to_owned())).collect()
    }

    /// The request whose answer it waits for.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Form(form) => form.ticket,
            _ => None,
        }
    }
}
