//! Shows the object that a word of the command line identifies (a name, a number, a UUID or a commit), and the objects
//! that belong to the object under the cursor.

use super::App;
use crate::ui::{
    key::Key,
    keymap::Object,
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    screens::{Related, ScreenId},
    world::{Cmd, Tone},
};

/// Digits of the shortest abbreviation of a commit.
const COMMIT_MIN: usize = 7;
/// Digits of a SHA-256.
const COMMIT_MAX: usize = 64;

/// The kinds of objects with numbers: the key in the menu, the noun, and the command that shows one.
const NUMBERED: [(char, &str, &str); 5] = [
    ('h', "hook", "hook show"),
    ('r', "run", "run"),
    ('a', "artifact", "artifact"),
    ('d', "delivery", "delivery show"),
    ('l', "audit log entry", "audit show"),
];

/// What a word can identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectWord {
    /// `OWNER/NAME` of a repository.
    Path,
    /// The number of an object of an unknown kind.
    Number,
    /// The UUID of a delivery.
    Uuid,
    /// The beginning of a commit ID.
    Commit,
    /// A name.
    Name,
}

fn is_uuid(word: &str) -> bool {
    let lengths = word.split('-').map(|part| part.chars().all(|c| c.is_ascii_hexdigit()).then_some(part.len()));
    lengths.eq([8, 4, 4, 4, 12].map(Some))
}

fn kind(word: &str) -> ObjectWord {
    let digits = word.trim_start_matches('#');
    if !digits.is_empty() && digits.parse::<i64>().is_ok_and(|number| number > 0) {
        ObjectWord::Number
    } else if is_uuid(word) {
        ObjectWord::Uuid
    } else if (COMMIT_MIN..=COMMIT_MAX).contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit()) {
        ObjectWord::Commit
    } else if word.split('/').filter(|part| !part.is_empty()).count() == 2 {
        ObjectWord::Path
    } else {
        ObjectWord::Name
    }
}

impl App {
    /// Shows the object that `word` identifies. A number opens a menu of the kinds of objects with numbers.
    pub(super) fn jump(&mut self, word: &str) -> Result<(), String> {
        match kind(word) {
            ObjectWord::Path => self.run_line(&format!("repo show {word}")),
            ObjectWord::Uuid => self.run_line(&format!("delivery show {word}")),
            ObjectWord::Number => {
                let number = word.trim_start_matches('#');
                self.open_own(Layer::Menu(numbered(number)));
                Ok(())
            }
            ObjectWord::Commit => {
                self.show_artifacts(None, None);
                self.filter(&format!("commit:{}", word.to_lowercase()));
                Ok(())
            }
            ObjectWord::Name => self.jump_to_name(word),
        }
    }

    /// Opens a menu of the objects that belong to the object under the cursor. A single one is shown at once.
    pub(super) fn related(&mut self) {
        let all = if self.selection().is_some() { self.screen().related() } else { Vec::new() };
        match all.as_slice() {
            [] => self.notify(Tone::Plain, "No other object belongs to this row".to_owned()),
            [one] => {
                let line = one.line.clone();
                if let Err(why) = self.run_line(&line) {
                    self.notify(Tone::Error, why);
                }
            }
            _ => {
                let item = |one: Related| Item {
                    key: Some(Key::Char(one.key)),
                    title: one.title,
                    off: None,
                    pick: Pick::Do(Cmd::Line(one.line)),
                };
                self.open_own(Layer::Menu(Menu::new("Go to", all.into_iter().map(item).collect())));
            }
        }
    }

    /// Shows the only repository with this name, or the repositories whose names contain the word. Before repositories
    /// were requested, it opens their screen with the word as filter.
    fn jump_to_name(&mut self, word: &str) -> Result<(), String> {
        if !self.screens.is_known(Object::Repository) {
            self.go(ScreenId::Repositories);
            self.filter(word);
            return Ok(());
        }
        let names = self.screens.repositories.names_like(word);
        match names.as_slice() {
            [] => Err(format!("'{word}' is neither a command nor the name of a loaded repository")),
            [one] => self.run_line(&format!("repo show {one}")),
            _ => {
                self.go(ScreenId::Repositories);
                self.filter(word);
                Ok(())
            }
        }
    }
}

/// Returns the menu of the kinds of objects that can have a number.
fn numbered(number: &str) -> Menu {
    let item = |(key, noun, command): (char, &str, &str)| Item {
        key: Some(Key::Char(key)),
        title: format!("{noun} {number}"),
        off: None,
        pick: Pick::Do(Cmd::Line(format!("{command} {number}"))),
    };
    Menu::new(format!("Show number {number} as"), NUMBERED.map(item).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_recognized_by_their_form() {
        for (word, expected) in [
            ("infra/gateway", ObjectWord::Path),
            ("12", ObjectWord::Number),
            ("#12", ObjectWord::Number),
            ("1234567", ObjectWord::Number),
            ("3f2a9c1", ObjectWord::Commit),
            ("3f2a9c", ObjectWord::Name),
            ("7c1a4e5f-0000-4000-8000-00000000000e", ObjectWord::Uuid),
            ("gateway", ObjectWord::Name),
            ("#", ObjectWord::Name),
            ("0", ObjectWord::Name),
        ] {
            assert_eq!(kind(word), expected, "{word}");
        }
    }
}
