//! The form for creating and changing objects.
//!
//! Owns fields, focus, checks and buttons; its [`FormKind`] defines the request that submits it. Typed values survive
//! every error, and secrets are never shown.

mod draw;
mod editor;
mod field;
mod merge;
mod multi_select;
mod notes;

use std::time::Duration;

pub(crate) use self::field::{Field, FieldValue, joined};
use self::{merge::Base, notes::Note};
use super::{
    key::Key,
    layer::{Confirm, Layer, Step},
    net::{Problem, Ticket},
    redacted::Redacted,
    screens::{FormAction, FormKind},
    world::{Cmd, Tone, World},
};

/// A form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) title: String,
    pub(crate) kind: FormKind,
    pub(crate) fields: Vec<Field>,
    /// Labels of the buttons after Cancel; the last one is the default.
    verbs: Vec<&'static str>,
    /// Index of the focused field; higher indexes are Cancel and the other buttons.
    focus: usize,
    /// The button that was pressed last.
    pressed: &'static str,
    notes: Vec<Note>,
    /// Whether a response was lost, so that the request may have been carried out.
    lost: bool,
    /// The edited object; `None` in a form for a new one.
    base: Option<Base>,
    /// The error above the fields.
    refusal: Option<String>,
    /// The text from the editor.
    edited: Option<Redacted>,
    /// The pending request.
    pub(crate) ticket: Option<Ticket>,
    /// When the request was sent.
    waits_since: Duration,
    changed: bool,
    /// Whether the question about discarding changes is open.
    discarding: bool,
}

impl Form {
    pub(crate) fn new(title: impl Into<String>, verb: &'static str, kind: FormKind, fields: Vec<Field>) -> Self {
        let mut form = Self {
            title: title.into(),
            kind,
            fields,
            verbs: vec![verb],
            focus: 0,
            pressed: verb,
            notes: Vec::new(),
            lost: false,
            base: None,
            refusal: None,
            edited: None,
            ticket: None,
            waits_since: Duration::ZERO,
            changed: false,
            discarding: false,
        };
        form.show_fields();
        form
    }

    /// Adds a button before the default one.
    #[must_use]
    pub(crate) fn also(mut self, verb: &'static str) -> Self {
        self.verbs.insert(self.verbs.len() - 1, verb);
        self
    }

