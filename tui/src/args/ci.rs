//! `farrier ci …`

use std::ffi::OsString;

use clap::{Args, Subcommand};
use farrier_common::{api::Conclusion, client::RepositoryPath};

#[derive(Debug, Subcommand)]
pub(crate) enum Ci {
    /// Begin a job and print its environment: eval "$(farrier ci begin …)"
    Begin(Begin),
    /// End a job
    End(End),
    /// Run a command as a job and end the job with its exit status
    ///
    /// The command gets a process group of its own. Signals are passed on to all of its processes; those
    /// that have not ended after the grace time are killed. When the command ends by itself, processes
    /// that it left in its process group are ended, too; those with a session of their own go on.
    Exec(Exec),
}

/// What a job is about.
#[derive(Args, Clone, Debug)]
pub(crate) struct Job {
    /// Add the job to this live run instead of a new one [env: `FARRIER_RUN_ID`, in the repository of that run]
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) run: Option<i64>,
    /// Name of the job
    #[arg(long = "job", value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) name: String,
    /// Commit that the run is about
    #[arg(long, value_name = "S", default_value = "", hide_default_value = true)]
    pub(crate) sha: String,
    /// Branch that the run is about
    #[arg(long, value_name = "B", default_value = "", hide_default_value = true)]
    pub(crate) branch: String,
    /// Name of the workflow
    #[arg(long, value_name = "W", default_value = "", hide_default_value = true)]
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
    /// Job
    #[arg(value_name = "JOB_ID", env = "FARRIER_JOB_ID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) job: i64,
    /// How it ended: success, failure, cancelled or skipped
    #[arg(long, value_name = "WORD")]
    pub(crate) conclusion: Conclusion,
}

#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// Repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    #[command(flatten)]
    pub(crate) job: Job,
    /// Seconds between a signal, or the end of the run, and the kill of processes that are left
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u32,
    /// Seconds during which the end of the job is reported again when the daemon does not answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) report_timeout: u32,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
