//! Known values that a text field offers. Others can be typed all the same.

use super::{Field, Kind};
use crate::ui::line::Line;

/// The key that puts the next offered value into the field.
pub(super) const NEXT: char = 'n';

impl Field {
    /// Offers `values` after the one that is in the field now.
    pub(crate) fn offer(&mut self, values: &[String]) {
        let first = Some(self.text().to_owned()).filter(|text| !text.is_empty());
        self.offers =
            first.iter().chain(values.iter().filter(|value| Some(*value) != first.as_ref())).cloned().collect();
    }

    /// Puts the offered value after the present one into the field; false if nothing is offered.
    pub(super) fn next_offer(&mut self) -> bool {
        let at = self.offers.iter().position(|value| value == self.text());
        let next = at.map_or(0, |at| at + 1);
        let Some(value) = self.offers.get(next).or(self.offers.first()) else { return false };
        if let Kind::Text(line) = &mut self.kind {
            *line = Line::new(value);
        }
        true
    }

    /// `C-n chooses: ops, infra, data`
    pub(super) fn offers_note(&self) -> Option<String> {
        (self.offers.len() > 1).then(|| format!("C-{NEXT} chooses: {}", self.offers.join(", ")))
    }
}