    /// Returns the label of the pressed button.
    pub(crate) fn pressed(&self) -> &'static str {
        self.pressed
    }

    /// Returns whether the request may have been carried out already.
    pub(crate) fn may_have_been_applied(&self) -> bool {
        self.lost
    }

    /// Returns a field to change.
    pub(crate) fn field_mut(&mut self, name: &str) -> Option<&mut Field> {
        self.fields.iter_mut().find(|field| field.name == name)
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.field(name).map_or("", |field| field.text())
    }

    /// Returns whether a toggle is on, or a choice is not the first option.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.field(name).is_some_and(Field::is_on)
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Fills in the owner of a new repository if there is none yet.
    pub(crate) fn name_owner(&mut self, login: &str) {
        let field = self.kind.owner_field().and_then(|name| self.field_mut(name));
        if let Some(field) = field.filter(|field| field.text().is_empty()) {
            field.fill(login);
            field.error = None;
        }
    }

    /// Returns the content of the focused text field.
    pub(crate) fn typed(&self) -> Option<&str> {
        let is_open = self.ticket.is_none() && !self.discarding;
        self.fields.get(self.focus).filter(|_| is_open)?.typed()
    }

    pub(crate) fn key(&mut self, key: Key, world: &World) -> Step {
        if self.ticket.is_some() && !matches!(key, Key::Esc) && !self.discarding {
            // Fields do not change while a request is pending.
            return Step::Stay;
        }
        if self.discarding {
            self.discarding = false;
            return if matches!(key, Key::Char('y' | 'Y')) { Step::Close } else { Step::Stay };
        }
        if let Key::Ctrl(c @ (merge::TAKE | merge::KEEP)) = key
            && self.decide(c == merge::TAKE)
        {
            self.changed = true;
            return Step::Stay;
        }
        if key == Key::Ctrl(editor::EDITOR)
            && let Some(step) = self.open_editor(world)
        {
            return step;
        }
        let (cancel, last) = (self.fields.len(), self.fields.len() + self.verbs.len());
        if let Some(field) = self.fields.get_mut(self.focus)
            && field.key(key)
        {
            self.changed = true;
            if field.error.is_some() {
                field.check();
            }
            let (kind, name) = (self.kind.clone(), field.name);
            kind.changed(self, name);
            self.show_fields();
            return Step::Stay;
        }
        match key {
            Key::Tab | Key::Down => return self.go(self.next(1)),
            Key::BackTab | Key::Up => return self.go(self.next(last)),
            Key::Right if (cancel..last).contains(&self.focus) => return self.go(self.focus + 1),
            Key::Left if self.focus > cancel => return self.go(self.focus - 1),
            Key::Enter if self.focus < cancel => return self.go(self.next(1)),
            Key::Enter | Key::Char(' ') if self.focus > cancel => {
                return self.press(self.verbs[self.focus - cancel - 1], world);
            }
            Key::Ctrl('s') => return self.press(self.verbs[self.verbs.len() - 1], world),
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
            && self.ticket.is_none()
        {
            field.paste(text);
            self.changed = true;
        }
    }

    /// Returns the next focus index in steps of `step`, skipping hidden fields.
    fn next(&self, step: usize) -> usize {
        let count = self.fields.len() + self.verbs.len() + 1;
        let mut at = (self.focus + step) % count;
        while self.fields.get(at).is_some_and(|field| field.hidden) {
            at = (at + step) % count;
        }
        at
    }

    /// Hides the fields that do not apply to the values of the others.
    pub(super) fn show_fields(&mut self) {
        let kind = self.kind.clone();
        let hidden: Vec<bool> = self.fields.iter().map(|field| kind.hides(self, field.name)).collect();
        for (field, hidden) in self.fields.iter_mut().zip(hidden) {
            field.hidden = hidden;
        }
    }

    /// Moves the focus. A field is checked when it is left, not during the first input.
    fn go(&mut self, to: usize) -> Step {
        let from = std::mem::replace(&mut self.focus, to);
        let Some(field) = self.fields.get_mut(from) else { return Step::Stay };
        field.check();
        let (wrong, name) = (field.error.is_some(), field.name);
        if !wrong {
            let kind = self.kind.clone();
            kind.field_left(self, name);
        }
        if wrong {
            self.forget_note(name);
            return Step::Stay;
        }
        self.lookup(name)
    }

    fn press(&mut self, verb: &'static str, world: &World) -> Step {
        if self.ticket.is_some() {
            return Step::Stay;
        }
        self.pressed = verb;
        if let Some(why) = world.no_changes().filter(|_| self.kind.changes()) {
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
        if let Some(first) = self.first_conflict() {
            self.focus = first;
            self.refusal = Some("Another client changed this field too: choose one of the two values.".to_owned());
            return Step::Stay;
        }
        if let Some(load) = self.kind.load().filter(|_| self.is_unloaded()) {
            self.refusal = Some(merge::NOT_LOADED.to_owned());
            return Step::Load(load);
        }
        match self.kind.action(self) {
            Ok(FormAction::Request(request)) => {
                self.refusal = None;
                Step::Submit(request)
            }
            Ok(FormAction::Check(request)) => Step::CheckField("", request),
            Ok(FormAction::Reconnect(target)) => Step::Then(vec![Cmd::Reconnect(target)]),
            Ok(FormAction::Report(text)) => Step::Then(vec![Cmd::Notify(Tone::Plain, text)]),
            Ok(FormAction::Ask { title, lines, verb, request }) => {
                self.refusal = None;
                // No field has the focus, so that the result is not hidden below the form.
                self.focus = self.fields.len() + self.verbs.len();
                let question = Confirm::simple(title, lines, verb, request, world);
                Step::Do(vec![Cmd::Open(Box::new(Layer::Confirm(question)))])
            }
            Err((name, why)) => {
                self.show_error(name, why);
                Step::Stay
            }
        }
    }

    fn show_error(&mut self, name: &str, why: String) {
        match self.fields.iter().position(|field| field.name == name) {
            Some(at) => {
                self.fields[at].error = Some(why);
                self.focus = at;
            }
            None => self.refusal = Some(why),
        }
    }

    /// Records the request whose success closes the form.
    pub(crate) fn waits_for(&mut self, ticket: Ticket, now: Duration) {
        (self.ticket, self.waits_since) = (Some(ticket), now);
    }

    /// Records that the user cancelled the wait. The request may have been carried out.
    pub(crate) fn cancelled(&mut self) {
        self.ticket = None;
        self.lost = true;
        self.refusal = Some(
            "Cancelled while waiting. The daemon may have made the change: check before you submit again.".to_owned(),
        );
    }

    /// Shows an error of the daemon at the field that it names, or above the fields.
    pub(crate) fn refused(&mut self, problem: &Problem) {
        self.ticket = None;
        self.lost |= problem.is_unreachable();
        if problem.kind == crate::ui::net::ProblemKind::Changed {
            self.refusal =
                Some("Another client changed the object. Your changes are kept; check them and save again.".to_owned());
            return;
        }
        let plain = |text: &str| text.replace(['_', ' '], "").to_lowercase();
        let text = plain(&problem.text);
        let named = self.fields.iter().find(|field| text.contains(&format!("[{}]", plain(field.name))));
        match named.map(|field| field.name) {
            Some(name) => self.show_error(name, problem.text.clone()),
            None => self.refusal = Some(problem.text.clone()),
        }
    }

    /// Returns the number of fields with errors.
    fn errors(&self) -> usize {
        self.fields.iter().filter(|field| field.error.is_some()).count()
    }

    pub(crate) fn hints(&self) -> &'static [(&'static str, &'static str)] {
        if self.ticket.is_some() {
            return &[("Esc", "stop waiting")];
        }
        if self.discarding {
            return &[("y", "discard"), ("any other key", "keep editing")];
        }
        if self.fields.get(self.focus).is_some_and(|field| field.theirs.is_some()) {
            return &[("C-t", "theirs"), ("C-o", "yours"), ("Tab", "next"), ("Esc", "cancel")];
        }
        if self.kind.text_to_edit(self).is_some() {
            return &[("Tab", "next"), ("C-s", "submit"), ("C-x", "editor"), ("S-Tab", "back"), ("Esc", "cancel")];
        }
        match self.fields.get(self.focus).map(|field| &field.kind) {
            Some(FieldValue::MultiSelect(many)) if many.is_open() => {
                &[("Space", "toggle"), ("*", "all"), ("Enter", "done"), ("Up Down", "move"), ("Esc", "close list")]
            }
            Some(FieldValue::Toggle(_) | FieldValue::Choice(..)) => {
                &[("Tab", "next"), ("C-s", "submit"), ("Space", "toggle"), ("S-Tab", "back"), ("Esc", "cancel")]
            }
            _ => &[("Tab", "next"), ("C-s", "submit"), ("S-Tab", "back"), ("Esc", "cancel")],
        }
    }
}
