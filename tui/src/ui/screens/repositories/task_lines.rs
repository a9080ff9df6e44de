//! Formats background tasks as lines: the phases of one task, and a progress bar per running task.

use farrier_common::api::{BackgroundTask, TaskPhase};
use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    output::human_bytes,
    progress,
    ui::{
        transfers::ProgressLine,
        view::{LinePart, Role, fit, parts, rule, text, width},
        words,
    },
};

/// Width of a bar, in cells.
const BAR: u16 = 10;
/// Width of the names of phases and of task kinds, in cells.
const PHASE: usize = 20;
/// Width of the names of phases where there is less room, in cells.
const PHASE_SHORT: usize = 17;
const KIND: usize = 10;

/// Converts a task to a progress line.
pub(crate) fn progress_line(task: &BackgroundTask) -> ProgressLine {
    let counted = task.total > 0;
    ProgressLine {
        what: if task.kind == "migration" { "import" } else { "task" },
        name: if task.repository.is_empty() { task.kind.clone() } else { task.repository.clone() },
        share: counted.then_some((task.done, task.total)),
        note: match progress::seconds_left(task) {
            Some(left) => progress::eta(left),
            None if counted => task.phase.clone(),
            None => format!("{}  {}", task.phase, progress::took(task.millis)),
        },
    }
}

/// Draws a heading and one line per running task, and the number of those that do not fit. Returns the row below.
pub(crate) fn draw_progress_lines(all: &[ProgressLine], area: Rect, y: u16, buf: &mut Buffer) -> u16 {
    let row = |y: u16| Rect { y, height: 1, ..area };
    if y >= area.bottom() {
        return y;
    }
    rule(buf, row(y), &format!("Tasks ({} running)", all.len()));
    if all.is_empty() {
        text(buf, row(y + 1).intersection(area), "   none, and no downloads", Role::Muted);
        return y + 2;
    }
    let mut y = y + 1;
    let room = usize::from(area.bottom() - y);
    let shown = if all.len() > room { room.saturating_sub(1) } else { all.len() };
    for one in all.iter().take(shown) {
        parts(buf, row(y), &progress_parts(one, area.width));
        y += 1;
    }
    if shown < all.len() && y < area.bottom() {
        text(buf, row(y), &format!("   {} more", all.len() - shown), Role::Muted);
        y += 1;
    }
    y
}

/// Formats `import    data/lake2       [██████····]  61 %  ETA 00:24` for a line of `room` cells.
fn progress_parts(one: &ProgressLine, room: u16) -> Vec<LinePart> {
    let share = one.share.map(|(done, total)| format!(" {:>3} %  ", words::percent(done, total)));
    let rest = format!("{}{}", share.unwrap_or_default(), one.note);
    let bar = one.share.map(|share| LinePart::Bar { role: Role::Text, share, cells: BAR });
    let kind = u16::try_from(KIND).unwrap_or(0);
    let used = kind + width(&rest) + if bar.is_some() { BAR + 2 } else { 0 };
    let name = fit(&one.name, room.saturating_sub(used + 3));
    let gap = usize::from(room.saturating_sub(used + width(&name) + 1));
    let start = LinePart::plain(format!(" {:<KIND$}{name}{:gap$}", one.what, ""));
    std::iter::once(start).chain(bar).chain([LinePart::plain(rest)]).collect()
}

/// Formats `733 120 objects`. An older daemon sends no unit.
fn counted(number: i64, unit: &str) -> String {
    format!("{} {unit}", words::count(number)).trim_end().to_owned()
}

/// Joins facts in lines of at most `room` cells. A line breaks only between two facts.
fn in_lines(facts: &[String], room: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if width(line) + 3 + width(fact) <= room => {
                line.push_str("   ");
                line.push_str(fact);
            }
            _ => lines.push(format!("  {fact}")),
        }
    }
    lines
}

