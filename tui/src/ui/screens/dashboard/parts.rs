//! Draws the sections of the dashboard: figures of the last minute, storage, problems, events.

use std::fmt::Write as _;

use farrier_common::api::{Event, MetricsSeries, Status};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Dashboard, HealthProblem};
use crate::{
    output::human_bytes,
    ui::{
        screens::repositories::task_lines,
        times::Clock,
        view::{CHART_BELOW, LinePart, Role, chart, pad, parts, rule, text, width, wrapped},
        words,
        world::World,
    },
};

/// Disk usage above this is reported as a problem.
pub(super) const DISK_FULL_PERCENT: i64 = 90;
/// A delivery that has waited longer than this is reported as late.
const OVERDUE_SECS: i64 = 60;
/// Number of lines of figures without charts.
const FIGURES: usize = 4;
/// Limits of the height of a chart: less shows nothing, more shows no additional detail.
const CHART_ROWS: std::ops::RangeInclusive<u16> = 1..=12;
/// With fewer rows, the last sections are left out.
const SHORT: u16 = 16;
/// Width of the names of figures, in cells.
const NAME: u16 = 12;

/// An entry of a section.
enum Figure {
    /// A line with a name.
    Line(&'static str, Vec<LinePart>),
    /// Values of the last minute, and the number of rows for the columns.
    Chart(Vec<i64>, u16),
}

impl Figure {
    fn rows(&self) -> u16 {
        match self {
            Self::Line(..) => 1,
            Self::Chart(_, rows) => rows + CHART_BELOW,
        }
    }
}

pub(super) fn draw(dashboard: &Dashboard, at: usize, world: &World, area: Rect, buf: &mut Buffer) {
    let Some((status, _)) = &dashboard.now else { return };
    let troubles = dashboard.health_problems();
    let wide = area.width >= 110;
    let left = if wide { Rect { width: area.width / 2 - 1, ..area } } else { area };
    let mut y = head(status, area, buf);
    let short = area.height < SHORT;
    if short && at >= troubles.len() && at > 0 {
        // The row of the cursor is always visible.
        let rest = Rect { y, height: area.bottom().saturating_sub(y), ..area };
        return events(buf, rest, dashboard.events.iter(), &world.clock, at.checked_sub(troubles.len()));
    }
    // Problems come first if there is not enough space for everything.
    let first = short && !troubles.is_empty();
    if first {
        y = problems(buf, left, y, dashboard, &troubles, at);
    }
    let stored = storage(status, left.width);
    let running = dashboard.running(world);
    // The other rows of this column, with headings and the empty rows between sections.
    let others = [stored.len(), troubles.len().max(1) + dashboard.unchecked().len(), running.len().max(1), FIGURES];
    let others = u16::try_from(others.iter().sum::<usize>() + 2 * others.len()).unwrap_or(u16::MAX);
    let spare = if wide { area.height.saturating_sub(others) } else { 0 };
    let figures = now(status, dashboard.series.as_ref(), left.width, spare / 2);
    y = section(buf, left, y, "Now (60 s)", &figures);
    y = section(buf, left, y + u16::from(wide), "Storage", &stored);
    if !first {
        y = problems(buf, left, y + u16::from(wide), dashboard, &troubles, at);
    }
    if wide || !running.is_empty() {
        y = task_lines::draw_progress_lines(&running, left, y + u16::from(wide), buf);
    }
    let events_area = if wide {
        Rect { x: left.right() + 2, width: area.width - left.width - 2, y: area.y + 1, height: area.height.max(1) - 1 }
    } else {
        Rect { y, height: area.bottom().saturating_sub(y), ..area }
    };
    events(buf, events_area, dashboard.events.iter(), &world.clock, at.checked_sub(troubles.len()));
}

/// Draws one line about the server and the account. Returns the row below.
fn head(status: &Status, area: Rect, buf: &mut Buffer) -> u16 {
    let addresses: Vec<String> = status.listeners.iter().map(|one| one.address.clone()).collect();
    let identity = if status.identity.is_empty() { "nobody" } else { &status.identity };
    let line = format!(
        " farrierd {}   up {}   you are {identity}   {}",
        status.version,
        words::uptime(status.uptime_secs),
        addresses.join("   ")
    );
    text(buf, Rect { height: 1, ..area }, &line, Role::Title);
    area.y + 1
}

/// Formats a rate as `41/s` or `0.3/s`.
fn rate(counts: &[i64]) -> String {
    let tenths = counts.iter().sum::<i64>() * 10 / i64::try_from(counts.len().max(1)).unwrap_or(1);
    if tenths >= 100 {
        format!("{}/s", words::count(tenths / 10))
    } else {
        format!("{}.{}/s", tenths / 10, tenths % 10)
    }
}

fn millis(micros: i64) -> String {
    match micros {
        0 => "-".to_owned(),
        1..1_000 => "<1 ms".to_owned(),
        micros => format!("{} ms", words::count(micros.div_euclid(1_000))),
    }
}

/// Draws charts of the last minute: beside the figures, or below them if each has `spare` rows.
fn now(status: &Status, series: Option<&MetricsSeries>, room: u16, spare: u16) -> Vec<Figure> {
    let mut figures = Vec::new();
    let rows = spare.saturating_sub(CHART_BELOW).min(*CHART_ROWS.end());
    let tall = rows >= *CHART_ROWS.start();
    if let Some(series) = series {
        let cells = room.saturating_sub(56).clamp(10, 60);
        // A rate, with a sparkline beside it or a chart below it.
        let mut rated = |name: &'static str, values: &[i64], details: LinePart| {
            let mut line = vec![LinePart::plain(format!("{:>9}  ", rate(values)))];
            if !tall {
                line.extend([LinePart::Sparkline { values: values.to_vec(), cells }, LinePart::plain("  ")]);
            }
            line.push(details);
            figures.push(Figure::Line(name, line));
            figures.extend(tall.then(|| Figure::Chart(values.to_vec(), rows)));
        };
        let times = format!("p50 {}  p99 {}", millis(series.p50_micros), millis(series.p99_micros));
        rated("requests", &series.requests, LinePart::plain(times));
        let all: Vec<i64> = series.delivered.iter().zip(&series.failed).map(|(good, bad)| good + bad).collect();
        let (total, bad) = (all.iter().sum::<i64>(), series.failed.iter().sum::<i64>());
        let share = if total > 0 { format!("ok {} %", words::percent(total - bad, total)) } else { "none".to_owned() };
        rated("deliveries", &all, LinePart::Text(if bad > 0 { Role::Warn } else { Role::Text }, share));
        let mut queue = vec![LinePart::plain(format!("{:>9} waiting", words::count(series.waiting)))];
        if series.oldest_due_secs > 0 {
            let role = if series.oldest_due_secs >= OVERDUE_SECS { Role::Warn } else { Role::Text };
            queue.push(LinePart::Text(role, format!("   oldest due for {}", words::span(series.oldest_due_secs))));
        }
        figures.push(Figure::Line("queue", queue));
    }
    let uploads = series.map_or_else(String::new, |series| format!("   {} uploads", words::count(series.uploads)));
    let clients = format!("{:>9} connected{uploads}", words::count(status.connections));
    figures.push(Figure::Line("clients", vec![LinePart::plain(clients)]));
    // Limits are shown only while callers are refused or wait.
    for limit in status.limits.iter().filter(|limit| limit.waiting > 0 || limit.refused > 0) {
        let used = match limit.unit.as_str() {
            "bytes" => format!("{}/{}", human_bytes(limit.running), human_bytes(limit.max)),
            _ => format!("{}/{}", limit.running, limit.max),
        };
        let mut text = format!("{used:>9} {}", limit.kind);
        for (count, word) in [(limit.waiting, "waiting"), (limit.refused, "refused")] {
            if count > 0 {
                let _ = write!(text, "   {count} {word}");
            }
        }
        let role = if limit.waiting > 0 { Role::Warn } else { Role::Text };
        figures.push(Figure::Line("limit", vec![LinePart::Text(role, text)]));
    }
    figures
}

