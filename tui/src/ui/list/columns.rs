//! The columns of a list: which fit, and their widths.

use ratatui::text::Span;

use super::view::{ColumnHead, WindowRow};
use crate::ui::{view::width, world::World};

/// Cells for the cursor, the mark and a blank.
pub(super) const SIGNS: u16 = 3;
pub(super) const GAP: u16 = 2;

/// A column with its position.
pub(super) struct PlacedColumn {
    pub(super) head: ColumnHead,
    pub(super) index: usize,
    /// Position of its text in the row.
    pub(super) x: u16,
    /// Width of its text.
    pub(super) width: u16,
    /// Width in the table: that of the first column includes the signs.
    pub(super) room: u16,
}

impl PlacedColumn {
    /// Returns the blanks before a text that is `cells` wide, in a column that is aligned to the right.
    pub(super) fn pad(&self, cells: u16) -> Span<'static> {
        let blanks = if self.head.right { self.width.saturating_sub(cells) } else { 0 };
        Span::raw(" ".repeat(usize::from(blanks)))
    }

    /// Returns the blanks for the signs, in the first column.
    pub(super) fn signs(&self) -> Span<'static> {
        Span::raw(" ".repeat(usize::from(self.room - self.width)))
    }
}

/// Columns of this rank and above are shown on wide terminals and on request.
const MORE: u8 = 10;

/// Returns the columns that fit; the flexible one takes the remaining width.
pub(super) fn layout(all: &[ColumnHead], room: u16, list: &str, world: &World) -> Vec<PlacedColumn> {
    let index = |name: &String| all.iter().position(|column| column.title.eq_ignore_ascii_case(name));
    let configured = world.columns.get(list).map(|names| names.iter().filter_map(index).collect::<Vec<_>>());
    let more = |at: &usize| world.shows_more() || all[*at].rank < MORE;
    let usual = || (0..all.len()).filter(more).collect();
    let mut kept: Vec<usize> = configured.filter(|columns| !columns.is_empty()).unwrap_or_else(usual);
    let wide = |at: usize| all[at].width.max(if all[at].is_age { world.clock.style.cells() } else { 0 });
    let need = |kept: &[usize]| {
        let cells: u16 = kept.iter().map(|at| wide(*at)).sum();
        cells + GAP * u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0) + SIGNS
    };
    while kept.len() > 1 && need(&kept) > room {
        let last = kept.iter().copied().max_by_key(|at| all[*at].rank);
        kept.retain(|at| Some(*at) != last);
    }
    let spare = room.saturating_sub(need(&kept));
    let mut x = SIGNS;
    let mut placed = Vec::with_capacity(kept.len());
    for index in kept {
        let head = all[index];
        let width = wide(index) + if head.is_flexible { spare } else { 0 };
        let width = width.min(room.saturating_sub(x));
        let signs = if placed.is_empty() { SIGNS.min(room) } else { 0 };
        placed.push(PlacedColumn { head, index, x, width, room: signs + width });
        x = x.saturating_add(width + GAP);
    }
    placed
}

/// Longer texts are not measured; they are wider than any column.
const MEASURED_BYTES_MAX: usize = 400;

