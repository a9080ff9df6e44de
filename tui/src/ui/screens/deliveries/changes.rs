//! The differences between the payloads of two deliveries.

use std::collections::BTreeMap;

use farrier_common::api::{Delivery, DeliveryDetail};
use serde_json::Value;

use super::short;
use crate::ui::{screens::text_scroll::Lines, times::Clock, view::Role, words};

/// Maximum number of differences that are shown.
const SHOWN_MAX: usize = 2_000;
/// Maximum number of characters of a value.
const VALUE_MAX_CHARS: usize = 200;

/// Adds the values in `value` with their paths, such as `commits[0].id`.
fn flatten(path: String, value: &Value, all: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(path, value, all);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, value) in items.iter().enumerate() {
                flatten(format!("{path}[{at}]"), value, all);
            }
        }
        value => drop(all.insert(path, value.to_string())),
    }
}

fn cut(value: &str) -> String {
    if value.chars().count() <= VALUE_MAX_CHARS {
        return value.to_owned();
    }
    value.chars().take(VALUE_MAX_CHARS).chain(['…']).collect()
}

/// Returns one line for each value that differs: `-` only in `before`, `+` only in `after`, `~` in both.
fn differences(before: &Value, after: &Value) -> Lines {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten(String::new(), before, &mut old);
    flatten(String::new(), after, &mut new);
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let line = |path: &String| match (old.get(path), new.get(path)) {
        (Some(was), Some(is)) if was == is => None,
        (Some(was), Some(is)) => Some((Role::Warn, format!("~ {path}: {} -> {}", cut(was), cut(is)))),
        (Some(was), None) => Some((Role::Error, format!("- {path}: {}", cut(was)))),
        (None, is) => Some((Role::Ok, format!("+ {path}: {}", is.map(|is| cut(is)).unwrap_or_default()))),
    };
    let mut lines: Lines = paths.into_iter().filter_map(line).collect();
    if lines.len() > SHOWN_MAX {
        let more = lines.len() - SHOWN_MAX;
        lines.truncate(SHOWN_MAX);
        lines.push((Role::Muted, format!("and {} more", words::count(i64::try_from(more).unwrap_or(i64::MAX)))));
    }
    lines
}

/// Returns what a delivery has in common with the delivery before it: `push of infra/gateway to hook 12`.
fn subject(delivery: &Delivery) -> String {
    let of = match (&delivery.repository, delivery.repository_id) {
        (Some(repository), _) => format!(" of {repository}"),
        (None, Some(id)) => format!(" of repository {id}"),
        (None, None) => String::new(),
    };
    format!("{}{of} to hook {}", delivery.event, delivery.hook_id)
}

/// Returns the lines that compare the payload of a delivery with that of the previous one of the same hook, event and
/// repository.
pub(super) fn compared(detail: &DeliveryDetail, previous: Option<&DeliveryDetail>, clock: &Clock) -> Lines {
    let mut lines = vec![
        (Role::Muted, "All attempts of a delivery send the same body.".to_owned()),
        (Role::Title, format!("The previous {}:", subject(&detail.delivery))),
    ];
    let Some(previous) = previous else {
        lines.push((Role::Text, "No earlier delivery was found.".to_owned()));
        return lines;
    };
    let (guid, created) = (short(&previous.delivery.guid), clock.stamp(&previous.delivery.created_at));
    lines.push((Role::Text, format!("Compared with {guid} of {created}")));
    let payloads = [&previous.request.payload, &detail.request.payload];
    if payloads.iter().any(|payload| payload.is_null()) {
        lines.push((Role::Muted, "A payload was removed, or is too large to show.".to_owned()));
        return lines;
    }
    let different = differences(payloads[0], payloads[1]);
    if different.is_empty() {
        lines.push((Role::Text, "no differences".to_owned()));
    }
    lines.extend(different);
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(before: &Value, after: &Value) -> Vec<String> {
        differences(before, after).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn added_removed_and_changed_values_are_listed_with_their_paths() {
        let before = json!({"ref": "refs/heads/main", "commits": [{"id": "a1"}, {"id": "b2"}], "forced": false});
        let after = json!({"ref": "refs/heads/main", "commits": [{"id": "c3"}], "forced": false, "labels": []});
        assert_eq!(
            texts(&before, &after),
            ["~ commits[0].id: \"a1\" -> \"c3\"", "- commits[1].id: \"b2\"", "+ labels: []"]
        );
        assert_eq!(texts(&after, &after), [""; 0]);
        assert_eq!(texts(&json!({"a": {}}), &json!({"a": {"b": null}})), ["- a: {}", "+ a.b: null"]);
        assert_eq!(texts(&json!(1), &json!([2])), ["- : 1", "+ [0]: 2"]);
    }

    #[test]
    fn many_differences_and_long_values_are_cut() {
        let all: Vec<u32> = (0..2_010).collect();
        let lines = texts(&json!([]), &json!(all));
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (2_001, Some("and 11 more")));
        let line = texts(&json!({"a": 1}), &json!({"a": "é".repeat(300)})).concat();
        assert_eq!((line.chars().filter(|c| *c == 'é').count(), line.ends_with('…')), (199, true));
    }
}
