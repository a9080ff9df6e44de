//! What happens to a form when the object that it edits is changed by somebody else meanwhile.
//!
//! A form is filled from a list and then from the daemon, with the version of what it says. Only fields
//! that differ from that are sent. When the object has another version by then, its new content is merged:
//! fields that were not touched follow it, and for fields that both sides changed a choice is needed.

use farrier_common::client::EntityTag;

use super::{Field, Form};
use crate::ui::view::Role;

/// Said when a form is submitted too soon.
pub(super) const NOT_LOADED: &str = "The current version is not loaded yet; save again in a moment.";

/// Keys that decide about a field which both sides changed.
pub(super) const TAKE: char = 't';
pub(super) const KEEP: char = 'o';

/// The object that a form edits, as far as the form knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// Whether the daemon has said what the object is now.
    is_loaded: bool,
    tag: Option<EntityTag>,
}

impl Form {
    /// Makes it a form about something that is there: what is in its fields now is the content of the object.
    #[must_use]
    pub(crate) fn editing(mut self) -> Self {
        self.base = Some(Base::default());
        self.fields.iter_mut().for_each(Field::settle);
        self
    }

    /// The version that the fields were filled with.
    pub(crate) fn tag(&self) -> Option<EntityTag> {
        self.base.as_ref().and_then(|base| base.tag.clone())
    }

    /// Whether it cannot be submitted yet, since the current version is not known.
    pub(super) fn is_unloaded(&self) -> bool {
        self.base.as_ref().is_some_and(|base| !base.is_loaded)
    }

    /// Whether a field differs from the object.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        self.field(name).is_some_and(Field::is_changed)
    }

    /// The current version of the object is not known any more.
    pub(crate) fn outdated(&mut self) {
        if let Some(base) = &mut self.base {
            base.is_loaded = false;
        }
    }

    /// Takes in the object as it is now: the content of fields by their names, and its version.
    pub(crate) fn merge(&mut self, now: &[(&'static str, String)], tag: Option<EntityTag>) {
        let Some(base) = &mut self.base else { return };
        (base.is_loaded, base.tag) = (true, tag);
        self.refusal = self.refusal.take().filter(|text| text != NOT_LOADED);
        for (name, theirs) in now {
            if let Some(field) = self.fields.iter_mut().find(|field| field.name == *name) {
                field.merge(theirs);
            }
        }
        self.show_fields();
        if let Some(first) = self.undecided() {
            self.focus = first;
        }
    }

    /// The first field that needs a choice.
    pub(super) fn undecided(&self) -> Option<usize> {
        self.fields.iter().position(|field| field.theirs.is_some())
    }

    /// Decides about the focused field; false if there is nothing to decide.
    pub(super) fn decide(&mut self, takes_theirs: bool) -> bool {
        let Some(field) = self.fields.get_mut(self.focus) else { return false };
        let Some(theirs) = field.theirs.take() else { return false };
        if takes_theirs {
            field.set_value(&theirs);
        }
        if self.undecided().is_none() {
            self.refusal = None;
        }
        true
    }
}

impl Field {
    /// What is in it counts as unchanged.
    fn settle(&mut self) {
        self.initial = self.value();
    }

    pub(super) fn is_changed(&self) -> bool {
        self.value() != self.initial
    }

    /// The object has `theirs` in this field now.
    fn merge(&mut self, theirs: &str) {
        let (mine, before) = (self.value(), std::mem::replace(&mut self.initial, theirs.to_owned()));
        if theirs == before || theirs == mine {
            return;
        }
        if mine == before {
            self.set_value(theirs);
        } else {
            self.theirs = Some(theirs.to_owned());
        }
    }

    /// What is said below a field that both sides changed.
    pub(super) fn conflict(&self) -> Option<(Role, String)> {
        let theirs = self.theirs.as_ref()?;
        let shown = if theirs.is_empty() { "(empty)" } else { theirs };
        let mine = self.value();
        let mine = if mine.is_empty() { "(empty)" } else { &mine };
        Some((
            Role::Error,
            format!("! changed meanwhile to: {shown}; yours: {mine}. C-{KEEP} keeps yours, C-{TAKE} takes theirs"),
        ))
    }
}
