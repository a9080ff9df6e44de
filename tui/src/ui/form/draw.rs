//! Draws forms: one field per row, its error directly below it.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::{Field, FieldValue, Form};
use crate::ui::{
    view::{NARROW, Role, boxed, text, width, wrapped},
    world::World,
};

const LABEL: u16 = 17;
/// Where notes about a field begin in narrow forms, in cells.
const NARROW_NOTE: u16 = 4;

/// Returns where notes about a field begin: below the field, or further left where it is narrow.
fn note_column(inner: u16) -> u16 {
    if inner < NARROW { NARROW_NOTE } else { LABEL }
}

/// One row of a form.
enum FormRow<'a> {
    Field(usize, &'a Field),
    Note(Role, String),
    Blank,
    Buttons,
}

/// Returns the first visible row, so that the field in row `at` and the notes below it are visible. If they do not fit
/// into `height` rows, the field and its first notes are, or the row with the cursor of an open list.
fn first_row(rows: &[FormRow], at: usize, height: usize) -> usize {
    let is_note = |row: &&FormRow| matches!(row, FormRow::Note(..));
    let notes = rows.iter().skip(at + 1).take_while(is_note).count();
    let list_cursor = |row: &FormRow| matches!(row, FormRow::Note(Role::Selected, _));
    let top = (at + 1 + notes.max(1)).saturating_sub(height).min(at);
    let top = match rows.iter().position(list_cursor) {
        Some(cursor) => top.max((cursor + 1).saturating_sub(height)),
        None => top,
    };
    top.min(rows.len().saturating_sub(height))
}

