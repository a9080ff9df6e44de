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
    columns::{GAP, PlacedColumn, layout, widen},
    feed::Load,
    view::WindowRow,
};
use crate::ui::{
    net::{Problem, ProblemKind},
    view::{Role, centered, fit, fitting_bytes, lines, width, wrapped},
    words,
    world::{Link, World},
};

/// Loading is shown only after this time.
const LOADING_AFTER: Duration = Duration::from_millis(150);
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
    let shown = format!("  shown: {}{of} {}{at}", many(rows), if rows == 1 && of.is_empty() { "row" } else { "rows" });
    let keys = "r refreshes, i shows details";
    let mut lines = vec![(Role::Error, format!("! {}", problem.line()))];
    if width(&shown) + 4 + width(keys) <= room {
        lines.push((Role::Text, format!("{shown}    {keys}")));
    } else {
        lines.extend([shown, format!("  {keys}")].map(|line| (Role::Text, line)));
    }
    lines
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
    use crate::ui::list::columns::tests::{column, row};

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
