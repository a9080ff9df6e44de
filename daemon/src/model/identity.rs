//! Who makes a request, as far as the daemon knows.

use farrier_proto::store::User;

use super::scope::{Category, Level, Scopes};

/// Who makes a request.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Nobody said who they are.
    Anonymous,
    /// An account.
    Account(Box<Account>),
    /// A local CI agent that the kernel vouches for: begins and ends jobs of any repository and
    /// uses its artifacts, nothing else.
    CiAgent,
}

/// An account and how it proved itself.
#[derive(Clone, Debug)]
pub struct Account {
    /// The account.
    pub user: User,
    /// How it proved itself.
    pub proof: Proof,
}

/// How an account proved itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The kernel named the peer of the Unix socket.
    Peer,
    /// With the account's password.
    Password,
    /// With an access token.
    Token(TokenProof),
}

/// An access token that was presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenProof {
    /// Number of the token.
    pub id: u64,
    /// Whose token it is, whoever the request acts as.
    pub user_id: u64,
    /// What it may be used for.
    pub scopes: Scopes,
    /// The repositories it is limited to; empty: no limit.
    pub repositories: Vec<u64>,
    /// Whether it came in place of a password.
    pub as_password: bool,
    /// When it ends; 0: never. Milliseconds since the epoch.
    pub expires_ms: i64,
}

impl Identity {
    /// The account, if it is one.
    pub fn account(&self) -> Option<&Account> {
        match self {
            Self::Account(account) => Some(account),
            Self::Anonymous | Self::CiAgent => None,
        }
    }

    /// The account's number; 0 for none.
    pub fn user_id(&self) -> u64 {
        self.account().map_or(0, |account| account.user.id)
    }

    /// Whether this is a site administrator.
    pub fn is_admin(&self) -> bool {
        self.account().is_some_and(|account| account.user.admin)
    }

    /// A name for logs and for `farrier status`.
    pub fn label(&self) -> &str {
        match self {
            Self::Anonymous => "",
            Self::Account(account) => &account.user.name,
            Self::CiAgent => "(ci agent)",
        }
    }

    /// Whether the credential allows a request of `level` in `category`. Only tokens are narrower
    /// than their account; those who are not signed in are stopped by other rules.
    pub fn in_scope(&self, category: Category, level: Level) -> bool {
        self.token().is_none_or(|token| token.scopes.allows(category, level))
    }

    /// The token that was presented, if one was.
    pub fn token(&self) -> Option<&TokenProof> {
        match &self.account()?.proof {
            Proof::Token(token) => Some(token),
            Proof::Peer | Proof::Password => None,
        }
    }
}
