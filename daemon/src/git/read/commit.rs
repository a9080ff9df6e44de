//! Parses commit and tag objects.

/// A commit object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitObject {
    /// Object id.
    pub id: String,
    /// Id of the commit's tree.
    pub tree: String,
    /// Ids of the parent commits.
    pub parents: Vec<String>,
    /// The author and the author date.
    pub author: Person,
    /// The committer and the commit date.
    pub committer: Person,
    /// The full message.
    pub message: String,
    /// The signature, if the commit is signed.
    pub signed: Option<Signed>,
}

/// An annotated tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagObject {
    /// Object id.
    pub id: String,
    /// Id of the tagged object.
    pub target: String,
    /// Type of the tagged object.
    pub target_kind: String,
    /// The tag's name at its creation.
    pub name: String,
    /// The tagger. `None` in tags from old git versions, which did not record it.
    pub tagger: Option<Person>,
    /// The message without the signature.
    pub message: String,
    /// The signature, if the tag is signed.
    pub signed: Option<Signed>,
}

/// A signature and the signed data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// The signature in its text form.
    pub signature: String,
    /// The signed data: the bytes of the object without the signature.
    pub payload: Vec<u8>,
}

/// The headers of a commit with its signature, in repositories with SHA-1 and with SHA-256.
const SIGNATURE_HEADERS: [&[u8]; 2] = [b"gpgsig ", b"gpgsig-sha256 "];
/// Length of an object id in a repository with SHA-256, in characters.
const SHA256_ID_CHARS: usize = 64;
/// The first lines of signatures of tags.
const SIGNATURE_LINES: [&[u8]; 4] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
];

impl Signed {
    /// Returns the signature of the commit `id`, like git: it is in the header for the hash algorithm of the
    /// repository, and the signed data has neither of the two headers.
    fn of_commit(id: &str, content: &[u8]) -> Option<Self> {
        let end = content.windows(2).position(|pair| pair == b"\n\n").map_or(content.len(), |at| at + 1);
        let (head, rest) = content.split_at(end);
        let lines = || head.split_inclusive(|byte| *byte == b'\n');
        if !lines().any(|line| SIGNATURE_HEADERS.iter().any(|name| line.starts_with(name))) {
            return None;
        }
        let (mut signatures, mut payload) = ([Vec::new(), Vec::new()], Vec::with_capacity(content.len()));
        let mut header = None;
        for line in lines() {
            let value = match line.strip_prefix(b" ") {
                Some(more) if header.is_some() => more,
                Some(_) => line,
                None => {
                    header = SIGNATURE_HEADERS.iter().position(|name| line.starts_with(name));
                    header.map_or(line, |kind| &line[SIGNATURE_HEADERS[kind].len()..])
                }
            };
            let part = match header {
                Some(kind) => &mut signatures[kind],
                None => &mut payload,
            };
            part.extend_from_slice(value);
        }
        payload.extend_from_slice(rest);
        let signature = &signatures[usize::from(id.len() == SHA256_ID_CHARS)];
        if signature.is_empty() {
            return None;
        }
        Some(Self { signature: String::from_utf8_lossy(signature).into_owned(), payload })
    }

    /// Returns the signature of a tag, like git: it begins with the last line that begins one.
    fn of_tag(content: &[u8]) -> Option<Self> {
        let mut at = 0;
        let mut begin = None;
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            if SIGNATURE_LINES.iter().any(|first| line.starts_with(first)) {
                begin = Some(at);
            }
            at += line.len();
        }
        let (payload, signature) = content.split_at(begin?);
        Some(Self { signature: String::from_utf8_lossy(signature).into_owned(), payload: payload.to_vec() })
    }
}

/// A name, an email address and a time, as in `author`, `committer` and `tagger` headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Name.
    pub name: String,
    /// Email address.
    pub email: String,
    /// Time, seconds since the epoch.
    pub seconds: i64,
    /// Offset from UTC, minutes.
    pub offset_minutes: i32,
}

