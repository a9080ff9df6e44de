//! One new commit that many clients fetch, beside one such fetch. And the cost of each further client beside a bare
//! axum server that returns the same responses.

use std::path::{Path, PathBuf};

use super::{AT_ONCE, each};
use crate::{
    Result,
    child::Watch,
    farrier::Farrier,
    figures::{millis, ratio, spread},
    plan::Plan,
    rows::{
        git::{
            address,
            fixture::{self, BRANCH, git, git_at},
            path,
        },
        quiet, settle,
    },
    servers::{
        own::{Kind, Own},
        replay,
    },
    table::{Budget, Table},
};

/// Clients of one repository. All have the parent of the new commit.
const CLIENTS: usize = 50;
/// Repositories with [`CLIENTS`] clients each. The kernel counts in steps of 10 ms, and the figure is the mean.
const CROWDS: usize = 5;
/// Repositories with one client, for the same reason.
const ALONE: usize = 50;
/// Most rounds. Each pushes to all repositories.
const ROUNDS_MAX: usize = 3;
/// Most processor time of all clients, as a multiple of that of one.
const COST_MAX: f64 = 3.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("new-commit")?;
    let bare = fixture::make(&dir, if plan.quick { 50 } else { 500 }).await?;
    let farrier = Farrier::start(&plan.dir("new-commit-farrier")?).await?;
    let token = farrier.token().await?;
    let host = address(&farrier.tcp)?.to_owned();
    let url = |name: &str| format!("http://admin:{token}@{host}/admin/{name}.git");
    let alone: Vec<String> = (0..ALONE).map(|number| format!("one-{number}")).collect();
    let many: Vec<String> = (0..CROWDS).map(|number| format!("many-{number}")).collect();
    let names: Vec<&str> = alone.iter().chain(&many).map(String::as_str).collect();
    for &name in &names {
        farrier.repository(name).await?;
        git_at(&bare, &["push", "--quiet", &url(name), &format!("{BRANCH}:{BRANCH}")]).await?;
    }
    let crowd = clients(&dir, &bare, "many", CROWDS * CLIENTS).await?;
    let others = clients(&dir, &bare, "others", CROWDS * CLIENTS).await?;
    let single = clients(&dir, &bare, "one", ALONE).await?;
    let watch = farrier.watch();
    let (mut of_many, mut of_one, mut further, mut replayed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut tip = git_at(&bare, &["rev-parse", BRANCH]).await?;
    for round in 0..plan.rounds.min(ROUNDS_MAX) {
        let name = format!("refs/new/{round}");
        tip = fixture::add_commit(&bare, &tip, &name, round).await?;
        for &repository in &names {
            git_at(&bare, &["push", "--quiet", &url(repository), &format!("{name}:{BRANCH}")]).await?;
        }
        settle().await;
        quiet(watch).await?;
        let begun = watch.processor_with_ended()?;
        each(ALONE, 1, |number| fetch(single[number].clone(), url(&alone[number]))).await?;
        quiet(watch).await?;
        let spent = millis(watch.processor_with_ended()?.saturating_sub(begun));
        of_one.push(spent / f64::from(u32::try_from(ALONE)?));
        let (first, each_further) = crowds(watch, &many, &crowd, &url).await?;
        of_many.push(first + each_further * f64::from(u32::try_from(CLIENTS - 1)?));
        further.push(each_further);
        // A new server in each round, because it returns the list of refs of its first request.
        let replay_dir = plan.dir(&format!("new-commit-replay-{round}"))?;
        std::fs::write(replay_dir.join(replay::ORIGIN), &host)?;
        let replay = Own::start(Kind::Replay, &replay_dir).await?;
        let replay_host = address(&replay.tcp)?;
        let replay_url = |name: &str| format!("http://{replay_host}/admin/{name}.git");
        replayed.push(crowds(replay.watch(), &many, &others, &replay_url).await?.1);
        for client in crowd.iter().chain(&others).chain(&single) {
            if git_at(client, &["rev-parse", BRANCH]).await? != tip {
                return Err("a client did not get the new commit".into());
            }
        }
    }
    let what = format!("processor time of fetches of one new commit by {CLIENTS} clients; beside one, from {ALONE}");
    let ratio = ratio(&of_many, &of_one);
    table.beside(&what, spread(&of_many, "ms"), spread(&of_one, "ms"), ratio, Budget::AtMost(COST_MAX));
    let what = "processor time of each further client; beside a bare axum server that returns the same responses";
    let ratio = self::ratio(&further, &replayed);
    table.beside(what, spread(&further, "ms"), spread(&replayed, "ms"), ratio, Budget::None);
    farrier.stop()
}

/// Fetches from each of `repositories` with [`CLIENTS`] clients. Returns the processor time of the first client of a
/// repository and of each further one, milliseconds.
async fn crowds(
    watch: Watch,
    repositories: &[String],
    clients: &[PathBuf],
    url: &impl Fn(&str) -> String,
) -> Result<(f64, f64)> {
    let (mut first, mut further) = (0.0, 0.0);
    let spent = async |clients: &[PathBuf], url: String| {
        let begun = watch.processor_with_ended()?;
        each(clients.len(), AT_ONCE, |number| fetch(clients[number].clone(), url.clone())).await?;
        quiet(watch).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(millis(watch.processor_with_ended()?.saturating_sub(begun)))
    };
    for (repository, clients) in repositories.iter().zip(clients.chunks(CLIENTS)) {
        first += spent(&clients[..1], url(repository)).await?;
        further += spent(&clients[1..], url(repository)).await?;
    }
    let count = f64::from(u32::try_from(repositories.len())?);
    Ok((first / count, further / count / f64::from(u32::try_from(CLIENTS - 1)?)))
}

/// Creates `count` copies of `bare`, which have its branch.
async fn clients(dir: &Path, bare: &Path, name: &str, count: usize) -> Result<Vec<PathBuf>> {
    let mut clients = Vec::new();
    for number in 0..count {
        let client = dir.join(format!("{name}-{number}.git"));
        git(&["clone", "--quiet", "--bare", path(bare)?, path(&client)?]).await?;
        clients.push(client);
    }
    Ok(clients)
}

async fn fetch(client: PathBuf, url: String) -> Result<()> {
    git_at(&client, &["fetch", "--quiet", &url, &format!("+{BRANCH}:{BRANCH}")]).await.map(drop)
}
