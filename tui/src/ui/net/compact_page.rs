//! Pages of a list in compact form.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, SeqAccess, Visitor},
};

/// Converts objects of the API to rows of a list.
pub(super) trait Compact: Default {
    type Object: DeserializeOwned;
    type Row;

    fn compact(&mut self, object: Self::Object) -> Self::Row;
}

/// The rows of a page. Each object is converted as soon as it is read, so that a page is never in memory as objects of
/// the API.
pub(super) struct CompactPage<C: Compact>(pub(super) Vec<C::Row>);

impl<'de, C: Compact> Deserialize<'de> for CompactPage<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PageVisitor(PhantomData))
    }
}

struct PageVisitor<C>(PhantomData<C>);

impl<'de, C: Compact> Visitor<'de> for PageVisitor<C> {
    type Value = CompactPage<C>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut objects: A) -> Result<CompactPage<C>, A::Error> {
        let mut compactor = C::default();
        let mut rows = Vec::new();
        while let Some(object) = objects.next_element::<C::Object>()? {
            rows.push(compactor.compact(object));
        }
        Ok(CompactPage(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the numbers of a page.
    #[derive(Default)]
    struct Sums(i64);

    impl Compact for Sums {
        type Object = i64;
        type Row = i64;

        fn compact(&mut self, number: i64) -> i64 {
            self.0 += number;
            self.0
        }
    }

    #[test]
    fn the_objects_of_a_page_are_converted_in_order() {
        for (text, rows) in [("[]", vec![]), ("[1, 2, 4]", vec![1, 3, 7])] {
            assert_eq!(serde_json::from_str::<CompactPage<Sums>>(text).unwrap().0, rows, "{text}");
        }
    }

    #[test]
    fn a_page_that_is_no_list_or_has_an_invalid_object_is_refused() {
        for (text, why) in [("{}", "expected a list of objects"), ("[1, \"x\"]", "invalid type"), ("[1, 2", "EOF")] {
            let error = serde_json::from_str::<CompactPage<Sums>>(text).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
