//! Passes a backup from the threads that write it to the request that asked for it.
//!
//! The stream ends without an error only if the backup is complete, so that a client never takes a part for all.

use std::{
    io::{self, Write},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

/// Pieces between both sides. A piece has about 1 MiB.
const PIECES: usize = 2;
/// Longest time for which a client may not read. While it does not read, the backup holds all removals of files.
const STALL_MAX: Duration = Duration::from_secs(120);

/// The bytes of a tar file.
#[derive(Debug)]
pub struct BackupStream {
    pieces: mpsc::Receiver<Bytes>,
    complete: Option<oneshot::Receiver<()>>,
}

/// The side of the backup.
#[derive(Debug)]
pub(super) struct BackupSender {
    pieces: mpsc::Sender<Bytes>,
    complete: oneshot::Sender<()>,
}

/// Returns both sides of a new stream.
pub(super) fn channel() -> (BackupSender, BackupStream) {
    let ((sender, pieces), (done, complete)) = (mpsc::channel(PIECES), oneshot::channel());
    (BackupSender { pieces: sender, complete: done }, BackupStream { pieces, complete: Some(complete) })
}

impl BackupSender {
    /// Returns a writer for a thread that may block. Call it on a thread of the runtime.
    pub(super) fn writer(&self) -> PieceWriter {
        PieceWriter { pieces: self.pieces.clone(), runtime: Handle::current() }
    }

    /// Ends the stream without an error.
    pub(super) fn complete(self) {
        // The client may be gone.
        _ = self.complete.send(());
    }
}

impl BackupStream {
    /// Returns the next bytes; `None` at the end of a complete backup.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if let Some(piece) = self.pieces.recv().await {
            return Some(Ok(piece));
        }
        // Once only: nothing follows an error.
        match self.complete.take()?.await {
            Ok(()) => None,
            Err(_) => Some(Err(io::Error::other("the backup failed, so its stream ends early"))),
        }
    }
}

/// Sends what is written. Waits while the client does not read, on the thread of the caller.
pub(super) struct PieceWriter {
    pieces: mpsc::Sender<Bytes>,
    runtime: Handle,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.pieces.send(Bytes::copy_from_slice(bytes));
        match self.runtime.block_on(async { tokio::time::timeout(STALL_MAX, sent).await }) {
            Ok(Ok(())) => Ok(bytes.len()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone")),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks;

    #[tokio::test]
    async fn a_stream_ends_without_an_error_only_if_the_backup_is_complete() {
        for is_complete in [true, false] {
            let (sender, mut stream) = channel();
            let mut writer = sender.writer();
            tasks::blocking(move || writer.write_all(b"bytes").expect("sent")).await;
            if is_complete {
                sender.complete();
            } else {
                drop(sender);
            }
            assert_eq!(stream.next().await.expect("bytes").expect("no error"), "bytes");
            assert_eq!(stream.next().await.map(|end| end.is_err()), if is_complete { None } else { Some(true) });
            assert!(stream.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_client_that_is_gone_or_does_not_read_ends_the_backup() {
        let (sender, stream) = channel();
        let mut writer = sender.writer();
        drop(stream);
        let error = tasks::blocking(move || writer.write(b"bytes")).await.expect_err("gone");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
