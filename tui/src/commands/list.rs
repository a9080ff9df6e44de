//! What lists and deletions have in common.

use std::hash::Hash;

use farrier_common::client::{ClientError, Pages};
use serde::{Serialize, de::DeserializeOwned};

use crate::{exit::Failure, output::Output};

/// All items of a list. Pages follow the links; the total is in a header.
pub(super) async fn collect<B: DeserializeOwned, T, K: Hash>(
    mut pages: Pages<'_>,
    open: impl Fn(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
) -> Result<Vec<T>, ClientError> {
    let mut all = Vec::new();
    while let Some(mut items) = pages.next(|body: B| (0, open(body)), &id).await? {
        all.append(&mut items);
    }
    Ok(all)
}

/// Writes a list: one document, one object a line, ids only, or a table.
pub(super) fn show<T: Serialize, D: Serialize>(
    output: &Output,
    all: Vec<T>,
    id: impl Fn(&T) -> i64,
    table: impl FnOnce(&[T]) -> String,
    document: impl FnOnce(usize, Vec<T>) -> D,
) -> Result<(), Failure> {
    let format = output.format();
    if format.json {
        return output.object(&document(all.len(), all), "", String::new);
    }
    if format.jsonl || format.quiet {
        return all.iter().try_for_each(|item| output.object(item, &id(item).to_string(), String::new));
    }
    output.text(&table(&all))
}

/// What cannot be undone is said twice.
pub(super) fn agreed(what: &str, yes: bool) -> Result<(), Failure> {
    if yes { Ok(()) } else { Err(Failure::Usage(format!("deleting {what} needs --yes"))) }
}
