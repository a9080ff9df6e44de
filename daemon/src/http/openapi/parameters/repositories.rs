//! Query parameters of lists of repositories.

use utoipa::IntoParams;

queries! {
    /// Order of the caller's repositories.
    OwnRepositoriesParams {
        /// Sort key and direction.
        #[param(pattern = "^(name|id|newest|oldest|recentupdate|leastupdate|alphabetically|reversealphabetically|size|reversesize|gitsize|reversegitsize|lfssize|reverselfssize|moststars|feweststars|mostforks|fewestforks)$")]
        order_by: String,
    }

    /// Filter of topics.
    SearchTopicsParams {
        /// The beginning of the topics.
        q: String,
    }

    /// Filters and order of repositories.
    SearchRepositoriesParams {
        /// Part of the name.
        q: String,
        /// Whether `q` is a topic that the repositories must have.
        topic: bool,
        /// Whether to search descriptions and whole topics, too.
        #[param(rename = "includeDesc")]
        include_desc: bool,
        /// Number of an account or organization: only repositories that it owns or collaborates on.
        #[param(minimum = 0)]
        uid: i64,
        /// Only repositories that `uid` owns.
        exclusive: bool,
        /// ID of a team: only its repositories. Matches none for callers outside the organization.
        team_id: i64,
        /// Number of an account. Stars are not supported: matches no repository.
        #[param(rename = "starredBy")]
        starred_by: i64,
        /// `false` excludes private repositories.
        private: bool,
        /// Only private repositories, or only other ones.
        is_private: bool,
        /// Only templates, or only other repositories.
        template: bool,
        /// Only archived repositories, or only other ones.
        archived: bool,
        /// Kind of repositories.
        #[param(pattern = "^(source|fork|mirror|collaborative)$")]
        mode: String,
        /// Sort key.
        #[param(pattern = "^(alpha|created|updated|size|git_size|lfs_size|stars|forks|id)$")]
        sort: String,
        /// Ascending or descending.
        #[param(pattern = "^(asc|desc)$")]
        order: String,
    }
}
