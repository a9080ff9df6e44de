//! What git says of itself to clients: it depends on the configuration and on the object format
//! alone, so git is asked once.

use bytes::Bytes;
use tokio::sync::OnceCell;

use super::{
    Git, GitError,
    pkt::{self, Packet},
};

/// What was asked already, by object format.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    fetch: [OnceCell<Bytes>; 2],
    push: [OnceCell<Bytes>; 2],
}

impl Git {
    /// What `upload-pack` begins with in protocol version 2.
    pub async fn greeting(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.greetings.fetch[usize::from(sha256)];
        cell.get_or_try_init(|| self.advertised(repository, "upload-pack", "version=2")).await.cloned()
    }

    /// The capabilities that `receive-pack` names beside the first ref.
    pub async fn push_capabilities(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.greetings.push[usize::from(sha256)];
        let ask = async || {
            let said = self.advertised(repository, "receive-pack", "").await?;
            let Ok(Some((Packet::Data(line), _))) = pkt::first(&said) else { return Ok(Bytes::new()) };
            let begin = line.iter().position(|byte| *byte == 0).map_or(line.len(), |at| at + 1);
            Ok(Bytes::copy_from_slice(line[begin..].trim_ascii_end()))
        };
        cell.get_or_try_init(ask).await.cloned()
    }

    async fn advertised(&self, repository: u64, command: &str, protocol: &str) -> Result<Bytes, GitError> {
        let call = self.call(repository, [command, "--stateless-rpc", "--advertise-refs"]);
        Ok(call.env("GIT_PROTOCOL", protocol).args([self.directory(repository)]).run().await?.stdout)
    }
}
