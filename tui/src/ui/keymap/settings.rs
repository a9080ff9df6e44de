//! Key bindings that the configuration file adds or removes.
//!
//! Added keys complement the default ones. A scope in which one key would have two actions keeps its default keys.

use std::collections::HashSet;

use super::{Action, BINDINGS, Binding, Keymap, Scope};
use crate::{
    config::{ConfigProblem, KeySetting},
    ui::key::Key,
};

const UNBIND: &str = "unbind";
const GLOBAL: &str = "global";

/// Converts `NextPart` to `next_part`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for (at, c) in name.char_indices() {
        if c.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Returns the name of an action in the file.
fn action_name(action: Action) -> String {
    match action {
        Action::Screen(id) => id.name().to_lowercase().replace(' ', "_"),
        other => snake(&format!("{other:?}")),
    }
}

/// Returns the former name of an action, which files may still contain.
fn earlier_name(action: Action) -> Option<&'static str> {
    match action {
        Action::NewBranch => Some("new"),
        Action::DeleteBranch => Some("delete"),
        Action::PreviousPlace => Some("last_screen"),
        _ => None,
    }
}

/// Returns the name of a scope in the file.
fn scope_name(scope: Scope) -> String {
    if scope == Scope::Everywhere { GLOBAL.to_owned() } else { snake(&format!("{scope:?}")) }
}

/// Returns the keys of every scope, for the manual.
pub(crate) fn manual() -> Vec<crate::ScreenKeys> {
    let mut sections: Vec<crate::ScreenKeys> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| !binding.keys.is_empty()) {
        let section = scope_name(binding.scope);
        let keys = binding.keys.iter().map(|key| key.name()).collect();
        let row = (keys, binding.title, action_name(binding.action));
        match sections.iter_mut().find(|(name, _)| *name == section) {
            Some((_, rows)) => rows.push(row),
            None => sections.push((section, vec![row])),
        }
    }
    sections
}

impl Keymap {
    /// Returns the bindings with the changes of the file, and the problems in the file.
    pub(crate) fn with(settings: &[KeySetting]) -> (Self, Vec<ConfigProblem>) {
        if settings.is_empty() {
            return (Self::default(), Vec::new());
        }
        let mut bindings: Vec<Binding> = BINDINGS.to_vec();
        let mut problems = Vec::new();
        // Removed keys are applied first, so that they can be added elsewhere.
        let (taken, added): (Vec<_>, Vec<_>) = settings.iter().partition(|setting| setting.action == UNBIND);
        for setting in taken.into_iter().chain(added) {
            if let Err(text) = change(&mut bindings, setting) {
                problems.push(ConfigProblem::error(setting.line, text));
            }
        }
        for (scope, key, titles) in conflicts(&bindings) {
            let line = settings.iter().find(|setting| setting.keys.iter().any(|text| Key::parse(text) == Some(key)));
            let text = format!(
                "{} is assigned to {titles} in {}; this scope keeps its default keys",
                key.name(),
                scope_name(scope)
            );
            problems.push(ConfigProblem::error(line.map_or(1, |setting| setting.line), text));
            for (binding, usual) in bindings.iter_mut().zip(BINDINGS).filter(|(binding, _)| binding.scope == scope) {
                *binding = *usual;
            }
        }
        // The bindings exist as long as the program runs.
        (Self(Box::leak(bindings.into_boxed_slice())), problems)
    }
}

