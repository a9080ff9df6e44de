//! Which entries of the audit log the daemon selects for a filter.

use farrier_common::client::AuditFilter;

use crate::ui::list::Filter;

/// Longest value of a filter that the daemon accepts, in bytes.
const VALUE_MAX_BYTES: usize = 512;
/// Columns whose texts are parts of the text in which the daemon looks for words.
const TEXTS: [&str; 6] = ["action", "actor", "object", "result", "from", "repo"];
/// Kinds of actors. An actor without a name is shown by its kind, which the daemon does not compare with names.
const ACTOR_KINDS: [&str; 6] = ["user", "ci_agent", "job", "anonymous", "command", "daemon"];

/// The entries that the daemon selects. The filter then applies to them as well, because it knows more tests than the
/// daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AuditSelection {
    pub(super) filter: AuditFilter,
    /// Only the entry with this ID.
    pub(super) entry: Option<u64>,
}

impl AuditSelection {
    /// Returns the smallest selection with all matches of `filter`. `since`: the start of its time range, RFC 3339.
    pub(super) fn of(filter: &Filter, since: &str) -> Self {
        let equal =
            |column| filter.must_equal(column).filter(|value| value.len() <= VALUE_MAX_BYTES).unwrap_or_default();
        let entry = filter.must_be("id").0.and_then(|id| u64::try_from(id).ok());
        let mut text = filter.required_words(&TEXTS, VALUE_MAX_BYTES);
        let object = match equal("object").split_once(' ') {
            // A path consists of the owner and the name, or is the name of something in a repository.
            Some((kind, path)) if path.contains(['/', ' ']) => {
                add_words(&mut text, path);
                kind.to_lowercase()
            }
            Some((kind, name)) => format!("{}:{name}", kind.to_lowercase()),
            None => equal("object").to_lowercase(),
        };
        let mut actor = equal("actor");
        if ACTOR_KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(actor)) {
            add_words(&mut text, actor);
            actor = "";
        }
        let result = equal("result").to_lowercase();
        let filter = AuditFilter {
            // Names of accounts have no blanks. A value with some is the shown text, such as `admin as mia`.
            actor: Some(actor).filter(|name| !name.contains(' ')).unwrap_or_default().to_owned(),
            action: equal("action").to_lowercase(),
            object,
            repository: equal("repo").to_owned(),
            user: equal("user").to_owned(),
            result: if ["done", "refused", "failed"].contains(&&*result) { result } else { String::new() },
            request_id: equal("request").to_owned(),
            since: since.to_owned(),
            text,
            ..AuditFilter::default()
        };
        Self { filter, entry }
    }
}

/// Adds words to a text, unless it would be too long for the daemon.
fn add_words(text: &mut String, words: &str) {
    if text.len() + 1 + words.len() <= VALUE_MAX_BYTES {
        text.extend([if text.is_empty() { "" } else { " " }, words]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{audit::AuditSummary, list::Row as _};

    fn selection(text: &str) -> AuditSelection {
        AuditSelection::of(&Filter::parse(text, AuditSummary::FILTERS).unwrap(), "")
    }

    fn query(text: &str) -> String {
        selection(text).filter.query()
    }

    #[test]
    fn the_daemon_gets_all_tests_that_it_knows() {
        for (text, expected) in [
            ("", ""),
            ("delete ^repo lake$", "q=delete%20repo%20lake"),
            ("!done ~abc age:>1d", ""),
            ("actor:mia repo:octo !from:x", "q=mia%20octo"),
            ("actor:=mia action:=Token result:=refused", "actor=mia&action=token&result=refused"),
            ("actor:=\"admin as mia\" result:=odd", ""),
            ("x actor:=Anonymous", "q=x%20Anonymous"),
            ("user:=mia request:=ab12", "request_id=ab12&user=mia"),
            ("object:=\"hook 7\"", "object=hook%3A7"),
            ("object:=User", "object=user"),
            ("x object:=\"repository octo/demo\"", "object=repository&q=x%20octo%2Fdemo"),
            ("repo:=octo/demo", "repository=octo%2Fdemo"),
            ("request:ab", ""),
        ] {
            assert_eq!(query(text), expected, "{text}");
        }
        assert_eq!(selection("id:904").entry, Some(904));
        assert_eq!(selection("id:-4").entry, None);
    }

    #[test]
    fn values_that_are_too_long_for_the_daemon_are_only_tested_here() {
        let long = "x".repeat(VALUE_MAX_BYTES + 1);
        for text in [long.clone(), format!("actor:={long}"), format!("object:=\"hook a/{long}\"")] {
            let query = query(&text);
            assert!(query.is_empty() || query == "object=hook", "{query}");
        }
        assert_eq!(query(&format!("{long} short")), "q=short");
    }
}
