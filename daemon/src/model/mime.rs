//! Media types of artifacts.

/// The media type of artifacts that were uploaded without one. Clients before version 7 of the protocol send no type
/// and always upload zip files.
pub const ZIP: &str = "application/zip";

/// Longest media type, in bytes.
const LENGTH_MAX: usize = 255;

/// Returns whether `text` is `type/subtype`, with optional parameters, in characters that are valid in a header.
///
/// GitHub refuses some types that its own client sends. This check accepts every valid one.
pub fn is_valid(text: &str) -> bool {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let token = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+%'*`|~".contains(&b))
    };
    let named = essence.trim_matches(' ').split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype));
    named && text.len() <= LENGTH_MAX && parameters.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
}

/// Returns whether clients treat this type as a zip file and extract it.
pub fn is_zip(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), ZIP | "application/x-zip-compressed" | "application/zip-compressed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_validated_and_zip_types_are_recognized() {
        for good in ["text/plain", "application/zip; charset=binary", "font/woff2", "image/svg+xml", "x/y"] {
            assert!(is_valid(good), "{good}");
        }
        let long = format!("a/{}", "b".repeat(300));
        for bad in ["", "zip", "text/", "/plain", "text/pl ain", "a/b\r\nX: y", "a/b; \u{7f}", "tëxt/plain", &long] {
            assert!(!is_valid(bad), "{bad}");
        }
        assert!(is_zip("Application/Zip; x=y") && is_zip("application/x-zip-compressed"));
        assert!(!is_zip("application/octet-stream") && !is_zip("zip"));
    }
}