impl CommitObject {
    /// Parses the commit `id` from the object's content. Missing or malformed headers, which exist in old
    /// histories, are left empty.
    pub fn parse(id: &str, content: &[u8]) -> Self {
        let text = String::from_utf8_lossy(content);
        let (head, message) = text.split_once("\n\n").unwrap_or((text.trim_end_matches('\n'), ""));
        let mut commit = Self { id: id.into(), message: message.into(), ..Self::default() };
        for (name, value) in headers(head) {
            match name {
                "tree" => commit.tree = value,
                "parent" => commit.parents.push(value),
                "author" => commit.author = Person::parse(&value),
                "committer" => commit.committer = Person::parse(&value),
                _ => {}
            }
        }
        commit.signed = Signed::of_commit(id, content);
        commit
    }
}

impl TagObject {
    /// Parses the tag object `id` from the object's content. Only the signed data counts, if the tag is signed.
    pub fn parse(id: &str, content: &[u8]) -> Self {
        let signed = Signed::of_tag(content);
        let tag = Self::parse_unsigned(id, signed.as_ref().map_or(content, |signed| signed.payload.as_slice()));
        Self { signed, ..tag }
    }

    fn parse_unsigned(id: &str, content: &[u8]) -> Self {
        let text = String::from_utf8_lossy(content);
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end_matches('\n'), ""));
        let mut tag = Self { id: id.into(), message: body.into(), ..Self::default() };
        for (name, value) in headers(head) {
            match name {
                "object" => tag.target = value,
                "type" => tag.target_kind = value,
                "tag" => tag.name = value,
                "tagger" => tag.tagger = Some(Person::parse(&value)),
                _ => {}
            }
        }
        tag
    }
}

impl Person {
    /// Parses `Name <address> seconds ±hhmm`.
    fn parse(text: &str) -> Self {
        let Some((name, rest)) = text.split_once('<') else {
            return Self { name: text.trim().into(), ..Self::default() };
        };
        let (email, when) = rest.rsplit_once('>').unwrap_or((rest, ""));
        let mut words = when.split_whitespace();
        let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let offset: i32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let offset_minutes = offset / 100 * 60 + offset % 100;
        Self { name: name.trim().into(), email: email.trim().into(), seconds, offset_minutes }
    }
}

