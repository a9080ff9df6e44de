//! Requests for log records.

use farrier_common::client::{Client, ClientError, LogRecordFilter};

use super::Answer;

/// Records of one response.
const PAGE: usize = 1_000;

/// Loads the records after the number `after`, or the newest ones.
pub(super) async fn list(client: &Client, level: &str, after: Option<i64>) -> Result<Answer, ClientError> {
    let filter = LogRecordFilter { level: level.to_owned(), after, ..LogRecordFilter::default() };
    Ok(Answer::Logs(Box::new(client.log_records(&filter, PAGE).await?)))
}
