//! Draws lists as tables. Only the rows in the window are formatted.

use std::time::Duration;

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Position, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::{Cell, Clear, Row as TableRow, Table, Widget as _},
};

use super::{
    ListView,
    feed::Load,
    view::{ColumnHead, WindowRow},
};
use crate::ui::{
    net::{Problem, ProblemKind},
    view::{Role, centered, fit, fitting_bytes, lines, width, wrapped},
    words,
    world::{Link, World},
};

/// Loading is shown only after this time.
const LOADING_AFTER: Duration = Duration::from_millis(150);
/// Cells for the cursor, the mark and a blank.
const SIGNS: u16 = 3;
const GAP: u16 = 2;
/// Number of lines that are drawn in place of rows that are being loaded.
const SKELETON_ROWS: u16 = 3;

/// How to draw a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions<'a> {
    /// Plural noun of the rows.
    pub(crate) what: &'a str,
    /// Lines for an empty list.
    pub(crate) empty: &'a [&'a str],
    pub(crate) focused: bool,
}

/// Draws a list with its header; without rows, the state of loading.
pub(crate) fn draw(list: &dyn ListView, options: TableOptions, world: &World, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let mut columns = layout(&list.columns(), area.width, list.name(), world);
    let mut below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if let Some(problem) = list.problem().filter(|_| list.loaded_count() > 0) {
        // Loaded rows stay visible.
        let error = refresh_error(list, problem, world, area.width);
        below.height = below.height.saturating_sub(u16::try_from(error.len()).unwrap_or(0));
        lines(buf, Rect { y: below.bottom(), height: area.bottom() - below.bottom(), ..area }, error);
    }
    let is_empty = list.shown_count() == 0;
    let waits = matches!(list.load(), Load::Loading(since) if world.now.saturating_sub(*since) >= LOADING_AFTER);
    let indexes: Vec<usize> = columns.iter().map(|column| column.index).collect();
    let rows = if is_empty { Vec::new() } else { list.window(below, &indexes, &world.clock) };
    widen(&mut columns, &rows);
    let drawn: Vec<TableRow> = if is_empty && waits && list.loaded_count() == 0 {
        (0..SKELETON_ROWS).map(|at| skeleton(&columns, at)).collect()
    } else {
        let focused = options.focused && !world.third_has_focus;
        rows.iter().map(|row| table_row(row, &columns, focused)).collect()
    };
    let widths = columns.iter().map(|column| Constraint::Length(column.room));
    let table = Table::new(drawn, widths).column_spacing(GAP).header(header(list, &columns));
    table.render(Rect { height: below.height + 1, ..area }, buf);
    for (row, y) in rows.iter().zip(below.y..below.bottom()) {
        underline(row, &columns, Rect { y, height: 1, ..area }, buf);
    }
    if is_empty {
        placeholder(list, options, world, below, buf);
    }
}

/// Returns the index of the column whose title is at a cell.
pub(crate) fn column_at(list: &dyn ListView, world: &World, at: Position) -> Option<usize> {
    let rows = list.area();
    let titles = Rect { y: rows.y.checked_sub(1)?, height: 1, ..rows };
    if !titles.contains(at) {
        return None;
    }
    let mut columns = layout(&list.columns(), rows.width, list.name(), world);
    let indexes: Vec<usize> = columns.iter().map(|column| column.index).collect();
    widen(&mut columns, &list.window(rows, &indexes, &world.clock));
    let placed = columns.iter().rev().find(|column| rows.x + column.x <= at.x).or(columns.first());
    placed.map(|column| column.index)
}

