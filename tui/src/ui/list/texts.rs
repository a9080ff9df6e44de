//! The texts that filters match, of all rows of a long list: in lower case, one after the other.
//!
//! The rows of a long list are spread over the memory, and some assemble their text from several fields. The first key
//! of a filter tests all of them, which takes longer than a frame. So the texts are collected once, after the filter
//! input is drawn and before its first key. They are dropped when it closes, and when rows change.

use super::{Haystack, List, Row};

/// Shorter lists are filtered without a copy of their texts.
const ROWS_MIN: usize = 5_000;

/// The texts of all rows, in the order of the rows.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: String,
    /// The end of each text in `all`.
    ends: Vec<usize>,
}

impl Texts {
    /// Appends the texts of rows.
    pub(super) fn extend<'a, T: Haystack + 'a>(&mut self, rows: impl IntoIterator<Item = &'a T>) {
        for row in rows {
            let text = row.text();
            if text.is_ascii() {
                let begin = self.all.len();
                self.all.push_str(&text);
                self.all[begin..].make_ascii_lowercase();
            } else {
                self.all.push_str(&text.to_lowercase());
            }
            self.ends.push(self.all.len());
        }
    }

    /// Returns the text of a row by its index; an empty one if there is no such row.
    pub(super) fn get(&self, row: usize) -> &str {
        let begin = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.ends.get(row).and_then(|end| self.all.get(begin..*end)).unwrap_or_default()
    }
}

impl<T: Row> List<T> {
    /// Collects the texts of a long list, so that the first key of a filter is fast.
    pub(crate) fn prepare_filter(&mut self) {
        if self.texts.is_none() && self.rows.len() >= ROWS_MIN {
            let mut texts = Texts::default();
            texts.extend(&self.rows);
            self.texts = Some(texts);
        }
    }

    /// Replaces the rows by those of a list that is not filtered and has the same order, with what was prepared for it.
    pub(crate) fn adopt(&mut self, prepared: Self) {
        (self.rows, self.shown, self.texts) = (prepared.rows, prepared.shown, prepared.texts);
        self.find_cursor();
    }

    /// Drops what was prepared for a filter.
    pub(crate) fn end_filter(&mut self) {
        self.texts = None;
    }

    /// Returns those indexes whose rows are shown, in the same order.
    pub(super) fn matching(&self, indexes: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let texts = self.texts.as_ref().filter(|_| self.filter.needs_only_lower_case());
        let matches = |at: usize| match texts {
            Some(texts) => self.filter.takes_lower_case(texts.get(at)),
            None => self.filter.takes(&self.rows[at]),
        };
        let takes = |at: &usize| matches(*at) && (!self.only_problems || self.rows[*at].is_problem());
        indexes.into_iter().filter(takes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Filter,
            tests::{Thing, thing},
        },
        *,
    };

    const NAMES: [&str; 7] = ["infra/gateway", "Web/Site", "!data/lake", "GRÖSSE 日本", "gate", "", "a b"];
    const FILTERS: [&str; 12] =
        ["g", "gate", "GRÖ", "grö", "!gate", "^web", "e$", "~dl", "a b", "Web", "~ge !lake", "!^g ~e"];

    fn long_list() -> List<Thing> {
        let mut list = List::sorted(0);
        let rows = (0_u32..).zip(NAMES.into_iter().cycle()).take(ROWS_MIN).map(|(id, name)| thing(id, name));
        list.replace(rows.collect());
        list
    }

    fn shown(list: &List<Thing>) -> Vec<u32> {
        list.shown().map(Row::id).collect()
    }

    #[test]
    fn a_prepared_filter_shows_the_same_rows() {
        let (mut plain, mut prepared) = (long_list(), long_list());
        prepared.prepare_filter();
        assert!(prepared.texts.is_some());
        for text in FILTERS {
            for filter in ["", text] {
                plain.set_filter(Filter::parse(filter, &[]).unwrap());
                prepared.set_filter(Filter::parse(filter, &[]).unwrap());
            }
            assert_eq!(shown(&prepared), shown(&plain), "{text}");
            assert_eq!(prepared.current(), plain.current(), "{text}");
        }
        prepared.end_filter();
        assert!(prepared.texts.is_none());
    }

    #[test]
    fn rows_that_change_while_a_filter_is_typed_are_matched_by_their_new_text() {
        let new = || Filter::parse("new", &[]).unwrap();
        let mut list = long_list();
        list.prepare_filter();
        list.append(vec![thing(900_001, "a new row")]);
        list.set_filter(new());
        assert_eq!(shown(&list), [900_001]);
        list.renew(vec![thing(1, "renewed")], false);
        assert_eq!(shown(&list), [900_001, 1]);
        list.prepare_filter();
        list.update(vec![thing(5, "new"), thing(6, "old")], false);
        assert_eq!(shown(&list), [5]);
        list.set_filter(Filter::default());
        assert_eq!(shown(&list), [5, 6]);
    }

    #[test]
    fn a_short_list_is_not_copied() {
        let mut list = List::sorted(0);
        list.replace(vec![thing(1, "a")]);
        list.prepare_filter();
        assert!(list.texts.is_none());
    }

    #[test]
    fn each_row_has_its_text_in_lower_case() {
        let mut texts = Texts::default();
        texts.extend(&[thing(1, "infra/Gateway"), thing(2, ""), thing(3, "GRÖSSE 日本")]);
        texts.extend(&[thing(4, "web")]);
        assert_eq!([0, 1, 2, 3, 4].map(|row| texts.get(row)), ["infra/gateway", "", "grösse 日本", "web", ""]);
    }
}
