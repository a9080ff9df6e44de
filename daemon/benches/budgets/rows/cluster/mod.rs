//! One daemon on PostgreSQL beside one on redb, and several daemons that share a store.

pub(super) mod scene;
mod shares;

use std::time::Instant;

use self::scene::{Cluster, Servers, url};
use super::{
    git::{
        fixture::{self, BRANCH, git, git_at},
        path, timed,
    },
    quiet, settle,
};
use crate::{
    Result,
    farrier::Farrier,
    figures::{millis, ratio, spread},
    plan::Plan,
    table::{Budget, Table},
};

/// A daemon, and the URL of its repository.
struct Contender {
    farrier: Farrier,
    url: String,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let Some(servers) = Servers::start(plan, "cluster", table).await? else { return Ok(()) };
    beside_redb(plan, table, &servers).await?;
    shares::measure(plan, table, &servers).await
}

/// Compares a daemon on redb, one on PostgreSQL with local files, and one on PostgreSQL with a bucket.
async fn beside_redb(plan: &Plan, table: &mut Table, servers: &Servers) -> Result<()> {
    let dir = plan.dir("cluster-git")?;
    let bare = fixture::make(&dir, if plan.quick { 50 } else { 500 }).await?;
    let (local, key) = (plan.dir("cluster-local")?, plan.dir("cluster-local-key")?.join("secrets.key"));
    servers.postgres.create("local")?;
    let store = servers.postgres.toml("local", &key);
    let both = Cluster::new(plan, servers, "both", "")?;
    let daemons = [
        Farrier::start(&plan.dir("cluster-redb")?).await?,
        Farrier::configured(&local, &store).await?,
        both.start(0).await?,
    ];
    let mut contenders = Vec::new();
    for farrier in daemons {
        farrier.repository("small").await?;
        let url = url(&farrier, &farrier.token().await?, "small")?;
        git_at(&bare, &["push", "--quiet", &url, &format!("{BRANCH}:{BRANCH}")]).await?;
        quiet(farrier.watch()).await?;
        contenders.push(Contender { farrier, url });
    }
    settle().await;
    looking(plan, table, &contenders).await?;
    cloning(plan, table, &contenders, &dir).await?;
    pushing(plan, table, &contenders, &dir, path(&bare)?).await
}

/// Adds the rows of both daemons on PostgreSQL beside that on redb.
fn beside(table: &mut Table, what: &str, times: &[Vec<f64>], local: Budget, bucket: Budget) {
    let redb = &times[0];
    for (name, times, budget) in [("local files", &times[1], local), ("a bucket", &times[2], bucket)] {
        let what = format!("{what}, PostgreSQL and {name}; beside redb");
        table.beside(&what, spread(times, "ms"), spread(redb, "ms"), ratio(times, redb), budget);
    }
}

async fn looking(plan: &Plan, table: &mut Table, contenders: &[Contender]) -> Result<()> {
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..plan.rounds * 8 {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(millis(timed(&["ls-remote", &contender.url]).await?));
        }
    }
    beside(table, "git ls-remote", &times, Budget::AtMost(1.1), Budget::AtMost(1.1));
    Ok(())
}

async fn cloning(plan: &Plan, table: &mut Table, contenders: &[Contender], dir: &std::path::Path) -> Result<()> {
    let mut times = vec![Vec::new(); contenders.len()];
    let to = dir.join("clone.git");
    for _ in 0..plan.rounds * 4 {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(millis(timed(&["clone", "--quiet", "--bare", &contender.url, path(&to)?]).await?));
            std::fs::remove_dir_all(&to)?;
        }
    }
    beside(table, "clone, warm", &times, Budget::AtMost(1.1), Budget::AtMost(1.1));
    Ok(())
}

/// Measures pushes of one commit that changes one file.
async fn pushing(
    plan: &Plan,
    table: &mut Table,
    contenders: &[Contender],
    dir: &std::path::Path,
    bare: &str,
) -> Result<()> {
    let (work, file) = (dir.join("work"), format!("file://{bare}"));
    git(&["clone", "--quiet", "--depth", "1", &file, path(&work)?]).await?;
    let targets: Vec<&str> = contenders.iter().map(|contender| &*contender.url).chain([&*file]).collect();
    let mut times = vec![Vec::new(); targets.len()];
    for number in 0..plan.rounds * 8 {
        fixture::commit(&work, number).await?;
        for (target, times) in targets.iter().zip(&mut times) {
            let begun = Instant::now();
            git_at(&work, &["push", "--quiet", target, "HEAD:refs/heads/bench"]).await?;
            times.push(millis(begun.elapsed()));
        }
        // Work after the pushes would slow down the next contender.
        for contender in contenders.iter().filter(|_| number % 4 == 3) {
            quiet(contender.farrier.watch()).await?;
        }
    }
    beside(table, "push of one file", &times, Budget::AtMost(1.15), Budget::None);
    let file = &times[3];
    for (name, times) in ["redb", "PostgreSQL and local files", "PostgreSQL and a bucket"].iter().zip(&times) {
        let what = format!("push of one file, {name}; beside file://");
        let budget = if *name == "redb" { Budget::AtMost(1.3) } else { Budget::None };
        table.beside(&what, spread(times, "ms"), spread(file, "ms"), ratio(times, file), budget);
    }
    Ok(())
}
