//! Converts git objects to the types of the REST API.

use std::collections::{BTreeMap, HashMap};

use farrier_common::api;
use farrier_proto::store::User;
use jiff::{Timestamp, tz};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::BrowseContext;
use crate::{
    git::read::{
        commit::{self, CommitObject, Person, Signed},
        history::Changes,
        refs::Reference,
    },
    http::show,
    service::{
        access::Action,
        browse::{branches::BranchWithRights, commits::CommitWithChanges, tags::NamedTag},
        signatures::Verdict,
    },
};

/// All characters except RFC 3986's unreserved characters and slashes.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Percent-encodes a path or name for a URL path. Slashes are kept.
pub(super) fn escaped(path: &str) -> String {
    utf8_percent_encode(path, IN_PATHS).to_string()
}

/// Formats a time as RFC 3339 in UTC, with whole seconds.
pub(super) fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// Formats a time as RFC 3339 with the person's UTC offset, with whole seconds.
pub(super) fn own_time(person: &Person) -> String {
    let offset = tz::Offset::from_seconds(person.offset_minutes.saturating_mul(60)).unwrap_or(tz::Offset::UTC);
    if offset == tz::Offset::UTC {
        return time(person.seconds);
    }
    let instant = Timestamp::from_second(person.seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.to_zoned(tz::TimeZone::fixed(offset)).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Converts the signature of a commit or tag. `verdict`: what is known about it, if there is one.
pub(super) fn verification(signed: Option<&Signed>, verdict: Option<&Verdict>) -> api::Verification {
    let (Some(signed), Some(verdict)) = (signed, verdict) else {
        return api::Verification { reason: "gpg.error.not_signed_commit".into(), ..api::Verification::default() };
    };
    api::Verification {
        verified: verdict.is_verified(),
        reason: verdict.reason(),
        signature: signed.signature.clone(),
        payload: String::from_utf8_lossy(&signed.payload).into_owned(),
        signer: match verdict {
            Verdict::Verified { signer, .. } => Some(payload_user(signer)),
            _ => None,
        },
    }
}

fn payload_user(user: &User) -> api::PayloadUser {
    api::PayloadUser { name: user.name.clone(), email: user.email.clone(), username: user.name.clone() }
}

/// The optional fields of a commit to include.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitFields {
    pub(super) stat: bool,
    pub(super) files: bool,
    pub(super) verification: bool,
}

impl BrowseContext {
    fn commit_url(&self, id: &str) -> String {
        format!("{}/git/commits/{id}", self.api)
    }

    pub(super) fn meta(&self, id: &str, seconds: Option<i64>) -> api::CommitMeta {
        let created = seconds.map(time).unwrap_or_default();
        api::CommitMeta { url: self.commit_url(id), sha: id.to_owned(), created }
    }

    /// Converts a tag.
    pub(super) fn tag(&self, tag: &NamedTag) -> api::Tag {
        let name = escaped(&tag.name);
        api::Tag {
            name: tag.name.clone(),
            message: tag.message.clone(),
            id: tag.id.clone(),
            commit: self.meta(&tag.commit.id, Some(tag.commit.committer.seconds)),
            zipball_url: format!("{}/archive/{name}.zip", self.html),
            tarball_url: format!("{}/archive/{name}.tar.gz", self.html),
            archive_download_count: api::ArchiveDownloads::default(),
        }
    }

    /// Converts a tag object. `verdict`: what is known about its signature, if it has one.
    pub(super) fn annotated(&self, tag: &commit::TagObject, verdict: Option<&Verdict>) -> api::AnnotatedTag {
        let tagger = tag.tagger.clone().unwrap_or_default();
        api::AnnotatedTag {
            tag: tag.name.clone(),
            sha: tag.id.clone(),
            url: format!("{}/git/tags/{}", self.api, tag.id),
            message: tag.message.clone(),
            tagger: api::Signature { date: time(tagger.seconds), name: tagger.name, email: tagger.email },
            object: self.object(&tag.target_kind, &tag.target),
            verification: verification(tag.signed.as_ref(), verdict),
            archive_download_count: api::ArchiveDownloads::default(),
        }
    }

    fn object(&self, kind: &str, id: &str) -> api::GitObject {
        api::GitObject { kind: kind.to_owned(), sha: id.to_owned(), url: format!("{}/git/{kind}s/{id}", self.api) }
    }

    /// Converts a reference.
    pub(super) fn reference(&self, reference: &Reference) -> api::GitReference {
        api::GitReference {
            name: reference.name.clone(),
            url: format!("{}/git/{}", self.api, escaped(&reference.name)),
            object: self.object(&reference.kind, &reference.id),
        }
    }
}

/// Converts commits, with the accounts that have the commits' email addresses.
pub(super) struct CommitRenderer<'a> {
    pub(super) context: &'a BrowseContext,
    /// Accounts by email address in lower case.
    pub(super) people: BTreeMap<String, User>,
    /// What is known about the signatures, by the id of the commit.
    pub(super) verdicts: HashMap<String, Verdict>,
}

