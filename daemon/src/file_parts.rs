//! Parts of files in the bodies of responses, which the connection sends with `sendfile`, so that their bytes are not
//! copied through the daemon.
//!
//! The bodies of responses consist of bytes in memory. So a part of a file is represented by a *placeholder*: bytes
//! whose content has no meaning, at an address that is reserved for this part. When a connection writes bytes, it asks
//! [`part_at`] whether they are a placeholder, and then sends the file. The address stays reserved until all copies of
//! the placeholder are dropped, so the rest of an aborted response cannot be mistaken for another part.
//!
//! A placeholder must reach the connection unread: code that copies its bytes copies zeros. So only responses to
//! requests with [`SendsFiles`] may contain placeholders, and only if nothing compresses or rewrites their bodies.
//!
//! The pages of the file, not their content, wait in the buffer of the socket. So the file must never change.

use std::{
    fs::File,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bytes::Bytes;

/// Most bytes of a part.
pub const PART_MAX: usize = 512 << 10;
/// Maximum number of parts at the same time. A response that gets none is copied.
const PARTS: usize = 256;

/// An extension of a request: its connection sends the parts of files for which it gets placeholders.
#[derive(Clone, Copy, Debug)]
pub struct SendsFiles;

/// The bytes of a file from a position on.
#[derive(Clone, Debug)]
pub struct FilePart {
    /// The file.
    pub file: Arc<File>,
    /// The position of the first byte.
    pub offset: u64,
}

/// Returns a placeholder for `length` bytes of `file` at `offset`. The file must have these bytes, and they must never
/// change. `owner` is dropped with the last copy of the placeholder. `None`: the part is empty or longer than
/// [`PART_MAX`], or there are too many parts. The caller then reads the file.
pub fn placeholder<O: Send + 'static>(file: &Arc<File>, offset: u64, length: usize, owner: O) -> Option<Bytes> {
    if length == 0 || length > PART_MAX {
        return None;
    }
    let index = pool().free().pop()?;
    *pool().part(index) = Some(FilePart { file: file.clone(), offset });
    Some(Bytes::from_owner(Placeholder { index, length, _owner: owner }))
}

/// Returns the part that `bytes` represent. `None`: they are not a placeholder.
pub fn part_at(bytes: &[u8]) -> Option<FilePart> {
    let pool = POOL.get().filter(|_| !bytes.is_empty())?;
    let distance = bytes.as_ptr().addr().checked_sub(pool.addresses.as_ptr().addr())?;
    if distance >= pool.addresses.len() {
        return None;
    }
    let part = pool.part(distance / PART_MAX).clone()?;
    Some(FilePart { offset: part.offset + (distance % PART_MAX) as u64, ..part })
}

/// Reserves an address until it is dropped.
struct Placeholder<O> {
    index: usize,
    length: usize,
    _owner: O,
}

impl<O> AsRef<[u8]> for Placeholder<O> {
    fn as_ref(&self) -> &[u8] {
        let start = self.index * PART_MAX;
        &pool().addresses[start..start + self.length]
    }
}

impl<O> Drop for Placeholder<O> {
    fn drop(&mut self) {
        let part = pool().part(self.index).take();
        pool().free().push(self.index);
        drop(part); // after the locks are released: it may close the file
    }
}

struct Pool {
    /// [`PART_MAX`] bytes for each part. They are never read or written, so the kernel gives them no memory.
    addresses: Vec<u8>,
    parts: Vec<Mutex<Option<FilePart>>>,
    free: Mutex<Vec<usize>>,
}

static POOL: OnceLock<Pool> = OnceLock::new();

fn pool() -> &'static Pool {
    POOL.get_or_init(|| Pool {
        addresses: vec![0; PARTS * PART_MAX],
        parts: (0..PARTS).map(|_| Mutex::default()).collect(),
        free: Mutex::new((0..PARTS).collect()),
    })
}

impl Pool {
    fn part(&self, index: usize) -> MutexGuard<'_, Option<FilePart>> {
        self.parts[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_and_its_rest_represent_the_file_until_all_copies_are_dropped() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        let mut bytes = placeholder(&file, 1000, 500, ()).expect("a free part");
        assert_eq!(bytes.len(), 500);
        assert_eq!(part_at(&bytes).expect("a part").offset, 1000);
        let copy = bytes.clone();
        let rest = bytes.split_off(200);
        assert_eq!(part_at(&rest).expect("a part").offset, 1200);
        drop((bytes, rest));
        assert!(Arc::ptr_eq(&part_at(&copy).expect("a part").file, &file));
        drop(copy);
        assert_eq!(Arc::strong_count(&file), 1);
    }

    #[test]
    fn other_bytes_and_parts_without_an_address_have_no_placeholder() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        assert!(placeholder(&file, 0, 0, ()).is_none());
        assert!(placeholder(&file, 0, PART_MAX + 1, ()).is_none());
        let held = placeholder(&file, 0, PART_MAX, ()).expect("a free part");
        assert!(part_at(b"bytes in memory").is_none());
        assert!(part_at(&held[..0]).is_none());
        assert!(part_at(&held[PART_MAX - 1..]).is_some());
    }
}
