//! Arguments of `farrier repo`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use farrier_common::client::RepositoryPath;

use super::{Limit, key::DeployKey, protect::Protect};

#[derive(Debug, Subcommand)]
pub(crate) enum Repo {
    /// List repositories
    List {
        /// User or organization [default: all]
        #[arg(value_name = "OWNER")]
        owner: Option<String>,
        #[command(flatten)]
        limit: Limit,
        /// List deleted repositories that can be restored (administrators)
        #[arg(long)]
        deleted: bool,
    },
    /// Create a repository
    Create(CreateRepo),
    /// Show a repository
    Show {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
    /// Change a repository; omitted fields are unchanged
    Edit(EditRepo),
    /// Delete a repository and its contents; an administrator can restore it for some days
    Delete {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Restore a deleted repository (administrators)
    Restore {
        /// Former name of the repository, or its ID
        #[arg(value_name = "OWNER/NAME|ID")]
        repo: String,
        /// Restore it for another owner or under another name
        #[arg(long = "as", value_name = "OWNER/NAME")]
        target: Option<RepositoryPath>,
    },
    /// Delete a deleted repository permanently before its retention ends (administrators)
    Purge {
        /// Former name of the repository, or its ID
        #[arg(value_name = "OWNER/NAME|ID")]
        repo: String,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Fork a repository: copy it to your account or to an organization
    Fork {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// Organization that owns the fork [default: you]
        #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
        org: String,
        /// Name of the fork [default: the name of the repository]
        #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
        name: String,
    },
    /// Bring a branch of a fork up to date with its source
    SyncFork {
        /// Fork
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// Branch [default: the default branch]
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// Fail if a merge commit is needed
        #[arg(long)]
        ff_only: bool,
    },
    /// Import a repository from a URL
    Migrate(MigrateRepo),
    /// Move a repository to another owner, or offer it to that owner
    Transfer {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// User or organization that gets the repository
        #[arg(value_name = "NEW_OWNER")]
        new_owner: String,
        /// Team of the organization that gets access: its name or its ID; can be repeated
        #[arg(long = "team", value_name = "NAME|ID")]
        teams: Vec<String>,
    },
    /// Accept a repository that is offered to you or to your organization
    AcceptTransfer {
        /// Repository, with its current owner
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
    /// Reject a repository that is offered to you, or withdraw an offer
    RejectTransfer {
        /// Repository, with its current owner
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
    },
    /// Generate a repository from a template
    Generate(GenerateRepo),
    /// Save the files of a commit, or the whole repository, to a file
    Archive(ArchiveRepo),
    /// List branches; the default branch is marked with *
    Branches {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        #[command(flatten)]
        limit: Limit,
    },
    /// Manage deploy keys: SSH keys that give access to one repository
    #[command(subcommand)]
    DeployKey(DeployKey),
    /// Manage rules that protect branches and tags
    #[command(subcommand)]
    Protect(Protect),
}

#[derive(Args, Debug)]
pub(crate) struct ArchiveRepo {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Branch, tag or commit [default: the default branch; for a bundle, all branches and tags]
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Format [default: from the name of the file, else tar.gz]
    #[arg(long, value_name = "FORMAT", value_parser = ["zip", "tar.gz", "bundle"])]
    pub(crate) format: Option<String>,
    /// File, directory for the file, or - for standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// The visibility of a new repository. Without a flag, the daemon decides.
#[derive(Args, Debug)]
pub(crate) struct Visibility {
    /// Make the repository private
    #[arg(long)]
    private: bool,
    /// Make the repository public, even if new repositories are private by default
    #[arg(long, conflicts_with = "private")]
    public: bool,
}

impl Visibility {
    /// Returns whether the repository is private. `None`: as in the configuration of the daemon.
    pub(crate) fn private(&self) -> Option<bool> {
        (self.private || self.public).then_some(self.private)
    }
}

#[derive(Args, Debug)]
pub(crate) struct CreateRepo {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    #[command(flatten)]
    pub(crate) visibility: Visibility,
    /// Description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// Default branch [default: main]
    #[arg(long, value_name = "BRANCH", default_value = "", hide_default_value = true)]
    pub(crate) default_branch: String,
    /// Create an initial commit
    #[arg(long)]
    pub(crate) init: bool,
    /// Templates for .gitignore, separated by commas
    #[arg(long, value_name = "NAMES", requires = "init", default_value = "", hide_default_value = true)]
    pub(crate) gitignore: String,
    /// License of the initial commit
    #[arg(long, value_name = "KEY", requires = "init", default_value = "", hide_default_value = true)]
    pub(crate) license: String,
    /// Template of the readme
    #[arg(long, value_name = "NAME", requires = "init", default_value = "", hide_default_value = true)]
    pub(crate) readme: String,
    /// Mark the repository as a template
    #[arg(long)]
    pub(crate) template: bool,
    /// Hash algorithm of git objects [default: sha1]
    #[arg(long, value_name = "FORMAT", value_parser = ["sha1", "sha256"])]
    pub(crate) object_format: Option<String>,
}

#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools)] // one for each option
pub(crate) struct GenerateRepo {
    /// Template
    #[arg(value_name = "TEMPLATE")]
    pub(crate) template: RepositoryPath,
    /// Name of the new repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    #[command(flatten)]
    pub(crate) visibility: Visibility,
    /// Description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// Default branch [default: that of the template]
    #[arg(long, value_name = "BRANCH", default_value = "", hide_default_value = true)]
    pub(crate) default_branch: String,
    /// Do not copy the files
    #[arg(long)]
    pub(crate) no_content: bool,
    /// Copy the topics
    #[arg(long)]
    pub(crate) topics: bool,
    /// Copy the webhooks; requires an administrator of the template
    #[arg(long)]
    pub(crate) webhooks: bool,
    /// Copy the rules for branches
    #[arg(long)]
    pub(crate) branch_rules: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EditRepo {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// New name; the old name redirects to it
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Website
    #[arg(long, value_name = "URL")]
    pub(crate) website: Option<String>,
    /// Branch that clones check out
    #[arg(long, value_name = "BRANCH")]
    pub(crate) default_branch: Option<String>,
    /// Make the repository private or public
    #[arg(long, value_name = "true|false")]
    pub(crate) private: Option<bool>,
    /// Archive the repository: refuse pushes
    #[arg(long, value_name = "true|false")]
    pub(crate) archived: Option<bool>,
    /// Mark the repository as a template
    #[arg(long, value_name = "true|false")]
    pub(crate) template: Option<bool>,
    /// Time between two syncs of a pull mirror, such as 8h or 10m; 0 for none
    #[arg(long, value_name = "DURATION")]
    pub(crate) mirror_interval: Option<String>,
}

#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools)] // one for each option
pub(crate) struct MigrateRepo {
    /// Source: an http, https or git URL
    #[arg(value_name = "URL")]
    pub(crate) from: String,
    /// Name of the new repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    #[command(flatten)]
    pub(crate) visibility: Visibility,
    /// Description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// User name at the source
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) username: String,
    /// Read the password or token at the source from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Copy the LFS objects of all branches and tags, too
    #[arg(long)]
    pub(crate) lfs: bool,
    /// Address of the LFS service of the source [default: info/lfs below the URL of the repository]
    #[arg(long, value_name = "URL", requires = "lfs", default_value = "", hide_default_value = true)]
    pub(crate) lfs_endpoint: String,
    /// Create a pull mirror: a read-only copy that is synced with the source
    #[arg(long)]
    pub(crate) mirror: bool,
    /// Time between two syncs of a mirror, such as 8h or 10m; 0 for none [default: set in the configuration of
    /// the daemon]
    #[arg(long, value_name = "DURATION", requires = "mirror", default_value = "", hide_default_value = true)]
    pub(crate) mirror_interval: String,
    /// Wait until the import ends and show progress; an interrupt ends only the wait
    #[arg(long)]
    pub(crate) wait: bool,
}
