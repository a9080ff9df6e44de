//! The pushes and jobs of a day, in the order in which they begin. It is the same in every run.

use std::collections::VecDeque;

use crate::rows::git::fixture::Random;

/// The branches of each repository.
pub(super) const BRANCHES: [&str; 3] = ["main", "feature-a", "feature-b"];
/// Agents of each repository that keep a copy of it between jobs.
pub(super) const AGENTS: usize = 2;
/// Fewest and most jobs that follow a push.
const JOBS_OF_PUSH: [usize; 2] = [3, 9];
/// Fewest jobs that wait. Jobs of a push also begin after later pushes, as the later stages of a pipeline do.
const WAITING_MIN: usize = 40;
const SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// What happens next.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// The next commit is pushed.
    Push(Target),
    /// A job begins.
    Job(Job),
}

/// A branch of a repository.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) repository: usize,
    /// Position in [`BRANCHES`].
    pub(super) branch: usize,
}

/// A job of a push.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) target: Target,
    /// Number of the push whose commit is built.
    pub(super) push: usize,
    pub(super) kind: Kind,
    /// The agent, if the job uses an earlier copy.
    pub(super) agent: usize,
}

/// How a job gets its commit.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// `git fetch --depth=1` of the commit by its ID, into an empty repository.
    Commit,
    /// `git clone --depth 1` of the branch.
    Shallow,
    /// `git clone` with the whole history.
    Full,
    /// `git fetch` in a copy from an earlier job.
    Update,
}

/// Returns the steps up to the last of `jobs` jobs.
pub(super) fn sequence(repositories: usize, jobs: usize) -> Vec<Step> {
    let mut random = Random::new(SEED);
    let workflows: Vec<Vec<Kind>> = (0..repositories).map(|_| workflow(&mut random)).collect();
    let (mut steps, mut waiting) = (Vec::new(), VecDeque::new());
    let (mut pushes, mut begun) = (0, 0);
    while begun < jobs {
        if waiting.len() < WAITING_MIN {
            // Some repositories get more pushes than others, and half of all pushes go to the first branch.
            let repository = random.below(repositories).min(random.below(repositories));
            let branch = random.below(BRANCHES.len() + 1).saturating_sub(1);
            let target = Target { repository, branch };
            steps.push(Step::Push(target));
            for (number, kind) in workflows[repository].iter().enumerate() {
                waiting.push_back(Job { target, push: pushes, kind: *kind, agent: number % AGENTS });
            }
            pushes += 1;
        } else if let Some(job) = waiting.remove(random.below(WAITING_MIN)) {
            steps.push(Step::Job(job));
            begun += 1;
        }
    }
    steps
}

/// Returns the jobs that each push to a repository starts.
fn workflow(random: &mut Random) -> Vec<Kind> {
    let [least, most] = JOBS_OF_PUSH;
    let count = least + random.below(most - least + 1);
    (0..count)
        .map(|_| match random.below(20) {
            0..8 => Kind::Commit,
            8..13 => Kind::Shallow,
            13..15 => Kind::Full,
            _ => Kind::Update,
        })
        .collect()
}
