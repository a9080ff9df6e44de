//! Arguments of `farrier ci` and `farrier run`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use farrier_common::{api::Conclusion, client::RepositoryPath};

/// The results that a job can have.
const CONCLUSIONS: [&str; 4] = ["success", "failure", "cancelled", "skipped"];

#[derive(Debug, Subcommand)]
pub(crate) enum Ci {
    /// Begin a job and print its environment for the shell: eval "$(farrier ci begin …)"
    Begin(Begin),
    /// End a job
    End(End),
    /// Run a command as a job and end the job with the result of the command
    ///
    /// The exit code is that of the command. The command runs in its own process group. Signals are forwarded to all
    /// its processes; those still running after the grace period are killed. Processes that the command leaves behind
    /// in its process group are stopped, too; processes in their own session keep running.
    ///
    /// The command finds the same daemon: `FARRIER_URL` or `FARRIER_SOCKET`, `FARRIER_CA`, `FARRIER_RUN_ID` and
    /// `FARRIER_JOB_ID` are set for it, besides the variables of GitHub Actions. `FARRIER_TOKEN` is inherited, unless
    /// a context is selected; a token from --token-file is not passed on, because the job has a token of its own. Git
    /// gets the setting transfer.bundleURI, in addition to the settings that `GIT_CONFIG_COUNT` counts.
    Exec(Exec),
}

/// Description of a job.
#[derive(Args, Clone, Debug)]
pub(crate) struct Job {
    #[arg(
        long,
        value_name = "ID",
        value_parser = clap::value_parser!(i64).range(1..),
        help = "Add the job to this run in progress instead of a new run [env: FARRIER_RUN_ID, in the repository of \
            that run]"
    )]
    pub(crate) run: Option<i64>,
    /// Name of the job
    #[arg(long = "job", value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) name: String,
    /// Commit of the run
    #[arg(long, value_name = "SHA", default_value = "", hide_default_value = true)]
    pub(crate) sha: String,
    /// Branch of the run
    #[arg(long, value_name = "BRANCH", default_value = "", hide_default_value = true)]
    pub(crate) branch: String,
    /// Name of the workflow
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) workflow: String,
}

#[derive(Args, Debug)]
pub(crate) struct Begin {
    /// Repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    #[command(flatten)]
    pub(crate) job: Job,
}

#[derive(Args, Debug)]
pub(crate) struct End {
    /// ID of the job
    #[arg(value_name = "JOB_ID", env = "FARRIER_JOB_ID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) job: i64,
    /// Result of the job
    #[arg(long, value_name = "RESULT", value_parser = super::values::one_of::<Conclusion>(CONCLUSIONS))]
    pub(crate) conclusion: Conclusion,
}

#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// Repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    #[command(flatten)]
    pub(crate) job: Job,
    /// Seconds between a signal, or the end of the run, and killing the remaining processes
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u32,
    /// Seconds to retry reporting the end of the job while the daemon does not answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) report_timeout: u32,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// List workflow runs, newest first
    List(ListRuns),
    /// Show a workflow run and its jobs
    Show {
        /// ID of the run
        #[arg(value_name = "ID", env = "FARRIER_RUN_ID", value_parser = clap::value_parser!(i64).range(1..))]
        run: i64,
    },
    /// Cancel a workflow run: end its running jobs and revoke their tokens
    Cancel {
        /// ID of the run
        #[arg(value_name = "ID", env = "FARRIER_RUN_ID", value_parser = clap::value_parser!(i64).range(1..))]
        run: i64,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ListRuns {
    /// Only runs of this repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS", value_parser = ["in_progress", "completed"])]
    pub(crate) status: Option<String>,
    /// Only completed runs with this result
    #[arg(long, value_name = "RESULT", value_parser = CONCLUSIONS)]
    pub(crate) conclusion: Option<String>,
    /// Only runs with all these words, in any case, in the ID, repository, workflow, branch or commit
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = crate::args::limit)]
    pub(crate) limit: usize,
}
