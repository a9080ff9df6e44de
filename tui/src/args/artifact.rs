//! `farrier artifact …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use farrier_common::client::RepositoryPath;

#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// Upload one file as it is, or several files and directories as a zip file
    Upload(Upload),
    /// List artifacts, newest first; outside of jobs and without --repo those of all repositories
    List(List),
    /// Download an artifact; what an interrupted download left is continued
    Download(Download),
    /// Set when artifacts expire
    Expire(Expire),
    /// Delete artifacts; an administrator can restore them for a while
    Delete(Delete),
    /// Restore a deleted artifact (administrators)
    Restore {
        /// Its ID
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
    /// Delete a deleted artifact permanently, before its time is over (administrators)
    Purge {
        /// Its ID
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Whose artifacts.
#[derive(Args, Clone, Debug)]
pub(crate) struct Where {
    /// Repository [default: inside of a job, the job's run; else all]
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Run [default: the one that this process is part of]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) run: Option<i64>,
}

#[derive(Args, Debug)]
pub(crate) struct Upload {
    /// Files and directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Name of the artifact; with one, also a single file is put into a zip file
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Upload a single file as it is also when --name is given
    #[arg(long)]
    pub(crate) raw: bool,
    /// Repository; outside of a job, one is begun there for the upload
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Live run that the upload's own job is added to
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) run: Option<i64>,
    /// Days until the artifact expires
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(crate) retention_days: Option<u32>,
    /// Blocks of 8 MiB on their way at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) concurrency: u16,
    /// How hard zip files are compressed: 0 (not at all) to 9
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) compression_level: u8,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) place: Where,
    /// Only artifacts of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List deleted artifacts that can be restored (administrators)
    #[arg(long, conflicts_with_all = ["run", "name"])]
    pub(crate) deleted: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Download {
    /// Id or name; of several of that name, the newest
    #[arg(value_name = "ID|NAME")]
    pub(crate) artifact: String,
    #[command(flatten)]
    pub(crate) place: Where,
    /// File, or directory if it is one or ends in a slash
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Unpack a zip file into the directory -o [default: one named like the artifact]
    #[arg(long, overrides_with = "no_extract")]
    pub(crate) extract: bool,
    /// Keep a zip file as it is (the default)
    #[arg(long, overrides_with = "extract")]
    pub(crate) no_extract: bool,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Expire {
    /// Ids; with --repo also names
    #[arg(required = true, value_name = "ID|NAME")]
    pub(crate) artifacts: Vec<String>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// So many days from now
    #[arg(long, value_name = "N", required_unless_present = "at", conflicts_with = "at", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) days: Option<i64>,
    /// At a time: 2026-12-31, which means its beginning in UTC, or 2026-12-31T18:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Ids; with --repo or inside of a job also names
    #[arg(required = true, value_name = "ID|NAME")]
    pub(crate) artifacts: Vec<String>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
