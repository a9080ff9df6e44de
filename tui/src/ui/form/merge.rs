//! Merges changes that another client made to the object of a form.
//!
//! A form is filled from a list and then from the daemon, with the version of the object. Only changed fields are
//! sent. If the object has another version by then, its new content is merged: unchanged fields take the new value,
//! and for fields that both sides changed the user chooses one.

use farrier_common::client::EntityTag;

use super::{Field, Form};
use crate::ui::view::Role;

/// Shown when a form is submitted before the version is loaded.
pub(super) const NOT_LOADED: &str = "The current version is not loaded yet; save again in a moment.";

/// Keys that resolve a conflict.
pub(super) const TAKE: char = 't';
pub(super) const KEEP: char = 'o';

/// The version of the object that a form edits.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// Whether the current version is loaded.
    is_loaded: bool,
    tag: Option<EntityTag>,
}

impl Form {
    /// Marks it as a form for an existing object whose content is in the fields.
    #[must_use]
    pub(crate) fn editing(mut self) -> Self {
        self.base = Some(Base::default());
        self.fields.iter_mut().for_each(Field::settle);
        self
    }

    /// Returns the version that the fields were filled with.
    pub(crate) fn tag(&self) -> Option<EntityTag> {
        self.base.as_ref().and_then(|base| base.tag.clone())
    }

    /// Returns whether it cannot be submitted yet because the current version is not loaded.
    pub(super) fn is_unloaded(&self) -> bool {
        self.base.as_ref().is_some_and(|base| !base.is_loaded)
    }

    /// Returns whether a field differs from the object.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        self.field(name).is_some_and(Field::is_changed)
    }

    /// Records that the loaded version is outdated.
    pub(crate) fn outdated(&mut self) {
        if let Some(base) = &mut self.base {
            base.is_loaded = false;
        }
    }

    /// Merges the current object: values by field name, and the version.
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
        if let Some(first) = self.first_conflict() {
            self.focus = first;
        }
    }

    /// Returns the first field with a conflict.
    pub(super) fn first_conflict(&self) -> Option<usize> {
        self.fields.iter().position(|field| field.theirs.is_some())
    }

    /// Resolves the conflict of the focused field. Returns whether there was one.
    pub(super) fn decide(&mut self, takes_theirs: bool) -> bool {
        let Some(field) = self.fields.get_mut(self.focus) else { return false };
        let Some(theirs) = field.theirs.take() else { return false };
        if takes_theirs {
            field.set_value(&theirs);
        }
        if self.first_conflict().is_none() {
            self.refusal = None;
        }
        true
    }
}

impl Field {
    /// Takes the value as the initial one.
    fn settle(&mut self) {
        self.initial = self.value();
    }

    pub(super) fn is_changed(&self) -> bool {
        self.value() != self.initial
    }

    /// Merges the current value of the object.
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

    /// Returns the text below a field with a conflict.
    pub(super) fn conflict(&self) -> Option<(Role, String)> {
        let theirs = self.theirs.as_ref()?;
        let shown = if theirs.is_empty() { "(empty)" } else { theirs };
        let mine = self.value();
        let mine = if mine.is_empty() { "(empty)" } else { &mine };
        Some((
            Role::Error,
            format!("! changed meanwhile to: {shown}; yours: {mine}. C-{TAKE} takes theirs, C-{KEEP} keeps yours"),
        ))
    }
}
