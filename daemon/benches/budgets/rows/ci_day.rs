//! A day of CI: jobs of many repositories clone and fetch with the real git while commits are pushed.
//!
//! Three daemons do the same steps. The first stores answers, the second runs `git upload-pack` for each fetch, and the
//! third gets only the pushes, whose cost is subtracted from both.

mod host;
mod sequence;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use self::{
    host::{Counts, Host},
    sequence::{Step, sequence},
};
use super::git::fixture;
use crate::{
    Result,
    figures::{millis, plain},
    plan::Plan,
    table::{Budget, Table},
};

/// Jobs of one repository in the mean.
const JOBS_OF_REPOSITORY: usize = 25;
/// Jobs that run at the same time.
const AT_ONCE: usize = 4;
/// The first daemon does no further steps after this time, and the others do the same steps.
const DAY_MAX: Duration = Duration::from_secs(70);
/// Makes each fetch run git.
const NOTHING_STORED: &str = "[git]\ncache_max_bytes = 0\n";

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let repositories = (plan.jobs / JOBS_OF_REPOSITORY).max(2);
    let bare = fixture::make(&plan.dir("ci-day")?, if plan.quick { 30 } else { 200 }).await?;
    let mut steps = sequence(repositories, plan.jobs);
    let day = Day { plan, bare: &bare, repositories };
    let (done, ours) = day.run("ours", "", &steps, Some(DAY_MAX)).await?;
    steps.truncate(done);
    let (_, reference) = day.run("reference", NOTHING_STORED, &steps, None).await?;
    let jobs = steps.iter().filter(|step| matches!(step, Step::Job(_))).count();
    steps.retain(|step| matches!(step, Step::Push(_)));
    let (_, pushes) = day.run("pushes", NOTHING_STORED, &steps, None).await?;
    let what = format!("a CI day of {jobs} jobs, {} pushes, {repositories} repositories", steps.len());
    report(table, &what, u32::try_from(jobs)?.max(1), ours, reference, pushes);
    Ok(())
}

fn report(table: &mut Table, what: &str, jobs: u32, ours: Counts, reference: Counts, pushes: Counts) {
    let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let (stored, all) = (ours.hits + ours.joins, ours.hits + ours.joins + ours.misses);
    let share = 100.0 * number(stored) / number(all).max(1.0);
    let text = format!("{} % of {all}: {} hits, {} joins", plain(share), ours.hits, ours.joins);
    table.value(&format!("fetches with a stored answer; {what}"), text);
    let processes = |counts: Counts| number(counts.processes.saturating_sub(pushes.processes));
    let (started, theirs) = (processes(ours), processes(reference));
    table.beside(
        "git processes for them; beside nothing stored",
        plain(started),
        plain(theirs),
        started / theirs,
        Budget::None,
    );
    let each = |counts: Counts| millis(counts.processor.saturating_sub(pushes.processor)) / f64::from(jobs);
    let (spent, theirs) = (each(ours), each(reference));
    let text = |value: f64| format!("{} ms", plain(value));
    let what = "processor time of a job in the daemon and its git processes; beside nothing stored";
    table.beside(what, text(spent), text(theirs), spent / theirs, Budget::None);
}

/// What the days have in common.
struct Day<'a> {
    plan: &'a Plan,
    bare: &'a Path,
    repositories: usize,
}

impl Day<'_> {
    /// Does the steps with a new daemon. Returns how many of them were done within `limit`, and what they cost.
    async fn run(&self, name: &str, toml: &str, steps: &[Step], limit: Option<Duration>) -> Result<(usize, Counts)> {
        let dir = self.plan.dir(&format!("ci-day-{name}"))?;
        let mut host = Host::start(dir, toml, self.bare, self.repositories).await?;
        let before = host.counts().await?;
        let (begun, mut running, mut done) = (Instant::now(), JoinSet::new(), 0);
        for step in steps {
            if limit.is_some_and(|limit| begun.elapsed() > limit) {
                break;
            }
            match step {
                Step::Push(target) => host.push(*target).await?,
                Step::Job(job) => {
                    if running.len() == AT_ONCE
                        && let Some(ended) = running.join_next().await
                    {
                        ended??;
                    }
                    running.spawn(host.job(done, *job));
                }
            }
            done += 1;
        }
        while let Some(ended) = running.join_next().await {
            ended??;
        }
        let after = host.counts().await?;
        host.farrier.stop()?;
        let spent = Counts {
            processor: after.processor.saturating_sub(before.processor),
            processes: after.processes - before.processes,
            hits: after.hits - before.hits,
            joins: after.joins - before.joins,
            misses: after.misses - before.misses,
        };
        Ok((done, spent))
    }
}
