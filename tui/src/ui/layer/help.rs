//! The help: keys of the current screen, all commands, and keys of other screens, with a search.
//!
//! The content comes from the key table. Every printable key is part of the search.

use std::cell::Cell;

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::Step;
use crate::ui::{
    key::Key,
    keymap::{Binding, Keymap, SHELL_COMMANDS, Scope, TYPED_COMMANDS, synonyms},
    line::Line,
    screens::ScreenId,
    view::{NARROW, Role, boxed, text, width},
};

/// Headings in order; the names of other screens follow.
const HERE: &str = "Here";
const EVERYWHERE: &str = "Everywhere";
const COMMAND: &str = "Commands without a key";
/// Heading of commands of the shell, which are listed only as search results.
const SHELL: &str = "Commands of the shell";

/// From this width on, the lines are in two columns.
const TWO_COLUMNS: u16 = 120;
/// Width of the box for one column, in cells.
const COLUMN_WIDTH: u16 = 66;
/// Largest width of the box for each of two columns, in cells.
const COLUMN_MAX: u16 = 82;
/// Cells between two columns.
const GAP: u16 = 2;
/// Width from which a column has room for commands beside the titles.
const ROOMY: u16 = 62;

/// One line of help.
#[derive(Clone, Debug)]
struct HelpRow {
    heading: &'static str,
    /// Keys, or the text of a command.
    keys: String,
    title: &'static str,
    /// The searched text in lower case.
    found_by: String,
}

impl HelpRow {
    fn new(heading: &'static str, keys: String, title: &'static str, words: &str, also: &str) -> Self {
        let found_by = format!("{keys} {title} {words} {also}").to_lowercase();
        Self { heading, keys, title, found_by }
    }

    fn of(heading: &'static str, binding: &Binding) -> Self {
        let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
        Self::new(heading, keys.join(" "), binding.title, binding.words, binding.also)
    }
}

/// Help for one screen.
#[derive(Clone, Debug)]
pub(crate) struct Help {
    title: String,
    rows: Vec<HelpRow>,
    /// Screens whose keys are listed only as search results.
    elsewhere: Vec<&'static str>,
    search: Line,
    top: usize,
    /// Number of lines for which there was room when it was last drawn.
    room: Cell<usize>,
}

fn is_general(scope: Scope) -> bool {
    matches!(scope, Scope::Everywhere | Scope::List | Scope::Moves)
}

impl Help {
    pub(crate) fn new(title: &str, scopes: &[Scope], keymap: Keymap) -> Self {
        let with_key = |binding: &&Binding| !binding.keys.is_empty();
        let here = keymap.of(scopes).filter(with_key);
        let here = here.map(|one| HelpRow::of(if is_general(one.scope) { EVERYWHERE } else { HERE }, one));
        let without_key = keymap.all().iter().filter(|one| one.keys.is_empty() && !one.words.is_empty());
        let without_key = without_key.map(|one| {
            let argument = one.object.map_or_else(String::new, |object| format!(" {}", object.argument()));
            HelpRow::new(COMMAND, format!(":{}{argument}", one.words), one.title, "", one.also)
        });
        let typed = TYPED_COMMANDS
            .iter()
            .map(|one| HelpRow::new(COMMAND, format!(":{} {}", one.words, one.argument), one.title, "", one.also));
        let mut rows: Vec<HelpRow> = here.chain(without_key).chain(typed).collect();
        let shell = SHELL_COMMANDS
            .iter()
            .map(|one| HelpRow::new(SHELL, format!(":{} {}", one.words, one.argument), &one.title, "", ""));
        rows.extend(shell);
        let mut elsewhere = vec![SHELL];
        for screen in ScreenId::ALL {
            let of_screen = |one: &&Binding| ScreenId::of(one.scope) == Some(*screen) && !scopes.contains(&one.scope);
            let before = rows.len();
            rows.extend(
                keymap.all().iter().filter(with_key).filter(of_screen).map(|one| HelpRow::of(screen.name(), one)),
            );
            if rows.len() > before {
                elsewhere.push(screen.name());
            }
        }
        let (title, search) = (format!("Help: {title}"), Line::default());
        Self { title, rows, elsewhere, search, top: 0, room: Cell::default() }
    }

    /// Returns the search text.
    pub(crate) fn typed(&self) -> &str {
        self.search.text()
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Esc | Key::F(1) => return Step::Close,
            Key::Backspace if self.search.text().is_empty() => return Step::Close,
            Key::Down => self.top += 1,
            Key::Up => self.top = self.top.saturating_sub(1),
            Key::PageDown => self.top += 10,
            Key::PageUp => self.top = self.top.saturating_sub(10),
            _ => {
                if self.search.key(key) {
                    self.top = 0;
                }
            }
        }
        self.top = self.top.min(self.lines().len().saturating_sub(self.room.get().max(1)));
        Step::Stay
    }

    pub(super) fn paste(&mut self, pasted: &str) {
        self.search.paste(pasted);
        self.top = 0;
    }

    /// Returns headings and rows that match the search; other screens only with a search text.
    fn lines(&self) -> Vec<(Role, &str, &'static str)> {
        let query = self.search.text();
        let found = |row: &HelpRow| synonyms::finds(&row.found_by, query);
        let others: &[&'static str] = if query.trim().is_empty() { &[] } else { &self.elsewhere };
        let mut lines = Vec::new();
        for heading in [HERE, EVERYWHERE, COMMAND].iter().chain(others) {
            let rows: Vec<&HelpRow> = self.rows.iter().filter(|row| row.heading == *heading && found(row)).collect();
            if !rows.is_empty() {
                lines.push((Role::Title, *heading, ""));
                lines.extend(rows.into_iter().map(|row| (Role::Key, row.keys.as_str(), row.title)));
            }
        }
        lines
    }

    pub(super) fn draw(&self, body: Rect, buf: &mut Buffer) -> Position {
        let columns = if body.width >= TWO_COLUMNS { 2 } else { 1 };
        let wide = if columns == 1 { COLUMN_WIDTH } else { columns * COLUMN_MAX };
        let inner = boxed(buf, body, wide, body.height, &self.title);
        let used = text(buf, inner, "Search: ", Role::Key);
        let field = Rect { x: inner.x + used.min(inner.width), width: inner.width.saturating_sub(used), ..inner };
        let (shown, cursor) = self.search.window(field.width.saturating_sub(1));
        text(buf, field, &shown, Role::Text);
        let lines = self.lines();
        let rows = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
        let height = usize::from(rows.height);
        self.room.set(height * usize::from(columns));
        let top = self.top.min(lines.len().saturating_sub(self.room.get()));
        let width = rows.width / columns;
        let column =
            |at: u16| Rect { x: rows.x + at * width, width: width.saturating_sub(GAP * (columns - 1)), ..rows };
        let shown = &lines[top..];
        let first = if columns > 1 { first_column(shown, height) } else { height };
        draw_column(shown.iter().take(first), column(0), buf);
        if columns > 1 {
            draw_column(shown.iter().skip(first), column(1), buf);
        }
        if lines.is_empty() {
            text(buf, rows, "Nothing found. Esc closes help.", Role::Muted);
        }
        Position { x: field.x + cursor, y: inner.y }
    }
}

