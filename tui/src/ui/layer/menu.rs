//! Menus: actions, sort columns, texts to copy.

use std::cell::Cell;

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::Step;
use crate::ui::{
    key::Key,
    keymap::Binding,
    screens::Selection,
    view::{Role, boxed, fit_left, text, width, wrapped},
    world::Cmd,
};

/// The effect of a menu item.
#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// Run a binding.
    Press(&'static Binding),
    Sort(usize),
    Do(Cmd),
}

/// A menu item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) key: Option<Key>,
    pub(crate) title: String,
    /// Why it is disabled.
    pub(crate) off: Option<String>,
    pub(crate) pick: Pick,
}

/// A menu.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    title: String,
    /// The object that its bindings act on; they do nothing if the selection changes.
    about: Option<Selection>,
    items: Vec<Item>,
    at: usize,
    /// Where the items were last drawn, and the index of the first one.
    drawn: Cell<(Rect, usize)>,
}

/// The largest number of rows below the items, for the whole text of the selected one.
const NOTES_MAX: u16 = 3;

/// Returns the title of an item and why it is disabled.
fn item_text(item: &Item) -> String {
    item.off.as_ref().map_or_else(|| item.title.clone(), |off| format!("{}: {off}", item.title))
}

impl Menu {
    pub(crate) fn new(title: impl Into<String>, items: Vec<Item>) -> Self {
        Self { title: title.into(), about: None, items, at: 0, drawn: Cell::new((Rect::ZERO, 0)) }
    }

    /// Sets the object that its bindings act on.
    pub(crate) fn about(mut self, selection: Option<Selection>) -> Self {
        self.about = selection;
        self
    }

    /// Returns a menu of texts to copy, given as key, label and text.
    pub(crate) fn copies(title: impl Into<String>, texts: Vec<(char, &str, String)>) -> Self {
        let item = |(letter, what, text): (char, &str, String)| Item {
            key: Some(Key::Char(letter)),
            title: format!("{what:<10} {text}"),
            off: text.is_empty().then(|| "not set".to_owned()),
            pick: Pick::Do(Cmd::Copy(text, what.to_owned())),
        };
        Self::new(title, texts.into_iter().map(item).collect())
    }

    /// Appends an item.
    pub(crate) fn add(&mut self, item: Item) {
        self.items.push(item);
    }

    pub(super) fn hints(&self) -> &'static [(&'static str, &'static str)] {
        if self.items.iter().any(|item| item.key.is_some()) {
            &[("letter", "run"), ("j k", "move"), ("Enter", "run"), ("Esc", "close")]
        } else {
            &[("j k", "move"), ("Enter", "run"), ("Esc", "close")]
        }
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        if let Some(at) = self.items.iter().position(|item| item.key == Some(key)) {
            self.at = at;
            return self.run();
        }
        match key {
            Key::Char('j') | Key::Down => self.at = (self.at + 1).min(self.items.len().saturating_sub(1)),
            Key::Char('k') | Key::Up => self.at = self.at.saturating_sub(1),
            Key::Home | Key::Char('g') => self.at = 0,
            Key::End | Key::Char('G') => self.at = self.items.len().saturating_sub(1),
            Key::Enter => return self.run(),
            Key::Esc | Key::Char('q') | Key::Backspace | Key::Left => return Step::Close,
            _ => {}
        }
        Step::Stay
    }

    /// Runs the item at a cell. A click outside the box closes the menu.
    pub(super) fn click(&mut self, at: Position) -> Step {
        let (area, top) = self.drawn.get();
        let frame = Rect {
            x: area.x.saturating_sub(2),
            y: area.y.saturating_sub(1),
            width: area.width.saturating_add(4),
            height: area.height.saturating_add(2),
        };
        if !frame.contains(at) {
            return Step::Close;
        }
        let item = top + usize::from(at.y.saturating_sub(area.y));
        if !(area.top()..area.bottom()).contains(&at.y) || item >= self.items.len() {
            return Step::Stay;
        }
        self.at = item;
        self.run()
    }

    fn run(&self) -> Step {
        match self.items.get(self.at) {
            Some(Item { off: None, pick, .. }) => match pick {
                Pick::Press(binding) => Step::Press(binding, self.about.clone()),
                Pick::Sort(column) => Step::Sort(*column),
                Pick::Do(cmd) => Step::Then(vec![cmd.clone()]),
            },
            _ => Step::Stay,
        }
    }

    pub(super) fn draw(&self, body: Rect, buf: &mut Buffer) {
        let name = |item: &Item| item.key.map(Key::name).unwrap_or_default();
        let keys = self.items.iter().map(|item| width(&name(item))).max().unwrap_or(0);
        let off = |item: &Item| item.off.as_deref().map_or(0, |off| width(off) + 2);
        let longest = self.items.iter().map(|item| keys + width(&item.title) + off(item)).max().unwrap_or(0);
        let wide = (longest + 8).max(width(&self.title) + 6);
        // Below the items, the selected one is shown in full if any is cut.
        let room = wide.min(body.width).saturating_sub(4);
        let in_full = |item: &Item| {
            let whole = keys + 4 + width(&item.title) + off(item);
            if whole <= room { Vec::new() } else { wrapped(&item_text(item), room) }
        };
        let notes = self.items.iter().map(|item| in_full(item).len()).max().unwrap_or(0);
        let notes = u16::try_from(notes).unwrap_or(u16::MAX).min(NOTES_MAX).min(body.height / 3);
        let high = u16::try_from(self.items.len()).unwrap_or(u16::MAX).saturating_add(notes).saturating_add(2);
        let whole = boxed(buf, body, wide, high, &self.title);
        let mut shown = self.items.get(self.at).map(in_full).unwrap_or_default();
        shown.truncate(usize::from(notes));
        let used = u16::try_from(shown.len()).unwrap_or(notes);
        let inner = Rect { height: whole.height.saturating_sub(used), ..whole };
        for (line, y) in shown.iter().zip(inner.bottom()..whole.bottom()) {
            text(buf, Rect { y, height: 1, ..whole }, line, Role::Muted);
        }
        let top = self.at.saturating_sub(usize::from(inner.height.saturating_sub(1)));
        self.drawn.set((inner, top));
        for ((at, item), y) in self.items.iter().enumerate().skip(top).zip(inner.y..inner.bottom()) {
            let line = Rect { y, height: 1, ..inner };
            let here = at == self.at;
            let role = if here {
                Role::Selected
            } else if item.off.is_some() {
                Role::Muted
            } else {
                Role::Text
            };
            if here {
                buf.set_style(line, role.style());
            }
            text(buf, line, if here { ">" } else { " " }, role);
            let at = |x: u16| Rect { x: line.x + x.min(line.width), width: line.width.saturating_sub(x), ..line };
            text(buf, at(2), &name(item), if here { role } else { Role::Key });
            let title = at(keys + 4);
            // The title comes first: without it, the reason says nothing.
            let used = text(buf, title, &item.title, role) + 2;
            if let Some(off) = &item.off {
                let rest =
                    Rect { x: title.x + used.min(title.width), width: title.width.saturating_sub(used), ..title };
                fit_left(buf, rest, off, if here { role } else { Role::Warn });
            }
        }
    }
}
