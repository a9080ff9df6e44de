//! Many pushes to one repository, one after another: the last ones beside the first ones.

use std::{path::Path, time::Instant};

use super::memory;
use crate::{
    Result,
    farrier::Farrier,
    figures::{mib, millis, ratio, spread},
    plan::Plan,
    rows::{
        cluster::scene::{Cluster, Servers, url},
        git::fixture::{self, BRANCH, git_at},
        git::{path, timed},
        quiet,
    },
    table::{Budget, Table},
};

/// Number of the first and the last pushes that are compared.
const COMPARED: usize = 50;
/// Pushes before them, after which files and connections are open.
const BEFORE: usize = 5;
/// Interval at which the memory is read, in pushes.
const SAMPLE: usize = 20;

/// A daemon that gets the pushes.
struct Target<'a> {
    name: &'static str,
    farrier: &'a Farrier,
    url: String,
    /// Duration of each push, ms.
    times: Vec<f64>,
    idle: u64,
    highest: u64,
}

impl<'a> Target<'a> {
    async fn new(name: &'static str, farrier: &'a Farrier) -> Result<Self> {
        farrier.repository("pushes").await?;
        let url = url(farrier, &farrier.token().await?, "pushes")?;
        let idle = farrier.watch().resident()?;
        Ok(Self { name, farrier, url, times: Vec::new(), idle, highest: idle })
    }
}

pub(in crate::rows) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("pushes-git")?;
    let bare = fixture::make(&dir, plan.pushes).await?;
    let commits = git_at(&bare, &["rev-list", "--reverse", BRANCH]).await?;
    let commits: Vec<&str> = commits.lines().collect();
    let local = plan.dir("pushes-redb")?;
    let redb = Farrier::start(&local).await?;
    let servers = Servers::start(plan, "many pushes", table).await?;
    let shared = match &servers {
        Some(servers) => Some(Cluster::new(plan, servers, "many", "")?.start(0).await?),
        None => None,
    };
    let mut targets = vec![Target::new("redb", &redb).await?];
    if let Some(farrier) = &shared {
        targets.push(Target::new("PostgreSQL and a bucket", farrier).await?);
    }
    for (number, commit) in commits.iter().enumerate() {
        let spec = format!("{commit}:{BRANCH}");
        for target in &mut targets {
            let begun = Instant::now();
            git_at(&bare, &["push", "--quiet", &target.url, &spec]).await?;
            target.times.push(millis(begun.elapsed()));
            if number % SAMPLE == 0 {
                target.highest = target.highest.max(target.farrier.watch().resident()?);
            }
        }
    }
    for target in &targets {
        let (first, last) = compared(&target.times);
        let what = format!("push {} of one repository, {}; beside the first ones", plan.pushes, target.name);
        table.beside(&what, spread(last, "ms"), spread(first, "ms"), ratio(last, first), Budget::AtMost(1.25));
        memory(table, "these pushes", mib(target.highest - target.idle));
        quiet(target.farrier.watch()).await?;
        let to = dir.join("clone.git");
        let cloned = timed(&["clone", "--quiet", "--bare", &target.url, path(&to)?]).await?;
        std::fs::remove_dir_all(&to)?;
        table.value("a clone of it afterwards", spread(&[millis(cloned)], "ms"));
    }
    table.value("packs in the repository afterwards, redb", packs(&local)?.to_string());
    Ok(())
}

/// Returns the first and the last pushes.
fn compared(times: &[f64]) -> (&[f64], &[f64]) {
    let count = COMPARED.min(times.len().saturating_sub(BEFORE) / 2);
    (&times[BEFORE..BEFORE + count], &times[times.len() - count..])
}

/// Counts the packs below a directory.
fn packs(dir: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            count += packs(&path)?;
        } else if path.extension().is_some_and(|end| end == "pack") {
            count += 1;
        }
    }
    Ok(count)
}
