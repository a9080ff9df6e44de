//! Arguments of `farrier cache`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use farrier_common::client::RepositoryPath;

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// List the cache entries of workflow jobs, most recently used first
    List(ListCaches),
    /// Delete cache entries. Later jobs must create and save them again
    Delete(DeleteCaches),
    /// Show how many cache entries each repository has, and their size, the largest first
    Usage {
        /// Only this repository
        #[arg(long, value_name = "OWNER/NAME", conflicts_with = "max")]
        repo: Option<RepositoryPath>,
        #[command(flatten)]
        limit: Limit,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ListCaches {
    /// Only entries of this repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Only keys that begin with this text
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    pub(crate) key: String,
    /// Only entries of this ref, such as refs/heads/main
    #[arg(long = "ref", value_name = "REF", default_value = "", hide_default_value = true)]
    pub(crate) git_ref: String,
    #[command(flatten)]
    pub(crate) limit: Limit,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteCaches {
    /// IDs of entries
    #[arg(value_name = "ID", required_unless_present = "key", conflicts_with = "key", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) ids: Vec<i64>,
    /// Repository of the entries
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Delete the entries with exactly this key, of all refs and versions
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: Option<String>,
    /// With --key: only entries of this ref, such as refs/heads/main
    #[arg(long = "ref", value_name = "REF", requires = "key", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) git_ref: Option<String>,
    /// Skip the confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
