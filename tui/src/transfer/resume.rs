//! Decides whether a download continues where it stopped.
//!
//! Pure functions: the content of the part file and the response are arguments.

use farrier_common::client::ContentRange;
use http::StatusCode;

/// The next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// None: the file is complete.
    Complete,
    /// Request the content from this offset on.
    From(u64),
    /// Discard the file and request all of it.
    Restart,
}

/// Decides on the next request. `size` is the size according to the list.
pub(crate) fn start(have: u64, size: u64) -> Start {
    match have {
        0 => Start::From(0),
        have if have == size => Start::Complete,
        have if have > size => Start::Restart,
        have => Start::From(have),
    }
}

/// What to do with a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Append its body to the file.
    Append,
    /// Discard the file and write the body.
    Replace,
    /// Discard the file and repeat the request for all of the content.
    Restart,
}

/// Decides what to do with the response to a request for the content from offset `have` on.
pub(crate) fn answer(have: u64, size: u64, status: StatusCode, range: Option<ContentRange>) -> Write {
    match (status, range) {
        (StatusCode::OK, _) => Write::Replace,
        (StatusCode::PARTIAL_CONTENT, Some(range))
            if range.start == Some(have) && range.total.is_none_or(|total| total == size) =>
        {
            Write::Append
        }
        _ => Write::Restart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_file_is_resumed_unless_it_is_too_long() {
        let cases = [
            (0, 10, Start::From(0)),
            (0, 0, Start::From(0)),
            (4, 10, Start::From(4)),
            (10, 10, Start::Complete),
            (11, 10, Start::Restart),
        ];
        for (have, size, expected) in cases {
            assert_eq!(start(have, size), expected, "{have} of {size}");
        }
    }

    #[test]
    fn only_the_requested_range_is_appended() {
        let range = |start, total| Some(ContentRange { start, total });
        let cases = [
            (StatusCode::PARTIAL_CONTENT, range(Some(4), Some(10)), Write::Append),
            (StatusCode::PARTIAL_CONTENT, range(Some(4), None), Write::Append),
            (StatusCode::PARTIAL_CONTENT, range(Some(3), Some(10)), Write::Restart),
            (StatusCode::PARTIAL_CONTENT, range(Some(4), Some(11)), Write::Restart),
            (StatusCode::PARTIAL_CONTENT, None, Write::Restart),
            (StatusCode::RANGE_NOT_SATISFIABLE, range(None, Some(10)), Write::Restart),
            // The content no longer matches the tag, or the server ignores ranges.
            (StatusCode::OK, None, Write::Replace),
        ];
        for (status, range, expected) in cases {
            assert_eq!(answer(4, 10, status, range), expected, "{status} {range:?}");
        }
    }
}
