//! Arguments of `farrier task`.

use clap::Subcommand;

use super::Limit;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Task {
    /// List running and recently finished tasks
    List {
        #[command(flatten)]
        limit: Limit,
    },
    /// Show a task and its phases
    Show {
        /// ID of the task; the task of an import has the ID of its repository
        id: i64,
    },
    /// Wait until a task ends; exits with 1 unless it succeeds
    Wait {
        /// ID of the task
        id: i64,
    },
    /// Run a scheduled task of the daemon now; requires an administrator
    Run {
        #[arg(help = "sweep, prune_repositories, delete_expired_tokens or collect_lfs_objects")]
        name: String,
        #[arg(long, help = "Only count what the task would remove, and change nothing; for collect_lfs_objects")]
        dry_run: bool,
    },
    /// Cancel a task and remove its partial result
    Cancel {
        /// ID of the task
        id: i64,
    },
}
