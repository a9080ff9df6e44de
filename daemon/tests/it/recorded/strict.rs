//! Rules of the strict parsers of Gitea and Forgejo clients.

use serde_json::Value;

/// The fields below `path` that a strict parser refuses, with reasons.
pub(super) fn parse_errors(json: &Value, path: &str) -> Vec<String> {
    match json {
        Value::Array(items) => items.iter().flat_map(|item| parse_errors(item, path)).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let here = format!("{path}/{name}");
                let mut reasons = parse_errors(value, &here);
                reasons.extend(field(name, value).map(|reason| format!("{here} {reason}: {value}")));
                reasons
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Why a strict parser refuses this field.
fn field(name: &str, value: &Value) -> Option<&'static str> {
    const NEVER_NULL: [&str; 16] = [
        "internal_tracker",
        "external_tracker",
        "external_wiki",
        "owner",
        "clone_url",
        "language",
        "website",
        "parent",
        "mirror_updated",
        "mirror_interval",
        "archived_at",
        "wiki_branch",
        "last_login",
        "default_merge_style",
        "object_format_name",
        "author",
    ];
    let text = value.as_str();
    let date =
        name.ends_with("_at") || matches!(name, "created" | "last_login" | "mirror_updated" | "date" | "timestamp");
    if value.is_null() && NEVER_NULL.contains(&name) {
        return Some("must be omitted instead of null");
    }
    if let Some(text) = text.filter(|_| date) {
        let has_format = text.len() == 20 && text.ends_with('Z');
        return (!has_format || text.parse::<jiff::Timestamp>().is_err()).then_some("is not a date with whole seconds");
    }
    if let Some(text) = text.filter(|_| name == "url" || name.ends_with("_url")) {
        let absolute = text.is_empty() || text.starts_with("http://") || text.starts_with("https://");
        return (!absolute).then_some("is not an absolute URL");
    }
    if let Some(text) = text.filter(|_| matches!(name, "object_format_name" | "default_merge_style" | "visibility")) {
        return text.is_empty().then_some("must not be empty");
    }
    // Object ids are text, and tags have them as `id`.
    let object = |text: &str| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let counts = name.ends_with("_count") || name.ends_with("_counter") || matches!(name, "size" | "id");
    let counted = value.is_i64() || value.is_u64() || value.is_object() || text.is_some_and(object);
    (counts && !counted).then_some("is not an integer")
}
