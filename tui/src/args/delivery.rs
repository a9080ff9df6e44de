//! Words of `farrier delivery`.

use clap::{Args, Subcommand};
use farrier_common::client::RepositoryPath;

#[derive(Debug, Subcommand)]
pub(crate) enum Delivery {
    /// List what hooks were sent, newest first
    List(ListDeliveries),
    /// Show a delivery and its attempts
    Show {
        /// Identifier or number
        delivery: String,
        /// Show headers and body of the last request, as they were sent
        #[arg(long)]
        request: bool,
        /// Show headers and body of the last answer
        #[arg(long)]
        response: bool,
        /// Write only the body of the last request, byte for byte
        #[arg(long, conflicts_with_all = ["request", "response"])]
        body: bool,
    },
    /// Send deliveries again, under the same identifiers
    Redeliver {
        /// Identifiers or numbers
        #[arg(value_name = "DELIVERY", required_unless_present = "Filter", conflicts_with = "Filter")]
        deliveries: Vec<String>,
        #[command(flatten)]
        filter: Filter,
        /// Do not ask: all that pass go out again
        #[arg(long)]
        yes: bool,
    },
    /// Send again all that a hook has missed
    Recover {
        /// Number of the hook
        hook: u64,
        /// Only what is this new: 2030-01-02T03:04:05Z, 2030-01-02 or 1h
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Which deliveries.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only those that failed for good
    #[arg(long, conflicts_with = "status")]
    pub(crate) failed: bool,
    /// Only those in this state
    #[arg(long, value_name = "STATE", value_parser = ["success", "failure", "pending", "cancelled"])]
    pub(crate) status: Option<String>,
    /// Only those of this hook
    #[arg(long, value_name = "N")]
    pub(crate) hook: Option<u64>,
    /// Only those about this repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Only those of this event
    #[arg(long, value_name = "NAME")]
    pub(crate) event: Option<String>,
    /// Only what is this new: 2030-01-02T03:04:05Z, 2030-01-02 or 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ListDeliveries {
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
}
