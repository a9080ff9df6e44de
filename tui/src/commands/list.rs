//! Reading lists page by page, and printing them.

use std::hash::Hash;

use farrier_common::client::{ClientError, Pages};
use serde::{Serialize, de::DeserializeOwned};

use crate::{exit::Failure, output::Output};

/// A list, or its beginning.
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    cut: Option<Cut>,
}

/// How much of a list `--limit` cut off.
#[derive(Debug, PartialEq, Eq)]
enum Cut {
    /// The list has this many items.
    Of(usize),
    /// The daemon did not say how many items the list has.
    Unknown,
}

impl<T> Listed<T> {
    /// Returns a list that was read to its end, shortened to `limit` items.
    pub(super) fn cut(mut all: Vec<T>, limit: usize) -> Self {
        let cut = (all.len() > limit).then_some(Cut::Of(all.len()));
        all.truncate(limit);
        Self { items: all, cut }
    }

    /// Returns the first items of a list, read from `pages` until there were `limit` or more.
    pub(super) fn read(mut items: Vec<T>, limit: usize, pages: &Pages<'_>) -> Self {
        let was_longer = items.len() > limit || pages.more();
        items.truncate(limit);
        let total = pages.total().and_then(|total| usize::try_from(total).ok()).filter(|total| *total >= items.len());
        let cut = match total {
            Some(total) => (total > items.len()).then_some(Cut::Of(total)),
            None => was_longer.then_some(Cut::Unknown),
        };
        Self { items, cut }
    }

    /// Says on standard error that the list is not complete. Programs that read JSON or IDs get no message.
    pub(super) fn note(&self, output: &Output) {
        let format = output.format();
        if let (Some(cut), false) = (&self.cut, format.json || format.jsonl || format.quiet) {
            let _ = output.note(&cut_off(self.items.len(), cut)); // a message may get lost
        }
    }
}

impl<T> From<Vec<T>> for Listed<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, cut: None }
    }
}

fn cut_off(shown: usize, cut: &Cut) -> String {
    match cut {
        Cut::Of(total) => format!("Showing {shown} of {total}; use --limit to show more."),
        Cut::Unknown => format!("Showing the first {shown}; use --limit to show more."),
    }
}

/// Reads a complete list.
pub(super) async fn collect<B: DeserializeOwned, T, K: Hash>(
    pages: Pages<'_>,
    open: impl Fn(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
) -> Result<Vec<T>, ClientError> {
    Ok(first(usize::MAX, pages, open, id).await?.items)
}

/// Reads the first `limit` items of a list. `open` returns the items of a page, `id` identifies an item.
pub(super) async fn first<B: DeserializeOwned, T, K: Hash>(
    limit: usize,
    mut pages: Pages<'_>,
    open: impl Fn(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
) -> Result<Listed<T>, ClientError> {
    let mut all = Vec::new();
    while all.len() < limit {
        let Some(mut items) = pages.next(|body: B| (0, open(body)), &id).await? else { break };
        all.append(&mut items);
    }
    Ok(Listed::read(all, limit, &pages))
}

/// Prints a list: one JSON document, one object per line, only IDs, or a table.
pub(super) fn show<T: Serialize, D: Serialize, K: ToString>(
    output: &Output,
    listed: impl Into<Listed<T>>,
    id: impl Fn(&T) -> K,
    table: impl FnOnce(&[T]) -> String,
    document: impl FnOnce(usize, Vec<T>) -> D,
) -> Result<(), Failure> {
    let listed = listed.into();
    let format = output.format();
    if format.json {
        return output.object(&document(listed.items.len(), listed.items), "", String::new);
    }
    if format.jsonl || format.quiet {
        return listed.items.iter().try_for_each(|item| output.object(item, &id(item).to_string(), String::new));
    }
    output.table(&table(&listed.items))?;
    listed.note(output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_list_shows_its_total_count() {
        let listed = Listed::cut(vec![1, 2, 3], 2);
        assert_eq!((listed.items, listed.cut), (vec![1, 2], Some(Cut::Of(3))));
        assert_eq!(Listed::cut(vec![1, 2], 2).cut, None);
        assert_eq!(cut_off(2, &Cut::Of(3)), "Showing 2 of 3; use --limit to show more.");
    }
}
