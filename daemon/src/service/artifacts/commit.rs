//! Commits block lists: they order the blocks of an upload.

use std::{collections::HashSet, sync::Arc};

use farrier_proto::store::{Block, Committed, Content};

use super::{
    NO_TARGET, block_ref, require_repository, rows,
    upload::{SINGLE_BLOCK, max_bytes, open_upload, require_blocks},
    validators,
};
use crate::{
    blob::{BlockRef, UploadKey},
    clock::Millis,
    model::{
        conditions::{Conditions, Validators},
        secret,
    },
    service::{Context, Error},
    store::{Tx, uploads},
};

/// Maximum number of bytes that a list may repeat. A list may name a block more than once, as in Azure. Without a
/// limit, a client with one small block could create an artifact of gigabytes, which finalizing and each download would
/// read completely. No artifact client repeats blocks.
const REPEATED_MAX_BYTES: u64 = 64 << 20;

/// Commits the block list, which orders the uploaded blocks, if the upload meets the conditions. Unlisted blocks are
/// dropped. Returns the validators of the committed content.
///
/// Committing the same list again changes nothing, also after the upload was finalized. It needs to meet no
/// conditions, because the client may repeat a request whose response was lost.
pub async fn commit(
    context: &Context,
    key: UploadKey,
    block_ids: &[String],
    conditions: &Conditions,
) -> Result<Validators, Error> {
    if block_ids.len() > rows::BLOCKS_MAX {
        return Err(Error::invalid("blocklist", format!("names more than {} blocks", rows::BLOCKS_MAX)));
    }
    let list_sha256 = list_hash(block_ids);
    let list_ref = &list_sha256;
    // Clients have no empty ids: the daemon commits content that it stored.
    let is_content = block_ids == [SINGLE_BLOCK];
    let now = context.now_ms();
    let (validators, blocks) = context
        .store
        .write(async |tx: Tx| {
            let target = uploads::get(&tx, key.artifact).await?.ok_or(NO_TARGET)?;
            require_repository(&tx, &target).await?;
            if let Some(validators) = finalized_as(target.content(), key, list_ref) {
                return Ok((validators, None));
            }
            let mut upload = open_upload(&target, key)?.clone();
            if !is_content {
                require_blocks(&upload)?;
            }
            let found = rows::blocks(&tx, key.artifact, key.generation, block_ids).await?;
            let blocks: Option<Vec<Block>> = found.into_iter().collect();
            let blocks = blocks.ok_or_else(|| Error::invalid("blocklist", "names a block that was not uploaded"))?;
            let committed = committed(&blocks, list_ref, max_bytes(context, &target), now)?;
            let earlier = upload.committed.as_ref();
            if let Some(earlier) =
                earlier.filter(|&earlier| Committed { committed_ms: now, ..earlier.clone() } == committed)
            {
                return Ok((validators::of_commit(earlier), None));
            }
            validators::require(conditions, target.upload(), target.content(), key)?;
            let stale = upload.committed.as_ref().map_or(0, |c| rows::pages(u64::from(c.blocks)));
            rows::put_list(&tx, key.artifact, key.generation, &blocks, stale);
            let validators = validators::of_commit(&committed);
            upload.committed = Some(committed);
            target.put_upload(&tx, upload);
            Ok::<_, Error>((validators, Some(blocks)))
        })
        .await?;
    if let Some(blocks) = blocks {
        let refs: Arc<[BlockRef]> = blocks.iter().map(block_ref).collect();
        context.digests.committed(key, &refs);
    }
    Ok(validators)
}

/// Returns the commit at `now` for a list of these blocks.
fn committed(blocks: &[Block], list_sha256: &[u8], max_bytes: u64, now: Millis) -> Result<Committed, Error> {
    let size = blocks.iter().map(|block| block.size).sum();
    if size > max_bytes {
        return Err(Error::TooLarge { limit: max_bytes });
    }
    if repeated_bytes(blocks) > REPEATED_MAX_BYTES {
        return Err(Error::invalid("blocklist", format!("repeats more than {REPEATED_MAX_BYTES} bytes of its blocks")));
    }
    let files: Vec<u8> = blocks.iter().flat_map(|block| block.file.to_be_bytes()).collect();
    Ok(Committed {
        size,
        blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
        list_sha256: list_sha256.to_vec(),
        files_sha256: secret::sha256(&files).to_vec(),
        committed_ms: now,
    })
}

/// Returns the number of bytes that a list of these blocks has more than the blocks themselves.
fn repeated_bytes(blocks: &[Block]) -> u64 {
    let mut seen = HashSet::with_capacity(blocks.len());
    blocks.iter().filter(|block| !seen.insert(block.file)).map(|block| block.size).sum()
}

/// Returns the validators of the finalized content if its list was this one. The ids of its blocks are no longer
/// stored then.
fn finalized_as(content: Option<&Content>, key: UploadKey, list_sha256: &[u8]) -> Option<Validators> {
    let content = content.filter(|content| content.generation == key.generation);
    let content = content.filter(|content| content.list_sha256 == list_sha256)?;
    Some(validators::of_content(content, content.committed_ms))
}

fn list_hash(block_ids: &[String]) -> [u8; 32] {
    // Ids contain no control characters, so a line break separates them unambiguously.
    let lines: Vec<u8> = block_ids.iter().flat_map(|id| id.bytes().chain([b'\n'])).collect();
    secret::sha256(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_and_a_list_of_the_single_block_differ() {
        let list = |ids: &[&str]| list_hash(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_ne!(list(&[]), list(&[SINGLE_BLOCK]));
        assert_ne!(list(&["a", "b"]), list(&["ab"]));
    }

    #[test]
    fn a_list_may_repeat_a_limited_number_of_bytes() {
        let block = |file| Block { file, size: 4 << 20 };
        let commit =
            |repeats: usize| committed(&[vec![block(1)], vec![block(2); repeats + 1]].concat(), b"", u64::MAX, 1);
        assert_eq!(commit(16).expect("64 MiB").size, 72 << 20);
        assert!(matches!(commit(17), Err(Error::Invalid { field: "blocklist", .. })));
    }

    #[test]
    fn the_same_ids_with_other_bytes_give_another_commit() {
        let commit = |file| committed(&[Block { file, size: 3 }], b"ids", 10, 1).expect("small");
        assert_ne!(commit(1), commit(2));
        assert!(matches!(committed(&[Block { file: 1, size: 11 }], b"ids", 10, 1), Err(Error::TooLarge { limit: 10 })));
    }
}