fn storage(status: &Status, room: u16) -> Vec<Figure> {
    let disk = &status.disk;
    let used = disk.total_bytes - disk.free_bytes;
    let percent = words::percent(used, disk.total_bytes);
    let role = if percent >= DISK_FULL_PERCENT { Role::Error } else { Role::Text };
    let bar = LinePart::Bar { role, share: (used, disk.total_bytes), cells: room.saturating_sub(44).clamp(10, 24) };
    let (store, memory) = (human_bytes(status.store.size_bytes), human_bytes(status.resident_bytes));
    let store = format!("{store:>9}  {}   memory {memory}", status.store.engine);
    let mut figures = Vec::new();
    if let Some(kept) = &status.kept {
        for (name, amount) in [("repos", &kept.repositories), ("artifacts", &kept.artifacts)] {
            let text = format!("{:>9} in {}", human_bytes(amount.size_bytes), words::count(amount.count));
            figures.push(Figure::Line(name, vec![LinePart::plain(text)]));
        }
    }
    let free = LinePart::Text(role, format!("{:>9} free  ", human_bytes(disk.free_bytes)));
    figures.extend([
        Figure::Line("store", vec![LinePart::plain(store)]),
        Figure::Line("disk", vec![free, bar, LinePart::Text(role, format!(" {percent} %"))]),
    ]);
    figures
}

