//! The message, author, committer and dates of a commit that a request describes.

use std::fmt::Write as _;

use farrier_common::api::{CommitIdentity, CommitOptions};

use crate::{clock::Millis, git::read::commit::Person, service::Error};

/// Longest commit message, in bytes.
const MESSAGE_MAX_BYTES: usize = 1 << 16;

/// The message and the persons of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitText {
    /// The message, without line breaks at its end.
    message: String,
    /// The author and the author date.
    author: Person,
    /// The committer and the commit date.
    committer: Person,
}

impl CommitText {
    /// Returns the text of a commit by `caller` at `now`. `default_message` is used if the client sent none.
    pub(super) fn new(
        options: &CommitOptions,
        caller: &CommitIdentity,
        default_message: impl FnOnce() -> String,
        now: Millis,
    ) -> Result<Self, Error> {
        // If only one of them is given, it is used for both.
        let has_author = [&options.author.name, &options.author.email].iter().any(|text| !text.trim().is_empty());
        let author = if has_author { identity(&options.author, caller) } else { identity(&options.committer, caller) };
        let committer = identity(&options.committer, &author);
        let author = person(author, "author", &options.dates.author, now)?;
        let committer = person(committer, "committer", &options.dates.committer, now)?;
        if options.message.len() > MESSAGE_MAX_BYTES || options.message.contains('\0') {
            return Err(Error::invalid("message", format!("must be text of at most {MESSAGE_MAX_BYTES} bytes")));
        }
        let given = options.message.trim();
        let mut message = if given.is_empty() { default_message() } else { given.to_owned() };
        if options.signoff {
            let _ = write!(message, "\n\nSigned-off-by: {} <{}>", committer.name, committer.email);
        }
        Ok(Self { message, author, committer })
    }

    /// Returns the commit object.
    pub(super) fn object(&self, tree: &str, parent: Option<&str>) -> String {
        let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
        format!(
            "tree {tree}\n{parent}author {}\ncommitter {}\n\n{}\n",
            header(&self.author),
            header(&self.committer),
            self.message
        )
    }
}

/// Returns the value of a header with a person.
fn header(person: &Person) -> String {
    let (sign, minutes) =
        if person.offset_minutes < 0 { ('-', -person.offset_minutes) } else { ('+', person.offset_minutes) };
    let (hours, minutes) = (minutes / 60, minutes % 60);
    format!("{} <{}> {} {sign}{hours:02}{minutes:02}", person.name, person.email, person.seconds)
}

/// Returns the identity in a request, with the parts of `other` that it does not have.
fn identity(given: &CommitIdentity, other: &CommitIdentity) -> CommitIdentity {
    let or = |given: &str, other: &str| {
        // These characters would end the name or the address in a commit object.
        let clean = given.replace(|c: char| c.is_control() || matches!(c, '<' | '>'), "");
        let clean = clean.trim();
        if clean.is_empty() { other.to_owned() } else { clean.to_owned() }
    };
    CommitIdentity { name: or(&given.name, &other.name), email: or(&given.email, &other.email) }
}

fn person(identity: CommitIdentity, role: &'static str, date: &str, now: Millis) -> Result<Person, Error> {
    let CommitIdentity { name, email } = identity;
    let now = now.div_euclid(1_000);
    // Clients of the family send the year 1 for a date that is not set.
    if date.is_empty() || date.starts_with("0001-01-01") {
        return Ok(Person { name, email, seconds: now, offset_minutes: 0 });
    }
    let field = if role == "author" { "dates.author" } else { "dates.committer" };
    let invalid = || Error::invalid(field, "must be a time such as 2026-01-02T03:04:05Z, not before 1970");
    let seconds = date.parse::<jiff::Timestamp>().map_err(|_| invalid())?.as_second();
    let pieces = jiff::fmt::temporal::Pieces::parse(date).map_err(|_| invalid())?;
    let offset_minutes = match pieces.to_numeric_offset() {
        Some(offset) => offset.seconds() / 60,
        None => 0,
    };
    if seconds < 0 { Err(invalid()) } else { Ok(Person { name, email, seconds, offset_minutes }) }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::CommitDates;

    use super::*;

    fn caller() -> CommitIdentity {
        CommitIdentity { name: "Octo".into(), email: "octo@x".into() }
    }

    fn text(options: &CommitOptions) -> Result<CommitText, Error> {
        CommitText::new(options, &caller(), || "Add a".into(), 1_767_323_045_999)
    }

    #[test]
    fn empty_fields_and_the_year_one_mean_unset() {
        let commit = text(&CommitOptions {
            dates: CommitDates { author: "0001-01-01T00:00:00Z".into(), committer: String::new() },
            ..CommitOptions::default()
        })
        .expect("valid");
        assert_eq!(
            commit.object("t", None),
            "tree t\nauthor Octo <octo@x> 1767323045 +0000\ncommitter Octo <octo@x> 1767323045 +0000\n\nAdd a\n"
        );
    }

    #[test]
    fn author_committer_dates_and_signoff_are_used() {
        let identity = |name: &str, email: &str| CommitIdentity { name: name.into(), email: email.into() };
        let options = CommitOptions {
            message: "add a\n".into(),
            author: identity("Au <x>\n", "au@x.org"),
            dates: CommitDates {
                author: "2020-01-02T03:04:05-09:30".into(),
                committer: "2021-01-02T03:04:05+05:30".into(),
            },
            signoff: true,
            ..CommitOptions::default()
        };
        let expected = "tree t\nparent p\nauthor Au x <au@x.org> 1577968445 -0930\n\
                        committer Au x <au@x.org> 1609536845 +0530\n\nadd a\n\nSigned-off-by: Au x <au@x.org>\n";
        assert_eq!(text(&options).expect("valid").object("t", Some("p")), expected);
        let other = CommitOptions { committer: identity("", "co@x.org"), ..options.clone() };
        assert_eq!(text(&other).expect("valid").committer.email, "co@x.org");
        let only_committer =
            CommitOptions { author: identity(" ", ""), committer: identity("Co", ""), ..options.clone() };
        let both = text(&only_committer).expect("valid");
        assert_eq!([both.author, both.committer].map(|person| person.name), ["Co", "Co"]);
        for date in ["yesterday", "1960-01-02T03:04:05Z", "2020-01-02"] {
            let dates = CommitDates { author: String::new(), committer: date.into() };
            assert!(text(&CommitOptions { dates, ..options.clone() }).is_err(), "{date}");
        }
        assert!(text(&CommitOptions { message: "a\0b".into(), ..options }).is_err());
    }
}
