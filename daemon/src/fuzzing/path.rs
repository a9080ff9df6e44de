//! Checks of request paths.

use farrier_common::names;
use http::Uri;
use percent_encoding::percent_decode_str;

use crate::{
    git::read::rev,
    http::{canonical, is_text},
};

/// Checks paths and queries: a canonical path is unique, and its segments cannot leave the directory.
pub fn path(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(uri) = format!("/{text}").parse::<Uri>() else { return };
    let normalized = canonical(uri.clone());
    assert_eq!(canonical(normalized.clone()), normalized, "the canonical form of {uri} is stable");
    assert!(
        !normalized.path().contains("//") && (normalized.path() == "/" || !normalized.path().ends_with('/')),
        "{uri} became {normalized}"
    );
    assert_eq!(normalized.query(), uri.query());
    assert_eq!(segments(&normalized), segments(&uri), "the segments do not change");
    if !is_text(normalized.path()) || normalized.path().starts_with("/twirp") {
        return;
    }
    let decoded = percent_decode_str(normalized.path()).decode_utf8().expect("valid UTF-8, checked above");
    below_a_repository(&decoded);
    for segment in segments(&normalized) {
        let name = percent_decode_str(segment).decode_utf8().expect("a segment of valid UTF-8");
        if names::check_repository(&name).is_ok() || names::check_owner(&name).is_ok() {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            assert!(plain && !matches!(&*name, "." | ".."), "{name:?} is a name");
        }
    }
}

/// Returns the non-empty segments of a path.
fn segments(uri: &Uri) -> Vec<&str> {
    uri.path().split('/').filter(|segment| !segment.is_empty()).collect()
}

/// Checks the path below a repository: it is a path of a tree entry, and escaped slashes do not change it.
fn below_a_repository(rest: &str) {
    let Ok(entry) = rev::path(rest) else { return };
    assert!(!entry.starts_with('/') && !entry.ends_with('/'), "{rest:?}");
    assert!(!entry.split('/').any(|part| matches!(part, "." | "..")), "{rest:?} leads out of the tree");
    assert!(!entry.contains(['\0', '\n', '\r']), "{rest:?} contains a line break");
    let escaped = entry.replace('%', "%25").replace('/', "%2F");
    let again = percent_decode_str(&escaped).decode_utf8().expect("text");
    assert_eq!(rev::path(&again), Ok(entry), "raw and escaped slashes are equivalent");
}
