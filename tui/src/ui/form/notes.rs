//! What is found out while a form is filled in.
//!
//! Slow questions are asked when a field is left, in the background; they hold nothing up, and what
//! is typed meanwhile makes their answers void.

use super::Form;
use crate::ui::{
    layer::Step,
    net::{Answer, Ask, Problem, Ticket},
    view::Role,
};

/// Something about a field; about the whole form where the name is empty.
#[derive(Clone, Debug)]
pub(super) struct Note {
    name: &'static str,
    ask: Option<Ask>,
    ticket: Option<Ticket>,
    said: Option<(bool, String)>,
}

impl Form {
    /// What is to be asked now that a field was left.
    pub(super) fn lookup(&mut self, name: &'static str) -> Step {
        if let Some(said) = self.kind.warning(self, name) {
            self.forget_note(name);
            self.notes.push(Note { name, ask: None, ticket: None, said: Some((false, said)) });
            return Step::Stay;
        }
        let (kind, known) = (self.kind.clone(), self.notes.iter().find(|note| note.name == name));
        match kind.lookup(self, name) {
            Some(ask) if known.is_some_and(|note| note.ask.as_ref() == Some(&ask)) => Step::Stay,
            Some(ask) => Step::Wonder(name, ask),
            None => {
                self.forget_note(name);
                Step::Stay
            }
        }
    }

    pub(super) fn forget_note(&mut self, name: &str) {
        self.notes.retain(|note| note.name != name);
    }

    /// A question is on its way.
    pub(crate) fn wonders(&mut self, name: &'static str, ask: Ask, ticket: Ticket) {
        self.forget_note(name);
        self.notes.push(Note { name, ask: Some(ask), ticket: Some(ticket), said: None });
    }

    /// Takes the answer to a question of this form. Says whether it was one.
    pub(crate) fn told(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) -> bool {
        let Some(note) = self.notes.iter_mut().find(|note| note.ticket == Some(ticket)) else { return false };
        note.ticket = None;
        match result {
            Ok(Answer::Verdict(good, text)) => note.said = Some((*good, text.clone())),
            Ok(_) => {}
            // A refusal is about what was typed; anything else is nobody's fault.
            Err(problem) if note.name.is_empty() => {
                let (problem, name) = (problem.clone(), note.name);
                self.forget_note(name);
                self.refused(&problem);
            }
            Err(problem) => note.said = Some((false, problem.line().to_owned())),
        }
        true
    }

    /// What is to be shown below a field, or below all of them.
    pub(super) fn note(&self, name: &str) -> Option<(Role, String)> {
        let note = self.notes.iter().find(|note| note.name == name)?;
        Some(match &note.said {
            None => (Role::Muted, "..".to_owned()),
            Some((true, text)) => (Role::Ok, format!("ok: {text}")),
            Some((false, text)) => (Role::Warn, format!("warning: {text}")),
        })
    }
}
