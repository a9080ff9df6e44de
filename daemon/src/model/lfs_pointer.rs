//! Pointer files of Git LFS: small text files that git stores instead of the content.

/// The first line of every pointer file.
const VERSION: &str = "version https://git-lfs.github.com/spec/v1";
/// Larger files are no pointers, bytes.
pub const POINTER_MAX_BYTES: u64 = 1_024;

/// The object that a pointer file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LfsPointer {
    /// SHA-256 of the content, in lower-case hexadecimal digits.
    pub oid: String,
    /// Size of the content, bytes.
    pub size: u64,
}

impl LfsPointer {
    /// Returns the pointer in the content of a file; `None` if the file is no pointer.
    pub fn parse(content: &[u8]) -> Option<Self> {
        if content.len() as u64 >= POINTER_MAX_BYTES {
            return None;
        }
        let mut lines = std::str::from_utf8(content).ok()?.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let pairs: Vec<(&str, &str)> = lines.map(|line| line.split_once(' ')).collect::<Option<_>>()?;
        let value = |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let oid = value("oid")?.strip_prefix("sha256:")?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        let size = value("size")?.parse().ok()?;
        (oid.len() == 64 && oid.bytes().all(is_digit)).then(|| Self { oid: oid.to_owned(), size })
    }
}

/// Returns the SHA-256 of each object that a text names in the way of a pointer file, wherever it stands. The text does
/// not have to be a valid pointer: this finds at least every object that any version of git-lfs would read from it.
pub fn named_objects(content: &[u8]) -> Vec<[u8; 32]> {
    const PREFIX: &[u8] = b"sha256:";
    let positions = content.windows(PREFIX.len()).enumerate().filter(|(_, window)| *window == PREFIX);
    let digits = positions.filter_map(|(at, _)| content.get(at + PREFIX.len()..at + PREFIX.len() + 64));
    let parsed = digits.filter_map(|digits| {
        let mut oid = [0; 32];
        hex::decode_to_slice(digits, &mut oid).is_ok().then_some(oid)
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_read_and_other_files_are_not() {
        let oid = "0a".repeat(32);
        let text = format!("{VERSION}\noid sha256:{oid}\nsize 12\n");
        assert_eq!(LfsPointer::parse(text.as_bytes()), Some(LfsPointer { oid: oid.clone(), size: 12 }));
        let extended = text.replace("oid", "ext-0-foo sha256:1\noid");
        assert!(LfsPointer::parse(extended.as_bytes()).is_some());
        for bad in [
            String::new(),
            text.replace("version", "Version"),
            text.replace(&oid, "0a"),
            text.replace("size 12", "size x"),
            text.replace("0a", "0A"),
            format!("{text}noise"),
            format!("{text}x {}", "y".repeat(1_024)),
        ] {
            assert_eq!(LfsPointer::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn objects_are_found_in_every_form_of_a_pointer() {
        let (first, second) = ("0a".repeat(32), "FF".repeat(32));
        let text = format!("oid sha256:{first}\r\next-0-x sha256:{second}\nsha256:12\nsha256:{}", "zz".repeat(32));
        assert_eq!(named_objects(text.as_bytes()), [[10; 32], [255; 32]]);
        for none in [&b""[..], b"sha256:", b"\xff\xfe", &[b's'; 2_000]] {
            assert_eq!(named_objects(none), [[0; 32]; 0]);
        }
    }
}
