//! Checks of the parsers for packs, their indexes, and deltas.

use std::{
    fs::File,
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{ObjectId, ObjectLimits, SHA1_BYTES, delta, inflate::Inflater, pack::Pack};

/// Start of the ids in an index.
const IDS: usize = 8 + 1_024;
/// Objects that are read from each pack.
const OBJECTS: usize = 16;
/// Time for the objects of one input.
const TIME: Duration = Duration::from_secs(60);

/// Checks a pack: an object that can be read has the type and the size that its headers declare. The first four bytes
/// of the input are the length of the index, which follows; the rest is the pack.
pub fn pack(input: &[u8]) {
    let Some((length, rest)) = input.split_first_chunk::<4>() else { return };
    let Ok(length) = usize::try_from(u32::from_be_bytes(*length)) else { return };
    let Some((index, data)) = rest.split_at_checked(length) else { return };
    let Ok(pack) = Pack::open("pack".to_owned(), file(index), file(data), SHA1_BYTES) else { return };
    let mut inflater = Inflater::new();
    for raw in index.get(IDS..).unwrap_or_default().chunks_exact(SHA1_BYTES).take(OBJECTS) {
        let Some(id) = ObjectId::from_raw(raw) else { continue };
        let Ok(Some(offset)) = pack.find(&id) else { continue };
        let mut limits = limits();
        let info = pack.info(offset, &mut inflater, &limits);
        if let Ok(object) = pack.object(offset, &mut inflater, &mut limits) {
            let (kind, size) = info.expect("the headers of an object that can be read");
            assert_eq!((kind, size), (object.kind, object.content.len() as u64), "{id:?} at {offset}");
        }
    }
}

/// Checks a delta: its result has the declared size. The first byte of the input is the length of the base, which
/// follows; the rest is the delta.
pub fn pack_delta(input: &[u8]) {
    let Some((&length, rest)) = input.split_first() else { return };
    let Some((base, delta)) = rest.split_at_checked(usize::from(length)) else { return };
    if let Ok(result) = delta::apply(base, delta, &mut limits()) {
        let (base_size, result_size, _) = delta::sizes(delta).expect("the sizes of a delta that can be applied");
        assert_eq!((base_size, result_size), (base.len() as u64, result.len() as u64), "{}", delta.escape_ascii());
    }
}

fn limits() -> ObjectLimits {
    ObjectLimits::new(Instant::now() + TIME, Arc::default(), None)
}

/// Returns a file without name that has this content.
fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(content).expect("space for a small file");
    file
}
