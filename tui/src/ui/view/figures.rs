//! Draws figures: progress bars, sparklines and column charts, with the widgets of ratatui.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{Block, Borders, LineGauge, Sparkline, Widget as _},
};

use super::{Role, text};

/// Steps of a column in one cell.
const STEPS: u64 = 8;
/// Width of the labels at the left of a chart, in cells.
const LABEL: u16 = 6;
/// Rows below the columns of a chart: the base line and its times.
pub(crate) const CHART_BELOW: u16 = 2;

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
    let area = Rect { x: row.right() - used, width: used, height: 1, ..row };
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

/// Draws a column chart with `rows` rows of columns, a base line and labels. There is one value per second, the
/// newest last. Draws nothing if `area` is too small.
pub(crate) fn chart(buf: &mut Buffer, area: Rect, values: &[i64], rows: u16) {
    let area = area.intersection(buf.area);
    let wide = area.width.saturating_sub(LABEL + 2).min(u16::try_from(values.len()).unwrap_or(u16::MAX));
    if rows == 0 || wide == 0 || area.height < rows + CHART_BELOW {
        return;
    }
    let role = Role::Muted;
    let steps = u64::from(rows) * STEPS;
    let shown = &values[values.len() - usize::from(wide)..];
    let frame = Rect { x: area.x + LABEL + 1, width: wide + 1, height: rows + 1, ..area };
    let axes = Block::new().borders(Borders::LEFT | Borders::BOTTOM).border_style(role.style());
    let inner = axes.inner(frame);
    axes.render(frame, buf);
    Sparkline::default().data(columns(shown, wide, steps)).max(steps).style(role.style()).render(inner, buf);
    let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    let most = shown.iter().copied().max().unwrap_or(0).max(1);
    text(buf, row(0), &format!("{:>1$}", format!("{most}/s"), usize::from(LABEL)), role);
    text(buf, row(rows), &format!("{:>1$}", "0", usize::from(LABEL)), role);
    let ago = format!("{wide} s ago");
    let now = usize::from(wide).saturating_sub(ago.len());
    text(
        buf,
        Rect { x: inner.x, width: area.right() - inner.x, ..row(rows + 1) },
        &format!("{ago}{:>now$}", "now"),
        role,
    );
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

    #[test]
    fn a_chart_has_a_baseline_and_axis_labels() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 24, 4));
        let area = buf.area;
        chart(&mut buf, area, &[0, 1, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0], 2);
        let text: Vec<String> =
            buf.content.chunks(24).map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect()).collect();
        let expected = [
            "  16/s │              █ ",
            "       │ ▁▄█          █ ",
            "     0 └────────────────",
            "        16 s ago     now",
        ];
        assert_eq!(text, expected);
        for (width, height, rows) in [(0, 0, 0), (1, 1, 1), (9, 3, 3), (200, 14, 12), (5, 20, 2)] {
            let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
            let area = buf.area;
            chart(&mut buf, area, &[5; 60], rows);
        }
    }
}
