//! Requests for log records.

use farrier_common::client::{Client, ClientError, LogRecordFilter};

use super::Answer;

/// Records of one response.
const PAGE: usize = 1_000;

/// Whether the records of requests of full screens are loaded. This program causes several of them in each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OwnRequests {
    #[default]
    Hidden,
    Shown,
}

/// Loads the records after the number `after`, or the newest ones.
pub(super) async fn list(
    client: &Client,
    level: &str,
    after: Option<i64>,
    own: OwnRequests,
) -> Result<Answer, ClientError> {
    let without_full_screens = own == OwnRequests::Hidden;
    let filter = LogRecordFilter { level: level.to_owned(), after, without_full_screens, ..LogRecordFilter::default() };
    Ok(Answer::Logs(Box::new(client.log_records(&filter, PAGE).await?)))
}
