//! Arguments of `farrier release`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use farrier_common::client::RepositoryPath;

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum Release {
    /// List releases, newest first; drafts are listed for accounts with write access
    List {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show a release with its files
    Show(ReleaseArgs),
    /// Create a release, and its tag if it does not exist
    Create(CreateRelease),
    /// Change a release, or publish a draft
    Edit(EditRelease),
    /// Delete a release with its files; the tag stays
    Delete {
        #[command(flatten)]
        release: ReleaseArgs,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Attach files to a release
    Upload {
        #[command(flatten)]
        release: ReleaseArgs,
        /// Files to attach
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Download a file of a release
    Download {
        #[command(flatten)]
        release: ReleaseArgs,
        /// Name of the file
        #[arg(value_name = "NAME")]
        file: String,
        /// Path of the file, or of a directory (existing, or with a final slash)
        #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
        output: Option<PathBuf>,
        /// Replace an existing file
        #[arg(long)]
        force: bool,
    },
}

/// A release, by its tag.
#[derive(Args, Debug)]
pub(crate) struct ReleaseArgs {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Tag of the release
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,
}

/// Title and notes of a release. `release edit` cannot empty them, because the API ignores empty texts.
#[derive(Args, Debug)]
pub(crate) struct ReleaseText {
    /// Title; a new release without one gets the tag
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Release notes; they cannot be emptied later
    #[arg(long, value_name = "TEXT")]
    pub(crate) notes: Option<String>,
    /// File with the release notes
    #[arg(long, value_name = "FILE", conflicts_with = "notes", value_hint = ValueHint::FilePath)]
    pub(crate) notes_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CreateRelease {
    #[command(flatten)]
    pub(crate) release: ReleaseArgs,
    #[command(flatten)]
    pub(crate) text: ReleaseText,
    /// Branch or commit at which the tag is created [default: the default branch]
    #[arg(long, value_name = "REF")]
    pub(crate) target: Option<String>,
    /// Message of the tag, if it is created
    #[arg(long, value_name = "TEXT")]
    pub(crate) tag_message: Option<String>,
    /// Create a draft, which has no tag and is visible only to accounts with write access
    #[arg(long)]
    pub(crate) draft: bool,
    /// Mark the release as a prerelease
    #[arg(long)]
    pub(crate) prerelease: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EditRelease {
    #[command(flatten)]
    pub(crate) release: ReleaseArgs,
    /// New tag; the former tag stays
    #[arg(long, value_name = "TAG")]
    pub(crate) rename: Option<String>,
    #[command(flatten)]
    pub(crate) text: ReleaseText,
    /// Message of the tag that is created when the draft is published, or with --rename
    #[arg(long, value_name = "TEXT")]
    pub(crate) tag_message: Option<String>,
    /// Make it a draft; false publishes it
    #[arg(long, value_name = "BOOL")]
    pub(crate) draft: Option<bool>,
    /// Whether it is a prerelease
    #[arg(long, value_name = "BOOL")]
    pub(crate) prerelease: Option<bool>,
}
