//! Query parameters of the log records.

use utoipa::IntoParams;

queries! {
    /// A page of log records.
    LogListParams {
        /// Only records of this level and more severe ones.
        #[param(pattern = "^(error|warn|info|debug|trace)$")]
        level: String,
        /// Only records whose target begins with this text, such as `farrierd::delivery`.
        target: String,
        /// Only records whose message, target or fields (`name=value`) contain this text, in any case.
        q: String,
        /// Whether records of successful GET requests of farrier's full screen are returned.
        #[param(default = true)]
        full_screen: bool,
        /// Only records after the one with this number: `next` of the previous response. Without it, the newest
        /// records are returned.
        #[param(minimum = 0)]
        after: u64,
        /// Items per page; larger values are reduced to 1,000. A page of large records has fewer.
        #[param(minimum = 1, maximum = 1000, default = 100)]
        limit: u64,
    }
}