/// Returns the lines below rows that could not be refreshed.
fn refresh_error(list: &dyn ListView, problem: &Problem, world: &World, room: u16) -> Vec<(Role, String)> {
    let many = |n: i64| words::count(n);
    let rows = i64::try_from(list.loaded_count()).unwrap_or(i64::MAX);
    let of =
        list.total().filter(|total| *total > rows).map_or_else(String::new, |total| format!(" of {}", many(total)));
    if let Link::Down { problem, .. } = &world.link {
        let at = list.filled_at().map_or_else(String::new, |at| format!("rows are from {}, ", world.clock_at(at)));
        let mut lines = vec![(Role::Text, format!("  {at}changes are disabled until the daemon responds"))];
        // An overloaded daemon needs no advice.
        if !matches!(problem.kind, ProblemKind::Busy(_)) {
            lines.push((Role::Text, "  systemctl status farrierd     journalctl -u farrierd -n 50".to_owned()));
        }
        return lines;
    }
    let at = list.filled_at().map_or_else(String::new, |at| format!(", as of {}", world.clock_at(at)));
    let shown = format!("  shown: {}{of} rows{at}", many(rows));
    let keys = "r refreshes, i shows details";
    let mut lines = vec![(Role::Error, format!("! {}", problem.line()))];
    if width(&shown) + 4 + width(keys) <= room {
        lines.push((Role::Text, format!("{shown}    {keys}")));
    } else {
        lines.extend([shown, format!("  {keys}")].map(|line| (Role::Text, line)));
    }
    lines
}

/// A column with its position.
struct PlacedColumn {
    head: ColumnHead,
    index: usize,
    /// Position of its text in the row.
    x: u16,
    /// Width of its text.
    width: u16,
    /// Width in the table: that of the first column includes the signs.
    room: u16,
}

impl PlacedColumn {
    /// Returns the blanks before a text that is `cells` wide, in a column that is aligned to the right.
    fn pad(&self, cells: u16) -> Span<'static> {
        let blanks = if self.head.right { self.width.saturating_sub(cells) } else { 0 };
        Span::raw(" ".repeat(usize::from(blanks)))
    }

    /// Returns the blanks for the signs, in the first column.
    fn signs(&self) -> Span<'static> {
        Span::raw(" ".repeat(usize::from(self.room - self.width)))
    }
}

/// Columns of this rank and above are shown on wide terminals and on request.
const MORE: u8 = 10;

/// Returns the columns that fit; the flexible one takes the remaining width.
fn layout(all: &[ColumnHead], room: u16, list: &str, world: &World) -> Vec<PlacedColumn> {
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
fn widen(columns: &mut [PlacedColumn], rows: &[WindowRow]) {
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

fn header(list: &dyn ListView, columns: &[PlacedColumn]) -> TableRow<'static> {
    let order = list.sort_order();
    let cell = |column: &PlacedColumn| {
        let arrow = match order {
            Some((sorted, true)) if sorted == column.index => " ▼",
            Some((sorted, false)) if sorted == column.index => " ▲",
            _ => "",
        };
        let mut title = format!("{}{arrow}", column.head.title);
        if width(&title) > column.width {
            // Without room for both, the arrow replaces the end of the title.
            title = title.replace(' ', "");
        }
        let title = fit(&title, column.width);
        let pad = column.pad(width(&title));
        Cell::new(Line::from(vec![column.signs(), pad, Span::styled(title, Role::Muted.style())]))
    };
    columns.iter().map(cell).collect()
}

/// Returns the color of the sign of a problem: yellow if a text of the row is yellow and none is red.
fn problem_role(row: &WindowRow) -> Role {
    let has = |role: Role| row.cells.iter().any(|cell| cell.role == role);
    if has(Role::Warn) && !has(Role::Error) { Role::Warn } else { Role::Error }
}

fn table_row(row: &WindowRow, columns: &[PlacedColumn], focused: bool) -> TableRow<'static> {
    // Cells of the cursor's row have no color of their own.
    let style = |role: Role| match (row.is_current, focused) {
        (true, true) => Role::Selected.style(),
        (true, false) => Role::Resting.style(),
        (false, _) => role.style(),
    };
    let mut cells = Vec::with_capacity(columns.len());
    let mut at = 0;
    while let (Some(column), Some(shown)) = (columns.get(at), row.cells.get(at)) {
        let mut spans = Vec::with_capacity(5);
        let mut room = column.width;
        if at == 0 {
            let problem = problem_role(row);
            // A marked row keeps the sign of its problem.
            let (sign, role, second) = match (row.is_marked, row.is_problem) {
                (true, true) => ("*", Role::Accent, "!"),
                (true, false) => ("*", Role::Accent, " "),
                (false, true) => ("!", problem, " "),
                (false, false) => (" ", Role::Text, " "),
            };
            let indent = row.indent.min(column.width);
            room -= indent;
            spans.push(Span::styled(if row.is_current { ">" } else { " " }, style(Role::Title)));
            spans.push(Span::styled(sign, style(role)));
            spans.push(Span::styled(second, style(if second == "!" { problem } else { Role::Text })));
            spans.push(Span::raw(" ".repeat(usize::from(indent))));
        }
        // Long text continues over empty cells.
        let empty = row.cells[at + 1..].iter().take_while(|next| next.text.is_empty()).count();
        let spanned = if column.head.right { 0 } else { empty };
        room += columns[at + 1..=at + spanned].iter().map(|next| next.width + GAP).sum::<u16>();
        let text = fit(&shown.text, room);
        spans.push(column.pad(width(&text)));
        spans.push(Span::styled(text, style(shown.role)));
        let span = u16::try_from(1 + spanned).unwrap_or(u16::MAX);
        cells.push(Cell::new(Line::from(spans)).column_span(span));
        at += 1 + spanned;
    }
    TableRow::new(cells).style(if row.is_current { style(Role::Text) } else { Style::new() })
}

