//! `farrier logs`: prints and follows the newest log records of the daemon.

use std::time::Duration;

use farrier_common::{
    api::{LogRecord, LogRecords},
    client::{Client, LogRecordFilter},
};

use crate::{
    args::Logs,
    exit::Failure,
    log_text,
    output::{Output, clean_line},
};

/// Number of records that are printed by default.
const LIMIT: u16 = 100;
/// Number of older records that are printed before new ones by default.
const FOLLOW_LIMIT: u16 = 10;
/// Records of one request for new ones.
const PAGE: usize = 1_000;
/// Pause between two requests for new records.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(args: Logs, client: &Client, output: &Output) -> Result<(), Failure> {
    let filter = LogRecordFilter {
        level: args.level.unwrap_or_default(),
        target: args.target.unwrap_or_default(),
        text: args.grep.unwrap_or_default(),
        after: None,
        without_full_screens: false,
    };
    let limit = args.limit.unwrap_or(if args.follow { FOLLOW_LIMIT } else { LIMIT });
    let doing = if args.follow { "following the log" } else { "listing log records" };
    let mut page = client.log_records(&filter, limit.into()).await.map_err(Failure::call(doing))?;
    show_all(&page, output)?;
    if !args.follow {
        return Ok(());
    }
    loop {
        if !page.more {
            tokio::time::sleep(PAUSE).await;
        }
        let filter = LogRecordFilter { after: Some(page.next), ..filter.clone() };
        page = client.log_records(&filter, PAGE).await.map_err(Failure::call(doing))?;
        if let Some(gap) = log_text::gap(page.dropped, page.restarted) {
            let _ = output.note(&format!("farrier: {gap}")); // a message may get lost
        }
        show_all(&page, output)?;
    }
}

/// Prints each record on one line, in every format.
fn show_all(page: &LogRecords, output: &Output) -> Result<(), Failure> {
    let show = |record: &LogRecord| output.object(record, &record.sequence.to_string(), || line(record));
    page.records.iter().try_for_each(show)
}

fn line(record: &LogRecord) -> String {
    let level = record.level.to_uppercase();
    let line = format!("{}  {level:<5}  {}  {}", record.at, record.target, log_text::content(record));
    clean_line(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use farrier_common::api::LogField;

    use super::*;

    #[test]
    fn a_record_is_one_line_without_control_characters() {
        let record = LogRecord {
            at: "2026-01-02T03:04:05.006Z".into(),
            level: "warn".into(),
            target: "farrierd::delivery".into(),
            message: "a hook\n\u{1b}[2Jfailed".into(),
            fields: vec![LogField { name: "hook".into(), value: "7".into() }],
            ..LogRecord::default()
        };
        let line = line(&record);
        assert!(line.starts_with("2026-01-02T03:04:05.006Z  WARN   farrierd::delivery  a hook"), "{line}");
        assert!(line.ends_with("failed hook=7") && !line.contains(['\n', '\u{1b}']), "{line}");
    }
}
