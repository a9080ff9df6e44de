//! Words with the same meaning, so that help and the command line find a command by any of them.

/// Groups of words. A word of a search finds texts with a word of its groups.
const GROUPS: &[&[&str]] = &[
    &["delete", "remove", "destroy", "erase", "rm", "revoke"],
    &["hook", "webhook", "callback"],
    &["create", "add", "new", "make"],
    &["edit", "change", "modify", "rename", "update", "set"],
    &["show", "open", "view", "display", "inspect"],
    &["redeliver", "resend", "replay", "retry", "repeat"],
    &["disable", "deactivate", "lock", "suspend"],
    &["enable", "activate", "unlock"],
    &["logout", "signout", "quit", "exit", "leave"],
    &["login", "signin", "connect"],
    &["member", "people", "person", "collaborator", "access"],
    &["organization", "org", "group", "company"],
    &["repository", "repo", "project"],
    &["user", "account", "people"],
    &["import", "migrate", "clone"],
    &["cancel", "stop", "abort", "kill"],
    &["permission", "right", "access", "role"],
    &["run", "workflow", "build", "pipeline", "ci"],
    &["artifact", "file", "build"],
    &["restore", "undelete", "recover", "trash"],
    &["protect", "rule", "protection"],
    &["expiry", "expire", "retention"],
    &["log", "journal"],
];

/// Phrases that are searched as one word.
const PHRASES: [(&str, &str); 4] =
    [("log out", "logout"), ("sign out", "signout"), ("log in", "login"), ("sign in", "signin")];

/// Characters from which on the beginning of a word finds its group.
const PREFIX_MIN: usize = 4;

/// Returns whether a text in lower case contains every word of a search.
pub(crate) fn contains(text: &str, query: &str) -> bool {
    query.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// Returns whether a text in lower case has, for every word of a search, this word or one with the same meaning.
pub(crate) fn finds(text: &str, query: &str) -> bool {
    let mut query = query.to_lowercase();
    for (phrase, word) in PHRASES {
        query = query.replace(phrase, word);
    }
    query.split_whitespace().all(|word| text.contains(word) || has_synonym(text, word))
}

fn has_synonym(text: &str, word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    let is_meant = |one: &&str| *one == word || *one == singular || (word.len() >= PREFIX_MIN && one.starts_with(word));
    GROUPS.iter().filter(|group| group.iter().any(&is_meant)).any(|group| {
        // Short words begin many others.
        group.iter().any(|one| if one.len() < PREFIX_MIN { is_word(text, one) } else { begins_word(text, one) })
    })
}

fn begins_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|own| own.starts_with(word))
}

fn is_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|own| own == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_words_with_the_same_meaning() {
        for (query, text, expected) in [
            ("remove", "delete the hook", true),
            ("remo", "delete the hook", true),
            ("rem", "delete the hook", false),
            ("webhook", "hook list", true),
            ("webhooks remove", "delete the hook", true),
            ("log out", "quit now", true),
            ("members", "show collaborators", true),
            ("rm", "delete the hook", true),
            ("delete", "show the terminal", false),
            ("gateway", "show a repository", false),
            ("remove tag", "delete the hook", false),
        ] {
            assert_eq!(finds(text, query), expected, "{query}: {text}");
        }
    }
}
