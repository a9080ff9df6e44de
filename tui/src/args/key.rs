//! Arguments of `farrier key` and `farrier repo deploy-key`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use farrier_common::client::RepositoryPath;

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum SshKey {
    /// List your SSH keys, or those of another account
    List {
        /// Account [default: your own]
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Add an SSH key to your account
    Add {
        #[command(flatten)]
        key: KeyFile,
        /// Account [default: your own] (administrators)
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// Delete an SSH key of your account
    Delete {
        /// ID or title of the key
        key: String,
        /// Account [default: your own] (administrators)
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeployKey {
    /// List the deploy keys of a repository
    List {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        #[command(flatten)]
        limit: Limit,
    },
    /// Add a deploy key to a repository; it may only fetch, unless --write is given
    Add {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        #[command(flatten)]
        key: KeyFile,
        /// Allow pushes with the key
        #[arg(long)]
        write: bool,
    },
    /// Delete a deploy key of a repository
    Delete {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// ID or title of the deploy key
        key: String,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

/// A public key in a file.
#[derive(Args, Debug)]
pub(crate) struct KeyFile {
    /// File with the public key, for example id.pub, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Title [default: the comment of the key]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// Returns whether a text is a private key, which must not leave this machine. It can be incomplete, and its lines can
/// be joined.
pub(crate) fn is_private_key(text: &str) -> bool {
    // The ends of PEM, OpenPGP and SSH2 headers, and the Base64 of `openssh-key-v1`.
    let parts = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----", "PRIVATE KEY ----", "b3BlbnNzaC1rZXktdjE"];
    parts.iter().any(|part| text.contains(part)) || text.trim_start().starts_with("PuTTY-User-Key-File")
}