/// Draws a heading and the figures below it. Returns the row after them.
fn section(buf: &mut Buffer, area: Rect, y: u16, title: &str, figures: &[Figure]) -> u16 {
    if y >= area.bottom() {
        return y;
    }
    rule(buf, Rect { y, height: 1, ..area }, title);
    let mut y = y + 1;
    for figure in figures {
        let from = |x: u16| Rect {
            x: area.x + x.min(area.width),
            y,
            width: area.width.saturating_sub(x),
            height: area.bottom().saturating_sub(y),
        };
        match figure {
            Figure::Line(name, line) => {
                text(buf, from(1), name, Role::Muted);
                parts(buf, from(1 + NAME), line);
            }
            Figure::Chart(values, rows) => {
                let area = from(1 + NAME);
                chart(buf, Rect { width: area.width.saturating_sub(1), ..area }, values, *rows);
            }
        }
        y = area.bottom().min(y + figure.rows());
    }
    y
}

/// Draws the problems, with the cursor, and the failed checks. Returns the row below.
fn problems(buf: &mut Buffer, area: Rect, y: u16, dashboard: &Dashboard, troubles: &[HealthProblem], at: usize) -> u16 {
    if y >= area.bottom() {
        return y;
    }
    rule(buf, Rect { y, height: 1, ..area }, &format!("Problems ({})", troubles.len()));
    let mut y = y + 1;
    let unchecked = dashboard.unchecked();
    if troubles.is_empty() && unchecked.is_empty() && y < area.bottom() {
        text(buf, Rect { y, height: 1, ..area }, "   none", Role::Ok);
        return y + 1;
    }
    for (index, trouble) in troubles.iter().enumerate() {
        for (part, line) in wrapped(&trouble.text, area.width.saturating_sub(4)).iter().enumerate() {
            if y >= area.bottom() {
                return y;
            }
            let (here, sign) = (index == at && part == 0, if part == 0 { "!" } else { " " });
            let role = if here { Role::Selected } else { Role::Error };
            row(buf, Rect { y, height: 1, ..area }, here, &format!("{sign} {line}"), role);
            y += 1;
        }
    }
    for line in unchecked.iter().flat_map(|line| wrapped(line, area.width.saturating_sub(4))) {
        if y >= area.bottom() {
            return y;
        }
        text(buf, Rect { y, height: 1, ..area }, &format!(" ? {line}"), Role::Warn);
        y += 1;
    }
    y
}

/// Draws a row that the cursor can be on.
fn row(buf: &mut Buffer, line: Rect, here: bool, what: &str, role: Role) {
    if here {
        buf.set_style(line.intersection(buf.area), role.style());
    }
    text(buf, line, &format!("{}{what}", if here { ">" } else { " " }), role);
}

fn events<'a>(
    buf: &mut Buffer,
    area: Rect,
    events: impl ExactSizeIterator<Item = &'a Event>,
    clock: &Clock,
    at: Option<usize>,
) {
    if area.height < 2 {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, "Events (live)");
    if events.len() == 0 {
        text(buf, Rect { y: area.y + 1, height: 1, ..area }, " no events yet", Role::Muted);
    }
    let rows = usize::from(area.height - 1);
    let top = at.unwrap_or(0).saturating_sub(rows - 1);
    let shown: Vec<(usize, &Event)> = events.enumerate().skip(top).take(rows).collect();
    let widest = |of: &dyn Fn(&Event) -> u16| shown.iter().map(|(_, event)| of(event)).max().unwrap_or(0);
    let (kinds, names) = (widest(&|event| width(&event.kind)), widest(&|event| width(&event.repository)));
    for ((index, event), y) in shown.iter().zip(area.y + 1..) {
        let here = at == Some(*index);
        let about = event.r#ref.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/");
        let what: Vec<&str> =
            [&event.action, about, &event.actor].into_iter().filter(|word| !word.is_empty()).collect();
        let (time, kind, name, what) = (clock.time(&event.at), &event.kind, &event.repository, what.join(", "));
        let line = format!("{time}  {}  {}  {what}", pad(kind, kinds), pad(name, names));
        row(buf, Rect { y, height: 1, ..area }, here, &line, if here { Role::Selected } else { Role::Text });
    }
}
