//! Parses the output of `git for-each-ref`.

/// The `--format` option whose output [`parse`] reads.
pub const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(objecttype)%00%(*objectname)%00%(*objecttype)";

/// A ref and the object that it points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Full name.
    pub name: String,
    /// Id of the object that it points to.
    pub id: String,
    /// Type of that object.
    pub kind: String,
    /// Id and type of the object that a tag object points to.
    pub peeled: Option<(String, String)>,
}

impl Reference {
    /// Returns the commit that the ref points to, directly or through one tag object.
    pub fn commit(&self) -> Option<&str> {
        match &self.peeled {
            Some((id, kind)) => (kind == "commit").then_some(id),
            None => (self.kind == "commit").then_some(&self.id),
        }
    }
}

/// Parses refs, one per line. Names that are not UTF-8 are left out, because clients cannot request them.
pub fn parse(output: &[u8]) -> Vec<Reference> {
    output.split(|byte| *byte == b'\n').filter_map(line).collect()
}

fn line(line: &[u8]) -> Option<Reference> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.split('\0').map(str::to_owned);
    let (name, id, kind) = (fields.next()?, fields.next()?, fields.next()?);
    let peeled = fields.next().zip(fields.next()).filter(|(id, _)| !id.is_empty());
    Some(Reference { name, id, kind, peeled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_tags_are_parsed_and_names_that_are_not_utf8_are_left_out() {
        let output = b"refs/heads/f/x\0aa\0commit\0\0\nrefs/tags/v1\0bb\0tag\0cc\0commit\nrefs/tags/t\0dd\0tree\0\0\nrefs/heads/\xff\0ee\0commit\0\0\n";
        let read = parse(output);
        let short: Vec<_> = read.iter().map(|r| (r.name.as_str(), r.id.as_str(), r.commit())).collect();
        assert_eq!(
            short,
            [("refs/heads/f/x", "aa", Some("aa")), ("refs/tags/v1", "bb", Some("cc")), ("refs/tags/t", "dd", None)]
        );
        assert!(parse(b"").is_empty());
    }
}