fn change(bindings: &mut [Binding], setting: &KeySetting) -> Result<(), String> {
    let keys = setting.keys.iter().map(|text| Key::parse(text).ok_or_else(|| format!("'{text}' is not a valid key")));
    let keys = keys.collect::<Result<Vec<Key>, String>>()?;
    let global = setting.scope == GLOBAL;
    let mut names: Vec<String> = bindings.iter().map(|binding| scope_name(binding.scope)).collect();
    if !names.contains(&setting.scope) {
        names.dedup();
        return Err(format!("unknown scope '{}'; expected one of {}", setting.scope, names.join(", ")));
    }
    let here = |binding: &Binding| global || scope_name(binding.scope) == setting.scope;
    if setting.action == UNBIND {
        for binding in bindings.iter_mut().filter(|binding| here(binding)) {
            let left: Vec<Key> = binding.keys.iter().filter(|key| !keys.contains(key)).copied().collect();
            if left.len() < binding.keys.len() {
                binding.keys = Box::leak(left.into_boxed_slice());
            }
        }
        return Ok(());
    }
    let mut found = false;
    let named = |action| action_name(action) == setting.action || earlier_name(action) == Some(&setting.action);
    for binding in bindings.iter_mut().filter(|binding| here(binding) && named(binding.action)) {
        found = true;
        let more = keys.iter().filter(|key| !binding.keys.contains(key));
        binding.keys = Box::leak(binding.keys.iter().chain(more).copied().collect());
    }
    if found {
        return Ok(());
    }
    let mut known: Vec<String> =
        bindings.iter().filter(|binding| here(binding)).map(|binding| action_name(binding.action)).collect();
    known.dedup();
    Err(format!("unknown action '{}' in {}; expected one of {}", setting.action, setting.scope, known.join(", ")))
}

/// Returns the keys that have two actions in one scope.
fn conflicts(bindings: &[Binding]) -> Vec<(Scope, Key, String)> {
    let mut found: Vec<(Scope, Key, String)> = Vec::new();
    let mut seen = HashSet::new();
    for binding in bindings {
        for key in binding.keys {
            let scope_name = format!("{:?}", binding.scope);
            if !seen.insert((scope_name, *key)) && !found.iter().any(|(scope, ..)| *scope == binding.scope) {
                let both = bindings.iter().filter(|one| one.scope == binding.scope && one.keys.contains(key));
                let titles: Vec<String> = both.map(|one| format!("'{}'", one.title)).collect();
                found.push((binding.scope, *key, titles.join(" and ")));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(scope: &str, action: &str, keys: &[&str]) -> KeySetting {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        KeySetting { line: 7, scope: scope.into(), action: action.into(), keys }
    }

    #[test]
    fn keys_are_added_and_removed_by_settings() {
        let settings = [setting("deliveries", "redeliver", &["f5", "R"]), setting("hooks", UNBIND, &["D"])];
        let (keymap, problems) = Keymap::with(&settings);
        assert_eq!(problems, []);
        let meant = |scope, key| keymap.find(&[scope], key).map(|binding| binding.action);
        assert_eq!(meant(Scope::Deliveries, Key::F(5)), Some(Action::Redeliver));
        assert_eq!(meant(Scope::Deliveries, Key::Char('R')), Some(Action::Redeliver));
        assert_eq!(meant(Scope::Hooks, Key::Char('D')), None);
        assert_eq!(meant(Scope::Repositories, Key::Char('D')), Some(Action::Delete));
        let (keymap, problems) = Keymap::with(&[setting("global", "quit", &["ctrl-q"])]);
        assert_eq!(problems, []);
        assert_eq!(keymap.find(&[Scope::Everywhere], Key::Ctrl('q')).map(|b| b.action), Some(Action::Quit));
    }

    #[test]
    fn a_scope_with_a_conflicting_key_keeps_its_default_keys() {
        let (keymap, problems) = Keymap::with(&[setting("hooks", "test", &["D"]), setting("list", "sort", &["O"])]);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].text.contains("'Send a test event' and 'Delete the hook' in hooks"),
            "{}",
            problems[0].text
        );
        let meant = |scope, key| keymap.find(&[scope], key).map(|binding| binding.action);
        assert_eq!(meant(Scope::Hooks, Key::Char('D')), Some(Action::Delete));
        assert_eq!(meant(Scope::List, Key::Char('O')), Some(Action::Sort), "other scopes keep the added keys");
    }

    #[test]
    fn unknown_scopes_actions_and_keys_are_reported() {
        let problem = |scope, action, key| Keymap::with(&[setting(scope, action, &[key])]).1.remove(0).text;
        assert!(problem("hook", "test", "f5").contains("expected one of "));
        assert!(problem("hooks", "tset", "f5").contains("turn_off, test"));
        assert_eq!(problem("hooks", "test", "f99x"), "'f99x' is not a valid key");
    }
}
