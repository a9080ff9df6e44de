//! The text of a form that is edited in the user's editor.

use super::Form;
use crate::{
    output::human_bytes,
    ui::{layer::Step, redacted::Redacted, world::World},
};

/// The key that opens the editor.
pub(super) const EDITOR: char = 'x';

impl Form {
    /// Returns the step that opens the editor; `None` if the form has no text for it. A text that was edited before is
    /// edited again.
    pub(super) fn open_editor(&mut self, world: &World) -> Option<Step> {
        let stored = self.kind.text_to_edit(self)?.1.clone();
        if let Some(why) = world.no_changes() {
            self.refusal = Some(why);
            return Some(Step::Stay);
        }
        Some(Step::Edit(self.edited.clone().unwrap_or(stored)))
    }

    /// Returns the text that the editor has returned.
    pub(crate) fn edited(&self) -> Option<&Redacted> {
        self.edited.as_ref()
    }

    /// Takes the text of the editor instead of the field for a file. An invalid text is kept, so that it can be
    /// corrected.
    pub(crate) fn take_edited(&mut self, text: Redacted) {
        let Some((name, _)) = self.kind.text_to_edit(self) else { return };
        let report = if let Some(why) = self.kind.bad_text(&text) {
            (false, why)
        } else {
            let size = human_bytes(i64::try_from(text.len()).unwrap_or(i64::MAX));
            (true, format!("{size} from the editor are sent unless a file is named"))
        };
        self.report(report);
        if let Some(field) = self.field_mut(name) {
            field.set_value("");
            field.error = None;
        }
        self.refusal = None;
        self.edited = Some(text);
        self.changed = true;
    }
}
