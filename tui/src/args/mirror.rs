//! Arguments of `farrier mirror`.

use clap::{Args, Subcommand};
use farrier_common::{api, client::RepositoryPath};

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum Mirror {
    /// List the push mirrors of a repository
    List {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        #[command(flatten)]
        limit: Limit,
    },
    /// Add a push mirror: a copy on another server to which the repository is pushed
    ///
    /// Branches and tags that only the copy has are deleted there. `repo migrate --mirror` creates a pull mirror.
    Add(AddMirror),
    /// Sync a pull mirror with its source in the background, or run all push mirrors of a repository now
    Sync {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
    /// Delete a push mirror; the copy on the other server stays
    Delete {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// Name of the push mirror
        #[arg(value_name = "NAME")]
        name: String,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Convert a pull mirror to a normal repository
    Convert {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct AddMirror {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// http or https URL of an existing repository
    #[arg(value_name = "URL")]
    pub(crate) to: String,
    /// User name at the other server
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) username: String,
    /// Read the password or token at the other server from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Time between two runs, such as 8h or 10m; 0 for none [default: set in the configuration of the daemon]
    #[arg(long, value_name = "DURATION", default_value = "", hide_default_value = true)]
    pub(crate) interval: String,
    /// Also run after each push
    #[arg(long)]
    pub(crate) on_push: bool,
}

impl AddMirror {
    /// Returns the request.
    pub(crate) fn request(self, secret: String) -> api::CreatePushMirror {
        api::CreatePushMirror {
            remote_address: self.to,
            remote_username: self.username,
            remote_password: secret,
            interval: self.interval,
            sync_on_commit: self.on_push,
            ..api::CreatePushMirror::default()
        }
    }
}
