//! What lists and deletions have in common.

use std::hash::Hash;

use farrier_common::client::{ClientError, Pages};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    exit::Failure,
    output::{Output, clean_line},
    prompt,
};

/// All items of a list. Pages follow the links; the total is in a header.
pub(super) async fn collect<B: DeserializeOwned, T, K: Hash>(
    pages: Pages<'_>,
    open: impl Fn(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
) -> Result<Vec<T>, ClientError> {
    first(usize::MAX, pages, open, id).await
}

/// The first `limit` items of a list.
pub(super) async fn first<B: DeserializeOwned, T, K: Hash>(
    limit: usize,
    mut pages: Pages<'_>,
    open: impl Fn(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
) -> Result<Vec<T>, ClientError> {
    let mut all = Vec::new();
    while all.len() < limit {
        let Some(mut items) = pages.next(|body: B| (0, open(body)), &id).await? else { break };
        all.append(&mut items);
    }
    all.truncate(limit);
    Ok(all)
}

/// Writes a list: one document, one object a line, ids only, or a table.
pub(super) fn show<T: Serialize, D: Serialize, K: ToString>(
    output: &Output,
    all: Vec<T>,
    id: impl Fn(&T) -> K,
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

/// `1 job`, `2 jobs`
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Asks before something is deleted. On a terminal the user types `name`; elsewhere `--yes` is needed.
pub(super) async fn agreed(what: &str, name: &str, yes: bool) -> Result<(), Failure> {
    asked(what, "will be deleted permanently", name, yes).await
}

/// The same for what an administrator may be able to restore.
pub(super) async fn agreed_restorable(what: &str, name: &str, yes: bool) -> Result<(), Failure> {
    asked(what, "will be deleted", name, yes).await
}

async fn asked(what: &str, happens: &str, name: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !prompt::is_possible() {
        return Err(Failure::Usage(format!("deleting {what} without a terminal needs --yes")));
    }
    let question = format!("{what} {happens}. Type {name} to confirm: ");
    if prompt::line(&clean_line(&question)).await? == name {
        return Ok(());
    }
    Err(Failure::Other("the names differ; nothing was deleted".to_owned()))
}
