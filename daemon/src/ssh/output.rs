//! Sends data to the client.

use std::time::Duration;

use bytes::Bytes;
use russh::{ChannelWriteHalf, server::Msg};
use tokio::time::timeout;

use super::{
    connection::Connection,
    failure::{FAILED, SshFailure},
};
use crate::service::transfers::output::OutputReceiver;

/// Number of the extended data that clients write to standard error.
const STDERR: u32 = 1;
/// Bytes that are sent at a time. A client must read them within the time limit of a transfer without progress.
const CHUNK_BYTES: usize = 256 << 10;
/// How long the text of a failure waits for a client that does not read.
const TEXT_WAIT: Duration = Duration::from_secs(10);

/// The client is gone or does not read, so nobody reads a text.
const UNREAD: SshFailure = SshFailure { text: None, status: FAILED };

/// Sends the output of git to the client.
pub(super) async fn forward(
    connection: &Connection,
    mut output: OutputReceiver,
    write: &ChannelWriteHalf<Msg>,
) -> Result<(), SshFailure> {
    while let Some(chunk) = output.recv().await {
        send(connection, write, chunk?).await?;
    }
    Ok(())
}

/// Sends `bytes` to the client. Fails if the client does not read for the time that a transfer may last without
/// progress.
pub(super) async fn send(
    connection: &Connection,
    write: &ChannelWriteHalf<Msg>,
    mut bytes: Bytes,
) -> Result<(), SshFailure> {
    while !bytes.is_empty() {
        let chunk = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        match timeout(connection.context.git.timeout(), write.data_bytes(chunk)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(UNREAD),
        }
    }
    Ok(())
}

/// Sends a line to the standard error of the client.
pub(super) async fn send_text(write: &ChannelWriteHalf<Msg>, line: String) {
    let _ = timeout(TEXT_WAIT, write.extended_data_bytes(STDERR, line.into_bytes())).await;
}
