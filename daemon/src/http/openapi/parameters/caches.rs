//! Query parameters of cache entries.

use utoipa::IntoParams;

queries! {
    /// Filters and order of the cache entries of a repository.
    CacheListParams {
        /// Only keys that begin with this text.
        key: String,
        /// Only this ref, as a full name such as `refs/heads/main`.
        #[param(rename = "ref")]
        git_ref: String,
        /// The value to sort by.
        #[param(pattern = "^(last_accessed_at|created_at|size_in_bytes)$", default = "last_accessed_at")]
        sort: String,
        /// `desc`: the largest value comes first.
        #[param(pattern = "^(asc|desc)$", default = "desc")]
        direction: String,
    }

    /// Selection of cache entries by their key.
    CacheKeyParams {
        /// The complete key. Required.
        key: String,
        /// Only this ref, as a full name; default: all refs.
        #[param(rename = "ref")]
        git_ref: String,
    }

    /// Filters of cache entries of all repositories.
    CachesOfAllParams {
        /// Only entries of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only keys that begin with this text.
        key: String,
        /// Only this ref, as a full name such as `refs/heads/main`.
        #[param(rename = "ref")]
        git_ref: String,
        /// Cursor of the page, from `Link`.
        cursor: String,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }
}
