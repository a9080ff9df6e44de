//! The words that the API and the logs use for stored values.

use farrier_proto::store::{Conclusion, RunStatus, Visibility};

/// Returns the word for a visibility.
pub fn visibility_word(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public",
        Visibility::Limited => "limited",
        Visibility::Private => "private",
    }
}

/// Returns the API's name of a conclusion. Empty: none yet.
pub fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Unspecified => "",
        Conclusion::Success => "success",
        Conclusion::Failure => "failure",
        Conclusion::Cancelled => "cancelled",
        Conclusion::Skipped => "skipped",
    }
}

/// Returns the API's name of a status.
pub fn run_status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::InProgress | RunStatus::Unspecified => "in_progress",
    }
}

/// Formats a digest as the protocol does: `sha256:` followed by hexadecimal digits.
pub fn digest_text(sha256: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256))
}
