//! Converts errors and panics of redb to engine errors.
//!
//! redb panics on some damaged pages. Such a panic must neither end the daemon nor look like a failed request,
//! so every call of redb runs inside [`guarded`].

use std::{
    any::Any,
    cell::{Cell, RefCell},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use crate::store::engine::EngineError;

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// The message and source location of the last panic in this thread.
    static PANIC_MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Suppresses the output of panics that are converted to errors. Call once when the program starts.
pub fn hide_guarded_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if GUARDED.get() {
            let message = panic.payload_as_str().unwrap_or("the engine failed").replace('\n', " ");
            let location = panic.location().map(|at| (Path::new(at.file()).file_name(), at.line()));
            let Some((Some(file), line)) = location else { return PANIC_MESSAGE.set(message) };
            PANIC_MESSAGE.set(format!("{message} (at {}:{line})", file.to_string_lossy()));
        } else {
            print(panic);
        }
    }));
}

/// Runs `work`, which calls redb. A panic becomes [`EngineError::Damaged`].
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    let outer = GUARDED.replace(true);
    // State that redb leaves inconsistent is reached only through the same database, which is treated as
    // damaged from now on.
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.unwrap_or_else(|panic| {
        let message = PANIC_MESSAGE.take();
        let reason = if message.is_empty() { text(panic.as_ref()) } else { message };
        Err(EngineError::Damaged { reason })
    })
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the engine failed".to_owned())
}

/// Converts an error of redb.
pub(super) fn failure(error: impl Into<::redb::Error>) -> EngineError {
    match error.into() {
        ::redb::Error::DatabaseAlreadyOpen => EngineError::InUse,
        ::redb::Error::PreviousIo | ::redb::Error::DatabaseClosed => EngineError::Unavailable,
        ::redb::Error::Io(error) => failed_io(error),
        error @ (::redb::Error::Corrupted(_)
        | ::redb::Error::LockPoisoned(_)
        | ::redb::Error::TableDoesNotExist(_)
        | ::redb::Error::TableTypeMismatch { .. }
        | ::redb::Error::TypeDefinitionChanged { .. }
        | ::redb::Error::TableIsMultimap(_)) => EngineError::Damaged { reason: error.to_string() },
        error => EngineError::Storage(Box::new(error)),
    }
}

/// Converts an I/O error. redb returns `InvalidData` for a file in another format and `UnexpectedEof` for a
/// truncated file.
pub(super) fn failed_io(error: io::Error) -> EngineError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => EngineError::Damaged { reason: error.to_string() },
        _ => EngineError::Storage(Box::new(error)),
    }
}

/// A failed commit. The error is shared by all transactions of the commit.
#[derive(Clone)]
pub(super) enum CommitFailure {
    /// redb's error.
    Failed(Arc<::redb::CommitError>),
    /// redb panicked.
    Damaged(String),
}

impl CommitFailure {
    /// Returns the error for one transaction. Keeps the kind of an I/O error, because callers detect a full
    /// disk by it.
    pub(super) fn error(&self) -> EngineError {
        match self {
            Self::Damaged(reason) => EngineError::Damaged { reason: reason.clone() },
            Self::Failed(error) => EngineError::Storage(match error.as_ref() {
                ::redb::CommitError::Storage(::redb::StorageError::Io(cause)) => {
                    Box::new(io::Error::new(cause.kind(), Arc::clone(error)))
                }
                _ => Box::new(Arc::clone(error)),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        let error = guarded::<()>(|| panic!("page {} is bad", 7)).expect_err("a panic");
        assert!(matches!(&error, EngineError::Damaged { reason } if reason.contains("page 7 is bad")), "{error:?}");
        assert!(!GUARDED.get());
    }

    #[test]
    fn a_truncated_file_is_damaged_and_a_full_disk_is_not() {
        let of = |kind: io::ErrorKind| failure(::redb::Error::Io(kind.into()));
        assert!(matches!(of(io::ErrorKind::UnexpectedEof), EngineError::Damaged { .. }));
        assert!(matches!(of(io::ErrorKind::InvalidData), EngineError::Damaged { .. }));
        assert!(matches!(of(io::ErrorKind::StorageFull), EngineError::Storage(_)));
        assert!(matches!(failure(::redb::Error::Corrupted("x".into())), EngineError::Damaged { .. }));
    }
}
