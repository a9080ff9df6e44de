//! Arguments of `farrier delivery`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint, builder::NonEmptyStringValueParser};
use farrier_common::client::RepositoryPath;

#[derive(Debug, Subcommand)]
pub(crate) enum Delivery {
    /// List deliveries, newest first
    List(ListDeliveries),
    /// Group deliveries by hook, by the reason of their result, or by host
    ///
    /// Groups the newest 20,000 deliveries. The groups with the most failed deliveries come first.
    Groups {
        /// What the deliveries of a group have in common
        #[arg(long, value_name = "WHAT", default_value = "hook", value_parser = ["hook", "reason", "host"])]
        by: String,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show a delivery and its attempts
    Show {
        /// UUID or ID of the delivery
        delivery: String,
        /// Show the headers and the body of the last request as they were sent
        #[arg(long)]
        request: bool,
        /// Show the headers and the body of the last response
        #[arg(long)]
        response: bool,
        /// Print only the body of the last request, byte for byte
        #[arg(long, conflicts_with_all = ["request", "response"])]
        body: bool,
    },
    /// Redeliver deliveries, with the same UUIDs
    ///
    /// Redelivers the named deliveries, or all that match a filter. With a filter, asks for confirmation first, and
    /// skips deliveries that were not attempted yet and deliveries of inactive hooks.
    Redeliver {
        /// UUIDs or IDs of deliveries
        #[arg(value_name = "DELIVERY", required_unless_present = "FilterArgs", conflicts_with = "FilterArgs")]
        deliveries: Vec<String>,
        #[command(flatten)]
        filter: FilterArgs,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Send a delivery once to another URL, or with another payload, and print the result
    ///
    /// The receiver gets a new UUID. The hook and its deliveries do not change. Another URL never gets the secret of
    /// the hook. Exits with 1 if the receiver did not accept the request.
    Replay(ReplayArgs),
    /// Redeliver all failed and cancelled deliveries of a hook, and try those that wait for a retry
    ///
    /// Deliveries that wait for their automatic retry are tried now. If the hook failed ten times in a row, one
    /// delivery is sent at once, and the others when it succeeds.
    Recover {
        /// ID of the hook
        hook: u64,
        /// Only deliveries created since this time: 2030-01-02T03:04:05Z, 2030-01-02, or a duration ago such as 1h
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

/// A filter of deliveries.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FilterArgs {
    /// Only failed deliveries; the same as --status failure
    #[arg(long, conflicts_with = "status")]
    pub(crate) failed: bool,
    /// Only deliveries in this state
    #[arg(long, value_name = "STATE", value_parser = ["success", "failure", "pending", "cancelled"])]
    pub(crate) status: Option<String>,
    /// Only deliveries of this hook
    #[arg(long, value_name = "ID")]
    pub(crate) hook: Option<u64>,
    /// Only deliveries about this repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Only deliveries of this event
    #[arg(long, value_name = "EVENT", value_parser = super::values::HOOK_EVENTS)]
    pub(crate) event: Option<String>,
    /// Only deliveries with this reason, as `delivery groups --by reason` prints it: timeout, "http 500", …
    #[arg(long, value_name = "REASON", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// Only deliveries of hooks with this host, as `delivery groups --by host` prints it
    #[arg(long, value_name = "HOST", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) host: Option<String>,
    /// Only deliveries created since this time: 2030-01-02T03:04:05Z, 2030-01-02, or a duration ago such as 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// UUID or ID of the delivery
    pub(crate) delivery: String,
    /// URL of another receiver [default: the URL of the hook]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, required_unless_present = "payload_file")]
    pub(crate) target: Option<String>,
    /// File with the secret that signs the request to another receiver, or - for standard input [default: not signed]
    #[arg(long, value_name = "FILE", requires = "target", value_hint = ValueHint::FilePath)]
    pub(crate) secret_file: Option<PathBuf>,
    /// File with the JSON object to send, or - for standard input [default: the stored payload]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) payload_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ListDeliveries {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Maximum number of deliveries
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = super::limit)]
    pub(crate) limit: usize,
}
