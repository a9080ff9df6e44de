//! Capability advertisements of git. They depend only on the configuration and the object format, so git is
//! called once for each and the result is kept.

use bytes::Bytes;
use tokio::sync::OnceCell;

use super::{
    Git, GitError,
    pkt::{self, Packet},
};

/// Cached advertisements, by object format.
#[derive(Debug, Default)]
pub(super) struct Capabilities {
    fetch: [OnceCell<Bytes>; 2],
    push: [OnceCell<Bytes>; 2],
}

impl Git {
    /// Returns the capability advertisement of `upload-pack` in protocol version 2.
    pub async fn fetch_capabilities(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.capabilities.fetch[usize::from(sha256)];
        cell.get_or_try_init(|| self.advertised(repository, "upload-pack", "version=2")).await.cloned()
    }

    /// Returns the capabilities that `receive-pack` lists after the first ref.
    pub async fn push_capabilities(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.capabilities.push[usize::from(sha256)];
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
