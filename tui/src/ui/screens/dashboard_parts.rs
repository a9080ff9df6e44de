//! What the dashboard draws: figures of the last minute, storage, problems, events.

use farrier_common::api::{Event, MetricsSeries, Status};
use ratatui::{buffer::Buffer, layout::Rect};

use super::dashboard::{Dashboard, Trouble};
use crate::{
    output::human_bytes,
    ui::{
        times::Clock,
        view::{Role, rule, text, wrapped},
        words,
    },
};

/// Above this the disk is a problem.
pub(super) const DISK_FULL_PERCENT: i64 = 90;
/// Cells for the names of figures.
const NAME: u16 = 12;

type Lines = Vec<(Role, String)>;

pub(super) fn draw(dashboard: &Dashboard, at: usize, clock: &Clock, area: Rect, buf: &mut Buffer) {
    let Some((status, _)) = &dashboard.now else { return };
    let troubles = dashboard.troubles();
    let wide = area.width >= 110;
    let left = if wide { Rect { width: area.width / 2 - 1, ..area } } else { area };
    let mut y = head(status, area, buf);
    y = section(buf, left, y, "Now (60 s)", &now(status, dashboard.series.as_ref(), left.width));
    y = section(buf, left, y + u16::from(wide), "Storage", &storage(status, left.width));
    y = problems(buf, left, y + u16::from(wide), &troubles, at);
    let place = if wide {
        Rect { x: left.right() + 2, width: area.width - left.width - 2, y: area.y + 1, height: area.height.max(1) - 1 }
    } else {
        Rect { y, height: area.bottom().saturating_sub(y), ..area }
    };
    events(buf, place, dashboard.events.iter(), clock, at.checked_sub(troubles.len()));
}

/// One line about who is spoken to. Answers the row below.
fn head(status: &Status, area: Rect, buf: &mut Buffer) -> u16 {
    let places: Vec<String> = status.listeners.iter().map(|one| one.address.clone()).collect();
    let identity = if status.identity.is_empty() { "nobody" } else { &status.identity };
    let line = format!(
        " farrierd {}   up {}   you are {identity}   {}",
        status.version,
        words::uptime(status.uptime_secs),
        places.join("   ")
    );
    text(buf, Rect { height: 1, ..area }, &line, Role::Title);
    area.y + 1
}

/// `41/s`, `0.3/s`
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

fn now(status: &Status, series: Option<&MetricsSeries>, room: u16) -> Lines {
    let mut lines = Lines::new();
    if let Some(series) = series {
        let cells = usize::from(room.saturating_sub(56)).clamp(10, 60);
        lines.push((
            Role::Text,
            format!(
                "{:<12}{:>9}  {}  p50 {}  p99 {}",
                "requests",
                rate(&series.requests),
                words::sparkline(&series.requests, cells),
                millis(series.p50_micros),
                millis(series.p99_micros)
            ),
        ));
        let all: Vec<i64> = series.delivered.iter().zip(&series.failed).map(|(good, bad)| good + bad).collect();
        let (total, bad) = (all.iter().sum::<i64>(), series.failed.iter().sum::<i64>());
        let share = if total > 0 { format!("ok {} %", words::percent(total - bad, total)) } else { "none".to_owned() };
        let role = if bad > 0 { Role::Warn } else { Role::Text };
        lines
            .push((role, format!("{:<12}{:>9}  {}  {share}", "deliveries", rate(&all), words::sparkline(&all, cells))));
    }
    let uploads = series.map_or_else(String::new, |series| format!("   {} uploads", words::count(series.uploads)));
    lines.push((
        Role::Text,
        format!(
            "{:<12}{:>9} connected{uploads}   memory {}",
            "clients",
            words::count(status.connections),
            human_bytes(status.resident_bytes)
        ),
    ));
    lines
}

fn storage(status: &Status, room: u16) -> Lines {
    let disk = &status.disk;
    let used = disk.total_bytes - disk.free_bytes;
    let percent = words::percent(used, disk.total_bytes);
    let role = if percent >= DISK_FULL_PERCENT { Role::Error } else { Role::Text };
    let cells = usize::from(room.saturating_sub(44).clamp(10, 24));
    let bar = words::bar(used, disk.total_bytes, cells);
    vec![
        (Role::Text, format!("{:<12}{:>9}  {}", "store", human_bytes(status.store.size_bytes), status.store.engine)),
        (role, format!("{:<12}{:>9} free  {bar} {percent} %", "disk", human_bytes(disk.free_bytes))),
    ]
}

/// A heading and lines below it. Answers the row after them.
fn section(buf: &mut Buffer, area: Rect, y: u16, title: &str, lines: &Lines) -> u16 {
    let row = |y: u16| Rect { y, height: 1, ..area };
    if y >= area.bottom() {
        return y;
    }
    rule(buf, row(y), title);
    let mut y = y + 1;
    for (role, line) in lines {
        if y >= area.bottom() {
            return y;
        }
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..row(y) };
        text(buf, inner, line, *role);
        text(
            buf,
            Rect { width: inner.width.min(NAME), ..inner },
            line.get(..usize::from(NAME)).unwrap_or(line),
            Role::Muted,
        );
        y += 1;
    }
    y
}

/// What is wrong, with the cursor. Answers the row below.
fn problems(buf: &mut Buffer, area: Rect, y: u16, troubles: &[Trouble], at: usize) -> u16 {
    if y >= area.bottom() {
        return y;
    }
    rule(buf, Rect { y, height: 1, ..area }, &format!("Problems ({})", troubles.len()));
    let mut y = y + 1;
    if troubles.is_empty() && y < area.bottom() {
        text(buf, Rect { y, height: 1, ..area }, "   none: the daemon says that all is well", Role::Ok);
        return y + 1;
    }
    for (place, trouble) in troubles.iter().enumerate() {
        for (part, line) in wrapped(&trouble.text, area.width.saturating_sub(4)).iter().enumerate() {
            if y >= area.bottom() {
                return y;
            }
            let (here, sign) = (place == at && part == 0, if part == 0 { "!" } else { " " });
            let role = if here { Role::Selected } else { Role::Error };
            let mark = if here { ">" } else { " " };
            text(buf, Rect { y, height: 1, ..area }, &format!("{mark}{sign} {line}"), role);
            y += 1;
        }
    }
    y
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
        text(buf, Rect { y: area.y + 1, height: 1, ..area }, " nothing since this program began", Role::Muted);
    }
    let rows = usize::from(area.height - 1);
    let top = at.unwrap_or(0).saturating_sub(rows - 1);
    for ((place, event), y) in events.enumerate().skip(top).zip(area.y + 1..area.bottom()) {
        let here = at == Some(place);
        let kind = format!("{} {}", event.kind, event.action);
        let about = event.r#ref.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/");
        let mark = if here { ">" } else { " " };
        let line = format!("{mark}{}  {kind:<22} {}  {about} {}", clock.time(&event.at), event.repository, event.actor);
        text(buf, Rect { y, height: 1, ..area }, &line, if here { Role::Selected } else { Role::Text });
    }
}
