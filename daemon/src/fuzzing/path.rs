//! What must hold for the path of a request.

use farrier_common::names;
use http::Uri;
use percent_encoding::percent_decode_str;

use crate::{
    git::read::rev,
    http::{canonical, is_text},
};

/// A path and a query as they are sent: one spelling, and nothing in it leads out of its place.
pub fn path(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(uri) = format!("/{text}").parse::<Uri>() else { return };
    let one = canonical(uri.clone());
    assert_eq!(canonical(one.clone()), one, "{uri} has one spelling");
    assert!(!one.path().contains("//") && (one.path() == "/" || !one.path().ends_with('/')), "{uri} became {one}");
    assert_eq!(one.query(), uri.query());
    assert_eq!(segments(&one), segments(&uri), "what a path names stays");
    if !is_text(one.path()) || one.path().starts_with("/twirp") {
        return;
    }
    let decoded = percent_decode_str(one.path()).decode_utf8().expect("that is what was asked");
    below_a_repository(&decoded);
    for segment in segments(&one) {
        let name = percent_decode_str(segment).decode_utf8().expect("a part of a text between slashes");
        if names::check_repository(&name).is_ok() || names::check_owner(&name).is_ok() {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            assert!(plain && !matches!(&*name, "." | ".."), "{name:?} is a name");
        }
    }
}

/// The parts of a path that are not empty.
fn segments(uri: &Uri) -> Vec<&str> {
    uri.path().split('/').filter(|segment| !segment.is_empty()).collect()
}

/// What a path names below a repository is an entry of a tree, whichever slashes were escaped.
fn below_a_repository(rest: &str) {
    let Ok(entry) = rev::path(rest) else { return };
    assert!(!entry.starts_with('/') && !entry.ends_with('/'), "{rest:?}");
    assert!(!entry.split('/').any(|part| matches!(part, "." | "..")), "{rest:?} leads out of the tree");
    assert!(!entry.contains(['\0', '\n', '\r']), "{rest:?} is two lines");
    let escaped = entry.replace('%', "%25").replace('/', "%2F");
    let again = percent_decode_str(&escaped).decode_utf8().expect("text");
    assert_eq!(rev::path(&again), Ok(entry), "raw and escaped slashes mean the same");
}
