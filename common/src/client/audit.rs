//! Requests for the audit log.

use super::{Client, ClientError, Pages, path::segment};
use crate::api::AuditEntry;

const AUDIT: &str = "/api/farrier/v1/audit";
const OWN_AUDIT: &str = "/api/farrier/v1/user/audit";

/// Filters audit entries. Empty fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Name of the actor.
    pub actor: String,
    /// The action, or its first words.
    pub action: String,
    /// `KIND`, `KIND:ID` or `KIND:NAME`.
    pub object: String,
    /// `owner/name` or ID of a repository.
    pub repository: String,
    /// `done`, `refused` or `failed`.
    pub result: String,
    /// Only entries at or after this time, RFC 3339.
    pub since: String,
    /// Only entries before this time, RFC 3339.
    pub until: String,
    /// ID of a request.
    pub request_id: String,
    /// Name of an account: entries about what it did, about it, and about what it owns.
    pub user: String,
    /// Words, each of which must be a part of the texts of an entry.
    pub text: String,
    /// Only entries after the one with this ID whose lower IDs are all final.
    pub after: Option<i64>,
}

impl AuditFilter {
    /// Returns the query of a request, without a question mark.
    pub fn query(&self) -> String {
        let after = self.after.map(|after| after.to_string()).unwrap_or_default();
        let pairs = [
            ("actor", &self.actor),
            ("action", &self.action),
            ("object", &self.object),
            ("repository", &self.repository),
            ("result", &self.result),
            ("since", &self.since),
            ("until", &self.until),
            ("request_id", &self.request_id),
            ("user", &self.user),
            ("q", &self.text),
            ("after", &after),
        ];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| format!("{name}={}", segment(value))).collect::<Vec<_>>().join("&")
    }
}

impl Client {
    /// Lists the audit log, newest first. Only for administrators.
    pub fn audit(&self, filter: &AuditFilter) -> Pages<'_> {
        let query = filter.query();
        let mark = if query.is_empty() { "" } else { "?" };
        Pages::new(self, format!("{AUDIT}{mark}{query}"))
    }

    /// Lists the entries whose actor is the caller, newest first. Of the filter, only the text, the times and `after`
    /// are used.
    pub fn own_audit(&self, filter: &AuditFilter) -> Pages<'_> {
        let AuditFilter { since, until, text, after, .. } = filter.clone();
        let query = AuditFilter { since, until, text, after, ..AuditFilter::default() }.query();
        let mark = if query.is_empty() { "" } else { "?" };
        Pages::new(self, format!("{OWN_AUDIT}{mark}{query}"))
    }

    /// Returns an entry. Only for administrators.
    pub async fn audit_entry(&self, id: u64) -> Result<AuditEntry, ClientError> {
        self.get(&format!("{AUDIT}/{id}")).await
    }
}
