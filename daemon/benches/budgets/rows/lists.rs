//! Lists and search over many repositories: the cost of a page does not depend on its position.

use std::{path::Path, sync::Arc, time::Instant};

use farrier_proto::store::{OwnerKind, Repository, Visibility};
use farrierd::store::{
    Store, StoreError, Tx,
    engine::{RedbEngine, RedbOptions},
    ids::IdKind,
    repositories,
};

use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{median, millis, spread},
    plan::Plan,
    table::Table,
};

/// Number of repositories that the loader writes in one transaction.
const AT_ONCE: u64 = 500;
/// The built-in administrator.
const OWNER: u64 = 1;
/// Time limit of a page, milliseconds.
const PAGE_MAX: f64 = 5.0;
/// Number of requests per page.
const TIMES: usize = 41;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let count = if plan.quick { 2_000 } else { 100_000 };
    let dir = plan.dir("lists")?;
    // The first start creates the administrator.
    Farrier::start(&dir).await?.stop()?;
    load(&Farrier::store_file(&dir), count).await?;
    let farrier = Farrier::start(&dir).await?;
    let (middle, last) = (count / 100, count / 50);
    let requests = [
        ("GET /repos/search, first page", "/repos/search?limit=50".to_owned()),
        ("the same, in the middle", format!("/repos/search?limit=50&page={middle}")),
        ("the same, last page", format!("/repos/search?limit=50&page={last}")),
        ("sorted by last change, newest first, in the middle", {
            format!("/repos/search?sort=updated&order=desc&limit=50&page={middle}")
        }),
        ("search for a name that one has", "/repos/search?limit=50&q=repository-00077".to_owned()),
        ("search for a name that all have, in the middle", format!("/repos/search?limit=50&q=repos&page={middle}")),
        ("GET /users/admin/repos, in the middle", format!("/users/admin/repos?limit=50&page={middle}")),
        ("search of those that are not archived", "/repos/search?limit=50&archived=false".to_owned()),
    ];
    for (what, target) in requests {
        let times = page_times(&farrier, &target).await?;
        let what = format!("{what}; {count} repositories");
        table.alone(&what, spread(&times, "ms"), "≤ 5 ms", median(&times) <= PAGE_MAX);
    }
    Ok(())
}

/// Requests a page of a list [`TIMES`] times. Returns the times in milliseconds.
pub(super) async fn page_times(farrier: &Farrier, target: &str) -> Result<Vec<f64>> {
    let mut connection = farrier.unix.connect().await?;
    let request = head("GET", &format!("/api/v1{target}"), 0, &[]);
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        connection.send(&request).await?;
        connection.expect(200).await?;
        times.push(millis(begun.elapsed()));
    }
    Ok(times)
}

/// Writes rows without git data, which lists do not read.
async fn load(file: &Path, count: u64) -> Result<()> {
    let store = Store::open(Arc::new(RedbEngine::open(file, RedbOptions::default())?)).await?;
    let mut left = count;
    while left > 0 {
        let mut rows = Vec::new();
        for number in 0..left.min(AT_ONCE) {
            rows.push(row(store.next_id(IdKind::Repository).await?, left - number));
        }
        left -= rows.len() as u64;
        let rows = &rows;
        store
            .write(async |tx: Tx| {
                for row in rows {
                    repositories::insert(&tx, row).await?;
                }
                Ok::<_, StoreError>(())
            })
            .await?;
    }
    farrierd::tasks::blocking(move || drop(store)).await;
    Ok(())
}

fn row(id: u64, number: u64) -> Repository {
    let at_ms = 1_700_000_000_000 + i64::try_from(number).unwrap_or(0) * 1_000;
    Repository {
        id,
        owner_kind: OwnerKind::User.into(),
        owner_id: OWNER,
        name: format!("repository-{number:06}"),
        description: "a row that the loader wrote".into(),
        listed: Visibility::Public.into(),
        default_branch: "main".into(),
        created_ms: at_ms,
        updated_ms: at_ms,
        empty: true,
        // The directories, which do not exist, are not searched for unreachable commits.
        prune_due_ms: i64::MAX,
        ..Repository::default()
    }
}
