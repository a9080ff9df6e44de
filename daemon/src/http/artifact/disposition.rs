//! `Content-Disposition`: the name under which a client saves a download.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters except RFC 3986's unreserved characters.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the header value for a download with the name `name`.
///
/// Both parameters are percent-encoded. The official client decodes both, ends the plain one at the first quote even if
/// it is escaped, and fails on a `%` that does not begin an escape.
pub fn attachment(name: &str) -> String {
    named("attachment", name)
}

/// Like [`attachment`], for content that a browser may display.
pub fn inline(name: &str) -> String {
    named("inline", name)
}

fn named(kind: &str, name: &str) -> String {
    let name = utf8_percent_encode(name, ESCAPED);
    format!("{kind}; filename=\"{name}\"; filename*=UTF-8''{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_percent_encoded_for_the_official_client() {
        for (name, encoded) in [
            ("raw.txt", "raw.txt"),
            ("100%.log", "100%25.log"),
            ("it's \"a\";b.log", "it%27s%20%22a%22%3Bb.log"),
            ("日本 語.log", "%E6%97%A5%E6%9C%AC%20%E8%AA%9E.log"),
        ] {
            assert_eq!(attachment(name), format!("attachment; filename=\"{encoded}\"; filename*=UTF-8''{encoded}"));
        }
    }
}
