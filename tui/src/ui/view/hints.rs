//! The last row: the most important keys of the visible screen or of the layer above it.

use ratatui::{buffer::Buffer, layout::Rect};

use super::paint::{Role, text, width};
use crate::ui::{
    app::App,
    key::Key,
    keymap::{Action, Binding},
};

/// A key and its meaning.
struct Hint {
    /// The name of the key, or of several keys.
    keys: String,
    what: String,
}

impl Hint {
    fn cells(&self) -> u16 {
        width(&self.keys) + 1 + width(&self.what)
    }
}

fn all(app: &App) -> Vec<Hint> {
    if let Some(layer) = app.top_layer() {
        return layer.hints().into_iter().map(|(keys, what)| Hint { keys, what }).collect();
    }
    let scopes = app.scopes();
    // Keys whose action is not available are left out; the menu of actions shows the reasons.
    let has_rows = app.screen().list().is_none_or(|list| list.shown_count() > 0);
    let works = |binding: &&Binding| {
        let needs_rows = matches!(binding.action, Action::Mark | Action::Sort | Action::Open);
        let is_useful = !binding.hint.is_empty() && (has_rows || !needs_rows);
        is_useful && app.off(binding).is_none()
    };
    let shown = app.world.keymap.reachable(&scopes).filter(works).filter(|binding| binding.hint != "help");
    let hint = |binding: &Binding| Some(Hint { keys: binding.keys.first()?.name(), what: binding.hint.to_owned() });
    let help = Hint { keys: "?".to_owned(), what: "help".to_owned() };
    shown.filter_map(hint).chain([help]).collect()
}

/// Returns the hints that fit into a row, with their columns. The last hint is kept when others do not fit: it opens
/// the help.
fn placed(app: &App, row: u16) -> Vec<(u16, Hint)> {
    let mut hints = all(app);
    let Some(last) = hints.pop() else { return Vec::new() };
    let mut room = row.saturating_sub(2 + last.cells());
    let mut x = 1;
    let mut placed = Vec::new();
    for hint in hints {
        let used = hint.cells() + 2;
        let Some(left) = room.checked_sub(used) else { break };
        room = left;
        placed.push((x, hint));
        x += used;
    }
    placed.push((x, last));
    placed
}

pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    for (x, hint) in placed(app, area.width) {
        let at = Rect { x: area.x + x.min(area.width), width: area.width.saturating_sub(x), ..area };
        let used = text(buf, at, &hint.keys, Role::Key);
        let rest = Rect { x: at.x + used, width: at.width - used, ..at };
        text(buf, rest, &format!(" {}", hint.what), Role::Muted);
    }
}

/// Returns the key of the hint in a column of the last row. A hint about several keys has none.
pub(crate) fn hint_at(app: &App, x: u16) -> Option<Key> {
    let mut hints = placed(app, app.world.size.width).into_iter();
    let (_, hint) = hints.find(|(start, hint)| (*start..start.saturating_add(hint.cells())).contains(&x))?;
    Key::parse(&hint.keys)
}
