//! Forks of a small and of a large repository. The files of objects are linked, not copied.

use std::time::Instant;

use serde_json::json;

use super::get;
use crate::{
    Result,
    client::json as request,
    farrier::Farrier,
    figures::{mib, millis, plain, ratio, spread},
    plan::Plan,
    rows::{
        git::{
            address,
            fixture::{self, BRANCH, git_at},
        },
        settle,
    },
    table::{Budget, Table},
};

/// Commits of the small repository. The objects of fewer commits would not be stored as a pack.
const FEW_COMMITS: usize = 100;
/// Forks of each repository for each round of the plan.
const FORKS: usize = 4;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let many_commits = if plan.quick { 400 } else { 20_000 };
    let farrier = Farrier::start(&plan.dir("long-lists-forks")?).await?;
    let token = farrier.token().await?;
    let mut sizes = Vec::new();
    for (name, commits) in [("small", FEW_COMMITS), ("large", many_commits)] {
        farrier.repository(name).await?;
        let bare = fixture::make(&plan.dir(&format!("long-lists-{name}"))?, commits).await?;
        let remote = format!("http://admin:{token}@{}/admin/{name}.git", address(&farrier.tcp)?);
        git_at(&bare, &["push", "--quiet", &remote, &format!("{BRANCH}:{BRANCH}")]).await?;
        std::fs::remove_dir_all(&bare)?;
        let kib = get(&farrier, &format!("/repos/admin/{name}")).await?["size"].as_u64().ok_or("no size")?;
        sizes.push(plain(mib(kib << 10)));
    }
    // These wait until the daemon has packed the repositories.
    forks(&farrier, "first").await?;
    settle().await;
    let (mut of_small, mut of_large) = (Vec::new(), Vec::new());
    for number in 0..plan.rounds * FORKS {
        let (small, large) = forks(&farrier, &format!("org-{number}")).await?;
        of_small.push(small);
        of_large.push(large);
    }
    let what = format!(
        "fork of a repository of {many_commits} commits and {} MiB; beside {FEW_COMMITS} commits and {} MiB",
        sizes[1], sizes[0]
    );
    let ratio = ratio(&of_large, &of_small);
    table.beside(&what, spread(&of_large, "ms"), spread(&of_small, "ms"), ratio, Budget::AtMost(1.5));
    farrier.stop()
}

/// Creates an organization and forks both repositories to it. Returns the times of the small and of the large one,
/// milliseconds.
async fn forks(farrier: &Farrier, org: &str) -> Result<(f64, f64)> {
    farrier.admin("/api/v1/orgs", &json!({ "username": org })).await?;
    Ok((fork(farrier, "small", org).await?, fork(farrier, "large", org).await?))
}

async fn fork(farrier: &Farrier, source: &str, org: &str) -> Result<f64> {
    let target = format!("/api/v1/repos/admin/{source}/forks");
    let mut connection = farrier.unix.connect().await?;
    let begun = Instant::now();
    connection.send(&request("POST", &target, &[], &json!({ "organization": org }))).await?;
    connection.expect(202).await?;
    Ok(millis(begun.elapsed()))
}
