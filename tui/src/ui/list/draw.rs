//! Tables: only the rows in the window are looked at.

use std::time::Duration;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};

use super::{Column, Feed, Filter, List, Row, Shown, feed::Load};
use crate::ui::{
    net::{Kind, Problem},
    times::Clock,
    view::{Role, centred, fit_left, text, width, wrapped},
    words,
    world::{Link, World},
};

/// What comes sooner needs no announcement.
const ANNOUNCED: Duration = Duration::from_millis(150);
/// Cells for the cursor, the mark and a blank.
const SIGNS: u16 = 3;
const GAP: u16 = 2;

/// What a list says when it has no rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// What the rows are.
    pub(crate) what: &'a str,
    /// Lines for a list that is empty.
    pub(crate) empty: &'a [&'a str],
    pub(crate) focused: bool,
}

/// Draws a list with its header, or what there is in place of rows.
pub(crate) fn draw<T: Row>(feed: &Feed<T>, place: Place, world: &World, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let columns = layout::<T>(area.width, place.what, world);
    header(&feed.list, &columns, area, buf);
    let mut below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if let Load::Failed(problem) = &feed.load
        && !feed.list.rows().is_empty()
    {
        // Rows that are there stay in sight.
        let lines = trouble(feed, problem, world);
        below.height = below.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(0));
        for ((role, line), y) in lines.iter().zip(below.bottom()..area.bottom()) {
            text(buf, Rect { y, height: 1, ..area }, line, *role);
        }
    }
    if feed.list.shown_count() == 0 {
        if let Load::Asked(since) = &feed.load
            && feed.list.rows().is_empty()
            && world.now.saturating_sub(*since) >= ANNOUNCED
        {
            skeleton(&columns, below, buf);
        }
        return nothing(feed, place, world, below, buf);
    }
    rows(&feed.list, &columns, place.focused, &world.clock, below, buf);
}

/// What stands below rows that could not be asked for again.
fn trouble<T: Row>(feed: &Feed<T>, problem: &Problem, world: &World) -> Vec<(Role, String)> {
    let many = |n: i64| words::count(n);
    let rows = i64::try_from(feed.list.rows().len()).unwrap_or(i64::MAX);
    let of = feed.total.filter(|total| *total > rows).map_or_else(String::new, |total| format!(" of {}", many(total)));
    if let Link::Down { problem, .. } = &world.link {
        let at = feed.filled.map_or_else(String::new, |at| format!("rows are from {}, ", world.clock_at(at)));
        let mut lines = vec![(Role::Text, format!("  {at}changes are switched off until it is back"))];
        // Who only asks to wait needs no help.
        if !matches!(problem.kind, Kind::Busy(_)) {
            lines.push((Role::Text, "  systemctl status farrierd     journalctl -u farrierd -n 50".to_owned()));
        }
        return lines;
    }
    let at = feed.filled.map_or_else(String::new, |at| format!(", as of {}", world.clock_at(at)));
    vec![
        (Role::Error, format!("! {}", problem.line())),
        (Role::Text, format!("  shown: {}{of} rows{at}    r asks again, i shows details", many(rows))),
    ]
}

fn rows<T: Row>(list: &List<T>, columns: &[Spot<T>], focused: bool, clock: &Clock, area: Rect, buf: &mut Buffer) {
    let top = list.windowed(usize::from(area.height));
    list.place.set(area);
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
        // Within the cursor's row no cell has a colour of its own.
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
        let cells: Vec<Shown> = columns.iter().map(|spot| (spot.column.cell)(row, clock)).collect();
        for (at, (spot, shown)) in columns.iter().zip(&cells).enumerate() {
            let indent = if at == 0 { row.indent().min(spot.width) } else { 0 };
            let cell = Rect { x: line.x + spot.x + indent, width: spot.width - indent, ..line };
            let used = if spot.column.right {
                fit_left(buf, cell, &shown.text, role(shown.role))
            } else {
                // What does not fit goes on over empty cells.
                let empty = cells[at + 1..].iter().take_while(|next| next.text.is_empty()).count();
                let over = columns[at + 1..at + 1 + empty].iter().map(|next| next.width + GAP).sum::<u16>();
                text(buf, Rect { width: cell.width + over, ..cell }, &shown.text, role(shown.role))
            };
            if !list.filter.text().is_empty() {
                let x = if spot.column.right { cell.right() - used } else { cell.x };
                let place = Rect { x, width: used, ..cell };
                underline(list.filter(), row, (&shown.text, spot.column.title), place, buf);
            }
        }
    }
}

