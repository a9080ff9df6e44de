//! Words of `farrier task`.

use clap::Subcommand;

use super::Limit;

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Task {
    /// List tasks that run and those that ended lately
    List {
        #[command(flatten)]
        limit: Limit,
    },
    /// Show a task and its phases
    Show {
        /// Number of the task; that of a migration is its repository's
        id: i64,
    },
    /// Wait until a task ends; exits with 1 if it does not end well
    Wait {
        /// Number of the task
        id: i64,
    },
    /// End a task; nothing stays of what it has made so far
    Cancel {
        /// Number of the task
        id: i64,
    },
}
