//! A hundred equal clones from stored answers, beside as many `git upload-pack`: processor time and git processes. And
//! fetches of one new commit by many clients.

mod new_commit;

use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use super::{
    git::{
        fetch_request,
        fixture::{self, BRANCH, git, git_at},
        path, post, upload_pack,
    },
    settle,
};
use crate::{
    Result,
    child::Watch,
    client::head,
    farrier::Farrier,
    figures::{plain, ratio, spread},
    plan::Plan,
    table::{Budget, Table},
};

/// The metric with the number of git processes that the daemon has started.
pub(super) const PROCESSES: &str = "farrier_git_processes_started_total";

/// Equal clones, and how many of them run at the same time.
const CLONES: usize = 100;
const AT_ONCE: usize = 4;
/// Processes of the reference. Its processor time is multiplied, because each costs the same.
const REFERENCE: usize = 10;
/// Most rounds. One takes a minute without a bitmap.
const ROUNDS_MAX: usize = 2;
/// Most git processes for all clones.
const PROCESSES_MAX: u64 = 2;
/// Size of the read buffer, bytes.
const ROOM: usize = 256 << 10;

/// A kind of clone: name, further arguments, whether the repository has a bitmap, and how many times less processor
/// time the clones must take.
type Case = (&'static str, &'static [&'static str], bool, f64);

const CASES: [Case; 3] = [
    ("full, with a bitmap", &[], true, 6.0),
    ("full, without a bitmap", &[], false, 25.0),
    ("--depth 1", &["deepen 1"], true, 25.0),
];

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    clones(plan, table).await?;
    new_commit::measure(plan, table).await
}

async fn clones(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("fetch-cache")?;
    let bare = fixture::make_with_many_objects(&dir, if plan.quick { 200 } else { 38_000 }).await?;
    let tip = git_at(&bare, &["rev-parse", BRANCH]).await?;
    let farrier_dir = plan.dir("fetch-cache-farrier")?;
    let farrier = Farrier::start(&farrier_dir).await?;
    for (number, (name, more, has_bitmap, budget)) in CASES.into_iter().enumerate() {
        let (mut ours, mut direct, mut processes) = (Vec::new(), Vec::new(), 0);
        let request = fetch_request(&tip, more);
        for round in 0..plan.rounds.min(ROUNDS_MAX) {
            // A repository of its own, so that nothing is stored yet.
            let repository = format!("big-{number}-{round}");
            let copy = copy((&farrier, &farrier_dir), &bare, &repository, has_bitmap).await?;
            settle().await;
            direct.push(reference(&copy, &request).await?);
            let before = metric(&farrier, PROCESSES).await?;
            let watch = farrier.watch();
            let begun = watch.processor_with_ended()?;
            let target = format!("/admin/{repository}.git/git-upload-pack");
            let post = post(&target, &request);
            clone_all(&farrier, post).await?;
            ours.push(watch.processor_with_ended()?.saturating_sub(begun).as_secs_f64());
            processes = processes.max(metric(&farrier, PROCESSES).await? - before);
        }
        let what = format!(
            "processor time of {CLONES} equal clones, {name}; beside {CLONES} × git upload-pack, from {REFERENCE}"
        );
        let less = ratio(&direct, &ours);
        table.beside(&what, spread(&ours, "s"), spread(&direct, "s"), less, Budget::AtLeast(budget));
        let what = format!("git processes for {CLONES} equal clones, {name}");
        table.alone(&what, plain(f64::from(u32::try_from(processes)?)), "≤ 2", processes <= PROCESSES_MAX);
    }
    Ok(())
}

/// Creates a repository whose directory has the same objects as `bare`. Returns the directory.
async fn copy((farrier, dir): (&Farrier, &Path), bare: &Path, name: &str, has_bitmap: bool) -> Result<PathBuf> {
    let created = farrier.admin("/api/v1/user/repos", &serde_json::json!({ "name": name })).await?;
    let id = created["id"].as_u64().ok_or("no id")?;
    let directory = dir.join(format!("data/repositories/{id}.git"));
    let spec = format!("{BRANCH}:{BRANCH}");
    git_at(bare, &["push", "--quiet", path(&directory)?, &spec]).await?;
    let bitmap = if has_bitmap { "--write-bitmap-index" } else { "--no-write-bitmap-index" };
    git_at(&directory, &["repack", "-a", "-d", "-q", bitmap]).await?;
    git(&["-C", path(&directory)?, "pack-refs", "--all"]).await?;
    Ok(directory)
}

/// Returns the processor seconds of as many processes as there are clones, from some of them.
async fn reference(bare: &Path, request: &[u8]) -> Result<f64> {
    let begun = Watch::processor_of_own_children()?;
    each(REFERENCE, AT_ONCE, |_| {
        let (bare, request) = (bare.to_owned(), request.to_owned());
        async move { upload_pack(bare, request).await }
    })
    .await?;
    let seconds = Watch::processor_of_own_children()?.saturating_sub(begun).as_secs_f64();
    Ok(seconds * f64::from(u32::try_from(CLONES / REFERENCE)?))
}

async fn clone_all(farrier: &Farrier, request: Vec<u8>) -> Result<()> {
    each(CLONES, AT_ONCE, |_| {
        let (over, request) = (farrier.tcp.clone(), request.clone());
        async move {
            let mut connection = over.connect().await?;
            connection.send(&request).await?;
            connection.discard_body(&mut vec![0; ROOM]).await.map(drop)
        }
    })
    .await
}

/// Does `work` for the numbers below `count`, `at_once` at a time.
async fn each<Fut: Future<Output = Result<()>> + Send + 'static>(
    count: usize,
    at_once: usize,
    work: impl Fn(usize) -> Fut,
) -> Result<()> {
    let mut running = JoinSet::new();
    for number in 0..count {
        if running.len() == at_once
            && let Some(ended) = running.join_next().await
        {
            ended??;
        }
        running.spawn(work(number));
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// Returns the value of the metric `name`.
pub(super) async fn metric(farrier: &Farrier, name: &str) -> Result<u64> {
    let mut connection = farrier.unix.connect().await?;
    connection.send(&head("GET", "/metrics", 0, &[])).await?;
    let text = String::from_utf8(connection.expect(200).await?)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(value.ok_or("no metric")?.parse()?)
}
