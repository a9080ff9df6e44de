//! The words that the API and the logs use for stored values.

use farrier_proto::store::{AuditActorKind, AuditResult, Conclusion, Permission, RunStatus, StatusState, Visibility};

/// Returns the word for a visibility.
pub fn visibility_word(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public",
        Visibility::Limited => "limited",
        Visibility::Private => "private",
    }
}

/// Returns the word for a permission.
pub fn permission_word(permission: Permission) -> &'static str {
    match permission {
        Permission::None => "none",
        Permission::Read => "read",
        Permission::Write => "write",
        Permission::Admin => "admin",
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

/// Returns the API's name of the result of an audit entry.
pub fn audit_result_word(result: AuditResult) -> &'static str {
    match result {
        AuditResult::Done | AuditResult::Unspecified => "done",
        AuditResult::Refused => "refused",
        AuditResult::Failed => "failed",
    }
}

/// Returns the API's name of a kind of actors.
pub fn audit_actor_word(kind: AuditActorKind) -> &'static str {
    match kind {
        AuditActorKind::Unspecified => "daemon",
        AuditActorKind::User => "user",
        AuditActorKind::CiAgent => "ci_agent",
        AuditActorKind::Job => "job",
        AuditActorKind::Anonymous => "anonymous",
        AuditActorKind::Command => "command",
    }
}

/// The states of a commit status with their names in the API.
pub const STATUS_STATES: [(&str, StatusState); 6] = [
    ("pending", StatusState::Pending),
    ("success", StatusState::Success),
    ("error", StatusState::Error),
    ("failure", StatusState::Failure),
    ("warning", StatusState::Warning),
    ("skipped", StatusState::Skipped),
];

/// Returns the state with this name in the API.
pub fn status_state(word: &str) -> Option<StatusState> {
    STATUS_STATES.iter().find(|(name, _)| *name == word).map(|(_, state)| *state)
}

/// Returns the API's name of the state of a commit status.
pub fn status_word(state: StatusState) -> &'static str {
    STATUS_STATES.iter().find(|(_, known)| *known == state).map_or("pending", |(name, _)| name)
}

/// Formats a digest as the protocol does: `sha256:` followed by hexadecimal digits.
pub fn digest_text(sha256: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256))
}