/// Returns the current phase of a task with its progress, then the phases that are done, in lines of `room` cells. The
/// current one is first because a low pane does not show all phases.
pub(crate) fn phases(task: &BackgroundTask, room: u16) -> Vec<Vec<LinePart>> {
    let done = |is_short: bool| {
        let line = move |phase: &TaskPhase| {
            let many = if phase.total > 0 { counted(phase.total, &phase.unit) } else { String::new() };
            let took = progress::took(phase.took_millis);
            let line = if is_short {
                format!("  {:<PHASE_SHORT$}  {took:>8}  {many}", phase.name)
            } else {
                format!("  {:<PHASE$}  done  {took:>9}  {many}", phase.name)
            };
            line.trim_end().to_owned()
        };
        task.phases.iter().map(line).collect::<Vec<_>>()
    };
    let full = done(false);
    // All lines have the same columns.
    let is_short = full.iter().any(|line| width(line) > room);
    let name = if is_short { PHASE_SHORT } else { PHASE };
    let mut current = vec![LinePart::plain(format!("> {:<name$}  ", task.phase))];
    let percent = progress::percent(task);
    match percent {
        Some(percent) => current.extend([
            LinePart::Bar { role: Role::Text, share: (task.done, task.total), cells: BAR },
            LinePart::plain(format!(" {percent} %")),
        ]),
        None => current.push(LinePart::plain(progress::took(task.phase_millis))),
    }
    let mut facts = Vec::new();
    if percent.is_some() {
        facts.push(format!("{} of {}", words::count(task.done), counted(task.total, &task.unit)));
    }
    if task.bytes > 0 {
        facts.push(format!("{} received", human_bytes(task.bytes)));
    }
    facts.extend(progress::rate(task).map(|rate| format!("{}/s", human_bytes(rate))));
    facts.extend(progress::seconds_left(task).map(progress::eta));
    let facts = in_lines(&facts, room).into_iter().map(LinePart::plain);
    let done = if is_short { done(true) } else { full };
    let done = done.into_iter().map(|line| LinePart::Text(Role::Muted, line));
    std::iter::once(current).chain(facts.chain(done).map(|part| vec![part])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::text_of;

    #[test]
    fn each_phase_is_counted_in_its_own_unit() {
        let task = BackgroundTask {
            phase: "Resolving deltas".into(),
            unit: "deltas".into(),
            done: 87,
            total: 89,
            phases: vec![
                TaskPhase { name: "Receiving objects".into(), total: 412, unit: "objects".into(), took_millis: 1_500 },
                TaskPhase { name: "Checking".into(), took_millis: 0, ..TaskPhase::default() },
            ],
            ..BackgroundTask::default()
        };
        let lines: Vec<String> = phases(&task, 80).iter().map(|line| text_of(line, 80)).collect();
        assert!(lines[0].starts_with("> Resolving deltas"), "{lines:?}");
        assert_eq!(lines[1], "  87 of 89 deltas", "{lines:?}");
        assert!(lines[2].ends_with("1.5 s  412 objects"), "{lines:?}");

        let running = BackgroundTask { bytes: 4 << 20, ..task };
        let narrow: Vec<String> = phases(&running, 45).iter().map(|line| text_of(line, 80)).collect();
        let done = &narrow[narrow.len() - 2..];
        assert!(done[0].ends_with("     1.5 s  412 objects"), "{narrow:?}");
        assert!(done.iter().all(|line| !line.contains("done")), "all lines have the same columns: {narrow:?}");
        let facts = phases(&running, 30).iter().skip(1).take(2).map(|line| text_of(line, 80)).collect::<Vec<_>>();
        assert_eq!(facts, ["  87 of 89 deltas", "  4.0 MiB received"]);
    }

    #[test]
    fn a_progress_line_truncates_the_name_and_keeps_the_percentage() {
        let mut one = ProgressLine {
            what: "import",
            name: "data/lake2".into(),
            share: Some((61, 100)),
            note: "ETA 00:24".into(),
        };
        let line = text_of(&progress_parts(&one, 59), 80);
        assert!(
            line.starts_with(" import    data/lake2  ") && line.ends_with("  [██████····]  61 %  ETA 00:24"),
            "{line}"
        );
        assert_eq!(width(&line), 59);
        one.name = "a-very-long-organization/with-a-very-long-repository".into();
        let cut = text_of(&progress_parts(&one, 59), 80);
        assert!(cut.chars().count() <= 60 && cut.contains("… ") && cut.ends_with("61 %  ETA 00:24"), "{cut}");
        one.share = None;
        assert!(!text_of(&progress_parts(&one, 59), 80).contains('%'));
    }
}
