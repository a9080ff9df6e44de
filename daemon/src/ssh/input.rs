//! The data that a client sends on a channel, as the input of a transfer.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::pack_end::PackEnd;
use crate::{
    git::{
        commands::{Commands, Update},
        pkt,
    },
    service::transfers::{FETCH_MAX_BYTES, GitService, InputError, TransferInput, push_limit},
    shares::RequestMemory,
};

/// How long a client whose push was refused may continue to send.
const DISCARD_MAX: Duration = Duration::from_secs(600);

/// What the client sent on a channel.
pub(super) enum Received {
    /// Some data.
    Data(Bytes),
    /// The client sends no more data.
    Eof,
}

/// The input of one transfer.
pub(super) struct ChannelInput {
    received: mpsc::Receiver<Received>,
    memory: Arc<RequestMemory>,
    service: GitService,
    sha256: bool,
    limit: u64,
    remaining: u64,
    /// How long a client may send nothing during a push. A fetch has a limit for both directions.
    idle: Duration,
    pack: Option<PackEnd>,
    ended: bool,
}

impl ChannelInput {
    pub(super) fn new(
        received: mpsc::Receiver<Received>,
        memory: RequestMemory,
        service: GitService,
        sha256: bool,
        max_push_bytes: u64,
        idle: Duration,
    ) -> Self {
        let limit = match service {
            GitService::Upload => FETCH_MAX_BYTES,
            GitService::Receive => push_limit(max_push_bytes),
        };
        let memory = Arc::new(memory);
        Self { received, memory, service, sha256, limit, remaining: limit, idle, pack: None, ended: false }
    }
}

impl TransferInput for ChannelInput {
    const READ_TO_END: bool = false;

    async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        if self.ended {
            return Ok(None);
        }
        let received = match self.service {
            GitService::Upload => self.received.recv().await,
            GitService::Receive => {
                let received = tokio::time::timeout(self.idle, self.received.recv()).await;
                received.map_err(|_| InputError::Stalled)?
            }
        };
        match received {
            Some(Received::Data(data)) => {
                let remaining = self.remaining.checked_sub(data.len() as u64);
                self.remaining = remaining.ok_or(InputError::TooLarge(self.limit))?;
                self.ended = self.pack.as_mut().is_some_and(|pack| pack.advance(&data));
                Ok(Some(data))
            }
            Some(Received::Eof) => {
                self.ended = true;
                // A client with nothing to push only closes its side.
                let nothing = self.service == GitService::Receive && self.remaining == self.limit;
                Ok(nothing.then(|| Bytes::from_static(pkt::FLUSH)))
            }
            // The channel was closed without an end of the data.
            None => Err(InputError::Cut),
        }
    }

    fn count(&self, bytes: usize) -> Result<(), InputError> {
        Ok(self.memory.grow(bytes)?)
    }

    fn list_ended(&mut self, commands: &Commands, rest: &[u8]) {
        if commands.updates.iter().all(Update::deletes) {
            // No pack follows.
            self.ended = true;
        } else {
            let mut pack = PackEnd::new(self.sha256);
            self.ended |= pack.advance(rest);
            self.pack = Some(pack);
        }
    }

    async fn discard(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.next().await {} };
        let _ = tokio::time::timeout(DISCARD_MAX, rest).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::{Holder, MemoryBudget};

    const IDLE: Duration = Duration::from_secs(5);

    fn input(service: GitService) -> (mpsc::Sender<Received>, ChannelInput) {
        let (sender, received) = mpsc::channel(8);
        let memory = MemoryBudget::new(1).request(Holder::Address(None));
        (sender, ChannelInput::new(received, memory, service, false, 10, IDLE))
    }

    fn commands(new: &str) -> Commands {
        let update = Update { name: "refs/heads/a".into(), old: "1".repeat(40), new: new.repeat(40) };
        Commands { updates: vec![update], ..Commands::default() }
    }

    #[tokio::test]
    async fn a_closed_channel_is_an_error_and_not_the_end() {
        let (sender, mut input) = input(GitService::Receive);
        sender.send(Received::Data("x".into())).await.expect("open");
        drop(sender);
        assert_eq!(input.next().await, Ok(Some("x".into())));
        assert_eq!(input.next().await, Err(InputError::Cut));
    }

    #[tokio::test(start_paused = true)]
    async fn a_push_whose_client_stops_sending_ends() {
        let (sender, mut input) = input(GitService::Receive);
        sender.send(Received::Data("x".into())).await.expect("open");
        assert_eq!(input.next().await, Ok(Some("x".into())));
        assert_eq!(input.next().await, Err(InputError::Stalled));
    }

    #[tokio::test]
    async fn a_client_that_only_closes_its_side_pushes_nothing() {
        let (sender, mut input) = input(GitService::Receive);
        sender.send(Received::Eof).await.expect("open");
        assert_eq!(input.next().await, Ok(Some("0000".into())));
        assert_eq!(input.next().await, Ok(None));
    }

    #[tokio::test]
    async fn a_push_that_only_deletes_ends_with_its_list() {
        let (_sender, mut input) = input(GitService::Receive);
        input.list_ended(&commands("0"), b"");
        assert_eq!(input.next().await, Ok(None));
    }

    #[tokio::test]
    async fn too_much_data_is_refused() {
        let (sender, mut input) = input(GitService::Upload);
        input.remaining = 3;
        sender.send(Received::Data("1234".into())).await.expect("open");
        assert_eq!(input.next().await, Err(InputError::TooLarge(FETCH_MAX_BYTES)));
    }
}
