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
            Self::Anonymous | Self::CiAgent => None,
        }
    }

    /// Returns the id of the account, or 0.
    pub fn user_id(&self) -> u64 {
        self.account().map_or(0, |account| account.user.id)
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
            Proof::Peer | Proof::Password => None,
        }
    }
}
