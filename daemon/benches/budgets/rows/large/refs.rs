//! A repository with a million refs.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Instant,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::memory;
use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{mib, millis, plain, ratio, spread},
    plan::Plan,
    rows::{
        cluster::scene::{Cluster, Servers, cold_copy, url},
        git::{
            fixture::{self, BRANCH, git, git_at},
            path, post, upload_pack,
        },
        peak, quiet, settle,
    },
    table::{Budget, Table},
};

/// Refs that one request creates. A daemon accepts lists of 8 MiB.
const BATCH: usize = 40_000;
/// Refs with the same prefix.
const TEAM: usize = 1_000;
/// A pack without objects, which accompanies each list.
const EMPTY_PACK: &str = "5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e";
/// Number of `git push` processes; each receives the list of all refs.
const PUSHES: usize = 5;

pub(in crate::rows) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("refs-git")?;
    let bare = fixture::make(&dir, 200).await?;
    let commits = git_at(&bare, &["rev-list", BRANCH]).await?;
    let commits: Vec<&str> = commits.lines().collect();
    let farrier = Farrier::start(&plan.dir("refs-redb")?).await?;
    let target = create(&farrier, &bare, &commits, plan.refs).await?;
    pack_refs(&bare, &commits, plan.refs)?;
    quiet(farrier.watch()).await?;
    let idle = farrier.watch().resident()?;
    let (done, highest) = peak(farrier.watch(), same_daemon(plan, table, &farrier, &bare, &target)).await?;
    pushing(plan, table, &done);
    memory(table, &format!("{} refs, redb: these rows", plan.refs), mib(highest.saturating_sub(idle)));
    drop(farrier);
    several(plan, table, &bare, &commits).await
}

/// Name of the ref with this number.
fn name(number: usize) -> String {
    format!("refs/heads/team-{:05}/branch-{number:07}", number / TEAM)
}

/// Pushes the commits, creates the refs, and returns the URL of the repository.
async fn create(farrier: &Farrier, bare: &Path, commits: &[&str], count: usize) -> Result<String> {
    farrier.repository("refs").await?;
    let token = farrier.token().await?;
    let target = url(farrier, &token, "refs")?;
    git_at(bare, &["push", "--quiet", &target, &format!("{BRANCH}:{BRANCH}")]).await?;
    let credentials = format!("authorization: Basic {}", BASE64.encode(format!("admin:{token}")));
    let headers = ["content-type: application/x-git-receive-pack-request", &credentials];
    let mut connection = farrier.tcp.connect().await?;
    for first in (0..count).step_by(BATCH) {
        let mut body = String::new();
        for number in first..count.min(first + BATCH) {
            let (commit, name) = (commits[number % commits.len()], name(number));
            let options = if number == first { "\0report-status" } else { "" };
            let line = format!("{} {commit} {name}{options}", "0".repeat(40));
            write!(body, "{:04x}{line}", line.len() + 4)?;
        }
        body.push_str("0000");
        let body = [body.into_bytes(), hex::decode(EMPTY_PACK)?].concat();
        connection.send(&head("POST", "/admin/refs.git/git-receive-pack", body.len() as u64, &headers)).await?;
        connection.send(&body).await?;
        connection.expect(200).await?;
    }
    // The answers to the lists were discarded.
    let last = name(count - 1);
    if git(&["ls-remote", &target, &last]).await?.is_empty() {
        return Err(format!("the ref {last} was not created").into());
    }
    Ok(target)
}

/// Writes the same refs into the bare repository.
fn pack_refs(bare: &Path, commits: &[&str], count: usize) -> Result<()> {
    let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    let tip = commits.first().ok_or("no commit")?;
    writeln!(text, "{tip} {BRANCH}")?;
    for number in 0..count {
        writeln!(text, "{} {}", commits[number % commits.len()], name(number))?;
    }
    Ok(std::fs::write(bare.join("packed-refs"), text)?)
}

/// Durations of pushes, ms.
#[derive(Default)]
struct Times {
    ours: Vec<f64>,
    file: Vec<f64>,
}

