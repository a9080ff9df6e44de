//! Query parameters of the contents of repositories.

use utoipa::IntoParams;

queries! {
    /// A page of a tree.
    TreeParams {
        /// Whether to include the entries of subdirectories.
        #[param(default = false)]
        recursive: bool,
        /// Page number, from 1.
        #[param(minimum = 1, default = 1)]
        page: u64,
        /// Entries per page; larger values are reduced to 1000.
        #[param(minimum = 1, maximum = 1000, default = 1000)]
        per_page: u64,
    }

    /// The revision to read from.
    RevisionParams {
        /// Branch, tag or commit; default: the default branch.
        #[param(rename = "ref")]
        revision: String,
    }

    /// Fields of a deletion that may be in the query.
    DeleteFileParams {
        /// Id of the blob to delete.
        sha: String,
        /// The branch to change; default: the default branch.
        branch: String,
        /// A branch to create from `branch`, which then gets the commit instead.
        new_branch: String,
        /// The commit message.
        message: String,
    }

    /// Filter and order of statuses of a commit.
    StatusListParams {
        /// `oldest`, `leastupdate` and `leastindex`: oldest first. `recentupdate` and `highestindex`: newest first.
        #[param(pattern = "^(oldest|recentupdate|leastupdate|leastindex|highestindex)$", default = "recentupdate")]
        sort: String,
        /// Only statuses with this state.
        #[param(pattern = "^(pending|success|error|failure|warning|skipped)$")]
        state: String,
    }

    /// Filters of releases.
    ReleaseListParams {
        /// Only drafts, or only published releases. Drafts are listed only for callers with write access.
        draft: bool,
        /// Only prereleases, or only others.
        #[param(rename = "pre-release")]
        prerelease: bool,
    }

    /// Name of a file of a release.
    AssetNameParams {
        /// Name of the file. Default: that in the form.
        #[param(max_length = 255)]
        name: String,
    }

    /// Start and filters of a list of commits.
    CommitListParams {
        /// Branch, tag or commit to start at; default: the default branch.
        sha: String,
        /// Exclude the commits that are reachable from this revision.
        not: String,
        /// Only commits that change this path.
        path: String,
        /// Only commits made at this time or later.
        #[param(format = DateTime)]
        since: String,
        /// Only commits made at this time or earlier.
        #[param(format = DateTime)]
        until: String,
    }

    /// Optional fields of commits.
    CommitFieldParams {
        /// Whether to include the numbers of changed lines.
        #[param(default = true)]
        stat: bool,
        /// Whether to include the changed paths.
        #[param(default = true)]
        files: bool,
        /// Whether to include the signature.
        #[param(default = true)]
        verification: bool,
    }
}
