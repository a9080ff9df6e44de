//! Log records.

use farrier_common::api;

use super::number;
use crate::{
    clock::Millis,
    service::logs::{LogObject, LogObjectKind, LogPage, ShownRecord},
};

/// Converts a page of log records.
pub(in crate::http) fn log_page(page: &LogPage) -> api::LogRecords {
    api::LogRecords {
        records: page.records.iter().map(record).collect(),
        next: number(page.next),
        more: page.more,
        dropped: number(page.dropped),
        restarted: page.restarted,
    }
}

fn record(ShownRecord { record, objects }: &ShownRecord) -> api::LogRecord {
    let line = &record.line;
    let fields = line.fields.pairs().filter(|(name, _)| *name != "request_id");
    api::LogRecord {
        sequence: number(record.sequence),
        at: precise_time(record.at_ms),
        level: line.level.as_str().to_lowercase(),
        target: line.target.to_owned(),
        message: line.message.clone(),
        fields: fields.map(|(name, value)| api::LogField { name: name.to_owned(), value: value.to_owned() }).collect(),
        request_id: line.field("request_id").unwrap_or_default().to_owned(),
        objects: objects.iter().map(object).collect(),
    }
}

fn object(object: &LogObject) -> api::LogObject {
    let kind = match object.kind {
        LogObjectKind::Repository => "repository",
        LogObjectKind::Hook => "hook",
        LogObjectKind::Run => "run",
        LogObjectKind::Artifact => "artifact",
        LogObjectKind::Delivery => "delivery",
        LogObjectKind::User => "user",
    };
    api::LogObject { kind: kind.to_owned(), id: (object.id != 0).then(|| number(object.id)), name: object.name.clone() }
}

/// Formats a time with milliseconds: many records have the same second.
fn precise_time(ms: Millis) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |instant| format!("{instant:.3}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::telemetry::records::{LogLine, LogRecord};

    #[test]
    fn a_record_has_its_time_in_milliseconds_and_the_request_apart_from_the_fields() {
        let line = LogLine {
            level: tracing::Level::WARN,
            target: "farrierd::x",
            message: "m".into(),
            fields: [("request_id", "0a"), ("hook", "7")].into_iter().collect(),
        };
        let page = LogPage {
            records: vec![ShownRecord {
                record: Arc::new(LogRecord { sequence: 5, at_ms: 1_767_323_045_006, line }),
                objects: vec![LogObject { kind: LogObjectKind::Hook, id: 7, name: String::new() }],
            }],
            next: 5,
            ..LogPage::default()
        };
        let shown = serde_json::to_value(log_page(&page)).expect("plain data");
        let expected = serde_json::json!({
            "records": [{
                "sequence": 5, "at": "2026-01-02T03:04:05.006Z", "level": "warn", "target": "farrierd::x",
                "message": "m", "fields": [{ "name": "hook", "value": "7" }], "request_id": "0a",
                "objects": [{ "kind": "hook", "id": 7 }],
            }],
            "next": 5, "more": false, "dropped": 0, "restarted": false,
        });
        assert_eq!(shown, expected);
    }
}
