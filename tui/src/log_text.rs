//! Log records as text, for the command line and the full screen.

use std::fmt::Write as _;

use farrier_common::api::{LogObject, LogRecord};

/// Returns the message and the fields on one line, as in the log: `a hook was switched off hook=7`.
pub(crate) fn content(record: &LogRecord) -> String {
    let mut text = record.message.clone();
    for field in &record.fields {
        let _ = write!(text, " {}={}", field.name, quoted(&field.value));
    }
    if !record.request_id.is_empty() {
        let _ = write!(text, " request_id={}", record.request_id);
    }
    text
}

/// Returns a value that is one word, or the value in quotes.
fn quoted(value: &str) -> String {
    let is_word = !value.is_empty() && !value.chars().any(|c| c.is_whitespace() || c == '"');
    if is_word { value.to_owned() } else { format!("{value:?}") }
}

/// Returns an object for people: `repository octo/demo`, `hook 7`.
pub(crate) fn object(object: &LogObject) -> String {
    match object.id {
        Some(id) if object.name.is_empty() => format!("{} {id}", object.kind),
        _ => format!("{} {}", object.kind, object.name),
    }
}

/// Returns the number of records that are missing before others, or that the daemon was restarted. `None`: neither.
pub(crate) fn gap(dropped: i64, restarted: bool) -> Option<String> {
    let lost = match dropped {
        ..=0 => None,
        1 => Some("1 record was replaced by newer ones".to_owned()),
        many => Some(format!("{many} records were replaced by newer ones")),
    };
    match (restarted, lost) {
        (false, lost) => lost,
        (true, None) => Some("the daemon was restarted".to_owned()),
        (true, Some(lost)) => Some(format!("the daemon was restarted, and {lost}")),
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::LogField;

    use super::*;

    #[test]
    fn content_has_the_fields_in_order_and_quotes_values_with_spaces() {
        let field = |name: &str, value: &str| LogField { name: name.into(), value: value.into() };
        let record = LogRecord {
            message: "failed".into(),
            fields: vec![field("hook", "7"), field("error", "no \"x\" here"), field("empty", "")],
            request_id: "0a".into(),
            ..LogRecord::default()
        };
        assert_eq!(content(&record), r#"failed hook=7 error="no \"x\" here" empty="" request_id=0a"#);
    }

    #[test]
    fn gaps_and_restarts_are_named() {
        assert_eq!(gap(0, false), None);
        assert_eq!(gap(1, false).as_deref(), Some("1 record was replaced by newer ones"));
        assert_eq!(gap(0, true).as_deref(), Some("the daemon was restarted"));
        let both = gap(20, true);
        assert_eq!(both.as_deref(), Some("the daemon was restarted, and 20 records were replaced by newer ones"));
    }

    #[test]
    fn objects_have_a_name_or_an_id() {
        let object_of = |id, name: &str| LogObject { kind: "repository".into(), id, name: name.into() };
        assert_eq!(object(&object_of(Some(3), "octo/demo")), "repository octo/demo");
        assert_eq!(object(&object_of(Some(3), "")), "repository 3");
        assert_eq!(object(&object_of(None, "octo/demo")), "repository octo/demo");
    }
}
