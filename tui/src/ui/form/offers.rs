//! Suggested values of a text field. Other values can be typed.

use super::{Field, FieldValue};
use crate::ui::line::Line;

/// The key that puts the next suggested value into the field.
pub(super) const NEXT: char = 'n';

impl Field {
    /// Suggests `values` after the current one.
    pub(crate) fn offer(&mut self, values: &[String]) {
        let first = Some(self.text().to_owned()).filter(|text| !text.is_empty());
        self.offers =
            first.iter().chain(values.iter().filter(|value| Some(*value) != first.as_ref())).cloned().collect();
    }

    /// Puts the next suggested value into the field. Returns whether there is one.
    pub(super) fn next_offer(&mut self) -> bool {
        let at = self.offers.iter().position(|value| value == self.text());
        let next = at.map_or(0, |at| at + 1);
        let Some(value) = self.offers.get(next).or(self.offers.first()) else { return false };
        if let FieldValue::Text(line) = &mut self.kind {
            *line = Line::new(value);
        }
        true
    }

    /// Formats the suggestions, for example `C-n chooses: ops, infra, data`.
    pub(super) fn offers_note(&self) -> Option<String> {
        (self.offers.len() > 1).then(|| format!("C-{NEXT} chooses: {}", self.offers.join(", ")))
    }
}
