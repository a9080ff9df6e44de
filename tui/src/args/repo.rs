//! Words of `farrier repo`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use farrier_common::client::RepositoryPath;

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum Repo {
    /// List repositories
    List {
        /// User or organisation [default: all]
        #[arg(value_name = "OWNER")]
        owner: Option<String>,
        #[command(flatten)]
        limit: Limit,
        /// List deleted repositories that can be restored (administrators)
        #[arg(long)]
        deleted: bool,
    },
    /// Make a repository
    Create(CreateRepo),
    /// Show a repository
    Show {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
    /// Change a repository; what is not named stays
    Edit(EditRepo),
    /// Delete a repository and everything in it; an administrator can restore it for a while
    Delete {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Restore a deleted repository (administrators)
    Restore {
        /// Name that it had, or its ID
        #[arg(value_name = "OWNER/NAME|ID")]
        repo: String,
        /// Restore it for another owner or under another name
        #[arg(long = "as", value_name = "OWNER/NAME")]
        target: Option<RepositoryPath>,
    },
    /// Delete a deleted repository permanently, before its time is over (administrators)
    Purge {
        /// Name that it had, or its ID
        #[arg(value_name = "OWNER/NAME|ID")]
        repo: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Fetch a repository from elsewhere
    Migrate(MigrateRepo),
    /// Write what a repository holds to a file
    Archive(ArchiveRepo),
    /// List branches; the default one is marked
    Branches {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        #[command(flatten)]
        limit: Limit,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ArchiveRepo {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Branch, tag or commit [default: the default branch; of a bundle all branches and tags]
    #[arg(long = "ref", value_name = "R")]
    pub(crate) reference: Option<String>,
    /// Its form [default: what the file's name says, else tar.gz]
    #[arg(long, value_name = "F", value_parser = ["zip", "tar.gz", "bundle"])]
    pub(crate) format: Option<String>,
    /// File, or a directory for it, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CreateRepo {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Hide it from those without access
    #[arg(long)]
    pub(crate) private: bool,
    /// What it is
    #[arg(long, value_name = "D", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// Branch that it begins with [default: main]
    #[arg(long, value_name = "B", default_value = "", hide_default_value = true)]
    pub(crate) default_branch: String,
    /// Begin with a commit
    #[arg(long)]
    pub(crate) init: bool,
    /// Ignore lists, with commas between them
    #[arg(long, value_name = "NAMES", requires = "init", default_value = "", hide_default_value = true)]
    pub(crate) gitignore: String,
    /// Licence
    #[arg(long, value_name = "KEY", requires = "init", default_value = "", hide_default_value = true)]
    pub(crate) license: String,
    /// Readme
    #[arg(long, value_name = "NAME", requires = "init", default_value = "", hide_default_value = true)]
    pub(crate) readme: String,
    /// Mark it as a template
    #[arg(long)]
    pub(crate) template: bool,
    /// How objects are named [default: sha1]
    #[arg(long, value_name = "FORMAT", value_parser = ["sha1", "sha256"])]
    pub(crate) object_format: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct EditRepo {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// New name; the old one leads to it
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What it is
    #[arg(long, value_name = "D")]
    pub(crate) description: Option<String>,
    /// Its website
    #[arg(long, value_name = "URL")]
    pub(crate) website: Option<String>,
    /// Branch that clones check out
    #[arg(long, value_name = "B")]
    pub(crate) default_branch: Option<String>,
    /// Hide it from those without access
    #[arg(long, value_name = "true|false")]
    pub(crate) private: Option<bool>,
    /// Refuse pushes
    #[arg(long, value_name = "true|false")]
    pub(crate) archived: Option<bool>,
    /// Mark it as a template
    #[arg(long, value_name = "true|false")]
    pub(crate) template: Option<bool>,
}

#[derive(Args, Debug)]
pub(crate) struct MigrateRepo {
    /// Where to fetch from: http, https or git
    #[arg(value_name = "URL")]
    pub(crate) from: String,
    /// What it will be called here
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Hide it from those without access
    #[arg(long)]
    pub(crate) private: bool,
    /// What it is
    #[arg(long, value_name = "D", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// User name at the source
    #[arg(long, value_name = "U", default_value = "", hide_default_value = true)]
    pub(crate) username: String,
    /// Read the password or token at the source from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Wait until the migration ends; progress goes to stderr. An interrupt ends the wait, not the migration
    #[arg(long)]
    pub(crate) wait: bool,
}
