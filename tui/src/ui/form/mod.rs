//! The one form that everything is made and changed with.
//!
//! Owns fields, focus, checks and buttons; what is asked when it is submitted is the business of
//! whoever made it. What was typed is never lost to an error, and secrets are never shown.

mod draw;
mod field;
mod many;

pub(crate) use self::field::{Field, Kind};
use super::{
    key::Key,
    layer::Step,
    net::{Problem, Ticket},
    screens::{Purpose, Wish},
    world::{Cmd, World},
};

/// A form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) title: String,
    pub(crate) purpose: Purpose,
    pub(crate) fields: Vec<Field>,
    /// Words on the button that submits.
    verb: &'static str,
    /// A field, or the number of fields for Cancel and one more for the other button.
    focus: usize,
    /// What the daemon said.
    refusal: Option<String>,
    /// The request that it waits for.
    pub(crate) ticket: Option<Ticket>,
    changed: bool,
    /// Whether closing is being asked about.
    discarding: bool,
}

impl Form {
    pub(crate) fn new(title: impl Into<String>, verb: &'static str, purpose: Purpose, fields: Vec<Field>) -> Self {
        Self {
            title: title.into(),
            purpose,
            fields,
            verb,
            focus: 0,
            refusal: None,
            ticket: None,
            changed: false,
            discarding: false,
        }
    }

    /// The text of a field.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.field(name).map_or("", |field| field.text())
    }

    /// Whether a switch is on, or a choice is not its first.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.field(name).is_some_and(Field::is_on)
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn key(&mut self, key: Key, world: &World) -> Step {
        if self.discarding {
            self.discarding = false;
            return if matches!(key, Key::Char('y' | 'Y')) { Step::Close } else { Step::Stay };
        }
        let (cancel, submit) = (self.fields.len(), self.fields.len() + 1);
        if let Some(field) = self.fields.get_mut(self.focus)
            && field.key(key)
        {
            self.changed = true;
            if field.error.is_some() {
                field.check();
            }
            return Step::Stay;
        }
        match key {
            Key::Tab | Key::Down => self.go((self.focus + 1) % (submit + 1)),
            Key::BackTab | Key::Up => self.go((self.focus + submit) % (submit + 1)),
            Key::Right if self.focus == cancel => self.go(submit),
            Key::Left if self.focus == submit => self.go(cancel),
            Key::Enter if self.focus < cancel => self.go(self.focus + 1),
            Key::Enter | Key::Char(' ') if self.focus == submit => return self.submit(world),
            Key::Ctrl('s') => return self.submit(world),
            Key::Enter | Key::Char(' ') if self.focus == cancel => return Step::Close,
            Key::Esc if self.changed => self.discarding = true,
            Key::Esc => return Step::Close,
            _ => {}
        }
        Step::Stay
    }

    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(field) = self.fields.get_mut(self.focus)
            && !self.discarding
        {
            field.paste(text);
            self.changed = true;
        }
    }

    /// Moves the focus; a field is checked when it is left, never while it is first typed.
    fn go(&mut self, to: usize) {
        if let Some(field) = self.fields.get_mut(self.focus) {
            field.check();
        }
        self.focus = to;
    }

    fn submit(&mut self, world: &World) -> Step {
        if self.ticket.is_some() {
            return Step::Stay;
        }
        if let Some(why) = world.no_changes() {
            self.refusal = Some(why);
            return Step::Stay;
        }
        for field in &mut self.fields {
            field.check();
        }
        if let Some(first) = self.fields.iter().position(|field| field.error.is_some()) {
            self.focus = first;
            return Step::Stay;
        }
        match self.purpose.wish(self) {
            Ok(Wish::Ask(ask)) => {
                self.refusal = None;
                Step::Submit(ask)
            }
            Ok(Wish::Turn(turn)) => Step::Then(vec![Cmd::Turn(turn)]),
            Err((name, why)) => {
                self.complain(name, why);
                Step::Stay
            }
        }
    }

    fn complain(&mut self, name: &str, why: String) {
        match self.fields.iter().position(|field| field.name == name) {
            Some(at) => {
                self.fields[at].error = Some(why);
                self.focus = at;
            }
            None => self.refusal = Some(why),
        }
    }

    /// The daemon refused: beside the field that it names, or on top.
    pub(crate) fn refused(&mut self, problem: &Problem) {
        self.ticket = None;
        let plain = |text: &str| text.replace(['_', ' '], "").to_lowercase();
        let text = plain(&problem.text);
        let named = self.fields.iter().find(|field| text.contains(&format!("[{}]", plain(field.name))));
        match named.map(|field| field.name) {
            Some(name) => self.complain(name, problem.text.clone()),
            None => self.refusal = Some(problem.text.clone()),
        }
    }

    /// Errors that are shown now.
    fn errors(&self) -> usize {
        self.fields.iter().filter(|field| field.error.is_some()).count()
    }

    pub(crate) fn hints(&self) -> &'static [(&'static str, &'static str)] {
        if self.discarding {
            return &[("y", "discard what was typed"), ("any other key", "go on")];
        }
        &[("Tab", "next"), ("S-Tab", "back"), ("Space", "toggle"), ("C-s", "submit"), ("Esc", "cancel")]
    }
}
