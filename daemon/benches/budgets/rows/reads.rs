//! Reads of a repository's content over the API: directories, files, branches and commits.

use std::{path::Path, sync::Arc};

use super::{
    git::{
        address,
        fixture::{self, BRANCH, git_at},
    },
    settle,
};
use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{median, micros, plain, spread},
    load::{Answers, requests},
    plan::Plan,
    table::Table,
};

const CONNECTIONS: usize = 32;
/// Branches of the repository. One page of the list has all of them.
const BRANCHES: usize = 10;
/// Fewest responses per second for a repository that was read before.
const LEAST: f64 = 5_000.0;

/// The requests: name, path below the repository, and whether the budget applies.
const REQUESTS: [(&str, &str, bool); 6] = [
    ("contents of the root", "/contents", true),
    ("contents of a file of 5 KiB", "/contents/src/07/file-57", true),
    ("contents of a directory with 40 files", "/contents/src/07", false),
    ("branches", "/branches", true),
    ("commits?limit=10", "/commits?limit=10", true),
    ("raw file of 5 KiB", "/raw/src/07/file-57", false),
];

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("reads")?;
    let bare = fixture::make(&dir, if plan.quick { 1_000 } else { 5_000 }).await?;
    for number in 1..BRANCHES {
        git_at(&bare, &["branch", &format!("feature/{number}"), &format!("{BRANCH}~{number}")]).await?;
    }
    let farrier = Farrier::start(&plan.dir("reads-farrier")?).await?;
    farrier.repository("big").await?;
    push(&farrier, &bare).await?;
    settle().await;
    let watch = farrier.watch();
    for (name, below, has_budget) in REQUESTS {
        let request: Arc<[u8]> = head("GET", &format!("/api/v1/repos/admin/big{below}"), 0, &[]).into();
        let (mut rates, mut processor, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..plan.rounds {
            let before = watch.processor_with_ended()?;
            let answers = round(plan, &farrier, &request).await?;
            let spent = watch.processor_with_ended()?.saturating_sub(before);
            rates.push(answers.per_second());
            processor.push(micros(spent) / f64::from(u32::try_from(answers.count.max(1))?));
            latencies.push(micros(answers.percentile(99)));
        }
        let text = format!(
            "{}; {} µs of processor each; p99 {} µs",
            spread(&rates, "/s"),
            plain(median(&processor)),
            plain(median(&latencies)),
        );
        let what = format!("{name}, Unix, {CONNECTIONS} connections");
        if has_budget {
            table.alone(&what, text, "≥ 5,000/s", median(&rates) >= LEAST);
        } else {
            table.value(&what, text);
        }
    }
    trees(plan, table, &farrier, &bare).await
}

async fn round(plan: &Plan, farrier: &Farrier, request: &Arc<[u8]>) -> Result<Answers> {
    let request = request.clone();
    requests(&farrier.unix, CONNECTIONS, plan.round, 200, move |_| request.clone()).await
}

/// Measures reads of objects: the tree of each commit, by the id of the commit.
async fn trees(plan: &Plan, table: &mut Table, farrier: &Farrier, bare: &Path) -> Result<()> {
    let ids = git_at(bare, &["rev-list", BRANCH]).await?;
    let requests_of =
        ids.lines().map(|id| head("GET", &format!("/api/v1/repos/admin/big/git/trees/{id}"), 0, &[]).into());
    let all: Arc<[Arc<[u8]>]> = requests_of.collect();
    let count = all.len();
    let watch = farrier.watch();
    let before = watch.processor_with_ended()?;
    let answers =
        requests(&farrier.unix, CONNECTIONS, plan.round, 200, move |number| all[number % all.len()].clone()).await?;
    let spent = micros(watch.processor_with_ended()?.saturating_sub(before));
    let each = plain(spent / f64::from(u32::try_from(answers.count.max(1))?));
    let text = format!("{}; {each} µs of processor each", spread(&[answers.per_second()], "/s"));
    table.value(&format!("trees of {count} commits, one after the other, Unix, {CONNECTIONS} connections"), text);
    Ok(())
}

/// Pushes all branches, so that the daemon records them and repacks the repository.
async fn push(farrier: &Farrier, bare: &Path) -> Result<()> {
    let token = farrier.token().await?;
    let remote = format!("http://admin:{token}@{}/admin/big.git", address(&farrier.tcp)?);
    git_at(bare, &["push", "--quiet", &remote, "refs/heads/*:refs/heads/*"]).await.map(drop)
}
