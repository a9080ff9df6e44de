//! Words of `farrier user`, `farrier org` and `farrier token`.

use clap::{Args, Subcommand};
use farrier_common::client::RepositoryPath;

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// List accounts
    List {
        /// Only those whose name, display name or address holds this
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show an account
    Show {
        /// Account
        name: String,
    },
    /// Make an account
    Create(CreateUser),
    /// Change an account; what is not named stays
    Edit(EditUser),
    /// Close an account; `edit --active true` opens it again
    Off {
        /// Account
        name: String,
    },
    /// Delete an account with its tokens
    Delete {
        /// Account
        name: String,
        /// End its memberships, too, and organisations that own nothing and that it owns alone
        #[arg(long)]
        purge: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateUser {
    /// Name that signs in
    pub(crate) name: String,
    /// Address
    #[arg(long, value_name = "E")]
    pub(crate) email: String,
    /// Make an administrator
    #[arg(long)]
    pub(crate) admin: bool,
    /// Read the password from standard input; without one the account has only tokens
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Name for display
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) full_name: String,
}

#[derive(Args, Debug)]
pub(crate) struct EditUser {
    /// Account
    pub(crate) name: String,
    /// Give it another name; the old one leads to it
    #[arg(long, value_name = "NAME")]
    pub(crate) rename: Option<String>,
    /// Address
    #[arg(long, value_name = "E")]
    pub(crate) email: Option<String>,
    /// Name for display
    #[arg(long, value_name = "TEXT")]
    pub(crate) full_name: Option<String>,
    /// Whether it administers the site
    #[arg(long, value_name = "BOOL")]
    pub(crate) admin: Option<bool>,
    /// Whether it may be used
    #[arg(long, value_name = "BOOL")]
    pub(crate) active: Option<bool>,
    /// Whether it sees only what it is given
    #[arg(long, value_name = "BOOL")]
    pub(crate) restricted: Option<bool>,
    /// Who sees it
    #[arg(long, value_name = "WHO", value_parser = ["public", "limited", "private"])]
    pub(crate) visibility: Option<String>,
    /// Read a new password from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Org {
    /// List organisations
    List {
        #[command(flatten)]
        limit: Limit,
    },
    /// Show an organisation
    Show {
        /// Organisation
        name: String,
    },
    /// Make an organisation
    Create(CreateOrg),
    /// Delete an organisation that owns no repositories
    Delete {
        /// Organisation
        name: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateOrg {
    /// Its name, unique among users and organisations
    pub(crate) name: String,
    /// Account that owns it [default: the caller]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Name for display
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) full_name: String,
    /// What it is
    #[arg(long, value_name = "D", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// Who sees it
    #[arg(long, value_name = "WHO", default_value = "public", value_parser = ["public", "limited", "private"])]
    pub(crate) visibility: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// List an account's tokens
    List {
        /// Account
        #[arg(long, value_name = "NAME")]
        user: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Make a token and print it, and nothing else
    Create(CreateToken),
    /// End a token
    Revoke {
        /// Account
        #[arg(long, value_name = "NAME")]
        user: String,
        /// Number or name of the token
        token: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateToken {
    /// Account that the token belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// Name of the token, unique in its account
    #[arg(long, value_name = "N")]
    pub(crate) name: String,
    /// What the token may do: `all`, or scopes such as `write:repository`
    #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
    pub(crate) scopes: Vec<String>,
    /// When it stops working: an instant such as 2030-01-02T03:04:05Z, or a time from now such as 30d
    #[arg(long, value_name = "WHEN")]
    pub(crate) expires: Option<String>,
    /// Limit the token to these repositories [default: all that its account can reach]
    #[arg(long = "repo", value_name = "OWNER/NAME", value_delimiter = ',')]
    pub(crate) repositories: Vec<RepositoryPath>,
}
