//! The fields of a log record.

use std::iter;

/// Size of a field without the text of its value.
pub(super) const FIELD_BYTES: usize = size_of::<(&'static str, usize)>();

/// Names and values of fields, in the order of the log line. All values are in one text: a text for each would be ten
/// allocations per request, which are freed long after they have left the caches of the processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFields {
    values: String,
    /// Each name, and the end of its value.
    ends: Vec<(&'static str, usize)>,
}

impl LogFields {
    /// Creates an empty list with room for this number of fields.
    pub fn with_capacity(fields: usize) -> Self {
        Self { values: String::new(), ends: Vec::with_capacity(fields) }
    }

    /// Adds a field.
    pub fn push(&mut self, name: &'static str, value: &str) {
        self.values.push_str(value);
        self.ends.push((name, self.values.len()));
    }

    /// Returns names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let starts = iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        self.ends.iter().zip(starts).map(move |((name, end), start)| (*name, &self.values[start..*end]))
    }

    /// Frees unused capacity.
    pub(super) fn shrink(&mut self) {
        self.values.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Returns the size in memory, in bytes, with unused capacity.
    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() + self.ends.capacity() * FIELD_BYTES
    }
}

impl<V: AsRef<str>> FromIterator<(&'static str, V)> for LogFields {
    fn from_iter<I: IntoIterator<Item = (&'static str, V)>>(fields: I) -> Self {
        let mut all = Self::default();
        fields.into_iter().for_each(|(name, value)| all.push(name, value.as_ref()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_values() {
        let given = [("a", "1"), ("b", ""), ("a", "ä…"), ("c", "3")];
        let mut fields: LogFields = given.into_iter().collect();
        assert_eq!(fields.pairs().collect::<Vec<_>>(), given);
        fields.shrink();
        assert_eq!(fields.pairs().collect::<Vec<_>>(), given);
        assert_eq!(fields.bytes(), 7 + 4 * FIELD_BYTES);
        assert_eq!(LogFields::with_capacity(8).pairs().count(), 0);
    }
}
