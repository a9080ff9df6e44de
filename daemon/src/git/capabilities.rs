//! Caches git's capability advertisements. They depend only on the configuration and the object format, so git
//! runs once for each.

use bytes::{Bytes, BytesMut};
use tokio::sync::OnceCell;

use super::{
    Git, GitError,
    bundles::protocol::CAPABILITY,
    pkt::{self, Packet},
};

/// Cached advertisements, by object format.
#[derive(Debug, Default)]
pub(super) struct Capabilities {
    fetch: [OnceCell<Bytes>; 2],
    /// The same with the capability `bundle-uri`.
    fetch_with_bundles: [OnceCell<Bytes>; 2],
    push: [OnceCell<Bytes>; 2],
}

impl Git {
    /// Returns the capability advertisement of `upload-pack` in protocol version 2.
    pub async fn fetch_capabilities(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.capabilities.fetch[usize::from(sha256)];
        cell.get_or_try_init(|| self.advertised(repository, "upload-pack", "version=2")).await.cloned()
    }

    /// Like [`Git::fetch_capabilities`], with the capability to list bundles.
    pub async fn fetch_capabilities_with_bundles(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.capabilities.fetch_with_bundles[usize::from(sha256)];
        let extended = async || Ok(with_bundles(&self.fetch_capabilities(repository, sha256).await?));
        cell.get_or_try_init(extended).await.cloned()
    }

    /// Returns the capabilities that `receive-pack` lists after the first ref.
    pub async fn push_capabilities(&self, repository: u64, sha256: bool) -> Result<Bytes, GitError> {
        let cell = &self.0.capabilities.push[usize::from(sha256)];
        let read = async || {
            let advertisement = self.advertised(repository, "receive-pack", "").await?;
            let Ok(Some((Packet::Data(line), _))) = pkt::first(&advertisement) else { return Ok(Bytes::new()) };
            let start = line.iter().position(|byte| *byte == 0).map_or(line.len(), |end| end + 1);
            Ok(Bytes::copy_from_slice(line[start..].trim_ascii_end()))
        };
        cell.get_or_try_init(read).await.cloned()
    }

    /// Returns the advertisement of `command` without refs, which could be more than the output limit of git.
    async fn advertised(&self, repository: u64, command: &str, protocol: &str) -> Result<Bytes, GitError> {
        let call = self.call(repository, [command, "--stateless-rpc", "--advertise-refs"]);
        let call = call.config("transfer.hideRefs", "refs/").config("core.alternateRefsPrefixes", "refs/none/");
        Ok(call.env("GIT_PROTOCOL", protocol).args([self.directory(repository)]).run().await?.stdout)
    }
}

/// Adds the capability to list bundles before the flush packet at the end.
fn with_bundles(advertisement: &[u8]) -> Bytes {
    let lines = advertisement.strip_suffix(pkt::FLUSH).unwrap_or(advertisement);
    let mut extended = BytesMut::from(lines);
    pkt::put(&mut extended, CAPABILITY);
    pkt::put_flush(&mut extended);
    extended.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_is_added_before_the_end() {
        assert_eq!(&with_bundles(b"000eversion 2\n0000")[..], b"000eversion 2\n000fbundle-uri\n0000");
    }
}
