//! The authenticated identity of a request: anonymous, an account, or the local CI agent.

use farrier_proto::store::User;

use super::scope::{Category, Level, Scopes};

/// The identity of a caller.
#[derive(Clone, Debug)]
pub enum Identity {
    /// No credentials were sent.
    Anonymous,
    /// A user account.
    Account(Box<Account>),
    /// A local CI agent, identified by the kernel as peer of the Unix socket. It may begin and end jobs of any
    /// repository and use its artifacts, and has no other rights.
    CiAgent,
    /// A deploy key, over SSH only. It may fetch from one repository, or also push to it, and has no other rights.
    DeployKey(Box<DeployKey>),
}

/// A deploy key and its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployKey {
    /// ID of the public key, which several repositories can share.
    pub key_id: u64,
    /// ID of the deploy key.
    pub id: u64,
    /// The title of the deploy key.
    pub title: String,
    /// The account that added the deploy key.
    pub added_by: u64,
    /// The repository.
    pub repository_id: u64,
    /// Whether the key may only fetch.
    pub read_only: bool,
}

/// An account and how it was authenticated.
#[derive(Clone, Debug)]
pub struct Account {
    /// The account.
    pub user: User,
    /// How it was authenticated.
    pub proof: Proof,
}

/// How an account was authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The kernel identified the peer of the Unix socket.
    Peer,
    /// With the password of the account.
    Password,
    /// With an access token.
    Token(TokenProof),
    /// With the private half of the public key with this ID, over SSH.
    Key(u64),
}

/// The access token of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenProof {
    /// Id of the token.
    pub id: u64,
    /// Id of the token's owner, even when the request acts as another user.
    pub user_id: u64,
    /// What the token may be used for.
    pub scopes: Scopes,
    /// Ids of the repositories that it is limited to. Empty: no limit.
    pub repositories: Vec<u64>,
    /// Whether the client sent it as a password.
    pub as_password: bool,
    /// When it expires, in milliseconds since the epoch. 0: never.
    pub expires_ms: i64,
}

impl Identity {
    /// Returns the account, if there is one.
    pub fn account(&self) -> Option<&Account> {
        match self {
            Self::Account(account) => Some(account),
            Self::Anonymous | Self::CiAgent | Self::DeployKey(_) => None,
        }
    }

    /// Returns the id of the account, or 0.
    pub fn user_id(&self) -> u64 {
        self.account().map_or(0, |account| account.user.id)
    }

    /// Returns the ID of the account under whose name a push is recorded, or 0. For a deploy key, it is the account
    /// that added the key.
    pub fn actor_id(&self) -> u64 {
        match self {
            Self::DeployKey(key) => key.added_by,
            _ => self.user_id(),
        }
    }

    /// Returns whether the caller is a site administrator.
    pub fn is_admin(&self) -> bool {
        self.account().is_some_and(|account| account.user.admin)
    }

    /// Returns a name for logs and for `farrier status`.
    pub fn label(&self) -> &str {
        match self {
            Self::Anonymous => "",
            Self::Account(account) => &account.user.name,
            Self::CiAgent => "(ci agent)",
            Self::DeployKey(_) => "(deploy key)",
        }
    }

    /// Returns whether the credential allows a request of `level` in `category`. Only tokens restrict this. Other
    /// rules refuse anonymous callers.
    pub fn in_scope(&self, category: Category, level: Level) -> bool {
        self.token().is_none_or(|token| token.scopes.allows(category, level))
    }

    /// Returns the access token, if the request has one.
    pub fn token(&self) -> Option<&TokenProof> {
        match &self.account()?.proof {
            Proof::Token(token) => Some(token),
            Proof::Peer | Proof::Password | Proof::Key(_) => None,
        }
    }
}
