//! Commits and what is said about them elsewhere.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::User;

/// A commit. `author` and `committer` are accounts, absent when no account has the address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Commit {
    /// Absolute address of this object.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// When it was committed, in UTC.
    #[schema(format = DateTime)]
    pub created: String,
    /// Absolute address for people.
    pub html_url: String,
    /// What the object itself says.
    pub commit: CommitDetails,
    /// The account with the author's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<User>,
    /// The account with the committer's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committer: Option<User>,
    /// The commits before it.
    pub parents: Vec<CommitMeta>,
    /// Paths that differ from the first parent, unless they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<CommitFile>>,
    /// Lines that differ from the first parent, unless they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<CommitStats>,
}

/// The commit object itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CommitDetails {
    /// Absolute address of the object.
    pub url: String,
    /// Who wrote it; the date has the author's own offset.
    pub author: Signature,
    /// Who committed it.
    pub committer: Signature,
    /// The whole message.
    pub message: String,
    /// Its tree.
    pub tree: CommitMeta,
    /// Its signature, unless it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// A name, an address and a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Signature {
    /// Name as git keeps it.
    pub name: String,
    /// Address as git keeps it.
    pub email: String,
    /// RFC 3339, whole seconds.
    #[schema(format = DateTime)]
    pub date: String,
}

/// An object named from another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CommitMeta {
    /// Absolute address of the object.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// RFC 3339 in UTC; absent where it would have to be looked up.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(format = DateTime)]
    pub created: String,
}

/// The signature of a commit or tag. Signatures are shown, not verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Verification {
    /// Always false.
    pub verified: bool,
    /// Why.
    pub reason: String,
    /// The signature's text; empty when there is none.
    pub signature: String,
    /// What was signed; empty when there is no signature.
    pub payload: String,
}

/// A path that a commit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CommitFile {
    /// The path.
    pub filename: String,
    /// `added`, `modified` or `removed`.
    #[schema(pattern = "^(added|modified|removed)$")]
    pub status: String,
}

/// Lines that a commit changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CommitStats {
    /// Both together.
    pub total: i64,
    /// Lines that came.
    pub additions: i64,
    /// Lines that went.
    pub deletions: i64,
}

/// A commit as branches and events show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct PayloadCommit {
    /// Object id.
    pub id: String,
    /// The whole message.
    pub message: String,
    /// Absolute address for people.
    pub url: String,
    /// Who wrote it.
    pub author: PayloadUser,
    /// Who committed it.
    pub committer: PayloadUser,
    /// Its signature.
    pub verification: Verification,
    /// When it was written, with the author's own offset.
    #[schema(format = DateTime)]
    pub timestamp: String,
}

/// Who wrote or committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct PayloadUser {
    /// Name as git keeps it.
    pub name: String,
    /// Address as git keeps it.
    pub email: String,
    /// The account with that address; empty when there is none.
    pub username: String,
}

/// What differs between two commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Compare {
    /// All commits that the second has and the first has not.
    pub total_commits: i64,
    /// The newest of them.
    pub commits: Vec<Commit>,
}

/// A note on a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Note {
    /// The note's text.
    pub message: String,
    /// The commit.
    pub commit: Commit,
}
