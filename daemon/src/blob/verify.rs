//! Compares the SHA-256 of a content with the recorded one while it is read.

use bytes::Bytes;
use futures_util::{StreamExt as _, future::BoxFuture, stream};
use sha2::{Digest as _, Sha256};

use super::{BlobError, BlockReader, UploadKey};
use crate::tasks;

impl BlockReader {
    /// Returns a reader of the same bytes that compares their SHA-256 with `expected`. The bytes must be a complete
    /// artifact.
    ///
    /// The last chunk is held back until the digest matches. If it does not, the stream ends with
    /// [`BlobError::Digest`], so no reader gets all bytes of a damaged content. `compared` is called with the result;
    /// not if reading fails or ends early. Chunks are hashed on a blocking thread while the previous ones are sent.
    #[must_use]
    pub fn verified(
        self,
        key: UploadKey,
        expected: Vec<u8>,
        compared: impl FnOnce(bool) + Send + 'static,
    ) -> BlockReader {
        let remaining = self.remaining();
        let hashing: Hashing = Box::pin(std::future::ready(Sha256::new()));
        let check = Check { reader: self, hashing, expected, compared };
        let chunks = stream::unfold(Some(check), move |check| async move {
            let mut check = check?;
            let chunk = match check.reader.next().await? {
                Ok(chunk) => chunk,
                Err(error) => return Some((Err(error), None)),
            };
            let (mut hash, hashed) = (check.hashing.await, chunk.clone());
            check.hashing = Box::pin(tasks::begin(move || {
                hash.update(&hashed);
                hash
            }));
            if check.reader.remaining() > 0 {
                return Some((Ok(chunk), Some(check)));
            }
            let matches = check.hashing.await.finalize().as_slice() == check.expected.as_slice();
            (check.compared)(matches);
            let last: Result<Bytes, BlobError> = if matches { Ok(chunk) } else { Err(BlobError::Digest { key }) };
            Some((last, None))
        });
        BlockReader::new(chunks.boxed(), remaining)
    }
}

type Hashing = BoxFuture<'static, Sha256>;

/// The state of a reader that compares digests.
struct Check<F> {
    reader: BlockReader,
    /// The hash of all chunks that were read.
    hashing: Hashing,
    expected: Vec<u8>,
    compared: F,
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::TryStreamExt as _;

    use super::*;

    const KEY: UploadKey = UploadKey { artifact: 1, generation: 1 };

    /// Reads `chunks` against the digest of `recorded`. Returns the bytes before the end or an error, whether there was
    /// an error, and the result of the comparison.
    async fn read(chunks: &[&'static [u8]], recorded: &[u8]) -> (Vec<u8>, bool, Option<bool>) {
        let size = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk))).collect();
        let result = Arc::new(Mutex::new(None));
        let compared = Arc::clone(&result);
        let reader = BlockReader::new(stream::iter(chunks).boxed(), size);
        let mut reader = reader.verified(KEY, Sha256::digest(recorded).to_vec(), move |matches| {
            *compared.lock().expect("no panic") = Some(matches);
        });
        let mut bytes = Vec::new();
        let failed = loop {
            match reader.try_next().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => break false,
                Err(BlobError::Digest { key: KEY }) => break true,
                Err(error) => panic!("{error}"),
            }
        };
        let compared = *result.lock().expect("no panic");
        (bytes, failed, compared)
    }

    #[tokio::test]
    async fn the_last_chunk_is_held_back_unless_the_digest_matches() {
        assert_eq!(read(&[b"ab", b"cd", b"e"], b"abcde").await, (b"abcde".to_vec(), false, Some(true)));
        assert_eq!(read(&[b"ab", b"xd", b"e"], b"abcde").await, (b"abxd".to_vec(), true, Some(false)));
        assert_eq!(read(&[b"abcde"], b"abcdf").await, (Vec::new(), true, Some(false)));
        assert_eq!(read(&[], b"").await, (Vec::new(), false, None), "nothing to check");
    }
}
