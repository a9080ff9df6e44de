//! Changes of files through the API.

use serde::{Deserialize, Serialize};

use super::{CommitMeta, Contents, Signature, Verification, null_as_default};

/// Name and email address of an author or committer. Empty or absent: those of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitIdentity {
    /// Name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Email address.
    #[serde(deserialize_with = "null_as_default")]
    pub email: String,
}

/// Times of a commit, RFC 3339. Empty, absent or in the year 1: now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitDates {
    /// Author date.
    #[serde(deserialize_with = "null_as_default")]
    pub author: String,
    /// Committer date.
    #[serde(deserialize_with = "null_as_default")]
    pub committer: String,
}

/// The fields that all requests to change files have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOptions {
    /// The commit message.
    pub message: String,
    /// The branch to start from.
    pub branch: String,
    /// The branch to create.
    pub new_branch: String,
    /// Whether `new_branch` may exist.
    pub force_push: bool,
    /// The author.
    pub author: CommitIdentity,
    /// The committer.
    pub committer: CommitIdentity,
    /// The times.
    pub dates: CommitDates,
    /// Whether to add a line `Signed-off-by`.
    pub signoff: bool,
}

/// Declares request bodies with the common fields.
macro_rules! commit_inputs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(default)]
        pub struct $name {
            $($(#[$meta])* pub $field: $type,)*
            /// The commit message; empty for the default, which names the changed files.
            #[serde(deserialize_with = "null_as_default")]
            pub message: String,
            /// The branch to change; empty for the default branch.
            #[serde(deserialize_with = "null_as_default")]
            pub branch: String,
            /// A branch to create from `branch`, which then gets the commit instead.
            #[serde(deserialize_with = "null_as_default")]
            pub new_branch: String,
            /// Whether `new_branch` may exist. It is then replaced.
            #[serde(deserialize_with = "null_as_default")]
            pub force_push: bool,
            /// The author; by default the caller.
            #[serde(deserialize_with = "null_as_default")]
            pub author: CommitIdentity,
            /// The committer; by default the author.
            #[serde(deserialize_with = "null_as_default")]
            pub committer: CommitIdentity,
            /// The times of the commit; by default now.
            #[serde(deserialize_with = "null_as_default")]
            pub dates: CommitDates,
            /// Whether to add a line `Signed-off-by` with the committer.
            #[serde(deserialize_with = "null_as_default")]
            pub signoff: bool,
        }

        impl $name {
            /// Moves the common fields out of the request.
            pub fn take_options(&mut self) -> CommitOptions {
                CommitOptions {
                    message: std::mem::take(&mut self.message),
                    branch: std::mem::take(&mut self.branch),
                    new_branch: std::mem::take(&mut self.new_branch),
                    force_push: self.force_push,
                    author: std::mem::take(&mut self.author),
                    committer: std::mem::take(&mut self.committer),
                    dates: std::mem::take(&mut self.dates),
                    signoff: self.signoff,
                }
            }
        }
    )*};
}

commit_inputs! {
    /// `POST`, `PUT` and `DELETE /repos/{owner}/{repo}/contents/{path}`.
    ChangeFile {
        /// The content in base64; absent for an empty file. Not used by `DELETE`.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Id of the blob to replace or delete. `PUT` without it creates the file; `DELETE` requires it.
        #[serde(deserialize_with = "null_as_default")]
        sha: String,
        /// `PUT`: the path from which the file is moved.
        #[serde(deserialize_with = "null_as_default")]
        from_path: String,
    }

    /// `POST /repos/{owner}/{repo}/contents`: several files in one commit.
    ChangeFiles {
        /// Required: the changes. All of them are applied, or none.
        #[serde(deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "openapi", schema(required = true, min_items = 1))]
        files: Vec<ChangedFile>,
    }

    /// `POST /repos/{owner}/{repo}/diffpatch`.
    ApplyPatch {
        /// Required: a unified diff.
        #[serde(deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
        content: String,
    }
}

/// A change of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ChangedFile {
    /// Required: `create`, `update`, `upload` (create or update), `rename` or `delete`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = "^(create|update|upload|rename|delete)$"))]
    pub operation: String,
    /// Required: the path of the file.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub path: String,
    /// The content in base64; absent for an empty file, or to keep the content of a moved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Id of the blob to replace or delete. Required by `update` and `delete`.
    #[serde(deserialize_with = "null_as_default")]
    pub sha: String,
    /// The path from which the file is moved. Required by `rename`.
    #[serde(deserialize_with = "null_as_default")]
    pub from_path: String,
}

/// The commit that changed files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FileCommit {
    /// Absolute URL of the commit.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// When it was committed, in UTC.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
    /// Absolute URL of the web page.
    pub html_url: String,
    /// The author.
    pub author: Signature,
    /// The committer.
    pub committer: Signature,
    /// The parent commits.
    pub parents: Vec<CommitMeta>,
    /// The message, without line breaks at its end.
    pub message: String,
    /// The tree.
    pub tree: CommitMeta,
}

/// The result of the change of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ChangedFileResult {
    /// The file; `null` if it was deleted, and for patches.
    pub content: Option<Contents>,
    /// The new commit.
    pub commit: FileCommit,
    /// The signature of the commit, which has none.
    pub verification: Verification,
}

/// The result of the change of several files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ChangedFilesResult {
    /// The files in the order of the request; `null` for a deleted file.
    pub files: Vec<Option<Contents>>,
    /// The new commit.
    pub commit: FileCommit,
    /// The signature of the commit, which has none.
    pub verification: Verification,
}
