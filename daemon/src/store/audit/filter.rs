//! The filter of lists of audit entries.

use farrier_common::api;
use farrier_proto::store::{AuditActor, AuditEntry, AuditObject, AuditResult};

use crate::model::words;

/// Kinds of objects whose name is that of an account.
const ACCOUNT_KINDS: [&str; 4] = ["user", "organization", "member", "collaborator"];

/// Restricts a list of audit entries. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Name of the actor or of the account that it acts as, in lower case.
    pub actor: String,
    /// The action, or its first words: `token` matches `token.create`.
    pub action: String,
    /// The result.
    pub result: Option<AuditResult>,
    /// Kind of the object.
    pub object_kind: String,
    /// ID of the object.
    pub object_id: Option<u64>,
    /// Name of the object, in lower case.
    pub object_name: String,
    /// ID of the repository that the object is or belongs to.
    pub repository: Option<u64>,
    /// `owner/name` of this repository at the time of the entry, in lower case.
    pub repository_path: String,
    /// The request.
    pub request_id: String,
    /// Name of an account, in lower case: only entries about what it did, about it, and about what it owns.
    pub account: String,
    /// Words in lower case. Each must be a part of the text of an entry, as the full screen shows it.
    pub words: Vec<String>,
}

impl AuditFilter {
    /// Returns whether every entry passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether `entry` passes.
    pub fn passes(&self, entry: &AuditEntry) -> bool {
        let actor = entry.actor.as_ref();
        let object = entry.object.as_ref();
        let is = |expected: &str, text: Option<&String>| {
            expected.is_empty() || text.is_some_and(|text| text.to_lowercase() == expected)
        };
        let has_actor =
            is(&self.actor, actor.map(|actor| &actor.name)) || is(&self.actor, actor.map(|actor| &actor.acts_as));
        let has_path = self.repository_path.is_empty()
            || object.and_then(repository_path).is_some_and(|path| path.to_lowercase() == self.repository_path);
        has_actor
            && starts_with_words(&entry.action, &self.action)
            && self.result.is_none_or(|result| result == entry.result())
            && (self.object_kind.is_empty() || object.is_some_and(|object| object.kind == self.object_kind))
            && self.object_id.is_none_or(|id| object.is_some_and(|object| object.id == id))
            && is(&self.object_name, object.map(|object| &object.name))
            && self.repository.is_none_or(|id| entry.repository_id == id)
            && has_path
            && (self.request_id.is_empty() || self.request_id == entry.request_id)
            && (self.account.is_empty() || concerns(entry, &self.account))
            && self.has_words(entry)
    }

    /// Returns whether each word is a part of the text of `entry`.
    fn has_words(&self, entry: &AuditEntry) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let text = text(entry).to_lowercase();
        self.words.iter().all(|word| text.contains(word.as_str()))
    }
}

/// Returns the text that words are looked for in: action, object, actor, result, address or local user, and reason, as
/// the full screen shows them.
fn text(entry: &AuditEntry) -> String {
    let default = AuditActor::default();
    let actor = entry.actor.as_ref().unwrap_or(&default);
    let object = entry.object.as_ref().map_or_else(String::new, |object| {
        let id = i64::try_from(object.id).unwrap_or(i64::MAX);
        format!("{} {}", object.kind, api::AuditObject::path_of(&object.kind, id, &object.name, &object.owner))
    });
    let name = if actor.name.is_empty() { words::audit_actor_word(actor.kind()) } else { actor.name.as_str() };
    let acts_as = if actor.acts_as.is_empty() { String::new() } else { format!(" as {}", actor.acts_as) };
    let origin = actor.uid.map_or_else(|| actor.address.clone(), |uid| format!("uid {uid}"));
    let result = words::audit_result_word(entry.result());
    format!("{} {object} {name}{acts_as} {result} {origin} {}", entry.action, entry.reason)
}

/// Returns whether the account `name` (in lower case) did it, or whether it or something that it owns is the object.
fn concerns(entry: &AuditEntry, name: &str) -> bool {
    let is_name = |text: &str| text.to_lowercase() == name;
    let is_by = entry.actor.as_ref().is_some_and(|actor| is_name(&actor.name) || is_name(&actor.acts_as));
    is_by
        || entry.object.as_ref().is_some_and(|object| {
            let owner = object.owner.split('/').next().unwrap_or_default();
            is_name(owner) || (ACCOUNT_KINDS.contains(&object.kind.as_str()) && is_name(&object.name))
        })
}

/// Returns whether `action` is `words` or begins with them and a dot.
fn starts_with_words(action: &str, words: &str) -> bool {
    words.is_empty() || action.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns `owner/name` of the repository that an object is or belongs to.
fn repository_path(object: &AuditObject) -> Option<String> {
    match object.kind.as_str() {
        "repository" => Some(format!("{}/{}", object.owner, object.name)),
        _ => object.owner.contains('/').then(|| object.owner.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(actor: &str, acts_as: &str, object: [&str; 3]) -> AuditEntry {
        let [kind, name, owner] = object.map(str::to_owned);
        AuditEntry {
            action: "token.create".into(),
            result: AuditResult::Refused.into(),
            reason: "Wrong password".into(),
            actor: Some(AuditActor {
                name: actor.into(),
                acts_as: acts_as.into(),
                uid: Some(7),
                ..AuditActor::default()
            }),
            object: Some(AuditObject { kind, id: 31, name, owner }),
            ..AuditEntry::default()
        }
    }

    #[test]
    fn actions_are_matched_by_whole_words() {
        for (words, expected) in
            [("", true), ("token", true), ("token.create", true), ("tok", false), ("create", false)]
        {
            assert_eq!(starts_with_words("token.create", words), expected, "{words}");
        }
    }

    #[test]
    fn each_word_is_a_part_of_the_shown_texts() {
        let row = entry("Chief", "octo", ["token", "CI Bot", "octo"]);
        let passes = |text: &str| {
            let words = text.split_whitespace().map(str::to_lowercase).collect();
            AuditFilter { words, ..AuditFilter::default() }.passes(&row)
        };
        for text in ["", "chief", "TOKEN.cre", "ci bot", "bot refused", "as uid", "wrong PASS", "octo"] {
            assert!(passes(text), "{text}");
        }
        for text in ["chief nobody", "31", "\u{0}", "%", "done", &"x".repeat(10_000)] {
            assert!(!passes(text), "{text}");
        }
        assert!(!AuditFilter { words: vec!["x".into()], ..AuditFilter::default() }.passes(&AuditEntry::default()));
    }

    #[test]
    fn an_account_has_what_it_did_what_is_about_it_and_what_is_about_its_objects() {
        let filter = AuditFilter { account: "mia".into(), ..AuditFilter::default() };
        for row in [
            entry("Mia", "", ["hook", "x", "other"]),
            entry("chief", "MIA", ["hook", "x", "other"]),
            entry("chief", "", ["user", "mia", ""]),
            entry("chief", "", ["member", "Mia", "acme"]),
            entry("chief", "", ["repository", "demo", "mia"]),
            entry("chief", "", ["branch", "main", "Mia/demo"]),
        ] {
            assert!(filter.passes(&row), "{row:?}");
        }
        for row in [
            entry("miam", "", ["hook", "mia", "other/mia"]),
            entry("chief", "", ["repository", "mia", "miam/mia"]),
            entry("", "", ["user", "", ""]),
        ] {
            assert!(!filter.passes(&row), "{row:?}");
        }
        assert!(!filter.passes(&AuditEntry::default()));
    }
}
