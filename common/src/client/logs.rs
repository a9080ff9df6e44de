//! Requests for the log records of the daemon.

use super::{Client, ClientError, path::segment};
use crate::api::LogRecords;

/// Selects log records. Empty fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRecordFilter {
    /// The least severe level: `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The first characters of the target.
    pub target: String,
    /// A text in the record.
    pub text: String,
    /// Only records after the one with this number. `None`: the newest ones.
    pub after: Option<i64>,
    /// Whether records of requests of full screens are left out.
    pub without_full_screens: bool,
}

impl LogRecordFilter {
    /// Returns the query of a request, without a question mark.
    fn query(&self, limit: usize) -> String {
        let after = self.after.map(|after| after.to_string()).unwrap_or_default();
        let pairs = [("level", &self.level), ("target", &self.target), ("q", &self.text), ("after", &after)];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        let given = given.map(|(name, value)| format!("{name}={}", segment(value)));
        let without = self.without_full_screens.then(|| "full_screen=false".to_owned());
        given.chain(without).chain([format!("limit={limit}")]).collect::<Vec<_>>().join("&")
    }
}

impl Client {
    /// Returns up to `limit` log records, newest last. Only for administrators.
    pub async fn log_records(&self, filter: &LogRecordFilter, limit: usize) -> Result<LogRecords, ClientError> {
        self.get(&format!("/api/farrier/v1/logs?{}", filter.query(limit))).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_empty_filters_left_out() {
        let filter = LogRecordFilter {
            level: "warn".into(),
            text: "a b&c".into(),
            after: Some(0),
            ..LogRecordFilter::default()
        };
        assert_eq!(filter.query(5), "level=warn&q=a%20b%26c&after=0&limit=5");
        assert_eq!(LogRecordFilter::default().query(1), "limit=1");
        let without = LogRecordFilter { without_full_screens: true, ..LogRecordFilter::default() };
        assert_eq!(without.query(1), "full_screen=false&limit=1");
    }
}
