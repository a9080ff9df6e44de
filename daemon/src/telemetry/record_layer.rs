//! The part of logging that keeps records in memory.

use std::{
    error::Error,
    fmt::{self, Debug, Write as _},
    mem,
    sync::Arc,
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use super::{
    UNRECORDED_TARGET,
    fields::LogFields,
    records::{LogLine, LogRecords},
};
use crate::clock::Clock;

/// Longest message, in bytes. Longer ones are cut.
const MESSAGE_MAX: usize = 4_096;
/// Longest value of a field, in bytes.
const VALUE_MAX: usize = 2_048;
/// Maximum size of all values of a record, in bytes.
const VALUES_MAX: usize = 8_192;
/// Maximum number of causes of an error that are recorded.
const CAUSES_MAX: usize = 16;

/// Adds each event to the records. It must not log: it would receive its own events.
pub(super) struct RecordLayer {
    records: Arc<LogRecords>,
    clock: Clock,
}

impl RecordLayer {
    pub(super) fn new(records: Arc<LogRecords>, clock: Clock) -> Self {
        Self { records, clock }
    }
}

impl<S: Subscriber> Layer<S> for RecordLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target() == UNRECORDED_TARGET {
            return;
        }
        let fields = LogFields::with_capacity(metadata.fields().len());
        let line = LogLine { level: *metadata.level(), target: metadata.target(), fields, ..LogLine::default() };
        let mut visitor = LineVisitor { line, value: String::new(), left: VALUES_MAX };
        event.record(&mut visitor);
        visitor.line.fields.shrink();
        self.records.add(self.clock.now_ms(), visitor.line);
    }
}

/// Formats the fields of an event.
struct LineVisitor {
    line: LogLine,
    /// Room for the text of a value.
    value: String,
    /// Bytes that are left for values.
    left: usize,
}

impl LineVisitor {
    /// Adds the text that `write` writes, up to the limits.
    fn add(&mut self, field: &Field, write: impl FnOnce(&mut BoundedText) -> fmt::Result) {
        let is_message = field.name() == "message";
        let max = if is_message { MESSAGE_MAX } else { VALUE_MAX.min(self.left) };
        let mut bounded = BoundedText { text: mem::take(&mut self.value), max, is_full: false };
        // Fails when the text is full.
        let _ = write(&mut bounded);
        let mut text = bounded.text;
        if is_message {
            text.shrink_to_fit();
            self.line.message = text;
        } else {
            self.left = self.left.saturating_sub(text.len());
            self.line.fields.push(field.name(), &text);
            text.clear();
            self.value = text;
        }
    }
}

impl Visit for LineVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, |text| text.write_str(value));
    }

    /// Records an error with its causes.
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add(field, |text| {
            write!(text, "{value}")?;
            let causes = std::iter::successors(value.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
            causes.take(CAUSES_MAX).try_for_each(|cause| write!(text, ": {cause}"))
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, |text| write!(text, "{value:?}"));
    }
}

/// A text with a maximum length. What does not fit is replaced by an ellipsis.
struct BoundedText {
    text: String,
    max: usize,
    is_full: bool,
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.is_full {
            return Err(fmt::Error);
        }
        let left = self.max.saturating_sub(self.text.len());
        if more.len() <= left {
            self.text.push_str(more);
            return Ok(());
        }
        self.text.push_str(&more[..more.floor_char_boundary(left)]);
        self.text.push('…');
        self.is_full = true;
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("reading failed")]
    struct Failed(#[source] std::io::Error);

    /// Returns the records of what `log` logs.
    fn recorded(log: impl FnOnce()) -> Vec<LogLine> {
        let records = Arc::new(LogRecords::new(100, 1 << 20, 0));
        let layer = RecordLayer::new(records.clone(), Clock::manual(7));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        records.since(0, 100).iter().map(|record| record.line.clone()).collect()
    }

    #[test]
    fn a_record_has_level_target_message_and_fields_in_order() {
        let missing: Option<u64> = None;
        let lines = recorded(|| {
            tracing::warn!(target: "here", hook = 7, name = "a b", uid = missing, odd = ?"q", "a hook {}", "failed");
        });
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!((line.level, line.target, line.message.as_str()), (tracing::Level::WARN, "here", "a hook failed"));
        let fields = [("hook", "7"), ("name", "a b"), ("odd", "\"q\"")];
        assert_eq!(line.fields.pairs().collect::<Vec<_>>(), fields);
    }

    #[test]
    fn an_error_is_recorded_with_its_causes() {
        let error = Failed(std::io::Error::other("no disk"));
        let lines = recorded(|| tracing::error!(error = &error as &dyn Error, "broken"));
        assert_eq!(lines[0].field("error"), Some("reading failed: no disk"));
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "ä".repeat(10_000);
        let lines = recorded(|| {
            tracing::info!(a = long, b = long, c = long, d = long, e = long, f = long, "{long}");
        });
        let line = &lines[0];
        assert!(line.message.len() <= MESSAGE_MAX + '…'.len_utf8() && line.message.ends_with("ä…"), "{}", line.message);
        assert_eq!(line.fields.pairs().count(), 6);
        let values: usize = line.fields.pairs().map(|(_, value)| value.len()).sum();
        assert!(values <= VALUES_MAX + 6 * '…'.len_utf8(), "{values}");
        assert!(line.fields.pairs().all(|(_, value)| value.ends_with('…')));
    }

    #[test]
    fn requests_for_the_records_are_not_recorded() {
        let lines = recorded(|| tracing::info!(target: UNRECORDED_TARGET, "request"));
        assert!(lines.is_empty(), "{lines:?}");
    }
}