/// Shows what of a cell is looked for.
fn underline<T: Row>(filter: &Filter, row: &T, (cell, title): (&str, &str), area: Rect, buf: &mut Buffer) {
    // Plain words are looked for in a text that is made of the texts of some cells.
    let named = format!(" {} ", row.text()).contains(&format!(" {cell} "));
    for found in filter.places(cell, title, named) {
        let begin = area.x.saturating_add(width(&cell[..found.start]));
        let place = Rect { x: begin, width: width(&cell[found]), ..area }.intersection(area);
        buf.set_style(place, Style::new().add_modifier(Modifier::UNDERLINED));
    }
}

/// A column and where it is.
struct Spot<T: 'static> {
    column: &'static Column<T>,
    index: usize,
    x: u16,
    width: u16,
}

/// Columns of this rank and above are shown on wide terminals and on request.
const MORE: u8 = 10;

/// The columns that fit; one of them takes what is left.
fn layout<T: Row>(room: u16, list: &str, world: &World) -> Vec<Spot<T>> {
    let place = |name: &String| T::columns().iter().position(|column| column.title.eq_ignore_ascii_case(name));
    let wished = world.columns.get(list).map(|names| names.iter().filter_map(place).collect::<Vec<_>>());
    let more = |at: &usize| world.shows_more() || T::columns()[*at].rank < MORE;
    let usual = || (0..T::columns().len()).filter(more).collect();
    let mut kept: Vec<usize> = wished.filter(|wished| !wished.is_empty()).unwrap_or_else(usual);
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
        spots.push(Spot { column, index, x, width });
        x = x.saturating_add(width + GAP);
    }
    spots
}

fn header<T: Row>(list: &List<T>, columns: &[Spot<T>], area: Rect, buf: &mut Buffer) {
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
            // The arrow says more than the last letters.
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

/// Strokes where rows will be.
fn skeleton<T: Row>(columns: &[Spot<T>], area: Rect, buf: &mut Buffer) {
    for (row, y) in (area.y..area.bottom()).take(3).enumerate() {
        for spot in columns {
            let cells = spot.width.saturating_sub(u16::try_from(row).unwrap_or(0) * 2 % 5).max(1).min(spot.width);
            let line = "─".repeat(usize::from(cells));
            text(buf, Rect { x: area.x + spot.x, y, width: spot.width, height: 1 }, &line, Role::Muted);
        }
    }
}

/// What stands in place of rows.
fn nothing<T: Row>(feed: &Feed<T>, place: Place, world: &World, area: Rect, buf: &mut Buffer) {
    let mut lines: Vec<(Role, String)> = Vec::new();
    let plain = |text: &str| (Role::Text, text.to_owned());
    let filtered = !feed.list.rows().is_empty();
    match &feed.load {
        Load::Failed(problem) if !filtered => {
            lines.push((
                Role::Error,
                match problem.kind {
                    Kind::Forbidden => format!("403 - you may not see {}; other screens stay usable.", place.what),
                    _ => format!("Could not show {}.", place.what),
                },
            ));
            lines.push(plain(""));
            lines.extend(wrapped(&problem.text, area.width.saturating_sub(4)).iter().map(|line| plain(line)));
            lines.push(plain(""));
            let helps = wrapped(problem.helps(), area.width.saturating_sub(4));
            lines.extend(helps.into_iter().map(|line| (Role::Muted, line)));
        }
        Load::Asked(since) if !filtered => {
            let waited = world.now.saturating_sub(*since);
            if waited >= ANNOUNCED {
                let tenths = waited.as_millis() / 100;
                let slow = if waited.as_secs() >= 10 { "slow, " } else { "" };
                let time =
                    if waited.as_secs() >= 1 { format!("  {}.{} s", tenths / 10, tenths % 10) } else { String::new() };
                lines.push(plain(&format!("loading {} …{time}   {slow}Esc stops", place.what)));
            }
        }
        Load::Stopped => lines.push(plain("stopped; r asks again")),
        Load::Never => {}
        _ if !feed.list.filter().text().is_empty() => {
            lines.push(plain(&format!("nothing matches {} - Esc clears", feed.list.filter().text())));
        }
        _ if feed.list.only_problems => lines.push(plain("no problems - Esc shows all")),
        _ => {
            let broken = |line: &&str| {
                if width(line) > area.width { wrapped(line, area.width) } else { vec![(*line).to_owned()] }
            };
            lines.extend(place.empty.iter().flat_map(broken).map(|line| plain(&line)));
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
