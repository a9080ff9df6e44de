//! Parses the output of `git cat-file --batch` and `--batch-check`.

use bytes::Bytes;

/// The id, type and size of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Full object id.
    pub id: String,
    /// `commit`, `tree`, `blob` or `tag`.
    pub kind: String,
    /// Size of the content, bytes.
    pub size: u64,
}

/// An object with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitObject {
    /// Id, type and size.
    pub info: ObjectInfo,
    /// The content.
    pub content: Bytes,
}

/// The output does not have git's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output of git cat-file has an unexpected format")]
pub struct UnexpectedOutput;

/// Parses the output of `--batch-check`: one item per line, `None` for objects that do not exist.
pub fn infos(output: &[u8]) -> Vec<Option<ObjectInfo>> {
    output.strip_suffix(b"\n").unwrap_or(output).split(|byte| *byte == b'\n').map(info).collect()
}

/// Parses the output of `--batch`: one item for each line of the input.
pub fn objects(output: &Bytes) -> Result<Vec<Option<GitObject>>, UnexpectedOutput> {
    let mut items = Vec::new();
    let mut rest = output.clone();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(UnexpectedOutput)?;
        let line = rest.split_to(end + 1);
        let Some(info) = info(&line[..end]) else {
            items.push(None);
            continue;
        };
        let size = usize::try_from(info.size).map_err(|_| UnexpectedOutput)?;
        if rest.len() <= size {
            return Err(UnexpectedOutput);
        }
        let content = rest.split_to(size);
        let _line_break = rest.split_to(1);
        items.push(Some(GitObject { info, content }));
    }
    Ok(items)
}

/// Parses `<id> <type> <size>`. Any other line means that the object is missing or the name is ambiguous.
fn info(line: &[u8]) -> Option<ObjectInfo> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let known_kind = matches!(kind, "commit" | "tree" | "blob" | "tag");
    let valid = words.next().is_none() && known_kind && super::rev::is_full_id(id);
    valid.then(|| Some(ObjectInfo { id: id.into(), kind: kind.into(), size: size.parse().ok()? })).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "32339c7bfdbbb659dd2ac0ddc836ac819aa2816c";

    fn of(kind: &str, size: u64) -> ObjectInfo {
        ObjectInfo { id: ID.into(), kind: kind.into(), size }
    }

    #[test]
    fn missing_and_ambiguous_objects_are_none() {
        let output = format!("{ID} commit 12\nmain missing\n{ID} blob 3 missing\nabc ambiguous\n{ID} tree 0\n");
        let expected = [Some(of("commit", 12)), None, None, None, Some(of("tree", 0))];
        assert_eq!(infos(output.as_bytes()), expected);
    }

    #[test]
    fn contents_with_line_breaks_and_zero_bytes_are_kept() {
        let output = Bytes::from(format!("{ID} blob 5\na\nb\0\n\nx missing\n{ID} blob 0\n\n"));
        let read = objects(&output).expect("git's form");
        let first = GitObject { info: of("blob", 5), content: Bytes::from_static(b"a\nb\0\n") };
        let last = GitObject { info: of("blob", 0), content: Bytes::new() };
        assert_eq!(read, [Some(first), None, Some(last)]);
        for cut in [7, 45, 52] {
            assert_eq!(objects(&output.slice(..cut)), Err(UnexpectedOutput), "{cut}");
        }
    }
}
