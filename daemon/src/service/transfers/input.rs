//! The bytes that a client sends during a transfer.

use bytes::Bytes;

use crate::{git::commands::Commands, shares::Refused};

/// Why the data of a client cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The client disconnected or stopped sending.
    #[error("the body ended early")]
    Cut,
    /// The client sent nothing for too long.
    #[error("the transfer made no progress for too long")]
    Stalled,
    /// The compressed data is not valid.
    #[error("the gzip encoding of the body is broken")]
    Gzip,
    /// The caller lost its access while it sent the body.
    #[error("your access was revoked")]
    Revoked,
    /// The body is larger than the limit.
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
    /// The memory of requests is in use.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The data of one transfer, which is read in chunks.
pub trait TransferInput: Send + 'static {
    /// Whether the client reads the response only after it has sent everything. Such input is read to its end, even
    /// when git has ended before.
    const READ_TO_END: bool;

    /// Returns the next chunk, which is never empty, or `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, InputError>> + Send;

    /// Counts `bytes` of memory to the transfer, until it has ended.
    fn count(&self, bytes: usize) -> Result<(), InputError>;

    /// Returns the number of mirrors through which a push came, as the client states it.
    fn mirror_depth(&self) -> u32 {
        0
    }

    /// Is called when the list of ref updates of a push is complete. `rest`: the bytes after it that were already read.
    fn list_ended(&mut self, commands: &Commands, rest: &[u8]);

    /// Reads and discards the rest for a limited time: git reads the response only after it has sent everything.
    fn discard(&mut self) -> impl Future<Output = ()> + Send;
}

/// The input of a transfer for which the client sends nothing.
pub struct NoInput;

impl TransferInput for NoInput {
    const READ_TO_END: bool = false;

    async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        Ok(None)
    }

    fn count(&self, _: usize) -> Result<(), InputError> {
        Ok(())
    }

    fn list_ended(&mut self, _: &Commands, _: &[u8]) {}

    async fn discard(&mut self) {}
}

/// The input of a transfer that was received before git starts.
pub struct CompleteInput(Bytes);

impl CompleteInput {
    /// Creates an input of `bytes`. The caller counts their memory until the transfer has ended.
    pub fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl TransferInput for CompleteInput {
    const READ_TO_END: bool = false;

    async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        Ok(Some(std::mem::take(&mut self.0)).filter(|bytes| !bytes.is_empty()))
    }

    fn count(&self, _: usize) -> Result<(), InputError> {
        Ok(())
    }

    fn list_ended(&mut self, _: &Commands, _: &[u8]) {}

    async fn discard(&mut self) {}
}

/// Largest list of wants and haves of a fetch, in bytes.
pub const FETCH_MAX_BYTES: u64 = 32 << 20;

/// Allowance for the list of ref updates of a push, in bytes.
const LIST_MAX_BYTES: u64 = 16 << 20;

/// Returns the limit of the data of a push. It is higher than the limit that git enforces, so that the client shows
/// git's own error message.
pub const fn push_limit(max_push_bytes: u64) -> u64 {
    max_push_bytes.saturating_mul(2).saturating_add(LIST_MAX_BYTES)
}
