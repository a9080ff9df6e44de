//! Uploads a file in blocks. The file is read and hashed once.
//!
//! A thread reads and hashes the file while blocks are sent. In memory are at most the blocks being sent, one
//! waiting block and one block being read.

use std::{fs::File, io::Read};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use farrier_common::client::{Client, SignedUrl};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use indicatif::ProgressBar;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::retry;
use crate::{blocking, exit::Failure};

/// Block size of the official client.
const BLOCK_BYTES: usize = 8 << 20;

/// An uploaded file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Uploaded {
    /// Size, bytes.
    pub(crate) size: i64,
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
}

/// Uploads a file and commits its blocks.
pub(crate) async fn upload(
    client: &Client,
    url: &SignedUrl,
    mut file: File,
    mime_type: &str,
    concurrency: usize,
    bar: &ProgressBar,
) -> Result<Uploaded, Failure> {
    let (sender, mut blocks) = mpsc::channel(1);
    let reading =
        blocking::start(move || read_blocks(&mut file, BLOCK_BYTES, |block| sender.blocking_send(block).is_ok()));
    let prefix = uuid::Uuid::new_v4();
    let (mut ids, mut sending, mut ended) = (Vec::new(), FuturesUnordered::new(), false);
    loop {
        tokio::select! {
            block = blocks.recv(), if !ended && sending.len() < concurrency => match block {
                Some(block) => {
                    let id = block_id(&prefix, ids.len());
                    ids.push(id.clone());
                    sending.push(send(client, url, id, block, bar));
                }
                None => ended = true,
            },
            // On an error, returning drops the receiver, which ends the reading thread.
            Some(sent) = sending.next() => sent?,
            else => break,
        }
    }
    let uploaded = reading.ended().await?.map_err(|source| Failure::io("reading the upload", source))?;
    let commit = retry::retrying(retry::is_temporary, async || client.put_block_list(url, &ids, mime_type).await);
    commit.await.map_err(Failure::call("committing the upload"))?;
    Ok(uploaded)
}

async fn send(client: &Client, url: &SignedUrl, id: String, block: Bytes, bar: &ProgressBar) -> Result<(), Failure> {
    let length = block.len() as u64;
    let put = retry::retrying(retry::is_temporary, async || client.put_block(url, &id, block.clone()).await);
    put.await.map_err(Failure::call("uploading a block"))?;
    bar.inc(length);
    Ok(())
}

/// Passes the blocks of `source` to `give` until the end or until `give` returns false.
fn read_blocks(
    source: &mut impl Read,
    block_bytes: usize,
    mut give: impl FnMut(Bytes) -> bool,
) -> std::io::Result<Uploaded> {
    let (mut hash, mut size) = (Sha256::new(), 0);
    loop {
        let mut block = Vec::with_capacity(block_bytes);
        source.by_ref().take(block_bytes as u64).read_to_end(&mut block)?;
        let last = block.len() < block_bytes;
        hash.update(&block);
        size += i64::try_from(block.len()).map_err(std::io::Error::other)?;
        // An empty file has no blocks.
        if (!block.is_empty() && !give(block.into())) || last {
            return Ok(Uploaded { size, digest: format!("sha256:{}", hex::encode(hash.finalize())) });
        }
    }
}

/// Returns the id of a block. The protocol requires that all ids of an upload have the same length.
fn block_id(prefix: &uuid::Uuid, index: usize) -> String {
    STANDARD.encode(format!("{prefix}{index:012}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(source: &[u8]) -> (Vec<Bytes>, Uploaded) {
        let mut all = Vec::new();
        let mut source = source;
        let uploaded = read_blocks(&mut source, 4, |block| {
            all.push(block);
            true
        });
        (all, uploaded.unwrap())
    }

    #[test]
    fn a_file_is_split_and_hashed_in_one_pass() {
        let (all, uploaded) = blocks(b"hello world\n");
        assert_eq!(all, ["hell", "o wo", "rld\n"]);
        assert_eq!(uploaded.size, 12);
        assert_eq!(uploaded.digest, "sha256:a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447");
    }

    #[test]
    fn an_empty_file_has_no_block() {
        let (all, uploaded) = blocks(b"");
        assert!(all.is_empty());
        assert_eq!(uploaded.size, 0);
        assert!(uploaded.digest.starts_with("sha256:e3b0c442"), "{}", uploaded.digest);
    }

    #[test]
    fn reading_stops_when_the_consumer_stops() {
        let mut calls = 0;
        let read = read_blocks(&mut std::io::repeat(0), 4, |_| {
            calls += 1;
            calls < 3
        });
        assert_eq!((read.unwrap().size, calls), (12, 3));
    }

    #[test]
    fn block_ids_have_the_format_of_the_official_client() {
        let id = block_id(&uuid::Uuid::nil(), 7);
        assert_eq!(id.len(), 64);
        assert_eq!(STANDARD.decode(id).unwrap(), b"00000000-0000-0000-0000-000000000000000000000007");
    }
}
