//! Draws figures: progress bars and sparklines, with the widgets of ratatui.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{LineGauge, Sparkline, Widget as _},
};

use super::{Role, text};

/// Steps of a column in one cell.
const STEPS: u64 = 8;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinePart {
    Text(Role, String),
    /// A bar that is filled to a part of a whole.
    Bar {
        role: Role,
        share: (i64, i64),
        cells: u16,
    },
    /// The newest values, scaled to the highest one.
    Sparkline {
        values: Vec<i64>,
        cells: u16,
    },
}

impl LinePart {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::Text(Role::Text, text.into())
    }

    /// Draws it at the beginning of a row. Returns the number of cells used.
    fn draw(&self, buf: &mut Buffer, row: Rect) -> u16 {
        match self {
            Self::Text(role, what) => text(buf, row, what, *role),
            Self::Bar { role, share, cells } => bar(buf, row, *share, *cells, *role),
            Self::Sparkline { values, cells } => {
                let row = Rect { width: row.width.min(*cells), ..row };
                sparkline(buf, row, values);
                row.width
            }
        }
    }
}

/// Draws parts one after the other in the first row of `area`.
pub(crate) fn parts(buf: &mut Buffer, area: Rect, parts: &[LinePart]) {
    let mut row = Rect { height: area.height.min(1), ..area }.intersection(buf.area);
    for part in parts {
        let used = part.draw(buf, row).min(row.width);
        row = Rect { x: row.x + used, width: row.width - used, ..row };
    }
}

/// Draws `[███··]`, with `cells` cells between the brackets.
fn bar(buf: &mut Buffer, row: Rect, (part, total): (i64, i64), cells: u16, role: Role) -> u16 {
    let section = |x: u16, width: u16| Rect { x: row.x + x.min(row.width), width, ..row }.intersection(row);
    #[expect(clippy::cast_precision_loss, reason = "a bar has few cells")]
    let ratio = if total > 0 { (part as f64 / total as f64).clamp(0.0, 1.0) } else { 0.0 };
    text(buf, section(0, 1), "[", role);
    // The gauge begins one cell behind its label, which is empty here: the cell of the bracket.
    let gauge = LineGauge::default().label("").ratio(ratio).filled_symbol("█").unfilled_symbol("·");
    gauge.filled_style(role.style()).unfilled_style(role.style()).render(section(0, cells + 1), buf);
    text(buf, section(cells + 1, 1), "]", role);
    cells + 2
}

/// Draws one column per value in the first row of `row`; the newest value is at the end.
fn sparkline(buf: &mut Buffer, row: Rect, values: &[i64]) {
    // The highest step is left out, because it would touch the row above.
    let columns = columns(values, row.width, STEPS - 1);
    let used = u16::try_from(columns.len()).unwrap_or(u16::MAX);
    let area = Rect { x: row.right() - used, width: used, height: row.height.min(1), ..row };
    Sparkline::default().data(columns).max(STEPS).render(area.intersection(buf.area), buf);
}

/// Returns the newest values that fit, scaled so that the highest one is `steps`. A value above zero stays above
/// zero, so that it is visible.
fn columns(values: &[i64], cells: u16, steps: u64) -> Vec<u64> {
    let shown = &values[values.len().saturating_sub(usize::from(cells))..];
    let value = |value: &i64| u64::try_from(*value).unwrap_or(0);
    let most = shown.iter().map(value).max().unwrap_or(0).max(1);
    shown
        .iter()
        .map(value)
        .map(|value| if value > 0 { (value.saturating_mul(steps) / most).max(1) } else { 0 })
        .collect()
}

/// Returns the text of parts in a row of `width` cells.
#[cfg(test)]
pub(crate) fn text_of(line: &[LinePart], width: u16) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, 1));
    parts(&mut buf, Rect::new(0, 0, width, 1), line);
    let text: String = buf.content.iter().map(ratatui::buffer::Cell::symbol).collect();
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar_of(part: i64, total: i64, cells: u16) -> String {
        text_of(&[LinePart::Bar { role: Role::Text, share: (part, total), cells }], 80)
    }

    #[test]
    fn bars_are_filled_in_whole_cells() {
        assert_eq!(bar_of(1, 2, 4), "[██··]");
        assert_eq!(bar_of(9, 2, 4), "[████]");
        assert_eq!(bar_of(1, 0, 2), "[··]");
        assert_eq!(bar_of(-1, 2, 2), "[··]");
        assert_eq!(bar_of(99, 100, 10), "[█████████·]");
        for part in 0..=10 {
            let filled = usize::try_from(part).unwrap();
            assert_eq!(bar_of(part, 10, 10), format!("[{}{}]", "█".repeat(filled), "·".repeat(10 - filled)));
        }
    }

    #[test]
    fn the_newest_values_are_at_the_end_of_a_sparkline() {
        let line = |values: &[i64], cells: u16| {
            text_of(&[LinePart::Sparkline { values: values.to_vec(), cells }, LinePart::plain("|")], 80)
        };
        assert_eq!(line(&[9, 0, 1, 40, 70], 6), " ▁ ▁▄▇|");
        assert_eq!(line(&[9, 0, 1, 4, 70], 2), "▁▇|");
        assert_eq!(line(&[], 2), "  |");
    }
}
