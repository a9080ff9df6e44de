//! Draws tables. Only the rows in the window are formatted.

use std::time::Duration;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};

use super::{CellText, Column, Feed, Filter, List, Row, feed::Load};
use crate::ui::{
    net::{Problem, ProblemKind},
    times::Clock,
    view::{Role, centred, fit_left, text, width, wrapped},
    words,
    world::{Link, World},
};

/// Loading is shown only after this time.
const LOADING_AFTER: Duration = Duration::from_millis(150);
/// Cells for the cursor, the mark and a blank.
const SIGNS: u16 = 3;
const GAP: u16 = 2;

/// How to draw a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions<'a> {
    /// Plural noun of the rows.
    pub(crate) what: &'a str,
    /// Lines for an empty list.
    pub(crate) empty: &'a [&'a str],
    pub(crate) focused: bool,
}

/// Draws a list with its header; without rows, the state of loading.
pub(crate) fn draw<T: Row>(feed: &Feed<T>, options: TableOptions, world: &World, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let columns = layout::<T>(area.width, options.what, world);
    header(&feed.list, &columns, area, buf);
    let mut below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if let Load::Failed(problem) = &feed.load
        && !feed.list.rows().is_empty()
    {
        // Loaded rows stay visible.
        let lines = refresh_error(feed, problem, world);
        below.height = below.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(0));
        for ((role, line), y) in lines.iter().zip(below.bottom()..area.bottom()) {
            text(buf, Rect { y, height: 1, ..area }, line, *role);
        }
    }
    if feed.list.shown_count() == 0 {
        if let Load::Loading(since) = &feed.load
            && feed.list.rows().is_empty()
            && world.now.saturating_sub(*since) >= LOADING_AFTER
        {
            skeleton(&columns, below, buf);
        }
        return placeholder(feed, options, world, below, buf);
    }
    rows(&feed.list, &columns, options.focused, &world.clock, below, buf);
}

/// Returns the lines below rows that could not be refreshed.
fn refresh_error<T: Row>(feed: &Feed<T>, problem: &Problem, world: &World) -> Vec<(Role, String)> {
    let many = |n: i64| words::count(n);
    let rows = i64::try_from(feed.list.rows().len()).unwrap_or(i64::MAX);
    let of = feed.total.filter(|total| *total > rows).map_or_else(String::new, |total| format!(" of {}", many(total)));
    if let Link::Down { problem, .. } = &world.link {
        let at = feed.filled.map_or_else(String::new, |at| format!("rows are from {}, ", world.clock_at(at)));
        let mut lines = vec![(Role::Text, format!("  {at}changes are disabled until it is back"))];
        // An overloaded daemon needs no advice.
        if !matches!(problem.kind, ProblemKind::Busy(_)) {
            lines.push((Role::Text, "  systemctl status farrierd     journalctl -u farrierd -n 50".to_owned()));
        }
        return lines;
    }
    let at = feed.filled.map_or_else(String::new, |at| format!(", as of {}", world.clock_at(at)));
    vec![
        (Role::Error, format!("! {}", problem.line())),
        (Role::Text, format!("  shown: {}{of} rows{at}    r refreshes, i shows details", many(rows))),
    ]
}

