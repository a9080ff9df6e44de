//! Arguments of `farrier audit`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// List the audit log, newest first
    ///
    /// Shows who did what, when and from where. Only for administrators, except with --own.
    List(Box<ListAudit>),
    /// Show an entry with the changed fields
    Show {
        /// ID of the entry
        #[arg(value_name = "ID", value_parser = clap::value_parser!(u64).range(1..))]
        id: u64,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ListAudit {
    /// Only actions of the account with this name, or of administrators who acted as it
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Only this action, or all actions that start with this word
    #[arg(long, value_name = "ACTION", value_parser = super::values::AUDIT_ACTIONS)]
    pub(crate) action: Option<String>,
    /// Only entries about these objects: KIND, KIND:ID or KIND:NAME, such as hook:7 or user:alice
    #[arg(long, value_name = "OBJECT")]
    pub(crate) object: Option<String>,
    /// Only entries about this repository and the objects in it: OWNER/NAME at that time, or the ID
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<String>,
    /// Only entries about what this account did, about the account, and about what it owns
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only entries with all these words, in any case, in the action, object, actor, result, address or reason
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only entries with this result
    #[arg(long, value_name = "RESULT", value_parser = ["done", "refused", "failed"])]
    pub(crate) result: Option<String>,
    /// Only entries of the request with this ID, as in the log of the daemon
    #[arg(long, value_name = "ID")]
    pub(crate) request: Option<String>,
    /// Only entries since this time: 2030-01-02T03:04:05Z, 2030-01-02, or a duration ago such as 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only entries before this time, in the same forms
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only your own actions; does not require an administrator
    #[arg(long, conflicts_with_all = ["actor", "action", "object", "repo", "user", "result", "request"])]
    pub(crate) own: bool,
    /// Keep printing new entries, oldest first
    #[arg(long, conflicts_with = "until")]
    pub(crate) follow: bool,
    /// Maximum number of entries; with --follow, of older entries to print first [default: 50; with --follow, 10]
    #[arg(long, value_name = "N", value_parser = super::limit)]
    pub(crate) limit: Option<usize>,
}
