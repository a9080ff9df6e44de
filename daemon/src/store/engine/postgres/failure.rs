//! Converts errors of PostgreSQL to engine errors.

use std::io;

use tokio_postgres::{
    Error,
    error::{DbError, SqlState},
};

use crate::store::engine::EngineError;

/// Returns whether the server ended a transaction because it conflicts with another. Nothing was written.
pub(super) fn is_conflict(error: &Error) -> bool {
    error
        .code()
        .is_some_and(|code| [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code))
}

/// Returns whether a new connection may succeed where this one failed: the server is starting, stopping or was not
/// reached, or the connection was cut.
pub(super) fn is_connection_lost(error: &Error) -> bool {
    if let Some(code) = error.code() {
        // Class 57P: the server ends or does not accept sessions. Class 08: connection exceptions.
        return code.code().starts_with("57P")
            || code.code().starts_with("08")
            || *code == SqlState::TOO_MANY_CONNECTIONS;
    }
    let cause = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    error.is_closed() || cause.is_some_and(|cause| !is_tls_failure(cause))
}

/// Returns whether a TLS handshake failed for a reason that a repetition does not change, such as the certificate.
fn is_tls_failure(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

/// Converts an error of a query.
pub(super) fn failure(error: Error) -> EngineError {
    if is_conflict(&error) {
        return EngineError::Conflict;
    }
    if is_connection_lost(&error) {
        return EngineError::Unavailable;
    }
    match error.code() {
        Some(code) if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) => {
            EngineError::Damaged { reason: error.as_db_error().map_or_else(String::new, DbError::to_string) }
        }
        // A statement or a lock took too long: the server is overloaded.
        Some(code) if [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code) => {
            tracing::warn!(error = error.as_db_error().map(tracing::field::display), "the store was too slow");
            EngineError::Unavailable
        }
        // The disk of the server is full. Callers detect a full disk by the kind of the I/O error.
        Some(code) if *code == SqlState::DISK_FULL => {
            EngineError::Storage(Box::new(io::Error::new(io::ErrorKind::StorageFull, error)))
        }
        _ => EngineError::Storage(Box::new(error)),
    }
}