/// Underlines the parts of the cells that the filter matches.
fn underline(row: &WindowRow, columns: &[PlacedColumn], line: Rect, buf: &mut Buffer) {
    for ((at, column), parts) in columns.iter().enumerate().zip(&row.matches) {
        let cell = &row.cells[at].text;
        let indent = if at == 0 { row.indent.min(column.width) } else { 0 };
        let empty = row.cells[at + 1..].iter().take_while(|next| next.text.is_empty()).count();
        let over = if column.head.right { 0 } else { empty };
        let room = column.width - indent + columns[at + 1..=at + over].iter().map(|next| next.width + GAP).sum::<u16>();
        let used = width(&fit(cell, room));
        let pad = if column.head.right { column.width.saturating_sub(used) } else { indent };
        let area = Rect { x: line.x + column.x + pad, width: used, ..line };
        // Measuring the text before each match of a long hidden text would take quadratic time.
        let seen = fitting_bytes(cell, room);
        for part in parts.iter().filter(|part| part.start < seen) {
            let begin = area.x.saturating_add(width(&cell[..part.start]));
            let match_area = Rect { x: begin, width: width(&cell[part.clone()]), ..area }.intersection(area);
            buf.set_style(match_area, Style::new().add_modifier(Modifier::UNDERLINED));
        }
    }
}

/// Returns a row of lines in place of a row that is being loaded.
fn skeleton(columns: &[PlacedColumn], row: u16) -> TableRow<'static> {
    let cell = |column: &PlacedColumn| {
        let cells = column.width.saturating_sub(row * 2 % 5).max(1).min(column.width);
        Cell::new(Line::from(vec![column.signs(), Span::styled("─".repeat(usize::from(cells)), Role::Muted.style())]))
    };
    columns.iter().map(cell).collect()
}

