//! Commits, comparisons and notes.

use serde::{Deserialize, Serialize};

use super::User;

/// A commit. `author` and `committer` are accounts; absent if no account has the email address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Commit {
    /// Absolute URL of this object.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// When it was committed, in UTC.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
    /// Absolute URL of the web page.
    pub html_url: String,
    /// The fields of the commit object.
    pub commit: CommitDetails,
    /// The account with the author's email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<User>,
    /// The account with the committer's email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committer: Option<User>,
    /// The parent commits.
    pub parents: Vec<CommitMeta>,
    /// Paths changed relative to the first parent; empty if not requested.
    pub files: Vec<CommitFile>,
    /// Line counts relative to the first parent; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<CommitStats>,
}

/// The fields of a commit object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitDetails {
    /// Absolute URL of the object.
    pub url: String,
    /// The author; the date has the author's UTC offset.
    pub author: Signature,
    /// The committer.
    pub committer: Signature,
    /// The full message.
    pub message: String,
    /// The tree.
    pub tree: CommitMeta,
    /// The signature; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// A name, an email address and a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Signature {
    /// Name, as recorded by git.
    pub name: String,
    /// Email address, as recorded by git.
    pub email: String,
    /// RFC 3339, whole seconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub date: String,
}

/// A reference to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitMeta {
    /// Absolute URL of the object.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// RFC 3339 in UTC; absent in some responses.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
}

/// The signature of a commit or tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Verification {
    /// Whether the signature was made with a key of the account that has the committer's address.
    pub verified: bool,
    /// The account and the key of a verified signature; otherwise why it is not verified.
    pub reason: String,
    /// The signature; empty if there is none.
    pub signature: String,
    /// The account that signed; `null` if the signature is not verified.
    pub signer: Option<PayloadUser>,
    /// The signed data; empty if there is no signature.
    pub payload: String,
}

/// A path changed by a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitFile {
    /// The path.
    pub filename: String,
    /// `added`, `modified` or `removed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(added|modified|removed)$"))]
    pub status: String,
}

/// Line counts of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitStats {
    /// Added and deleted lines.
    pub total: i64,
    /// Number of added lines.
    pub additions: i64,
    /// Number of deleted lines.
    pub deletions: i64,
}

/// A commit in branches and webhook payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct PayloadCommit {
    /// Object id.
    pub id: String,
    /// The full message.
    pub message: String,
    /// Absolute URL of the web page.
    pub url: String,
    /// The author.
    pub author: PayloadUser,
    /// The committer.
    pub committer: PayloadUser,
    /// The signature.
    pub verification: Verification,
    /// The author date, with the author's UTC offset.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub timestamp: String,
}

/// The author or committer of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct PayloadUser {
    /// Name, as recorded by git.
    pub name: String,
    /// Email address, as recorded by git.
    pub email: String,
    /// The account with this email address; empty if there is none.
    pub username: String,
}

/// The commits between two revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Compare {
    /// Number of commits that are reachable from the second revision but not from the first.
    pub total_commits: i64,
    /// The newest of these commits.
    pub commits: Vec<Commit>,
}

/// A git note on a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Note {
    /// The note's text.
    pub message: String,
    /// The commit.
    pub commit: Commit,
}
