//! Where the parts of a screen stand, and the row that says which of them is shown.
//!
//! Knows nothing of what is in them.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::ui::view::{Role, text};

/// A list with so many hundredths of the cells and, beyond a line, what is under its cursor.
pub(super) fn beside(area: Rect, hundredths: u16, buf: &mut Buffer) -> (Rect, Rect) {
    let left = area.width * hundredths / 100;
    for y in area.y..area.bottom() {
        text(buf, Rect { x: area.x + left, y, width: 1, height: 1 }, "│", Role::Muted);
    }
    let list = Rect { width: left - 1, ..area };
    (list, Rect { x: area.x + left + 2, width: area.width - left - 2, ..area })
}

/// The names of the parts, the one that is shown in brackets; `focused` where keys go to it. Answers the
/// cells that are left of the row.
pub(super) fn tabs<T: AsRef<str>>(
    names: impl IntoIterator<Item = T>,
    shown: usize,
    focused: bool,
    row: Rect,
    buf: &mut Buffer,
) -> Rect {
    let mut left = Rect { height: 1, ..row };
    for (at, name) in names.into_iter().enumerate() {
        let name = name.as_ref();
        let label = if at == shown { format!("[{name}]") } else { format!(" {name} ") };
        let used = text(buf, left, &label, if at == shown && focused { Role::Selected } else { Role::Text }) + 1;
        left = Rect { x: left.x + used.min(left.width), width: left.width.saturating_sub(used), ..left };
    }
    left
}
