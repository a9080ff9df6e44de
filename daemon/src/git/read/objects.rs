//! What `git cat-file --batch` and `--batch-check` print.

use bytes::Bytes;

/// An object as the database names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Object id in full.
    pub id: String,
    /// `commit`, `tree`, `blob` or `tag`.
    pub kind: String,
    /// Bytes of its content.
    pub size: u64,
}

/// An object with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub info: Info,
    /// Its content.
    pub content: Bytes,
}

/// The output was not what git prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("git's answer about objects cannot be understood")]
pub struct Garbled;

/// Reads the output of `--batch-check`: one item a line, `None` for what there is not.
pub fn infos(output: &[u8]) -> Vec<Option<Info>> {
    output.strip_suffix(b"\n").unwrap_or(output).split(|byte| *byte == b'\n').map(info).collect()
}

/// Reads the output of `--batch`: one item for each line of the input.
pub fn objects(output: &Bytes) -> Result<Vec<Option<Object>>, Garbled> {
    let mut items = Vec::new();
    let mut rest = output.clone();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Garbled)?;
        let line = rest.split_to(end + 1);
        let Some(info) = info(&line[..end]) else {
            items.push(None);
            continue;
        };
        let size = usize::try_from(info.size).map_err(|_| Garbled)?;
        if rest.len() <= size {
            return Err(Garbled);
        }
        let content = rest.split_to(size);
        let _line_break = rest.split_to(1);
        items.push(Some(Object { info, content }));
    }
    Ok(items)
}

/// `<id> <kind> <size>`; anything else says that the object is missing or the name ambiguous.
fn info(line: &[u8]) -> Option<Info> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let known = matches!(kind, "commit" | "tree" | "blob" | "tag");
    let whole = words.next().is_none() && known && super::rev::is_full_id(id);
    whole.then(|| Some(Info { id: id.into(), kind: kind.into(), size: size.parse().ok()? })).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "32339c7bfdbbb659dd2ac0ddc836ac819aa2816c";

    fn of(kind: &str, size: u64) -> Info {
        Info { id: ID.into(), kind: kind.into(), size }
    }

    #[test]
    fn what_is_missing_is_none_whatever_its_name() {
        let output = format!("{ID} commit 12\nmain missing\n{ID} blob 3 missing\nabc ambiguous\n{ID} tree 0\n");
        let expected = [Some(of("commit", 12)), None, None, None, Some(of("tree", 0))];
        assert_eq!(infos(output.as_bytes()), expected);
    }

    #[test]
    fn contents_may_hold_anything() {
        let output = Bytes::from(format!("{ID} blob 5\na\nb\0\n\nx missing\n{ID} blob 0\n\n"));
        let read = objects(&output).expect("git's form");
        let first = Object { info: of("blob", 5), content: Bytes::from_static(b"a\nb\0\n") };
        let last = Object { info: of("blob", 0), content: Bytes::new() };
        assert_eq!(read, [Some(first), None, Some(last)]);
        for cut in [7, 45, 52] {
            assert_eq!(objects(&output.slice(..cut)), Err(Garbled), "{cut}");
        }
    }
}