/// Returns the number of lines in the first of two columns with `height` rows. A heading at its end moves to the second
/// column, if that has room.
fn first_column(lines: &[(Role, &str, &'static str)], height: usize) -> usize {
    let ends_with_heading = height > 1 && lines.get(height - 1).is_some_and(|(_, _, title)| title.is_empty());
    if ends_with_heading && lines.len() != 2 * height { height - 1 } else { height }
}

/// Draws headings and keys with their titles until the area is full.
fn draw_column<'a>(lines: impl Iterator<Item = &'a (Role, &'a str, &'static str)>, area: Rect, buf: &mut Buffer) {
    // Where there is less room, titles start further left, so that they are not cut off.
    let (key_column, command_column): (u16, u16) = match area.width {
        ..NARROW => (8, 8),
        NARROW..ROOMY => (17, 17),
        _ => (17, 23),
    };
    for ((role, keys, what), y) in lines.zip(area.y..area.bottom()) {
        let line = Rect { y, height: 1, ..area };
        if what.is_empty() {
            text(buf, line, keys, *role);
            continue;
        }
        let at = |x: u16| Rect { x: line.x + x.min(line.width), width: line.width.saturating_sub(x), ..line };
        // Keys end beside their titles; commands are read from the left.
        let (indent, column) = if keys.len() > 1 && keys.starts_with(':') {
            (2, command_column)
        } else {
            (key_column.saturating_sub(2 + width(keys)).max(2), key_column)
        };
        let used = text(buf, at(indent), keys, *role);
        text(buf, at((indent + used + 2).max(column)), what, Role::Text);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Cell;

    use super::*;

    /// Returns the keys that a help with 30 rows shows in an area with room for nine lines.
    fn shown(help: &Help, width: u16) -> Vec<String> {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, 12));
        help.draw(buf.area, &mut buf);
        let text: String = buf.content.iter().map(Cell::symbol).collect();
        let mut keys: Vec<String> =
            text.split_whitespace().filter(|word| word.starts_with("key")).map(str::to_owned).collect();
        keys.sort();
        keys
    }

    #[test]
    fn a_heading_is_in_the_column_of_its_keys() {
        let (heading, key) = ((Role::Title, "Here", ""), (Role::Key, "k", "Up"));
        let with_heading_at = |at: usize, count: usize| {
            let mut lines = vec![key; count];
            lines[at] = heading;
            first_column(&lines, 4)
        };
        assert_eq!((with_heading_at(3, 7), with_heading_at(2, 7), with_heading_at(3, 20)), (3, 4, 3));
        // The second column has no room for it.
        assert_eq!(with_heading_at(3, 8), 4);
    }

    #[test]
    fn commands_of_the_shell_are_found_by_words_with_the_same_meaning() {
        let mut help = Help::new("Repositories", &[Scope::List], Keymap::default());
        let has_fork = |help: &Help| help.lines().iter().any(|(_, keys, _)| keys.starts_with(":repo fork"));
        assert!(!has_fork(&help), "they are listed only as search results");
        help.paste("fork");
        assert!(has_fork(&help));
    }

    #[test]
    fn wide_terminals_show_twice_as_many_keys() {
        let rows = (0..30).map(|n| HelpRow::new(HERE, format!("key{n:02}"), "Title", "", "")).collect();
        let (title, search, room) = ("Help".into(), Line::default(), std::cell::Cell::default());
        let mut help = Help { title, rows, elsewhere: Vec::new(), search, top: 0, room };
        // The first line is the heading.
        let expected = |keys: std::ops::Range<usize>| keys.map(|n| format!("key{n:02}")).collect::<Vec<_>>();
        assert_eq!(shown(&help, TWO_COLUMNS - 1), expected(0..8));
        assert_eq!(shown(&help, TWO_COLUMNS), expected(0..17));
        help.key(Key::Down);
        assert_eq!(shown(&help, TWO_COLUMNS), expected(0..18));
        for _ in 0..4 {
            help.key(Key::PageDown);
        }
        assert_eq!(shown(&help, TWO_COLUMNS), expected(12..30), "no room stays empty at the end");
        help.key(Key::Up);
        assert_eq!(shown(&help, TWO_COLUMNS), expected(11..29), "one key is enough to leave the end");
    }
}
