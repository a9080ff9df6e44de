//! Encodes and decodes packet lines (pkt-line), the framing of git's protocols. Does no I/O.

use bytes::{BufMut as _, BytesMut};

/// Longest payload of one packet, bytes.
pub const PAYLOAD_MAX_BYTES: usize = 65_516;
/// The flush packet, which ends a section.
pub const FLUSH: &[u8] = b"0000";
/// The delimiter packet of protocol version 2, between the sections of a request.
pub const DELIMITER: &[u8] = b"0001";
/// Length of a packet's header: four hexadecimal digits. The packet length includes them.
const HEADER: usize = 4;

/// A decoded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A flush packet, which ends a section.
    Flush,
    /// A data packet with its payload.
    Data(&'a [u8]),
}

/// The bytes are not packet lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not a packet line")]
pub struct Malformed;

/// Decodes the first packet of `bytes` and returns it with its length; `None` if it is incomplete.
pub fn first(bytes: &[u8]) -> Result<Option<(Packet<'_>, usize)>, Malformed> {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    // `from_str_radix` also accepts a sign.
    let digits = header.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(header).ok().filter(|_| digits).ok_or(Malformed)?;
    let length = usize::from_str_radix(text, 16).map_err(|_| Malformed)?;
    match length {
        0 => Ok(Some((Packet::Flush, HEADER))),
        _ if !(HEADER..=PAYLOAD_MAX_BYTES + HEADER).contains(&length) => Err(Malformed),
        _ => Ok(bytes.get(HEADER..length).map(|payload| (Packet::Data(payload), length))),
    }
}

/// Returns the length of the request of protocol version 2 at the start of `bytes`, with the flush packet that ends it;
/// `None` if it is incomplete. `checked`: how many bytes earlier calls have checked; 0 for the first call.
pub fn request_length(bytes: &[u8], checked: &mut usize) -> Result<Option<usize>, Malformed> {
    loop {
        let rest = bytes.get(*checked..).unwrap_or_default();
        if rest.starts_with(DELIMITER) {
            *checked += DELIMITER.len();
            continue;
        }
        match first(rest)? {
            None => return Ok(None),
            Some((Packet::Flush, length)) => return Ok(Some(*checked + length)),
            Some((Packet::Data(_), length)) => *checked += length,
        }
    }
}

/// Appends `payload` as one packet.
///
/// # Panics
///
/// Panics if `payload` is longer than [`PAYLOAD_MAX_BYTES`]. Callers write short texts or split their data.
pub fn put(out: &mut BytesMut, payload: &[u8]) {
    assert!(payload.len() <= PAYLOAD_MAX_BYTES, "a packet of {} bytes", payload.len());
    out.put_slice(format!("{:04x}", payload.len() + HEADER).as_bytes());
    out.put_slice(payload);
}

/// Appends a flush packet.
pub fn put_flush(out: &mut BytesMut) {
    out.put_slice(FLUSH);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_is_decoded() {
        for (bytes, expected) in [
            (&b"0000x"[..], Ok(Some((Packet::Flush, 4)))),
            (b"0004", Ok(Some((Packet::Data(b""), 4)))),
            (b"0006a\nmore", Ok(Some((Packet::Data(b"a\n"), 6)))),
            (b"000Aabcdef", Ok(Some((Packet::Data(b"abcdef"), 10)))),
            (b"", Ok(None)),
            (b"000", Ok(None)),
            (b"0006a", Ok(None)),
            (b"0001", Err(Malformed)),
            (b"0003", Err(Malformed)),
            (b"+004", Err(Malformed)),
            (b" 004", Err(Malformed)),
            (b"fff1", Err(Malformed)),
            (b"\xff\xff\xff\xff", Err(Malformed)),
            (b"PACK", Err(Malformed)),
        ] {
            assert_eq!(first(bytes), expected, "{}", bytes.escape_ascii());
        }
        assert_eq!(first(b"fff0"), Ok(None), "the longest valid length");
    }

    #[test]
    fn a_request_ends_with_its_flush_packet_however_it_is_divided() {
        let request = b"0014command=ls-refs\n00010009peel\n0000";
        for (bytes, expected) in [
            (&b"0000"[..], Ok(Some(4))),
            (b"00000000", Ok(Some(4))),
            (b"000e0000000000", Ok(None)),
            (b"000e00000000000000", Ok(Some(18))),
            (b"0006a\n0002", Err(Malformed)),
            (b"zzzz", Err(Malformed)),
        ] {
            assert_eq!(request_length(bytes, &mut 0), expected, "{}", bytes.escape_ascii());
        }
        let mut checked = 0;
        for end in 0..request.len() {
            assert_eq!(request_length(&request[..end], &mut checked), Ok(None), "{end}");
        }
        assert_eq!(request_length(&[&request[..], b"0014"].concat(), &mut checked), Ok(Some(request.len())));
    }

    #[test]
    fn encoded_packets_decode_to_the_same_payload() {
        let mut out = BytesMut::new();
        put(&mut out, b"unpack ok\n");
        put_flush(&mut out);
        assert_eq!(&out[..], b"000eunpack ok\n0000");
        assert_eq!(first(&out), Ok(Some((Packet::Data(b"unpack ok\n"), 14))));
    }
}
