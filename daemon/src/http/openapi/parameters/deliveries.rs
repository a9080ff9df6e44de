//! Query parameters of deliveries.

use utoipa::IntoParams;

queries! {
    /// Filters of deliveries. This list has cursors instead of page numbers, because totals are not always counted.
    DeliveryListParams {
        /// Only deliveries with one of these statuses, separated by commas: `success`, `failure`, `pending`,
        /// `cancelled`.
        status: String,
        /// Only deliveries of this event.
        event: String,
        /// Only deliveries with this reason: `OK`, `pending`, the class of a failure (for `http` and `redirect` with
        /// the status of the response, such as `http 500`), or why the delivery was cancelled.
        reason: String,
        /// Only deliveries of hooks whose current URL has this host, with the port unless it is the default of the
        /// scheme.
        host: String,
        /// Only deliveries of the hook with this number. Used by lists of all hooks.
        #[param(minimum = 1)]
        hook: u64,
        /// Only deliveries about the repository with this number.
        #[param(minimum = 1)]
        repository_id: u64,
        /// Only deliveries created at this time or later.
        #[param(format = DateTime)]
        since: String,
        /// Only deliveries created before this time.
        #[param(format = DateTime)]
        until: String,
        /// Cursor of the page, from `Link`.
        #[param(minimum = 1)]
        cursor: u64,
        /// Items per page; larger values are reduced to 50.
        #[param(minimum = 1, maximum = 50, default = 30)]
        limit: u64,
    }

    /// Groups of deliveries, and filters of the deliveries that are grouped.
    DeliveryGroupParams {
        /// What the deliveries of a group have in common.
        #[param(pattern = "^(hook|reason|host)$", default = "hook")]
        by: String,
        /// Only deliveries with one of these statuses, separated by commas: `success`, `failure`, `pending`,
        /// `cancelled`.
        status: String,
        /// Only deliveries of this event.
        event: String,
        /// Only deliveries with this reason: `OK`, `pending`, the class of a failure (for `http` and `redirect` with
        /// the status of the response, such as `http 500`), or why the delivery was cancelled.
        reason: String,
        /// Only deliveries of hooks whose current URL has this host, with the port unless it is the default of the
        /// scheme.
        host: String,
        /// Only deliveries of the hook with this number. Used by lists of all hooks.
        #[param(minimum = 1)]
        hook: u64,
        /// Only deliveries about the repository with this number.
        #[param(minimum = 1)]
        repository_id: u64,
        /// Only deliveries created at this time or later.
        #[param(format = DateTime)]
        since: String,
        /// Only deliveries created before this time.
        #[param(format = DateTime)]
        until: String,
    }

    /// The period of the results of deliveries.
    DeliveryResultsParams {
        /// The last hour in steps of a minute, the last day in steps of fifteen minutes, or the last week in steps of
        /// two hours.
        #[param(pattern = "^(hour|day|week)$", default = "day")]
        span: String,
        /// Only deliveries of the hook with this number.
        #[param(minimum = 1)]
        hook: u64,
    }
}
