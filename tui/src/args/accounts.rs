//! Arguments of `farrier user`, `farrier org` and `farrier token`.

use clap::{Args, Subcommand};
use farrier_common::{api, client::RepositoryPath};

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// List users
    List {
        /// Only users whose name, display name or email address contains this
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show a user
    Show {
        /// Name of the user
        name: String,
    },
    /// Create a user
    Create(CreateUser),
    /// Change a user; omitted fields are unchanged
    Edit(EditUser),
    /// Turn a user off; `user edit --active true` turns it on
    Off {
        /// Name of the user
        name: String,
    },
    /// Delete a user and its tokens permanently
    Delete {
        /// Name of the user
        name: String,
        /// Also end its memberships, and delete empty organizations that it alone owns
        #[arg(long)]
        purge: bool,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateUser {
    /// Login name
    pub(crate) name: String,
    /// Email address
    #[arg(long, value_name = "EMAIL")]
    pub(crate) email: String,
    /// Create an administrator
    #[arg(long)]
    pub(crate) admin: bool,
    /// Read the password from standard input; without a password, the user can only use tokens
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Display name
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) full_name: String,
}

#[derive(Args, Debug)]
pub(crate) struct EditUser {
    /// Name of the user
    pub(crate) name: String,
    /// New name; the old name redirects to it
    #[arg(long, value_name = "NAME")]
    pub(crate) rename: Option<String>,
    /// Email address
    #[arg(long, value_name = "EMAIL")]
    pub(crate) email: Option<String>,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    pub(crate) full_name: Option<String>,
    /// Whether the user is an administrator
    #[arg(long, value_name = "BOOL")]
    pub(crate) admin: Option<bool>,
    /// Whether the user is on; a user that is off cannot sign in
    #[arg(long, value_name = "BOOL")]
    pub(crate) active: Option<bool>,
    /// Whether the user sees only repositories that it was given access to
    #[arg(long, value_name = "BOOL")]
    pub(crate) restricted: Option<bool>,
    /// Who can see it: everyone, signed-in users, or only members
    #[arg(long, value_name = "WHO", value_parser = ["public", "limited", "private"])]
    pub(crate) visibility: Option<String>,
    /// Read a new password from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Org {
    /// List organizations
    List {
        #[command(flatten)]
        limit: Limit,
    },
    /// Show an organization
    Show {
        /// Name of the organization
        name: String,
    },
    /// Create an organization
    Create(CreateOrg),
    /// Change an organization; omitted options are unchanged
    Edit(EditOrg),
    /// Delete an organization that owns no repositories
    Delete {
        /// Name of the organization
        name: String,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateOrg {
    /// Name, unique among users and organizations
    pub(crate) name: String,
    /// Account that owns it [default: your account]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Display name
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) full_name: String,
    /// Description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) description: String,
    /// Who can see it: everyone, signed-in users, or only members
    #[arg(long, value_name = "WHO", default_value = "public", value_parser = ["public", "limited", "private"])]
    pub(crate) visibility: String,
}

impl CreateOrg {
    /// Returns the request for a new organization.
    pub(crate) fn request(self) -> api::CreateOrg {
        api::CreateOrg {
            username: self.name,
            full_name: self.full_name,
            description: self.description,
            visibility: self.visibility,
            ..api::CreateOrg::default()
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct EditOrg {
    /// Name of the organization
    pub(crate) name: String,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    pub(crate) full_name: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Who can see it: everyone, signed-in users, or only members
    #[arg(long, value_name = "WHO", value_parser = ["public", "limited", "private"])]
    pub(crate) visibility: Option<String>,
    /// Email address
    #[arg(long, value_name = "EMAIL")]
    pub(crate) email: Option<String>,
    /// Web page
    #[arg(long, value_name = "URL")]
    pub(crate) website: Option<String>,
    /// Location
    #[arg(long, value_name = "TEXT")]
    pub(crate) location: Option<String>,
}

impl EditOrg {
    /// Returns the request with the given changes.
    pub(crate) fn request(self) -> api::EditOrg {
        api::EditOrg {
            full_name: self.full_name,
            email: self.email,
            description: self.description,
            website: self.website,
            location: self.location,
            visibility: self.visibility,
            repo_admin_change_team_access: None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// List the tokens of a user
    List {
        /// User
        #[arg(long, value_name = "NAME")]
        user: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Create a token and print only the token
    Create(CreateToken),
    /// Revoke a token
    Revoke {
        /// User
        #[arg(long, value_name = "NAME")]
        user: String,
        /// ID or name of the token
        token: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateToken {
    /// User that the token belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// Name of the token, unique among the tokens of the user
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// What the token may do, separated by commas: `all`, or scopes such as `write:repository,read:user`
    ///
    /// Scopes are `read:` or `write:` followed by activitypub, admin, issue, misc, notification, organization, package,
    /// repository or user; `all`; and `public-only`, which limits the others to public objects.
    #[arg(
        long,
        value_name = "SCOPES",
        required = true,
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = super::values::SCOPES
    )]
    pub(crate) scopes: Vec<String>,
    /// When the token expires: a time such as 2030-01-02T03:04:05Z or 2030-01-02, or a duration such as 30d [default:
    /// the maximum lifetime that the daemon allows]
    #[arg(long, value_name = "WHEN")]
    pub(crate) expires: Option<String>,
    /// Limit the token to this repository; can be repeated [default: all that the user can access]
    #[arg(long = "repo", value_name = "OWNER/NAME", value_delimiter = ',')]
    pub(crate) repositories: Vec<RepositoryPath>,
}
