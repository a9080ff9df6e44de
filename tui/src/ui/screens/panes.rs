//! Lays out the panes of a screen, and chooses the tabs that fit.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::ui::{
    view::{tab_row, vertical_rule, width},
    world::{DrawnTabs, World},
};

/// On terminals with fewer columns, a detail pane with the focus gets more room than the list.
const NARROW_PANES: u16 = 160;
/// Part of the width for the list while such a pane has the focus, in percent.
const LIST_WITHOUT_FOCUS: u16 = 38;

/// Like [`side_by_side`], for a detail pane that can have the focus. In narrow terminals, it then gets more room, so
/// that its tabs and long texts are not cut.
pub(super) fn side_by_side_focused(
    area: Rect,
    hundredths: u16,
    is_detail_focused: bool,
    world: &World,
    buf: &mut Buffer,
) -> (Rect, Rect) {
    let is_wider = is_detail_focused && world.size.width < NARROW_PANES;
    side_by_side(area, if is_wider { hundredths.min(LIST_WITHOUT_FOCUS) } else { hundredths }, world, buf)
}

/// Splits an area into a list, which gets `hundredths` percent of the width unless the user has changed that, and a
/// detail pane, with a line between them.
pub(super) fn side_by_side(area: Rect, hundredths: u16, world: &World, buf: &mut Buffer) -> (Rect, Rect) {
    let thousandths = world.pane_share.unwrap_or(hundredths * 10);
    let left = u32::from(area.width) * u32::from(thousandths) / 1000;
    let left = u16::try_from(left).unwrap_or(u16::MAX).clamp(1, area.width.saturating_sub(2).max(1));
    let line = Rect { x: area.x + left, width: 1, ..area };
    vertical_rule(buf, line);
    world.divider.set(line);
    let list = Rect { width: left - 1, ..area };
    (list, Rect { x: area.x + left + 2, width: area.width - left - 2, ..area })
}

/// Draws the names of the tabs, the shown one in brackets, and highlights it if `focused`. If the row is too
/// narrow, tabs before the shown one are left out. The areas of the others are added to `drawn`, so that they can be
/// clicked. Returns the rest of the row.
pub(super) fn tabs<T: AsRef<str>>(
    names: impl IntoIterator<Item = T>,
    shown: usize,
    focused: bool,
    drawn: &DrawnTabs,
    row: Rect,
    buf: &mut Buffer,
) -> Rect {
    let label = |(at, name): (usize, T)| {
        let name = name.as_ref();
        if at == shown { format!("[{name}]") } else { format!(" {name} ") }
    };
    let labels: Vec<String> = names.into_iter().enumerate().map(label).collect();
    let cells = |labels: &[String]| labels.iter().map(|label| width(label)).sum::<u16>();
    let gaps = u16::try_from(labels.len()).unwrap_or(u16::MAX).saturating_sub(1);
    let gap = u16::from(cells(&labels) + gaps <= row.width);
    let ends = labels.len().min(shown + 1);
    let first = (0..shown).find(|first| cells(&labels[*first..ends]) <= row.width).unwrap_or(shown);
    let row = Rect { height: row.height.min(1), ..row };
    let mut x = row.x;
    for (at, label) in labels.iter().enumerate().skip(first) {
        let area = Rect { x, width: width(label), ..row };
        x = x.saturating_add(width(label) + gap);
        if at != shown {
            drawn.add(area.intersection(row), at);
        }
    }
    tab_row(buf, row, &labels[first..], focused.then_some(shown - first), gap)
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Position;

    use super::*;

    fn row(room: u16, shown: usize) -> String {
        let mut buf = Buffer::empty(Rect::new(0, 0, room, 1));
        tabs(["all", "failed", "waiting"], shown, true, &DrawnTabs::default(), buf.area, &mut buf);
        buf.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn the_shown_tab_is_labeled_at_any_width() {
        assert_eq!(row(24, 0), "[all]  failed   waiting ");
        assert_eq!(row(22, 0), "[all] failed  waiting ");
        assert_eq!(row(22, 2), " all  failed [waiting]");
        assert_eq!(row(20, 2), " failed [waiting]   ");
        assert_eq!(row(9, 2), "[waiting]");
        assert_eq!(row(8, 1), "[failed]");
    }

    #[test]
    fn tabs_other_than_the_shown_one_are_found_where_they_are_drawn() {
        let drawn = DrawnTabs::default();
        let mut buf = Buffer::empty(Rect::new(0, 0, 20, 2));
        // " failed [waiting]": the first tab is left out.
        tabs(["all", "failed", "waiting"], 2, true, &drawn, Rect::new(2, 1, 18, 1), &mut buf);
        let at = |x, y| drawn.at(Position { x, y });
        assert_eq!((at(2, 1), at(9, 1), at(10, 1)), (Some(1), Some(1), None));
        assert_eq!((at(1, 1), at(2, 0), at(19, 1)), (None, None, None));
    }
}
