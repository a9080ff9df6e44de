//! A daemon with the repositories of the day, and the copies of its agents.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Mutex;

use super::sequence::{AGENTS, BRANCHES, Job, Kind, Target};
use crate::{
    Result,
    farrier::Farrier,
    rows::{
        fetch_cache::{PROCESSES, metric},
        git::{
            address,
            fixture::{self, BRANCH, git, git_at},
            path,
        },
        quiet, settle,
    },
};

/// A daemon and its clients.
pub(super) struct Host {
    pub(super) farrier: Farrier,
    /// The URL of the repositories, with credentials, without the number. Used only on the loopback interface.
    base: String,
    dir: PathBuf,
    /// The repository from which all commits are pushed.
    work: PathBuf,
    /// The newest commit of each branch of each repository.
    tips: Vec<[String; BRANCHES.len()]>,
    /// The commits of all pushes so far.
    pushed: Vec<String>,
    /// One job at a time uses the copy of an agent.
    copies: Vec<Vec<Arc<Mutex<PathBuf>>>>,
}

/// Counters of a daemon.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) processor: Duration,
    pub(super) processes: u64,
    pub(super) hits: u64,
    pub(super) joins: u64,
    pub(super) misses: u64,
}

impl Host {
    /// Starts a daemon in `dir` with `repositories` copies of `bare`.
    pub(super) async fn start(dir: PathBuf, toml: &str, bare: &Path, repositories: usize) -> Result<Self> {
        let farrier = Farrier::configured(&dir, toml).await?;
        let base = format!("http://admin:{}@{}/admin/repo-", farrier.token().await?, address(&farrier.tcp)?);
        let work = dir.join("work.git");
        git(&["clone", "--quiet", "--bare", path(bare)?, path(&work)?]).await?;
        let tip = git_at(bare, &["rev-parse", BRANCH]).await?;
        let specs = BRANCHES.map(|name| format!("{BRANCH}:refs/heads/{name}"));
        let mut copies = Vec::new();
        for number in 0..repositories {
            farrier.repository(&format!("repo-{number}")).await?;
            let url = format!("{base}{number}.git");
            git_at(&work, &["push", "--quiet", &url, &specs[0], &specs[1], &specs[2]]).await?;
            let mut of_repository = Vec::new();
            for agent in 0..AGENTS {
                let copy = dir.join(format!("copy-{number}-{agent}"));
                git(&["clone", "--quiet", "--no-checkout", path(bare)?, path(&copy)?]).await?;
                git_at(&copy, &["remote", "set-url", "origin", &url]).await?;
                of_repository.push(Arc::new(Mutex::new(copy)));
            }
            copies.push(of_repository);
        }
        let tips = vec![std::array::from_fn(|_| tip.clone()); repositories];
        settle().await;
        quiet(farrier.watch()).await?;
        Ok(Self { farrier, base, dir, work, tips, pushed: Vec::new(), copies })
    }

    /// Pushes the next commit to `target`.
    pub(super) async fn push(&mut self, target: Target) -> Result<()> {
        let number = self.pushed.len();
        let name = format!("refs/pushed/{number}");
        let tip = &mut self.tips[target.repository][target.branch];
        *tip = fixture::add_commit(&self.work, tip, &name, number).await?;
        self.pushed.push(tip.clone());
        let spec = format!("{name}:refs/heads/{}", BRANCHES[target.branch]);
        git_at(&self.work, &["push", "--quiet", &self.url(target), &spec]).await.map(drop)
    }

    /// Returns the work of `job`, which has the number `number`.
    pub(super) fn job(&self, number: usize, job: Job) -> impl Future<Output = Result<()>> + Send + use<> {
        let Target { repository, branch } = job.target;
        let (url, branch) = (self.url(job.target), BRANCHES[branch]);
        let directory = self.dir.join(format!("job-{number}"));
        let commit = self.pushed[job.push].clone();
        let copy = self.copies[repository][job.agent].clone();
        async move {
            match job.kind {
                Kind::Commit => {
                    git(&["init", "--quiet", path(&directory)?]).await?;
                    let spec = format!("+{commit}:refs/remotes/origin/{branch}");
                    git_at(&directory, &["fetch", "--quiet", "--no-tags", "--depth=1", &url, &spec]).await?;
                }
                Kind::Shallow => {
                    let depth = ["clone", "--quiet", "--no-checkout", "--depth", "1", "--branch", branch];
                    git(&[&depth[..], &[url.as_str(), path(&directory)?][..]].concat()).await?;
                }
                Kind::Full => {
                    git(&["clone", "--quiet", "--no-checkout", &url, path(&directory)?]).await?;
                }
                Kind::Update => {
                    let copy = copy.lock().await;
                    git_at(&copy, &["fetch", "--quiet", "origin"]).await?;
                    git_at(&copy, &["cat-file", "-e", &commit]).await?;
                    return Ok(());
                }
            }
            Ok(std::fs::remove_dir_all(&directory)?)
        }
    }

    /// Returns the counters, after the daemon has done its work.
    pub(super) async fn counts(&self) -> Result<Counts> {
        quiet(self.farrier.watch()).await?;
        let get = async |name: &str| metric(&self.farrier, name).await;
        Ok(Counts {
            processor: self.farrier.watch().processor_with_ended()?,
            processes: get(PROCESSES).await?,
            hits: get("farrier_fetch_cache_hits_total").await?,
            joins: get("farrier_fetch_cache_joins_total").await?,
            misses: get("farrier_fetch_cache_misses_total").await?,
        })
    }

    fn url(&self, target: Target) -> String {
        format!("{}{}.git", self.base, target.repository)
    }
}
