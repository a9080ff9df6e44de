//! Long lists of one repository: releases, statuses, stargazers and forks, and the starred repositories of an account.
//! The cost of a page does not depend on its position. Also forks, whose cost does not depend on the size of their
//! source.

mod forking;
mod load;

use farrierd::store::{interests::INTERESTS_MAX, statuses::COMMIT_STATUSES_MAX};
use serde_json::{Value, json};

use super::lists::page_times;
use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{median, plain, spread},
    plan::Plan,
    table::Table,
};

/// Entries of a page.
const PAGE: u64 = 50;
/// Time limit of a page, milliseconds.
const PAGE_MAX: f64 = 5.0;
/// Limit of the time of other pages, as a multiple of the time of the first page.
const FIRST_PAGES_MAX: f64 = 3.0;

/// Number of entries of each list.
struct Lengths {
    /// Releases of the repository, its stars, its forks, and the statuses of all its commits.
    all: u64,
    /// Statuses of one commit. The daemon keeps only as many.
    of_commit: u64,
    /// Repositories that one account starred. The daemon refuses more.
    starred: u64,
}

/// A list: its name, its address, and the number of its entries.
struct List {
    name: &'static str,
    target: String,
    entries: u64,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    lists(plan, table).await?;
    forking::measure(plan, table).await
}

async fn lists(plan: &Plan, table: &mut Table) -> Result<()> {
    let all: u64 = if plan.quick { 2_000 } else { 100_000 };
    let lengths = Lengths { all, of_commit: all.min(COMMIT_STATUSES_MAX), starred: all.min(INTERESTS_MAX) };
    let dir = plan.dir("long-lists")?;
    let farrier = Farrier::start(&dir).await?;
    farrier.admin("/api/v1/user/repos", &json!({ "name": "source", "auto_init": true })).await?;
    let branch = get(&farrier, "/repos/admin/source/branches/main").await?;
    let commit = branch["commit"]["id"].as_str().ok_or("no commit")?;
    farrier.stop()?;
    let account = load::load(&Farrier::store_file(&dir), &lengths, commit).await?;
    let farrier = Farrier::start(&dir).await?;
    let source = "/repos/admin/source";
    for list in [
        List { name: "releases", target: format!("{source}/releases"), entries: all },
        List { name: "stargazers", target: format!("{source}/stargazers"), entries: all },
        List { name: "forks", target: format!("{source}/forks"), entries: all },
        List {
            name: "statuses of a commit",
            target: format!("{source}/commits/{commit}/statuses"),
            entries: lengths.of_commit,
        },
        List {
            name: "starred repositories of an account",
            target: format!("/users/{account}/starred"),
            entries: lengths.starred,
        },
    ] {
        pages(&farrier, table, &list).await?;
    }
    farrier.stop()
}

/// Adds the rows of one list: its first page, a page in the middle, and the last page.
async fn pages(farrier: &Farrier, table: &mut Table, list: &List) -> Result<()> {
    let last = list.entries.div_ceil(PAGE);
    let address = |number| format!("{}?limit={PAGE}&page={number}", list.target);
    // An incomplete list would be fast.
    if get(farrier, &address(last)).await?.as_array().is_none_or(Vec::is_empty) {
        return Err(format!("the last page of {} is empty", list.target).into());
    }
    let what = |page| format!("{}, {page} page of {PAGE}; {} entries", list.name, list.entries);
    let first = page_times(farrier, &address(1)).await?;
    table.alone(&what("first"), spread(&first, "ms"), "≤ 5 ms", median(&first) <= PAGE_MAX);
    for (page, number) in [("middle", last / 2), ("last", last)] {
        let times = page_times(farrier, &address(number)).await?;
        let ratio = median(&times) / median(&first);
        let text = format!("{}; {} × the first page", spread(&times, "ms"), plain(ratio));
        let met = median(&times) <= PAGE_MAX && ratio <= FIRST_PAGES_MAX;
        table.alone(&what(page), text, "≤ 5 ms, ≤ 3 × the first page", met);
    }
    Ok(())
}

/// Requests an object of the API as the administrator.
async fn get(farrier: &Farrier, target: &str) -> Result<Value> {
    let mut connection = farrier.unix.connect().await?;
    connection.send(&head("GET", &format!("/api/v1{target}"), 0, &[])).await?;
    Ok(serde_json::from_slice(&connection.expect(200).await?)?)
}
