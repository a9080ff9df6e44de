//! Applies a delta to its base. Format: gitformat-pack(5), "Deltified representation".

use super::{ReadError, limits::ObjectLimits};

/// Longest sizes at the start of a delta, bytes: two numbers of 64 bits in groups of 7 bits.
pub(super) const SIZES_MAX_BYTES: usize = 20;

const DAMAGED: ReadError = ReadError::Damaged("a delta is not valid");

/// Returns the size of the base and of the result, and the length of both numbers. `start` has at least the first
/// [`SIZES_MAX_BYTES`] of the delta, or all of it.
pub(super) fn sizes(start: &[u8]) -> Result<(u64, u64, usize), ReadError> {
    let mut at = 0;
    let mut number = || {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = *start.get(at).ok_or(DAMAGED)?;
            at += 1;
            if shift > 56 {
                return Err(DAMAGED);
            }
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
    };
    let (base, result) = (number()?, number()?);
    Ok((base, result, at))
}

/// Returns the object that `delta` makes from `base`.
pub(super) fn apply(base: &[u8], delta: &[u8], limits: &mut ObjectLimits) -> Result<Vec<u8>, ReadError> {
    let (base_size, result_size, start) = sizes(delta)?;
    let size = ObjectLimits::length(result_size)?;
    if base_size != base.len() as u64 {
        return Err(DAMAGED);
    }
    limits.use_buffers(base.len() + delta.len() + size)?;
    let mut result = Vec::with_capacity(size);
    let mut rest = delta.get(start..).unwrap_or_default();
    while let Some((&operation, after)) = rest.split_first() {
        rest = after;
        let part = if operation & 0x80 != 0 {
            let mut argument = |bits: u32| {
                let mut value = 0_usize;
                for (shift, bit) in bits_of(bits) {
                    if operation & bit != 0 {
                        let (&byte, after) = rest.split_first().ok_or(DAMAGED)?;
                        rest = after;
                        value |= usize::from(byte) << shift;
                    }
                }
                Ok::<_, ReadError>(value)
            };
            let offset = argument(0)?;
            let length = match argument(4)? {
                0 => 0x1_0000,
                length => length,
            };
            base.get(offset..offset + length).ok_or(DAMAGED)?
        } else {
            // A literal of 0 bytes is reserved.
            let length = usize::from(operation);
            let part = rest.get(..length).filter(|part| !part.is_empty()).ok_or(DAMAGED)?;
            rest = &rest[length..];
            part
        };
        if part.len() > size - result.len() {
            return Err(DAMAGED);
        }
        result.extend_from_slice(part);
    }
    if result.len() == size { Ok(result) } else { Err(DAMAGED) }
}

/// Returns the bits of the operation that stand for the bytes of an argument, with the shift of each byte: four bytes
/// of the offset from bit 0, three bytes of the length from bit 4.
fn bits_of(first: u32) -> impl Iterator<Item = (u32, u8)> {
    let count = if first == 0 { 4 } else { 3 };
    (0..count).map(move |n| (n * 8, 1_u8 << (first + n)))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };

    use super::*;

    fn applied(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, ReadError> {
        let deadline = Instant::now() + Duration::from_secs(60);
        apply(base, delta, &mut ObjectLimits::new(deadline, Arc::default(), None))
    }

    #[test]
    fn copies_and_literals_make_the_result() {
        // Copy 3 bytes from offset 2, then the literal "xy", then copy 1 byte from offset 0.
        let delta = [6, 6, 0x91, 2, 3, 2, b'x', b'y', 0x90, 1];
        assert_eq!(applied(b"abcdef", &delta).expect("valid"), b"cdexya");
        let large = vec![7; 0x1_0000];
        let delta = [0x80, 0x80, 4, 0x80, 0x80, 4, 0x80];
        assert_eq!(applied(&large, &delta).expect("a length of 0 means 65,536"), large);
    }

    #[test]
    fn invalid_deltas_are_errors() {
        for delta in [
            &[][..],
            &[6],
            &[5, 1, 1, b'x'],
            &[6, 2, 1, b'x'],
            &[6, 1, 2, b'x', b'y'],
            &[6, 1, 2, b'x'],
            &[6, 1, 0],
            &[6, 1, 0x91, 6, 1],
            &[6, 1, 0x91],
            &[6, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            // Claims a result of 4 GiB.
            &[6, 0x80, 0x80, 0x80, 0x80, 0x10, 1, b'x'],
        ] {
            assert!(applied(b"abcdef", delta).is_err(), "{delta:?}");
        }
    }
}