impl Form {
    pub(crate) fn draw(&self, world: &World, body: Rect, buf: &mut Buffer) -> Option<Position> {
        let inside = body.width.min(100).saturating_sub(4);
        let notes = note_column(inside);
        let rows = self.rows(inside.saturating_sub(notes));
        let high = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2);
        let inner = boxed(buf, body, 100, high, &self.title);
        // The discard question and the waiting text replace the buttons.
        let on_buttons = self.discarding || self.ticket.is_some() || self.focus >= self.fields.len();
        let focused = rows.iter().position(|row| match row {
            FormRow::Field(at, _) => *at == self.focus && !on_buttons,
            FormRow::Buttons => on_buttons,
            _ => false,
        });
        let top = focused.map_or(0, |at| first_row(&rows, at, usize::from(inner.height)));
        let mut cursor = None;
        for (row, y) in rows.iter().skip(top).zip(inner.y..inner.bottom()) {
            let line = Rect { y, height: 1, ..inner };
            match row {
                FormRow::Field(at, field) => cursor = self.field_row(*at, field, line, buf).or(cursor),
                FormRow::Note(role, note) => {
                    let at =
                        Rect { x: line.x + notes.min(line.width), width: line.width.saturating_sub(notes), ..line };
                    text(buf, at, note, *role);
                }
                FormRow::Blank => {}
                FormRow::Buttons => self.buttons(world, line, buf),
            }
        }
        cursor
    }

    fn rows(&self, room: u16) -> Vec<FormRow<'_>> {
        let mut rows = Vec::new();
        if let Some(refusal) = &self.refusal {
            rows.extend(wrapped(refusal, room).into_iter().map(|line| FormRow::Note(Role::Error, line)));
            rows.push(FormRow::Blank);
        }
        for (at, field) in self.fields.iter().enumerate().filter(|(_, field)| !field.hidden) {
            rows.push(FormRow::Field(at, field));
            if let FieldValue::MultiSelect(many) = &field.kind {
                rows.extend(
                    many.lines()
                        .into_iter()
                        .map(|(here, line)| FormRow::Note(if here { Role::Selected } else { Role::Text }, line)),
                );
            }
            if let Some((role, note)) = field.conflict() {
                rows.extend(wrapped(&note, room).into_iter().map(|line| FormRow::Note(role, line)));
            } else if let Some(error) = &field.error {
                let lines = wrapped(&format!("! {error}"), room);
                rows.extend(lines.into_iter().map(|line| FormRow::Note(Role::Error, line)));
            } else if let Some((role, note)) = self.note(field.name) {
                rows.extend(wrapped(&note, room).into_iter().map(|line| FormRow::Note(role, line)));
            } else if at == self.focus {
                let help = Some(field.help.to_owned()).filter(|help| !help.is_empty());
                let lines = help.into_iter().chain(field.offers_note());
                rows.extend(lines.flat_map(|line| wrapped(&line, room)).map(|line| FormRow::Note(Role::Muted, line)));
            }
        }
        if let Some((role, note)) = self.note("") {
            rows.push(FormRow::Blank);
            rows.extend(wrapped(&note, room).into_iter().map(|line| FormRow::Note(role, line)));
        }
        rows.push(FormRow::Blank);
        rows.push(FormRow::Buttons);
        rows
    }

    fn field_row(&self, at: usize, field: &Field, line: Rect, buf: &mut Buffer) -> Option<Position> {
        let here = at == self.focus && self.ticket.is_none();
        let sign = if field.is_required() { " *" } else { "" };
        let label = format!("{}{}{sign}", if here { "> " } else { "  " }, field.label);
        text(buf, Rect { width: LABEL.min(line.width), ..line }, &label, if here { Role::Key } else { Role::Text });
        let area = Rect { x: line.x + LABEL.min(line.width), width: line.width.saturating_sub(LABEL), ..line };
        let role = if here { Role::Key } else { Role::Text };
        let room = area.width.saturating_sub(2);
        match &field.kind {
            FieldValue::Text(typed) | FieldValue::Secret(typed, _) if field.is_masked() => {
                let stars = if typed.text().is_empty() { "" } else { "********" };
                bracketed(buf, area, stars, role);
                let end = u16::try_from(stars.len()).unwrap_or(0);
                here.then_some(Position { x: area.x + 1 + end, y: area.y })
            }
            FieldValue::Text(typed) | FieldValue::Secret(typed, _) => {
                let (shown, cursor) = typed.window(room.saturating_sub(1));
                bracketed(buf, area, &shown, role);
                here.then_some(Position { x: area.x + 1 + cursor, y: area.y })
            }
            FieldValue::MultiSelect(many) => {
                text(buf, area, &many.summary(), role);
                None
            }
            FieldValue::Toggle(on) => {
                text(buf, area, if *on { "[x]" } else { "[ ]" }, role);
                here.then_some(Position { x: area.x + 1, y: area.y })
            }
            FieldValue::Choice(words, chosen) => {
                let mut rest = area;
                let cells: u16 = words.iter().map(|word| width(word) + 7).sum();
                if cells > area.width + 3 {
                    // Without room for all options only the chosen one is shown.
                    let word = words.get(*chosen).copied().unwrap_or_default();
                    text(buf, area, &format!("(o) {word}  {}/{}", chosen + 1, words.len()), role);
                    return None;
                }
                for (word_at, word) in words.iter().enumerate() {
                    let sign = if word_at == *chosen { "(o)" } else { "( )" };
                    let used = text(buf, rest, &format!("{sign} {word}   "), role);
                    rest = Rect { x: rest.x + used, width: rest.width - used, ..rest };
                }
                None
            }
        }
    }

    fn buttons(&self, world: &World, line: Rect, buf: &mut Buffer) {
        let button =
            |at: usize, word: &str| if self.focus == at { format!("[>{word}<]") } else { format!("[ {word} ]") };
        let note = if self.discarding {
            "discard changes? y/N".to_owned()
        } else if self.ticket.is_some() {
            let age = world.now.saturating_sub(self.waits_since).as_secs();
            let age = if age > 0 { format!(" {age} s, Esc cancels") } else { String::new() };
            format!("waiting for the daemon …{age}")
        } else if let Some(why) = world.no_changes() {
            why
        } else {
            match self.errors() {
                0 => String::new(),
                1 => "1 error".to_owned(),
                n => format!("{n} errors"),
            }
        };
        let role = |at: usize| if self.focus == at { Role::Selected } else { Role::Text };
        let words = || std::iter::once("Cancel").chain(self.verbs.iter().copied());
        let cells: u16 = words().map(|word| width(word) + 6).sum();
        // On narrow terminals the buttons start at the left.
        let before = LABEL.min(line.width.saturating_sub(cells));
        let mut rest = Rect { x: line.x + before, width: line.width - before, ..line };
        let note_role = if self.discarding { Role::Error } else { Role::Warn };
        let is_held = self.discarding || self.ticket.is_some() || world.no_changes().is_some();
        if is_held && cells + width(&note) > rest.width {
            // The reason why the buttons are disabled must be readable in full, so it replaces them.
            text(buf, Rect { x: line.x, width: line.width, ..rest }, &note, note_role);
            return;
        }
        for (at, word) in (self.fields.len()..).zip(words()) {
            let used = text(buf, rest, &button(at, word), role(at)) + 2;
            rest = Rect { x: rest.x + used.min(rest.width), width: rest.width.saturating_sub(used), ..rest };
        }
        text(buf, rest, &format!(" {note}"), note_role);
    }
}

fn bracketed(buf: &mut Buffer, area: Rect, shown: &str, role: Role) {
    if area.width < 3 {
        return;
    }
    text(buf, area, "[", role);
    text(buf, Rect { x: area.x + 1, width: area.width - 2, ..area }, shown, role);
    text(buf, Rect { x: area.right() - 1, width: 1, ..area }, "]", role);
}
