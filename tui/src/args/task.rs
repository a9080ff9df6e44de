//! Arguments of `farrier task`.

use clap::Subcommand;

use super::Limit;

#[derive(Clone, Copy, Debug, Subcommand)]
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
    /// Cancel a task and remove its partial result
    Cancel {
        /// ID of the task
        id: i64,
    },
}
