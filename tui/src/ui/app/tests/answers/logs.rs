//! Responses with log records.

use farrier_common::api::{LogField, LogObject, LogRecord, LogRecords};

use super::super::prelude::*;

pub(in super::super) fn log_record(sequence: i64, level: &str, message: &str) -> LogRecord {
    LogRecord {
        sequence,
        at: format!("2026-11-21T11:59:{:02}.{:03}Z", sequence % 60, sequence * 37 % 1_000),
        level: level.into(),
        target: "farrierd::delivery::worker".into(),
        message: message.into(),
        ..LogRecord::default()
    }
}

/// A page of records after which `next` is the number to continue with.
pub(in super::super) fn log_page(records: Vec<LogRecord>, next: i64) -> Answer {
    Answer::Logs(Box::new(LogRecords { records, next, ..LogRecords::default() }))
}

/// Four records: a request, a hook that was switched off, text of others, and an error.
pub(in super::super) fn logs() -> Answer {
    let field = |name: &str, value: &str| LogField { name: name.into(), value: value.into() };
    let request = LogRecord {
        target: "farrierd::access".into(),
        fields: vec![
            field("method", "GET"),
            field("path", "/api/v1/repos/infra/gateway"),
            field("account", "ops"),
            field("status", "200"),
        ],
        request_id: "7d1e00000000000a".into(),
        objects: vec![
            LogObject { kind: "repository".into(), id: None, name: "infra/gateway".into() },
            LogObject { kind: "user".into(), id: None, name: "ops".into() },
        ],
        ..log_record(1, "info", "request")
    };
    let hook = LogRecord {
        fields: vec![field("hook", "12"), field("reason", "no successful delivery")],
        objects: vec![LogObject { kind: "hook".into(), id: Some(12), name: String::new() }],
        ..log_record(2, "warn", "a hook was switched off")
    };
    let foreign = LogRecord {
        fields: vec![field("error", "\u{1b}[2J\u{202e}remote:\nnot found\u{7}")],
        ..log_record(3, "debug", "a read is left to git")
    };
    log_page(vec![request, hook, foreign, log_record(4, "error", "writing a block failed")], 4)
}
