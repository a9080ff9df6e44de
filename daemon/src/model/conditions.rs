//! Conditions of a request (RFC 9110, section 13.1): the content at which the client accepts the request.

/// The validators of stored content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// The entity tag, with its quotes.
    pub etag: String,
    /// The entity tag that the content had before it was finalized. Clients may still send it.
    pub upload_etag: Option<String>,
    /// When the content was written, in seconds since the epoch.
    pub modified_secs: i64,
}

impl Validators {
    /// Returns the entity tags of the content.
    pub fn etags(&self) -> impl Iterator<Item = &str> {
        [Some(&self.etag), self.upload_etag.as_ref()].into_iter().flatten().map(String::as_str)
    }
}

/// The entity tags in `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// `*`: any content.
    Any,
    /// These tags, compared weakly: a proxy that compresses makes strong tags weak.
    Listed(Vec<String>),
}

/// The conditions of one request. Without any, every request is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `If-Match`
    pub if_match: Option<Tags>,
    /// `If-None-Match`
    pub if_none_match: Option<Tags>,
    /// `If-Modified-Since`, in seconds since the epoch.
    pub if_modified_since: Option<i64>,
    /// `If-Unmodified-Since`, in seconds since the epoch.
    pub if_unmodified_since: Option<i64>,
}

/// The condition that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// `If-Match` or `If-Unmodified-Since`: the content differs or does not exist.
    Changed,
    /// `If-None-Match: *`: there is content.
    Exists,
    /// `If-None-Match` or `If-Modified-Since`: the client has this content.
    Unchanged,
}

impl Tags {
    /// Returns whether these are the tags of `etag`.
    fn contain(&self, etag: &str) -> bool {
        let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
        match self {
            Self::Any => true,
            Self::Listed(tags) => tags.iter().any(|tag| opaque(tag) == opaque(etag)),
        }
    }
}

impl Conditions {
    /// Checks the conditions in the order of RFC 9110, section 13.2.2. `current`: `None` if there is no content yet.
    pub fn check(&self, current: Option<&Validators>) -> Result<(), Unmet> {
        let has_tag = |tags: &Tags| current.is_some_and(|current| current.etags().any(|etag| tags.contain(etag)));
        // A time is ignored beside a tag, which is more exact.
        match (&self.if_match, self.if_unmodified_since, current) {
            (Some(tags), ..) if !has_tag(tags) => return Err(Unmet::Changed),
            (None, Some(since), Some(current)) if current.modified_secs > since => return Err(Unmet::Changed),
            _ => {}
        }
        match (&self.if_none_match, self.if_modified_since, current) {
            (Some(Tags::Any), _, Some(_)) => Err(Unmet::Exists),
            (Some(tags), ..) if has_tag(tags) => Err(Unmet::Unchanged),
            (None, Some(since), Some(current)) if current.modified_secs <= since => Err(Unmet::Unchanged),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(tags: &[&str]) -> Tags {
        Tags::Listed(tags.iter().map(|tag| (*tag).to_owned()).collect())
    }

    #[test]
    fn conditions_are_checked_against_the_current_content() {
        use Unmet::{Changed, Exists, Unchanged};
        let current = Validators { etag: "\"a\"".into(), upload_etag: Some("\"u\"".into()), modified_secs: 100 };
        let none = Conditions::default();
        for (conditions, expected) in [
            (none.clone(), Ok(())),
            (Conditions { if_match: Some(listed(&["\"b\"", "W/\"a\""])), ..none.clone() }, Ok(())),
            (Conditions { if_match: Some(Tags::Any), ..none.clone() }, Ok(())),
            (Conditions { if_match: Some(listed(&["\"u\""])), ..none.clone() }, Ok(())),
            (Conditions { if_none_match: Some(listed(&["\"u\""])), ..none.clone() }, Err(Unchanged)),
            (Conditions { if_match: Some(listed(&["\"b\""])), ..none.clone() }, Err(Changed)),
            (Conditions { if_match: Some(listed(&[])), ..none.clone() }, Err(Changed)),
            (Conditions { if_unmodified_since: Some(100), ..none.clone() }, Ok(())),
            (Conditions { if_unmodified_since: Some(99), ..none.clone() }, Err(Changed)),
            (Conditions { if_match: Some(listed(&["\"a\""])), if_unmodified_since: Some(99), ..none.clone() }, Ok(())),
            (Conditions { if_none_match: Some(listed(&["\"b\""])), ..none.clone() }, Ok(())),
            (Conditions { if_none_match: Some(listed(&["\"a\""])), ..none.clone() }, Err(Unchanged)),
            (Conditions { if_none_match: Some(Tags::Any), ..none.clone() }, Err(Exists)),
            (Conditions { if_modified_since: Some(99), ..none.clone() }, Ok(())),
            (Conditions { if_modified_since: Some(100), ..none.clone() }, Err(Unchanged)),
            (
                Conditions { if_none_match: Some(listed(&["\"b\""])), if_modified_since: Some(100), ..none.clone() },
                Ok(()),
            ),
        ] {
            assert_eq!(conditions.check(Some(&current)), expected, "{conditions:?}");
        }
    }

    #[test]
    fn without_content_only_if_match_is_not_met() {
        let none = Conditions::default();
        let any = || Some(Tags::Any);
        assert_eq!(Conditions { if_match: any(), ..none.clone() }.check(None), Err(Unmet::Changed));
        let times = Conditions { if_modified_since: Some(1), if_unmodified_since: Some(1), ..none };
        assert_eq!(Conditions { if_none_match: any(), ..times }.check(None), Ok(()));
    }
}
