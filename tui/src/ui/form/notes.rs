//! Background checks of fields and their results.
//!
//! A check starts when a field is left. It does not block input, and a change of the field drops its result.

use super::Form;
use crate::ui::{
    layer::Step,
    net::{Answer, Problem, Request, Ticket},
    view::Role,
};

/// The check of a field, or of the whole form if the name is empty.
#[derive(Clone, Debug)]
pub(super) struct Note {
    name: &'static str,
    request: Option<Request>,
    ticket: Option<Ticket>,
    result: Option<(bool, String)>,
}

impl Form {
    /// Returns the check to start after a field was left.
    pub(super) fn lookup(&mut self, name: &'static str) -> Step {
        if let Some(warning) = self.kind.warning(self, name) {
            self.forget_note(name);
            self.notes.push(Note { name, request: None, ticket: None, result: Some((false, warning)) });
            return Step::Stay;
        }
        let (kind, known) = (self.kind.clone(), self.notes.iter().find(|note| note.name == name));
        match kind.lookup(self, name) {
            Some(request) if known.is_some_and(|note| note.request.as_ref() == Some(&request)) => Step::Stay,
            Some(request) => Step::CheckField(name, request),
            None => {
                self.forget_note(name);
                Step::Stay
            }
        }
    }

    pub(super) fn forget_note(&mut self, name: &str) {
        self.notes.retain(|note| note.name != name);
    }

    /// Records a check that was sent.
    pub(crate) fn check_started(&mut self, name: &'static str, request: Request, ticket: Ticket) {
        self.forget_note(name);
        self.notes.push(Note { name, request: Some(request), ticket: Some(ticket), result: None });
    }

    /// Shows a text below all fields: a result if `good`, else a warning.
    pub(super) fn report(&mut self, (good, text): (bool, String)) {
        self.forget_note("");
        self.notes.push(Note { name: "", request: None, ticket: None, result: Some((good, text)) });
    }

    /// Handles the response to a check. Returns whether it belongs to this form.
    pub(crate) fn check_answered(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) -> bool {
        let Some(note) = self.notes.iter_mut().find(|note| note.ticket == Some(ticket)) else { return false };
        note.ticket = None;
        match result {
            Ok(Answer::Verdict(good, text)) => note.result = Some((*good, text.clone())),
            Ok(_) => {}
            // The failure of a check of the whole form is shown like a refused submit.
            Err(problem) if note.name.is_empty() => {
                let (problem, name) = (problem.clone(), note.name);
                self.forget_note(name);
                self.refused(&problem);
            }
            Err(problem) => note.result = Some((false, problem.line().to_owned())),
        }
        true
    }

    /// Returns the text below a field, or below all fields for an empty name.
    pub(super) fn note(&self, name: &str) -> Option<(Role, String)> {
        let note = self.notes.iter().find(|note| note.name == name)?;
        Some(match &note.result {
            None => (Role::Muted, "checking …".to_owned()),
            Some((true, text)) => (Role::Ok, format!("ok: {text}")),
            Some((false, text)) => (Role::Warn, format!("warning: {text}")),
        })
    }
}
