//! The name under which a client saves a download.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but RFC 3986's unreserved characters.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `Content-Disposition` for `name`.
///
/// Both forms are percent-encoded: the official client decodes either one, ends the plain form at
/// a quote even inside quotes, and fails for good on a `%` that does not begin an escape.
pub fn attachment(name: &str) -> String {
    named("attachment", name)
}

/// The same for what a browser may show by itself.
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
    fn names_survive_the_client() {
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
