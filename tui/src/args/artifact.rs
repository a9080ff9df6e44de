//! Arguments of `farrier artifact`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use farrier_common::client::RepositoryPath;

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// Upload one file unchanged, or several files and directories as a zip file
    Upload(Upload),
    /// List artifacts, newest first
    ///
    /// Inside a job, lists those of the run of the job. Elsewhere, lists those of --repo, or of all repositories.
    List(ListArtifacts),
    /// Download an artifact; an interrupted download is resumed
    Download(Download),
    /// Set when artifacts expire
    Expire(Expire),
    /// Delete artifacts; an administrator can restore them for some days
    Delete(Delete),
    /// Restore a deleted artifact (administrators)
    Restore {
        /// ID of the artifact
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
    /// Delete a deleted artifact permanently before its retention ends (administrators)
    Purge {
        /// ID of the artifact
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

/// The repository and run of artifacts.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArtifactScopeArgs {
    /// Repository [default: inside a job, the run of the job; elsewhere, all]
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Workflow run [default: the run of the current job]
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) run: Option<i64>,
}

#[derive(Args, Debug)]
pub(crate) struct Upload {
    /// Files and directories
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Name of the artifact; a single file is then uploaded as a zip file, too
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Upload a single file unchanged even with --name
    #[arg(long)]
    pub(crate) raw: bool,
    /// Repository; outside a job, the upload runs as a job of its own there
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Run in progress to add the job of the upload to
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) run: Option<i64>,
    /// Days until the artifact expires
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(crate) retention_days: Option<u32>,
    /// Blocks of 8 MiB to upload in parallel
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) concurrency: u16,
    /// Compression level of zip files: 0 (none) to 9
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) compression_level: u8,
}

#[derive(Args, Debug)]
pub(crate) struct ListArtifacts {
    #[command(flatten)]
    pub(crate) scope: ArtifactScopeArgs,
    /// Only artifacts with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List deleted artifacts that can be restored (administrators)
    #[arg(long, conflicts_with_all = ["run", "name"])]
    pub(crate) deleted: bool,
    #[command(flatten)]
    pub(crate) limit: Limit,
}

#[derive(Args, Debug)]
pub(crate) struct Download {
    /// ID or name; of several with that name, the newest
    #[arg(value_name = "ID|NAME")]
    pub(crate) artifact: String,
    #[command(flatten)]
    pub(crate) scope: ArtifactScopeArgs,
    /// File, or directory if it exists as one or ends in a slash
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Unpack a zip file into the directory --output [default: the name of the artifact]
    #[arg(long, overrides_with = "no_extract")]
    pub(crate) extract: bool,
    /// Keep a zip file packed (default)
    #[arg(long, overrides_with = "extract")]
    pub(crate) no_extract: bool,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Expire {
    /// IDs; with --repo, also names
    #[arg(required = true, value_name = "ID|NAME")]
    pub(crate) artifacts: Vec<String>,
    #[command(flatten)]
    pub(crate) scope: ArtifactScopeArgs,
    /// Number of days from now
    #[arg(long, value_name = "N", required_unless_present = "at", conflicts_with = "at", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) days: Option<i64>,
    /// Time: 2026-12-31 (midnight UTC) or 2026-12-31T18:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// IDs; with --repo or inside a job, also names
    #[arg(required_unless_present = "oldest", conflicts_with = "oldest", value_name = "ID|NAME")]
    pub(crate) artifacts: Vec<String>,
    /// Delete the N oldest artifacts that have not expired
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) oldest: Option<u32>,
    #[command(flatten)]
    pub(crate) scope: ArtifactScopeArgs,
    /// Skip the confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
