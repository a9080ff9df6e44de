//! Arguments of `farrier run`.

use clap::{Args, Subcommand};
use farrier_common::client::RepositoryPath;

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// List workflow runs, newest first
    List(ListRuns),
    /// Show a workflow run and its jobs
    Show {
        /// ID of the run
        #[arg(value_name = "RUN", env = "FARRIER_RUN_ID", value_parser = clap::value_parser!(i64).range(1..))]
        run: i64,
    },
    /// Cancel a workflow run: end its running jobs and revoke their tokens
    Cancel {
        /// ID of the run
        #[arg(value_name = "RUN", env = "FARRIER_RUN_ID", value_parser = clap::value_parser!(i64).range(1..))]
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
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = crate::args::limit)]
    pub(crate) limit: usize,
}
