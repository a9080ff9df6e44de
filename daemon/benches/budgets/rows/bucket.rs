//! A large push, and a cold copy of a large repository.

use std::{path::Path, time::Instant};

use super::{
    cluster::scene::{Cluster, Servers, cold_copy, pack_of, url},
    git::{
        fixture::{self, BRANCH, git, git_at},
        path,
    },
    peak, quiet, settle,
};
use crate::{
    Result,
    farrier::Farrier,
    figures::{megabytes_per_second, mib, plain, ratio, spread},
    plan::Plan,
    table::{Budget, Table},
};

/// Limit of the daemon's additional resident memory during a large push, MiB.
const PUSH_MAX: f64 = 128.0;
/// The same while it copies a repository.
const COPY_MAX: f64 = 64.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let Some(servers) = Servers::start(plan, "bucket", table).await? else { return Ok(()) };
    pushes(plan, table, &servers).await?;
    cold(plan, table, &servers).await
}

/// A daemon, and its memory before and during a push.
struct Pushed<'a> {
    farrier: &'a Farrier,
    token: String,
    times: Vec<f64>,
    grown: f64,
}

impl<'a> Pushed<'a> {
    async fn new(farrier: &'a Farrier) -> Result<Self> {
        Ok(Self { farrier, token: farrier.token().await?, times: Vec::new(), grown: 0.0 })
    }

    /// Pushes into a new repository.
    async fn push(&mut self, bare: &Path, name: &str) -> Result<()> {
        self.farrier.repository(name).await?;
        let url = url(self.farrier, &self.token, name)?;
        settle().await;
        let (watch, idle) = (self.farrier.watch(), self.farrier.watch().resident()?);
        let begun = Instant::now();
        let spec = format!("{BRANCH}:{BRANCH}");
        let (_, peak) = peak(watch, git_at(bare, &["push", "--quiet", &url, &spec])).await?;
        self.times.push(begun.elapsed().as_secs_f64());
        self.grown = self.grown.max(mib(peak.saturating_sub(idle)));
        // Work after the push must not slow down the next contender.
        quiet(watch).await
    }
}

async fn pushes(plan: &Plan, table: &mut Table, servers: &Servers) -> Result<()> {
    let dir = plan.dir("bucket-git")?;
    let bare = fixture::make_large(&dir, plan.push_mib).await?;
    let pack = pack_of(&bare)?;
    let cluster = Cluster::new(plan, servers, "pushes", "")?;
    let (local, remote) = (Farrier::start(&plan.dir("bucket-redb")?).await?, cluster.start(0).await?);
    let (mut local, mut remote) = (Pushed::new(&local).await?, Pushed::new(&remote).await?);
    let (mut file, mut put) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds.min(3) {
        let copy = dir.join(format!("copy-{round}.git"));
        git(&["init", "--quiet", "--bare", path(&copy)?]).await?;
        settle().await;
        let begun = Instant::now();
        let target = format!("file://{}", path(&copy)?);
        git_at(&bare, &["push", "--quiet", &target, &format!("{BRANCH}:{BRANCH}")]).await?;
        file.push(begun.elapsed().as_secs_f64());
        std::fs::remove_dir_all(&copy)?;
        local.push(&bare, &format!("push-{round}")).await?;
        settle().await;
        let begun = Instant::now();
        servers.bucket.put(&format!("plain-{round}"), &pack).await?;
        put.push(begun.elapsed().as_secs_f64());
        remote.push(&bare, &format!("push-{round}")).await?;
    }
    let (what, budget) = (format!("push of {} MiB", plan.push_mib), Budget::AtMost(1.0));
    let row = |name: &str| format!("{what}, {name}");
    let text = |times: &[f64]| spread(times, "s");
    let beside = ratio(&local.times, &file);
    table.beside(&row("redb and local files; beside file://"), text(&local.times), text(&file), beside, budget);
    let beside = ratio(&remote.times, &put);
    let what = row("PostgreSQL and a bucket; beside one PUT of the pack");
    table.beside(&what, text(&remote.times), text(&put), beside, Budget::AtMost(1.5));
    let beside = ratio(&remote.times, &file);
    table.beside(
        &row("PostgreSQL and a bucket; beside file://"),
        text(&remote.times),
        text(&file),
        beside,
        Budget::None,
    );
    for (name, pushed) in [("local files", &local), ("a bucket", &remote)] {
        let what = row(&format!("{name}: more memory than idle"));
        table.alone(&what, format!("{} MiB", plain(pushed.grown)), "≤ 128 MiB", pushed.grown <= PUSH_MAX);
    }
    Ok(())
}

/// Measures how long a daemon without data takes to serve a repository.
async fn cold(plan: &Plan, table: &mut Table, servers: &Servers) -> Result<()> {
    let dir = plan.dir("cold-git")?;
    let bare = fixture::make_large(&dir, plan.cold_mib).await?;
    let tip = fixture::add_commit(&bare, "refs/heads/main", "refs/heads/small", 0).await?;
    let cluster = Cluster::new(plan, servers, "cold", "")?;
    let first = cluster.start(0).await?;
    first.repository("large").await?;
    let url = url(&first, &first.token().await?, "large")?;
    git_at(&bare, &["push", "--quiet", &url, "refs/heads/*:refs/heads/*"]).await?;
    quiet(first.watch()).await?;
    let (mut copied, mut downloaded, mut grown, mut bytes) = (Vec::new(), Vec::new(), 0.0_f64, 0);
    for round in 0..plan.rounds.min(3) {
        let into = plan.dir(&format!("cold-download-{round}"))?;
        settle().await;
        let begun = Instant::now();
        bytes = servers.bucket.download("cold", &into).await?;
        downloaded.push(megabytes_per_second(bytes, begun.elapsed()));
        std::fs::remove_dir_all(&into)?;
        settle().await;
        let copy = cold_copy(&cluster, 1, "large", &tip).await?;
        copied.push(megabytes_per_second(bytes, copy.elapsed));
        grown = grown.max(mib(copy.grown));
        copy.farrier.stop()?;
    }
    let what =
        format!("cold copy of {} MiB until a commit is served; beside a download of its objects", plain(mib(bytes)));
    // Rates, so the ratio of the times is the inverse one.
    let times = ratio(&downloaded, &copied);
    table.beside(&what, spread(&copied, "MB/s"), spread(&downloaded, "MB/s"), times, Budget::AtMost(1.5));
    let text = format!("{} MiB", plain(grown));
    table.alone("the cold copy: more memory than idle", text, "≤ 64 MiB", grown <= COPY_MAX);
    Ok(())
}
