//! Commit and tag objects as the database holds them.

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Object id.
    pub id: String,
    /// Id of its tree.
    pub tree: String,
    /// Ids of the commits before it.
    pub parents: Vec<String>,
    /// Who wrote it.
    pub author: Person,
    /// Who committed it.
    pub committer: Person,
    /// The whole message.
    pub message: String,
    /// Its signature, when it has one.
    pub signed: Option<Signed>,
}

/// A tag object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Object id.
    pub id: String,
    /// What it points at.
    pub target: String,
    /// Which kind of object that is.
    pub target_kind: String,
    /// The name it was made with.
    pub name: String,
    /// Who made it; git has tags from before it kept that.
    pub tagger: Option<Person>,
    /// The message without its signature.
    pub message: String,
    /// Its signature, when it has one.
    pub signed: Option<Signed>,
}

/// A signature and what it signs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// The signature's text.
    pub signature: String,
    /// The object without the signature.
    pub payload: String,
}

/// Who did something, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Name.
    pub name: String,
    /// Address.
    pub email: String,
    /// Seconds since the epoch.
    pub seconds: i64,
    /// Offset of their clock from UTC, minutes.
    pub offset_minutes: i32,
}

impl Commit {
    /// Reads the commit `id` from its content. What is malformed in old histories is left empty.
    pub fn parse(id: &str, content: &[u8]) -> Self {
        let text = String::from_utf8_lossy(content);
        let (head, message) = text.split_once("\n\n").unwrap_or((text.trim_end_matches('\n'), ""));
        let mut commit = Self { id: id.into(), message: message.into(), ..Self::default() };
        let mut signature = String::new();
        let mut payload = String::new();
        for (name, value) in headers(head) {
            match name {
                "tree" => commit.tree.clone_from(&value),
                "parent" => commit.parents.push(value.clone()),
                "author" => commit.author = Person::parse(&value),
                "committer" => commit.committer = Person::parse(&value),
                _ => {}
            }
            if matches!(name, "gpgsig" | "gpgsig-sha256") {
                signature = value + "\n";
            } else {
                payload.extend([name, " ", &value.replace('\n', "\n "), "\n"]);
            }
        }
        if !signature.is_empty() {
            payload.extend(["\n", message]);
            commit.signed = Some(Signed { signature, payload });
        }
        commit
    }
}

impl Tag {
    /// Reads the tag object `id` from its content.
    pub fn parse(id: &str, content: &[u8]) -> Self {
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
        let begin = ["-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----"];
        if let Some(at) = begin.iter().find_map(|mark| body.find(mark)) {
            let (message, signature) = body.split_at(at);
            let payload = format!("{head}\n\n{message}");
            tag.signed = Some(Signed { signature: signature.into(), payload });
            tag.message = message.into();
        }
        tag
    }
}

impl Person {
    /// Reads `Name <address> seconds ±hhmm`.
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

/// Headers of an object; lines that begin with a blank go on with the one before.
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
    fn people() {
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
    fn a_signed_merge() {
        let plain = "tree t\nparent p\nparent q\nauthor A <a@x> 1 +0000\ncommitter B <b@x> 2 +0100\n";
        let content = format!("{plain}gpgsig -----BEGIN\n line\n \n -----END\n\nsubject\n\nbody\n");
        let commit = Commit::parse("id", content.as_bytes());
        assert_eq!((commit.tree.as_str(), commit.parents.as_slice()), ("t", &["p".into(), "q".into()][..]));
        assert_eq!((commit.author.seconds, commit.committer.offset_minutes), (1, 60));
        assert_eq!(commit.message, "subject\n\nbody\n");
        let signed = commit.signed.expect("a signature");
        assert_eq!(signed.signature, "-----BEGIN\nline\n\n-----END\n");
        assert_eq!(signed.payload, format!("{plain}\nsubject\n\nbody\n"));
        assert_eq!(Commit::parse("id", format!("{plain}\n").as_bytes()).signed, None);
    }

    #[test]
    fn tags() {
        let head = "object o\ntype commit\ntag v1\ntagger T <t@x> 3 +0000";
        let tag = Tag::parse("id", format!("{head}\n\nfirst\n").as_bytes());
        assert_eq!((tag.target.as_str(), tag.target_kind.as_str(), tag.name.as_str()), ("o", "commit", "v1"));
        assert_eq!((tag.message.as_str(), tag.signed), ("first\n", None));
        let signature = "-----BEGIN PGP SIGNATURE-----\nx\n";
        let tag = Tag::parse("id", format!("{head}\n\nfirst\n{signature}").as_bytes());
        let signed = tag.signed.expect("a signature");
        assert_eq!((tag.message.as_str(), signed.signature.as_str()), ("first\n", signature));
        assert_eq!(signed.payload, format!("{head}\n\nfirst\n"));
    }
}