/// Parses the headers of an object. Lines that start with a space continue the previous header.
fn headers(head: &str) -> Vec<(&str, String)> {
    let mut headers: Vec<(&str, String)> = Vec::new();
    for line in head.split('\n') {
        if let (Some(more), Some((_, value))) = (line.strip_prefix(' '), headers.last_mut()) {
            value.push('\n');
            value.push_str(more);
        } else {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            headers.push((name, value.to_owned()));
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_are_parsed() {
        for (text, name, email, seconds, offset_minutes) in [
            ("A U Thor <a@b.c> 1700000000 +0530", "A U Thor", "a@b.c", 1_700_000_000, 330),
            ("Ö <ö@x> 5 -0930", "Ö", "ö@x", 5, -570),
            ("<> 0 +0000", "", "", 0, 0),
            ("broken", "broken", "", 0, 0),
            ("a <b", "a", "b", 0, 0),
            ("a <b <c>> 7 x", "a", "b <c>", 7, 0),
        ] {
            let expected = Person { name: name.into(), email: email.into(), seconds, offset_minutes };
            assert_eq!(Person::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_signed_merge_commit_is_parsed() {
        let plain = "tree t\nparent p\nparent q\nauthor A <a@x> 1 +0000\ncommitter B <b@x> 2 +0100\n";
        let content = format!("{plain}gpgsig -----BEGIN\n line\n \n -----END\n\nsubject\n\nbody\n");
        let commit = CommitObject::parse("id", content.as_bytes());
        assert_eq!((commit.tree.as_str(), commit.parents.as_slice()), ("t", &["p".into(), "q".into()][..]));
        assert_eq!((commit.author.seconds, commit.committer.offset_minutes), (1, 60));
        assert_eq!(commit.message, "subject\n\nbody\n");
        let signed = commit.signed.expect("a signature");
        assert_eq!(signed.signature, "-----BEGIN\nline\n\n-----END\n");
        assert_eq!(signed.payload, format!("{plain}\nsubject\n\nbody\n").into_bytes());
        assert_eq!(CommitObject::parse("id", format!("{plain}\n").as_bytes()).signed, None);
    }

    #[test]
    fn the_signed_data_has_all_bytes_but_those_of_both_signature_headers() {
        let content = b"tree t\nodd\nencoding latin1\ngpgsig-sha256 other\n more\n\
            mergetag object o\n gpgsig x\ngpgsig one\n two\ncommitter B <b@x> 2 +0100\n\n\xe9\ngpgsig no\n";
        let signed = CommitObject::parse("id", content).signed.expect("a signature");
        assert_eq!(signed.signature, "one\ntwo\n");
        let expected = b"tree t\nodd\nencoding latin1\nmergetag object o\n gpgsig x\n\
            committer B <b@x> 2 +0100\n\n\xe9\ngpgsig no\n";
        assert_eq!(signed.payload, expected);
        let sha256 = CommitObject::parse(&"a".repeat(64), content).signed.expect("a signature");
        assert_eq!((sha256.signature.as_str(), sha256.payload.as_slice()), ("other\nmore\n", &expected[..]));
    }

    #[test]
    fn a_signature_for_the_other_hash_algorithm_does_not_count() {
        for (digits, header, is_signed) in
            [(40, "gpgsig", true), (40, "gpgsig-sha256", false), (64, "gpgsig", false), (64, "gpgsig-sha256", true)]
        {
            let content = format!("tree t\n{header} one\n\nm\n");
            let signed = CommitObject::parse(&"a".repeat(digits), content.as_bytes()).signed;
            let expected = Signed { signature: "one\n".into(), payload: b"tree t\n\nm\n".to_vec() };
            assert_eq!(signed, is_signed.then_some(expected), "{digits} {header}");
        }
    }

    #[test]
    fn the_signature_of_a_tag_begins_with_the_last_line_that_begins_one() {
        let payload = "object o\ntype commit\ntag v1\n\nfirst\n-----BEGIN SSH SIGNATURE-----\nquoted\n";
        let signature = "-----BEGIN PGP SIGNATURE-----\nx -----BEGIN SSH SIGNATURE-----\n";
        let tag = TagObject::parse("id", format!("{payload}{signature}").as_bytes());
        let signed = tag.signed.expect("a signature");
        assert_eq!((signed.signature.as_str(), signed.payload.as_slice()), (signature, payload.as_bytes()));
        assert!(tag.message.starts_with("first\n") && tag.message.ends_with("quoted\n"), "{}", tag.message);
    }

    #[test]
    fn headers_in_the_signature_of_a_tag_do_not_count() {
        let head = "object o\ntype commit\ntag v1\ntagger T <t@x> 3 +0000\n";
        let signature = "-----BEGIN PGP SIGNATURE-----\ntagger B <b@x> 4 +0000\ntag v2\n\nx\n";
        let tag = TagObject::parse("id", format!("{head}{signature}").as_bytes());
        assert_eq!((tag.name.as_str(), tag.message.as_str()), ("v1", ""));
        assert_eq!(tag.tagger.expect("a tagger").email, "t@x");
    }

    #[test]
    fn tag_objects_are_parsed() {
        let head = "object o\ntype commit\ntag v1\ntagger T <t@x> 3 +0000";
        let tag = TagObject::parse("id", format!("{head}\n\nfirst\n").as_bytes());
        assert_eq!((tag.target.as_str(), tag.target_kind.as_str(), tag.name.as_str()), ("o", "commit", "v1"));
        assert_eq!((tag.message.as_str(), tag.signed), ("first\n", None));
        let signature = "-----BEGIN PGP SIGNATURE-----\nx\n";
        let tag = TagObject::parse("id", format!("{head}\n\nfirst\n{signature}").as_bytes());
        let signed = tag.signed.expect("a signature");
        assert_eq!((tag.message.as_str(), signed.signature.as_str()), ("first\n", signature));
        assert_eq!(signed.payload, format!("{head}\n\nfirst\n").into_bytes());
    }
}
