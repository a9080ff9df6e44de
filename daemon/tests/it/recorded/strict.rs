//! What strict readers of the family refuse in an answer.

use serde_json::Value;

/// What a strict reader of the family would refuse in an answer.
pub(super) fn refused(json: &Value, place: &str) -> Vec<String> {
    match json {
        Value::Array(items) => items.iter().flat_map(|item| refused(item, place)).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let here = format!("{place}/{name}");
                let mut reasons = refused(value, &here);
                reasons.extend(field(name, value).map(|reason| format!("{here} {reason}: {value}")));
                reasons
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Why a field cannot be read.
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
        return Some("must be left out in place of null");
    }
    if let Some(text) = text.filter(|_| date) {
        let shape = text.len() == 20 && text.ends_with('Z');
        return (!shape || text.parse::<jiff::Timestamp>().is_err()).then_some("is no date with whole seconds");
    }
    if let Some(text) = text.filter(|_| name == "url" || name.ends_with("_url")) {
        let absolute = text.is_empty() || text.starts_with("http://") || text.starts_with("https://");
        return (!absolute).then_some("is no absolute address");
    }
    if let Some(text) = text.filter(|_| matches!(name, "object_format_name" | "default_merge_style" | "visibility")) {
        return text.is_empty().then_some("is one of some words");
    }
    // Commits have ids of another kind, and so has a tag.
    let object = |text: &str| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let counts = name.ends_with("_count") || name.ends_with("_counter") || matches!(name, "size" | "id");
    let counted = value.is_i64() || value.is_u64() || value.is_object() || text.is_some_and(object);
    (counts && !counted).then_some("is no whole number")
}