async fn same_daemon(plan: &Plan, table: &mut Table, farrier: &Farrier, bare: &Path, target: &str) -> Result<Times> {
    let mut line = String::new();
    for part in ["command=ls-refs\n", "object-format=sha1\n"] {
        write!(line, "{:04x}{part}", part.len() + 4)?;
    }
    let prefix = format!("ref-prefix refs/heads/team-{:05}/\n", plan.refs / TEAM / 2);
    write!(line, "0001{:04x}{prefix}0000", prefix.len() + 4)?;
    let request = post("/admin/refs.git/git-upload-pack", line.as_bytes());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut connection = farrier.tcp.connect().await?;
    for _ in 0..plan.rounds * 4 {
        let begun = Instant::now();
        connection.send(&request).await?;
        connection.expect(200).await?;
        ours.push(millis(begun.elapsed()));
        let begun = Instant::now();
        upload_pack(bare.to_owned(), line.clone().into_bytes()).await?;
        theirs.push(millis(begun.elapsed()));
    }
    let what = format!("refs with a prefix ({TEAM} of {}); beside git upload-pack alone", plan.refs);
    table.beside(&what, spread(&ours, "ms"), spread(&theirs, "ms"), ratio(&ours, &theirs), Budget::None);

    let (work, file) = (plan.dir("refs-work")?, format!("file://{}", path(bare)?));
    let work = clone(&work, &file).await?;
    let mut times = Times::default();
    for number in 0..PUSHES {
        fixture::commit(&work, number).await?;
        settle().await;
        times.file.push(push(&work, &file).await?);
        settle().await;
        times.ours.push(push(&work, target).await?);
    }
    Ok(times)
}

fn pushing(plan: &Plan, table: &mut Table, times: &Times) {
    let what = format!("push of one file, {} refs, redb; beside file://", plan.refs);
    let beside = ratio(&times.ours, &times.file);
    table.beside(&what, spread(&times.ours, "ms"), spread(&times.file, "ms"), beside, Budget::AtMost(1.3));
}

/// Clones only the main branch.
async fn clone(dir: &Path, from: &str) -> Result<PathBuf> {
    let work = dir.join("work");
    git(&["clone", "--quiet", "--depth", "1", "--single-branch", "--branch", "main", from, path(&work)?]).await?;
    Ok(work)
}

async fn push(work: &Path, target: &str) -> Result<f64> {
    let begun = Instant::now();
    git_at(work, &["push", "--quiet", target, "HEAD:refs/heads/bench"]).await?;
    Ok(millis(begun.elapsed()))
}

/// The same with two daemons on PostgreSQL and a bucket.
async fn several(plan: &Plan, table: &mut Table, bare: &Path, commits: &[&str]) -> Result<()> {
    let Some(servers) = Servers::start(plan, "many refs", table).await? else { return Ok(()) };
    let cluster = Cluster::new(plan, &servers, "refs", "")?;
    let farrier = cluster.start(0).await?;
    let target = create(&farrier, bare, commits, plan.refs).await?;
    let work = clone(&plan.dir("refs-cluster-work")?, &format!("file://{}", path(bare)?)).await?;
    quiet(farrier.watch()).await?;
    let idle = farrier.watch().resident()?;
    let (times, highest) = peak(farrier.watch(), async {
        let mut times = Vec::new();
        for number in 0..PUSHES {
            fixture::commit(&work, PUSHES + number).await?;
            settle().await;
            times.push(push(&work, &target).await?);
        }
        Ok(times)
    })
    .await?;
    table.value(&format!("push of one file, {} refs, PostgreSQL and a bucket", plan.refs), spread(&times, "ms"));
    memory(table, "these pushes", mib(highest.saturating_sub(idle)));
    let copy = cold_copy(&cluster, 1, "refs", commits.first().ok_or("no commit")?).await?;
    let what = format!("cold copy of {} refs until a commit is served", plan.refs);
    table.value(&what, format!("{} ms", plain(millis(copy.elapsed))));
    memory(table, "the cold copy", mib(copy.grown));
    Ok(())
}