fn rows<T: Row>(
    list: &List<T>,
    columns: &[PlacedColumn<T>],
    focused: bool,
    clock: &Clock,
    area: Rect,
    buf: &mut Buffer,
) {
    let top = list.windowed(usize::from(area.height));
    list.area.set(area);
    for (y, row) in (area.y..area.bottom()).zip(list.shown().skip(top)) {
        let line = Rect { y, height: 1, ..area };
        let here = list.current().is_some_and(|current| current.id() == row.id());
        let marked = list.marks.contains(&row.id());
        let sign = if marked {
            "*"
        } else if row.is_problem() {
            "!"
        } else {
            " "
        };
        // Cells of the cursor's row have no colour of their own.
        let role = |role: Role| match (here, focused) {
            (true, true) => Role::Selected,
            (true, false) => Role::Resting,
            (false, _) => role,
        };
        if here {
            buf.set_style(line, role(Role::Text).style());
        }
        text(buf, line, if here { ">" } else { " " }, role(Role::Title));
        let sign_role = if marked { Role::Accent } else { Role::Error };
        text(buf, Rect { x: line.x + 1, width: line.width.saturating_sub(1), ..line }, sign, role(sign_role));
        let cells: Vec<CellText> = columns.iter().map(|spot| (spot.column.cell)(row, clock)).collect();
        for (at, (spot, shown)) in columns.iter().zip(&cells).enumerate() {
            let indent = if at == 0 { row.indent().min(spot.width) } else { 0 };
            let cell = Rect { x: line.x + spot.x + indent, width: spot.width - indent, ..line };
            let used = if spot.column.right {
                fit_left(buf, cell, &shown.text, role(shown.role))
            } else {
                // Long text continues over empty cells.
                let empty = cells[at + 1..].iter().take_while(|next| next.text.is_empty()).count();
                let over = columns[at + 1..at + 1 + empty].iter().map(|next| next.width + GAP).sum::<u16>();
                text(buf, Rect { width: cell.width + over, ..cell }, &shown.text, role(shown.role))
            };
            if !list.filter.text().is_empty() {
                let x = if spot.column.right { cell.right() - used } else { cell.x };
                let shown_area = Rect { x, width: used, ..cell };
                underline(list.filter(), row, (&shown.text, spot.column.title), shown_area, buf);
            }
        }
    }
}

/// Underlines the parts of a cell that the filter matches.
fn underline<T: Row>(filter: &Filter, row: &T, (cell, title): (&str, &str), area: Rect, buf: &mut Buffer) {
    // Words without a column match in a text that consists of some cells.
    let named = format!(" {} ", row.text()).contains(&format!(" {cell} "));
    for found in filter.match_ranges(cell, title, named) {
        let begin = area.x.saturating_add(width(&cell[..found.start]));
        let match_area = Rect { x: begin, width: width(&cell[found]), ..area }.intersection(area);
        buf.set_style(match_area, Style::new().add_modifier(Modifier::UNDERLINED));
    }
}

/// A column with its position.
struct PlacedColumn<T: 'static> {
    column: &'static Column<T>,
    index: usize,
    x: u16,
    width: u16,
}

/// Columns of this rank and above are shown on wide terminals and on request.
const MORE: u8 = 10;

/// Returns the columns that fit; the flexible one takes the remaining width.
fn layout<T: Row>(room: u16, list: &str, world: &World) -> Vec<PlacedColumn<T>> {
    let index = |name: &String| T::columns().iter().position(|column| column.title.eq_ignore_ascii_case(name));
    let configured = world.columns.get(list).map(|names| names.iter().filter_map(index).collect::<Vec<_>>());
    let more = |at: &usize| world.shows_more() || T::columns()[*at].rank < MORE;
    let usual = || (0..T::columns().len()).filter(more).collect();
    let mut kept: Vec<usize> = configured.filter(|columns| !columns.is_empty()).unwrap_or_else(usual);
    let wide = |at: usize| {
        let ages = if T::ages().contains(&T::columns()[at].title) { world.clock.style.cells() } else { 0 };
        T::columns()[at].width.max(ages)
    };
    let need = |kept: &[usize]| {
        let cells: u16 = kept.iter().map(|at| wide(*at)).sum();
        cells + GAP * u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0) + SIGNS
    };
    while kept.len() > 1 && need(&kept) > room {
        let last = kept.iter().copied().max_by_key(|at| T::columns()[*at].rank);
        kept.retain(|at| Some(*at) != last);
    }
    let spare = room.saturating_sub(need(&kept));
    let mut x = SIGNS;
    let mut spots = Vec::with_capacity(kept.len());
    for index in kept {
        let column = &T::columns()[index];
        let width = wide(index) + if index == T::flexible() { spare } else { 0 };
        let width = width.min(room.saturating_sub(x));
        spots.push(PlacedColumn { column, index, x, width });
        x = x.saturating_add(width + GAP);
    }
    spots
}