impl CommitRenderer<'_> {
    fn account(&self, person: &Person) -> Option<api::User> {
        let user = self.people.get(&person.email.to_lowercase())?;
        Some(show::user(&self.context.state.root_url, &self.context.identity, user))
    }

    fn verification(&self, commit: &CommitObject) -> api::Verification {
        verification(commit.signed.as_ref(), self.verdicts.get(&commit.id))
    }

    fn payload_user(&self, person: &Person) -> api::PayloadUser {
        let username = self.people.get(&person.email.to_lowercase()).map(|user| user.name.clone()).unwrap_or_default();
        api::PayloadUser { name: person.name.clone(), email: person.email.clone(), username }
    }

    /// Converts a branch.
    pub(super) fn branch(&self, branch: &BranchWithRights) -> api::Branch {
        let level = self.context.browse.found.access_level;
        let (can_write, can_administer) = (level.allows(Action::Write), level.allows(Action::Administer));
        let (rule, rights) = branch.rule.as_ref().map(|(rule, rights)| (rule, *rights)).unzip();
        let shown_rule = rule.filter(|_| can_administer);
        api::Branch {
            name: branch.branch.name.clone(),
            commit: self.payload(&branch.branch.commit),
            protected: rule.is_some(),
            required_approvals: rule.map_or(0, |rule| rule.required_approvals),
            enable_status_check: rule.is_some_and(|rule| rule.status_check),
            status_check_contexts: rule.map(|rule| rule.status_check_contexts.clone()).unwrap_or_default(),
            user_can_push: can_write && rights.is_none_or(|rights| rights.push),
            user_can_merge: can_write && rights.is_none_or(|rights| rights.merge),
            effective_branch_protection_name: shown_rule.map(|rule| rule.pattern.clone()).unwrap_or_default(),
        }
    }

    fn payload(&self, commit: &CommitObject) -> api::PayloadCommit {
        api::PayloadCommit {
            id: commit.id.clone(),
            message: commit.message.clone(),
            url: format!("{}/commit/{}", self.context.html, commit.id),
            author: self.payload_user(&commit.author),
            committer: self.payload_user(&commit.committer),
            verification: self.verification(commit),
            timestamp: own_time(&commit.author),
        }
    }

    /// Converts a commit. `fields` selects its optional fields.
    pub(super) fn commit(&self, row: &CommitWithChanges, fields: CommitFields) -> api::Commit {
        let (context, commit) = (self.context, &row.commit);
        let created = commit.committer.seconds;
        let person = |person: &Person, date: String| api::Signature {
            name: person.name.clone(),
            email: person.email.clone(),
            date,
        };
        api::Commit {
            url: context.commit_url(&commit.id),
            sha: commit.id.clone(),
            created: time(created),
            html_url: format!("{}/commit/{}", context.html, commit.id),
            commit: api::CommitDetails {
                url: context.commit_url(&commit.id),
                author: person(&commit.author, own_time(&commit.author)),
                committer: person(&commit.committer, time(created)),
                message: commit.message.clone(),
                tree: api::CommitMeta {
                    url: format!("{}/git/trees/{}", context.api, commit.tree),
                    sha: commit.tree.clone(),
                    created: time(created),
                },
                verification: fields.verification.then(|| self.verification(commit)),
            },
            author: self.account(&commit.author),
            committer: self.account(&commit.committer),
            parents: commit.parents.iter().map(|id| context.meta(id, None)).collect(),
            files: row.changes.as_ref().filter(|_| fields.files).map(files).unwrap_or_default(),
            stats: row.changes.as_ref().filter(|_| fields.stat).map(stats),
        }
    }
}

fn files(changes: &Changes) -> Vec<api::CommitFile> {
    let word = |letter| match letter {
        'A' => "added",
        'D' => "removed",
        _ => "modified",
    };
    let file =
        |(path, letter): &(String, char)| api::CommitFile { filename: path.clone(), status: word(*letter).into() };
    changes.files.iter().map(file).collect()
}

fn stats(changes: &Changes) -> api::CommitStats {
    let (additions, deletions) = (show::number(changes.additions), show::number(changes.deletions));
    api::CommitStats { total: additions.saturating_add(deletions), additions, deletions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_times_keep_the_authors_offset() {
        let at = |seconds, offset_minutes| own_time(&Person { seconds, offset_minutes, ..Person::default() });
        assert_eq!(at(1_767_323_045, 0), "2026-01-02T03:04:05Z");
        assert_eq!(at(1_767_323_045, 330), "2026-01-02T08:34:05+05:30");
        assert_eq!(at(1_767_323_045, -570), "2026-01-01T17:34:05-09:30");
        assert_eq!(at(0, 99_999), "1970-01-01T00:00:00Z");
        assert_eq!(time(i64::MAX), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn paths_are_percent_encoded() {
        assert_eq!(escaped("src/a b/ü?#%.rs"), "src/a%20b/%C3%BC%3F%23%25.rs");
    }
}
