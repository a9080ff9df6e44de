//! Why the daemon did not start, or stopped with an error.

use std::{io, net::SocketAddr};

use crate::{data_dir::DataDirError, git, service, tasks::TasksError};

/// Why the daemon did not start, or stopped with an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The data directory or its store cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// Listening on `metrics.listen` failed.
    #[error("listening on {address} for metrics failed")]
    Metrics {
        /// `metrics.listen`
        address: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Listening on an address of `ssh.listen` failed.
    #[error("listening on {address} for SSH failed")]
    Ssh {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A configured group does not exist on this machine.
    #[error("{key} names the group {name}, which does not exist")]
    Group {
        /// The configuration key.
        key: &'static str,
        /// The name.
        name: String,
    },
    /// The installed git cannot be used.
    #[error(transparent)]
    Git(#[from] git::VersionError),
    /// Recovery of work that the previous daemon did not finish failed.
    #[error("recovering unfinished work of the previous daemon failed")]
    Recover(#[source] service::Error),
    /// Another daemon has taken the store on a server.
    #[error("the store was taken by {owner}; this daemon must not run any longer")]
    StoreLost {
        /// The daemon and its machine.
        owner: String,
    },
    /// A newer daemon has changed the format of the store on a server.
    #[error(
        "a newer farrierd has given the store the format level {found}, this one supports levels up to {known}; install \
         the newer version"
    )]
    StoreNewer {
        /// The level of the store.
        found: u32,
        /// The highest supported level.
        known: u32,
    },
    /// A task ended unexpectedly.
    #[error(transparent)]
    Tasks(#[from] TasksError),
}
