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
}
