//! Shows the object that a word of the command line identifies (a name, a number, a UUID or a commit), and the objects
//! that belong to the object under the cursor.

use super::{App, RequestOwner};
use crate::ui::{
    key::Key,
    layer::{
        Layer, LayerId, Menu,
        menu::{Item, Pick},
    },
    net::{ObjectSearch, Request},
    screens::Related,
    world::{Cmd, Link, Tone},
};

/// Digits of the shortest abbreviation of a commit.
const COMMIT_MIN: usize = 7;
/// Digits of a SHA-256.
const COMMIT_MAX: usize = 64;

/// The kinds of objects with numbers: the key in the menu, the noun, and the command that shows one.
const NUMBERED: [(char, &str, &str); 6] = [
    ('h', "hook", "hook show"),
    ('r', "run", "run"),
    ('a', "artifact", "artifact"),
    ('d', "delivery", "delivery show"),
    ('t', "task", "task show"),
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
    } else if !word.contains("://") && word.split('/').filter(|part| !part.is_empty()).count() == 2 {
        ObjectWord::Path
    } else {
        ObjectWord::Name
    }
}

impl App {
    /// Shows the object that `word` identifies. A number opens a menu of the kinds of objects with numbers.
    pub(super) fn jump(&mut self, word: &str) -> Result<(), String> {
        match kind(word) {
            // A branch of the open repository can have such a name, too.
            ObjectWord::Path if self.searches_repository() && !self.screens.repositories.is_listed(word) => {
                self.look_up(word)
            }
            ObjectWord::Path => self.run_line(&format!("repo show {word}")),
            ObjectWord::Uuid => self.run_line(&format!("delivery show {word}")),
            ObjectWord::Number => {
                let number = word.trim_start_matches('#');
                self.open_own(Layer::Menu(numbered(number)));
                Ok(())
            }
            // The repository may have a branch or an object with these digits, too.
            ObjectWord::Commit if self.searches_repository() => self.look_up(word),
            ObjectWord::Commit => {
                self.show_artifacts(None, None);
                self.filter(&format!("commit:{}", word.to_lowercase()));
                Ok(())
            }
            ObjectWord::Name => self.look_up(word),
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

    /// Returns whether the user types a word while a repository is open. Other lines are not looked up.
    fn searches_repository(&self) -> bool {
        let is_typed = matches!(self.top_layer(), Some(Layer::Palette(_)));
        is_typed && self.screens.repositories.open_repository().is_some()
    }

    /// Looks for objects with this name in the daemon. The response shows the only one, or the user chooses.
    fn look_up(&mut self, word: &str) -> Result<(), String> {
        if !matches!(self.top_layer(), Some(Layer::Palette(_))) {
            return Err(format!("'{word}' is not a command"));
        }
        self.send_lookup(word.to_owned(), true);
        Err(format!("Looking for '{word}' ..."))
    }

    /// Looks for the word in the command line while the user types it, one request at a time.
    pub(super) fn look_up_typed(&mut self) {
        let Some(Layer::Palette(palette)) = self.top_layer() else { return };
        let Some(word) = palette.wanted_word().filter(|_| matches!(self.world.link, Link::Up)) else { return };
        if !self.pending.values().any(|one| matches!(one.request, Request::FindObjects(_))) {
            self.send_lookup(word, false);
        }
    }

    fn send_lookup(&mut self, word: String, is_awaited: bool) {
        let Some(id) = self.layers.last().map(|open| open.id) else { return };
        self.cancel_where(|one| matches!(one.request, Request::FindObjects(_)));
        let repository = self.screens.repositories.open_repository();
        let search = ObjectSearch { word: word.clone(), repository };
        self.send(RequestOwner::Layer(id), Request::FindObjects(Box::new(search)));
        if let Some(Layer::Palette(palette)) = self.top_layer_mut() {
            palette.lookup_started(word, is_awaited);
        }
    }

    /// Closes the command line `id` and shows the object that was found.
    pub(super) fn show_found(&mut self, id: LayerId, line: String) {
        let Some(at) = self.layers.iter().position(|open| open.id == id) else { return };
        self.close_by_answer(at);
        match self.run_line(&line) {
            Ok(()) => self.remember_command(line),
            Err(why) => self.notify(Tone::Error, why),
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
            ("https://host", ObjectWord::Name),
            ("#", ObjectWord::Name),
            ("0", ObjectWord::Name),
        ] {
            assert_eq!(kind(word), expected, "{word}");
        }
    }
}