/// Draws the text in place of rows.
fn placeholder(list: &dyn ListView, options: TableOptions, world: &World, area: Rect, buf: &mut Buffer) {
    let mut shown: Vec<(Role, String)> = Vec::new();
    let plain = |text: &str| (Role::Text, text.to_owned());
    let filtered = list.loaded_count() > 0;
    match list.load() {
        Load::Failed(problem) if !filtered => {
            let what = match problem.kind {
                ProblemKind::Forbidden => {
                    format!("403 - you may not see {}; other screens stay usable.", options.what)
                }
                _ => format!("Could not show {}.", options.what),
            };
            // The banner shows a lost connection in red.
            let role = if matches!(world.link, Link::Down { .. }) { Role::Text } else { Role::Error };
            shown.extend(wrapped(&what, area.width).into_iter().map(|line| (role, line)));
            shown.push(plain(""));
            shown.extend(wrapped(&problem.text, area.width.saturating_sub(4)).iter().map(|line| plain(line)));
            shown.push(plain(""));
            let helps = wrapped(problem.helps(), area.width.saturating_sub(4));
            shown.extend(helps.into_iter().map(|line| (Role::Muted, line)));
        }
        Load::Loading(since) if !filtered => {
            let waited = world.now.saturating_sub(*since);
            if waited >= LOADING_AFTER {
                let tenths = waited.as_millis() / 100;
                let slow = if waited.as_secs() >= 10 { "slow, " } else { "" };
                let time =
                    if waited.as_secs() >= 1 { format!("  {}.{} s", tenths / 10, tenths % 10) } else { String::new() };
                let text = format!("loading {} …{time}   {slow}Esc stops", options.what);
                shown.extend(wrapped(&text, area.width).iter().map(|line| plain(line)));
            }
        }
        Load::Stopped => shown.push(plain("stopped; r refreshes")),
        Load::Never => {}
        _ if !list.filter().text().is_empty() => {
            shown.push(plain(&format!("nothing matches {} - Esc clears", list.filter().text())));
        }
        _ if list.shows_only_problems() => shown.push(plain("no problems - Esc shows all")),
        _ => {
            let broken = |line: &&str| {
                if width(line) > area.width { wrapped(line, area.width) } else { vec![(*line).to_owned()] }
            };
            shown.extend(options.empty.iter().flat_map(broken).map(|line| plain(&line)));
        }
    }
    let top = area.y + area.height.saturating_sub(u16::try_from(shown.len()).unwrap_or(u16::MAX)) / 3;
    let body = Rect { y: top, height: area.bottom().saturating_sub(top), ..area };
    let longest = shown.iter().map(|(_, line)| width(line)).max().unwrap_or(0);
    // A low window has lines of the skeleton here.
    Clear.render(Rect { height: body.height.min(u16::try_from(shown.len()).unwrap_or(u16::MAX)), ..body }, buf);
    match shown.as_slice() {
        [(role, line)] if longest < area.width && body.height > 0 => centered(buf, body, line, *role),
        _ => {
            let left = area.width.saturating_sub(longest) / 2;
            lines(buf, Rect { x: body.x + left, width: body.width - left, ..body }, shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::list::CellText;

    fn column(index: usize, width: u16, rank: u8, is_flexible: bool) -> PlacedColumn {
        let head = ColumnHead { title: "T", width: 5, right: false, rank, is_age: false, is_flexible };
        let signs = if index == 0 { SIGNS } else { 0 };
        PlacedColumn { head, index, x: 0, width, room: width + signs }
    }

    fn row(texts: [&str; 3]) -> WindowRow {
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

    #[test]
    fn a_marked_row_keeps_the_sign_of_its_problem() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 20, 1));
        let area = buf.area;
        let mut expiring = row(["junit.xml", "41m", "x"]);
        (expiring.is_marked, expiring.is_problem) = (true, true);
        expiring.cells[1].role = Role::Warn;
        let columns = [column(0, 9, 0, true)];
        Table::new([table_row(&expiring, &columns, true)], [12]).render(area, &mut buf);
        let drawn: String = buf.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(drawn.trim_end(), " *!junit.xml");
        assert_eq!(problem_role(&expiring), Role::Warn);
        expiring.cells[2].role = Role::Error;
        assert_eq!(problem_role(&expiring), Role::Error);
    }
}
