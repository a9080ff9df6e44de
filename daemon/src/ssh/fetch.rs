//! Fetches in protocol version 2.
//!
//! The protocol has no state between its commands. So each command is answered like a request over HTTP: from the list
//! of refs, from a stored answer, or by a git process that ends with its answer.

use bytes::{Bytes, BytesMut};
use farrier_proto::store::Repository;
use russh::{ChannelWriteHalf, server::Msg};
use tokio::{sync::mpsc, time::timeout};

use super::{
    connection::Connection,
    failure::SshFailure,
    input::Received,
    output::{forward, send},
};
use crate::{
    git::pkt,
    service::{
        access::Action,
        access_watch::AccessWatch,
        transfers::{
            Allowed, CompleteInput, FETCH_MAX_BYTES, InputError, TransferError, fetch,
            fetch_answer::{self, FetchAnswer, PARSED_FACTOR, VERSION_2},
        },
    },
    shares::RequestMemory,
};

/// Sends the capabilities, then answers the commands of the client until it ends the conversation.
pub(super) async fn serve(
    connection: &Connection,
    allowed: &Allowed,
    received: mpsc::Receiver<Received>,
    write: &ChannelWriteHalf<Msg>,
) -> Result<(), SshFailure> {
    let context = &connection.context;
    let Repository { id, sha256, .. } = allowed.repository;
    let capabilities = context.git.fetch_capabilities(id, sha256).await.map_err(TransferError::from)?;
    send(connection, write, capabilities).await?;
    let mut access = AccessWatch::new(context, allowed.identity.clone(), Some((id, Action::Read)));
    let mut requests = Requests::new(received);
    loop {
        // Of this request only. It is counted until its answer is sent: a client can read slowly, on each channel.
        let memory = context.serving.memory.request(allowed.holder);
        let next = tokio::select! {
            next = timeout(context.git.timeout(), requests.next(&memory)) => next.unwrap_or(Err(TransferError::Stalled)),
            () = access.lost() => Err(TransferError::Revoked),
        };
        let Some(request) = next? else { return Ok(()) };
        if !access.holds().await {
            return Err(TransferError::Revoked.into());
        }
        memory.grow(request.len().saturating_mul(PARSED_FACTOR)).map_err(InputError::from)?;
        answer(connection, allowed, request, write, &memory).await?;
    }
}

async fn answer(
    connection: &Connection,
    allowed: &Allowed,
    request: Bytes,
    write: &ChannelWriteHalf<Msg>,
    memory: &RequestMemory,
) -> Result<(), SshFailure> {
    let context = &connection.context;
    let output = match fetch_answer::answer(context, allowed, VERSION_2, &request, Some(memory), None).await? {
        Some(FetchAnswer::Refs(refs)) => return send(connection, write, refs).await,
        Some(FetchAnswer::Shared(shared)) => shared.output,
        None => {
            let call = fetch_answer::upload_pack(context, allowed.repository.id, VERSION_2);
            fetch::stream(context, allowed, call, CompleteInput::new(request)).await?
        }
    };
    forward(connection, output, write).await
}

/// The commands of a client, each up to its flush packet.
struct Requests {
    received: mpsc::Receiver<Received>,
    buffer: BytesMut,
    /// Bytes of the buffer that were found to be complete packets of the next command.
    checked: usize,
}

impl Requests {
    fn new(received: mpsc::Receiver<Received>) -> Self {
        Self { received, buffer: BytesMut::new(), checked: 0 }
    }

    /// Returns the next command. `None`: the client ended the conversation. The bytes are counted to `memory`.
    async fn next(&mut self, memory: &RequestMemory) -> Result<Option<Bytes>, TransferError> {
        loop {
            let length = pkt::request_length(&self.buffer, &mut self.checked);
            if let Some(length) = length.map_err(|error| TransferError::Protocol(error.to_string()))? {
                self.checked = 0;
                let request = self.buffer.split_to(length).freeze();
                // A client that needs nothing sends only a flush packet.
                return Ok(Some(request).filter(|request| request != pkt::FLUSH));
            }
            match self.received.recv().await {
                Some(Received::Data(data)) => {
                    if (self.buffer.len() + data.len()) as u64 > FETCH_MAX_BYTES {
                        return Err(InputError::TooLarge(FETCH_MAX_BYTES).into());
                    }
                    memory.grow(data.len()).map_err(InputError::from)?;
                    self.buffer.extend_from_slice(&data);
                }
                Some(Received::Eof) if self.buffer.is_empty() => return Ok(None),
                // The channel was closed, or the client sends no more in the middle of a command.
                Some(Received::Eof) | None => return Err(InputError::Cut.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::{Holder, MemoryBudget};

    async fn all(chunks: Vec<Received>) -> (Vec<Bytes>, Result<(), TransferError>) {
        let (sender, received) = mpsc::channel(chunks.len().max(1));
        for chunk in chunks {
            sender.send(chunk).await.expect("room");
        }
        drop(sender);
        let (memory, mut requests) = (MemoryBudget::new(1_024).request(Holder::Account(1)), Vec::new());
        let mut reader = Requests::new(received);
        loop {
            match reader.next(&memory).await {
                Ok(Some(request)) => requests.push(request),
                Ok(None) => return (requests, Ok(())),
                Err(error) => return (requests, Err(error)),
            }
        }
    }

    fn data(text: &str) -> Received {
        Received::Data(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[tokio::test]
    async fn commands_are_divided_at_their_flush_packets() {
        let two = "0014command=ls-refs\n00010009peel\n00000011command=fetch0000";
        for step in [1, 3, 7, 20, 1_000] {
            let mut chunks: Vec<Received> =
                two.as_bytes().chunks(step).map(|part| Received::Data(Bytes::copy_from_slice(part))).collect();
            chunks.push(Received::Eof);
            let (requests, end) = all(chunks).await;
            assert!(end.is_ok(), "{step}");
            assert_eq!(requests, ["0014command=ls-refs\n00010009peel\n0000", "0011command=fetch0000"], "{step}");
        }
    }

    #[tokio::test]
    async fn a_flush_packet_alone_ends_the_conversation() {
        let (requests, end) =
            all(vec![data("0011command=fetch0000"), data("0000"), data("0011command=fetch0000")]).await;
        assert_eq!((requests.len(), end.is_ok()), (1, true));
    }

    #[tokio::test]
    async fn an_incomplete_or_malformed_command_is_an_error() {
        for chunks in [vec![data("0011command"), Received::Eof], vec![data("0011command")], vec![]] {
            let (requests, end) = all(chunks).await;
            assert!(requests.is_empty() && matches!(end, Err(TransferError::Input(InputError::Cut))), "{end:?}");
        }
        let (_, end) = all(vec![data("PACK")]).await;
        assert!(matches!(end, Err(TransferError::Protocol(_))), "{end:?}");
    }

    #[tokio::test]
    async fn a_command_without_end_is_refused() {
        let line = Bytes::from(format!("fff0{}", "x".repeat(0xfff0 - 4)));
        let many = FETCH_MAX_BYTES / line.len() as u64 + 1;
        let (_, end) = all((0..many).map(|_| Received::Data(line.clone())).collect()).await;
        assert!(matches!(end, Err(TransferError::Input(InputError::TooLarge(_)))), "{end:?}");
    }
}