/// Gives the blanks of columns to those whose visible texts are cut, the most important ones first. The flexible column
/// gives first, then the least important ones.
pub(super) fn widen(columns: &mut [PlacedColumn], rows: &[WindowRow]) {
    let cells = |row: &WindowRow, at: usize| {
        let text = &row.cells[at].text;
        let indent = if at == 0 { row.indent } else { 0 };
        if text.len() > MEASURED_BYTES_MAX { u16::MAX } else { width(text).saturating_add(indent) }
    };
    // A text that continues over empty cells is not cut.
    let stays = |row: &&WindowRow, at: usize| row.cells.get(at + 1).is_none_or(|next| !next.text.is_empty());
    let needed = |at: usize| rows.iter().filter(|row| stays(row, at)).map(|row| cells(row, at)).max().unwrap_or(0);
    let Some(flexible) = columns.iter().position(|column| column.head.is_flexible) else { return };
    let needs: Vec<u16> = (0..columns.len()).map(needed).collect();
    // Whether a text of the column before continues over this one.
    let holds_text =
        |at: usize, before: u16| rows.iter().any(|row| row.cells[at].text.is_empty() && cells(row, at - 1) > before);
    let kept = |at: usize| match columns[at].head {
        head if at == flexible => needs[at].max(head.width),
        _ if at > 0 && at - 1 != flexible && holds_text(at, columns[at - 1].width) => columns[at].width,
        _ if at + 1 < columns.len() && holds_text(at + 1, columns[at].width) => columns[at].width,
        // The arrow of the order needs two cells.
        head => needs[at].max(width(head.title) + 2),
    };
    let mut blanks: Vec<u16> = (0..columns.len()).map(|at| columns[at].width.saturating_sub(kept(at))).collect();
    let mut takers: Vec<usize> = (0..columns.len()).filter(|at| needs[*at] > columns[*at].width).collect();
    takers.sort_by_key(|at| (columns[*at].head.rank, *at != flexible));
    let mut givers: Vec<usize> = (0..columns.len()).filter(|at| blanks[*at] > 0).collect();
    givers.sort_by_key(|at| (*at != flexible, std::cmp::Reverse(columns[*at].head.rank)));
    for taker in takers {
        for giver in &givers {
            let more = needs[taker].saturating_sub(columns[taker].width).min(blanks[*giver]);
            blanks[*giver] -= more;
            columns[*giver].width -= more;
            columns[*giver].room -= more;
            columns[taker].width += more;
            columns[taker].room += more;
        }
    }
    let mut x = SIGNS;
    for column in columns {
        column.x = x;
        x = x.saturating_add(column.width + GAP);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ui::{list::CellText, view::Role};

    pub(in crate::ui::list) fn column(index: usize, width: u16, rank: u8, is_flexible: bool) -> PlacedColumn {
        let head = ColumnHead { title: "T", width: 5, right: false, rank, is_age: false, is_flexible };
        let signs = if index == 0 { SIGNS } else { 0 };
        PlacedColumn { head, index, x: 0, width, room: width + signs }
    }

    pub(in crate::ui::list) fn row(texts: [&str; 3]) -> WindowRow {
        let cells = texts.into_iter().map(|text| CellText::of(Role::Text, text)).collect();
        WindowRow { cells, matches: Vec::new(), indent: 0, is_current: false, is_marked: false, is_problem: false }
    }

    fn widths(flexible: u16, rows: &[WindowRow]) -> Vec<(u16, u16, u16)> {
        let mut columns = [column(0, flexible, 0, true), column(1, 5, 2, false), column(2, 5, 1, false)];
        widen(&mut columns, rows);
        columns.iter().map(|column| (column.x, column.width, column.room)).collect()
    }

    #[test]
    fn cut_texts_get_the_blanks_of_the_flexible_column() {
        let rows = [row(["a short one", "feature/login", "refs/tags/v1"]), row(["continues over the others", "", ""])];
        assert_eq!(widths(30, &rows), [(3, 15, 18), (20, 13, 13), (35, 12, 12)]);
        // The more important column is served first.
        assert_eq!(widths(15, &rows), [(3, 11, 14), (16, 5, 5), (23, 9, 9)]);
        assert_eq!(widths(11, &rows), [(3, 11, 14), (16, 5, 5), (23, 5, 5)]);
        assert_eq!(widths(30, &[]), [(3, 30, 33), (35, 5, 5), (42, 5, 5)]);
    }

    #[test]
    fn a_cut_text_of_the_flexible_column_gets_the_blanks_of_the_others() {
        let rows = [row(["https://ci.example.net/hook", "-", "on"])];
        // The titles and the arrow of the order keep three cells.
        assert_eq!(widths(23, &rows), [(3, 27, 30), (32, 3, 3), (37, 3, 3)]);
        assert_eq!(widths(26, &rows), [(3, 27, 30), (32, 4, 4), (38, 5, 5)], "the least important one gives first");
        // The second text continues over the third column.
        let rows = [row(["https://ci.example.net/hook", "feature", ""])];
        assert_eq!(widths(26, &rows), [(3, 26, 29), (31, 5, 5), (38, 5, 5)]);
    }
}