fn header<T: Row>(list: &List<T>, columns: &[PlacedColumn<T>], area: Rect, buf: &mut Buffer) {
    for spot in columns {
        let arrow = match list.sort {
            Some((column, reversed)) if column == spot.index => {
                if reversed {
                    " ▼"
                } else {
                    " ▲"
                }
            }
            _ => "",
        };
        let mut title = format!("{}{arrow}", spot.column.title);
        if width(&title) > spot.width {
            // Without room for both, the arrow replaces the end of the title.
            title = title.replace(' ', "");
        }
        let cell = Rect { x: area.x + spot.x, width: spot.width, height: 1, ..area };
        if spot.column.right {
            fit_left(buf, cell, &title, Role::Muted);
        } else {
            text(buf, cell, &title, Role::Muted);
        }
    }
}

/// Draws lines in place of rows that are being loaded.
fn skeleton<T: Row>(columns: &[PlacedColumn<T>], area: Rect, buf: &mut Buffer) {
    for (row, y) in (area.y..area.bottom()).take(3).enumerate() {
        for spot in columns {
            let cells = spot.width.saturating_sub(u16::try_from(row).unwrap_or(0) * 2 % 5).max(1).min(spot.width);
            let line = "─".repeat(usize::from(cells));
            text(buf, Rect { x: area.x + spot.x, y, width: spot.width, height: 1 }, &line, Role::Muted);
        }
    }
}

/// Draws the text in place of rows.
fn placeholder<T: Row>(feed: &Feed<T>, options: TableOptions, world: &World, area: Rect, buf: &mut Buffer) {
    let mut lines: Vec<(Role, String)> = Vec::new();
    let plain = |text: &str| (Role::Text, text.to_owned());
    let filtered = !feed.list.rows().is_empty();
    match &feed.load {
        Load::Failed(problem) if !filtered => {
            lines.push((
                Role::Error,
                match problem.kind {
                    ProblemKind::Forbidden => {
                        format!("403 - you may not see {}; other screens stay usable.", options.what)
                    }
                    _ => format!("Could not show {}.", options.what),
                },
            ));
            lines.push(plain(""));
            lines.extend(wrapped(&problem.text, area.width.saturating_sub(4)).iter().map(|line| plain(line)));
            lines.push(plain(""));
            let helps = wrapped(problem.helps(), area.width.saturating_sub(4));
            lines.extend(helps.into_iter().map(|line| (Role::Muted, line)));
        }
        Load::Loading(since) if !filtered => {
            let waited = world.now.saturating_sub(*since);
            if waited >= LOADING_AFTER {
                let tenths = waited.as_millis() / 100;
                let slow = if waited.as_secs() >= 10 { "slow, " } else { "" };
                let time =
                    if waited.as_secs() >= 1 { format!("  {}.{} s", tenths / 10, tenths % 10) } else { String::new() };
                lines.push(plain(&format!("loading {} …{time}   {slow}Esc stops", options.what)));
            }
        }
        Load::Stopped => lines.push(plain("stopped; r refreshes")),
        Load::Never => {}
        _ if !feed.list.filter().text().is_empty() => {
            lines.push(plain(&format!("nothing matches {} - Esc clears", feed.list.filter().text())));
        }
        _ if feed.list.only_problems => lines.push(plain("no problems - Esc shows all")),
        _ => {
            let broken = |line: &&str| {
                if width(line) > area.width { wrapped(line, area.width) } else { vec![(*line).to_owned()] }
            };
            lines.extend(options.empty.iter().flat_map(broken).map(|line| plain(&line)));
        }
    }
    let top = area.y + area.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(u16::MAX)) / 3;
    let longest = lines.iter().map(|(_, line)| width(line)).max().unwrap_or(0);
    let left = area.width.saturating_sub(longest) / 2;
    for ((role, line), y) in lines.iter().zip(top..area.bottom()) {
        let row = Rect { y, height: 1, ..area };
        if longest >= area.width {
            text(buf, row, line, *role);
        } else if lines.len() > 1 {
            text(buf, Rect { x: area.x + left, width: area.width - left, ..row }, line, *role);
        } else {
            centred(buf, row, line, *role);
        }
    }
}
