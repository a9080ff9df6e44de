//! Query parameters of the audit log.

use utoipa::IntoParams;

queries! {
    /// Filters of the audit log. This list has cursors instead of page numbers.
    AuditListParams {
        /// Only entries whose actor has this name or acts as the account with this name.
        actor: String,
        /// Only entries with this action, such as `repository.delete`, or whose action starts with these words, such
        /// as `repository`.
        action: String,
        /// Only entries about objects of this kind, and with this ID or name: `KIND`, `KIND:ID` or `KIND:NAME`.
        object: String,
        /// Only entries about the repository with this number or, at the time of the entry, this `owner/name`.
        repository: String,
        /// Only entries with this result.
        #[param(pattern = "^(done|refused|failed)$")]
        result: String,
        /// Only entries of this request.
        request_id: String,
        /// Only entries about what the account with this name did, about the account, and about what it owns.
        user: String,
        /// Words, in any case. Each must be a part of the action, the kind or path of the object, the actor, the
        /// result, the address or the reason. A page reads at most 4,096 entries and may be short or empty; the header
        /// `X-Examined-Count` has their number.
        q: String,
        /// Only entries at this time or later.
        #[param(format = DateTime)]
        since: String,
        /// Only entries before this time.
        #[param(format = DateTime)]
        until: String,
        /// Only entries after the one with this ID. The list ends before the first entry whose transaction is not
        /// finished, so that no entry is missed by asking for the entries after the newest one.
        #[param(minimum = 0)]
        after: u64,
        /// Cursor of the page, from `Link`.
        #[param(minimum = 1)]
        cursor: u64,
        /// Items per page; larger values are reduced to 50.
        #[param(minimum = 1, maximum = 50, default = 30)]
        limit: u64,
    }

    /// A page of the caller's own audit entries.
    OwnAuditListParams {
        /// Words, in any case. Each must be a part of the action, the kind or path of the object, the actor, the
        /// result, the address or the reason. A page reads at most 4,096 entries and may be short or empty; the header
        /// `X-Examined-Count` has their number.
        q: String,
        /// Only entries at this time or later.
        #[param(format = DateTime)]
        since: String,
        /// Only entries before this time.
        #[param(format = DateTime)]
        until: String,
        /// Only entries after the one with this ID. The list ends before the first entry whose transaction is not
        /// finished, so that no entry is missed by asking for the entries after the newest one.
        #[param(minimum = 0)]
        after: u64,
        /// Cursor of the page, from `Link`.
        #[param(minimum = 1)]
        cursor: u64,
        /// Items per page; larger values are reduced to 50.
        #[param(minimum = 1, maximum = 50, default = 30)]
        limit: u64,
    }
}
