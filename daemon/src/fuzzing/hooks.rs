//! Checks of the parsers for the settings of hooks.

use std::collections::BTreeMap;

use http::HeaderValue;
use url::Url;

use crate::model::{
    branch_filter::BranchFilter,
    hook_config::{self, TYPES},
    mime,
    ref_name::{HEADS, TAGS},
};

/// Names that every branch filter is matched with.
const NAMES: [&str; 6] = ["main", "a/b/c", "v1.0", "release-1.0.x", "ä", "{}"];

/// Checks branch filters: an accepted filter can be used, treats a branch the same by both names, and lets refs pass
/// that are neither branches nor tags.
pub fn branch_filter(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(filter) = BranchFilter::parse(text) else { return };
    for name in NAMES {
        let _ = filter.passes(&format!("{HEADS}{name}"));
        let _ = filter.passes(&format!("{TAGS}{name}"));
        assert!(filter.passes(&format!("refs/notes/{name}")), "{text:?}");
        if text.len() < 100 && text == name && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/') {
            assert!(filter.passes(&format!("{HEADS}{name}")), "{text:?} is the name of a branch");
        }
    }
}

/// Checks the `config` of hooks of every type: an accepted target is an http address without credentials, and secrets
/// are valid in headers.
pub fn hook_config(input: &[u8]) {
    let Ok(config) = serde_json::from_slice::<BTreeMap<String, String>>(input) else { return };
    for kind in TYPES {
        let Ok(checked) = hook_config::check(kind, &config) else { continue };
        let url = Url::parse(&checked.url).unwrap_or_else(|error| panic!("{:?}: {error}", checked.url));
        assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{:?}", checked.url);
        assert!(url.username().is_empty() && url.password().is_none(), "{:?} has credentials", checked.url);
        if let Some(authorization) = &checked.authorization {
            assert!(HeaderValue::from_str(authorization).is_ok(), "{authorization:?}");
        }
        assert!(checked.settings.keys().all(|name| kind.setting(name).is_some()), "{:?}", checked.settings);
    }
}

/// Checks media types of artifacts: an accepted one is a valid header value.
pub fn media_type(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    assert!(!mime::is_valid(text) || HeaderValue::from_str(text).is_ok(), "{text:?}");
    let _ = mime::is_zip(text);
}
