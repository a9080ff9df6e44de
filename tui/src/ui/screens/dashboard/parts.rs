//! Draws the sections of the dashboard: problems, load, storage, tasks and activity.

use farrier_common::api::Status;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Dashboard,
    activity::Activity,
    load, nodes, owners,
    problems::HealthProblem,
    rows::{self, SentenceRow, activity_row},
};
use crate::{
    output::human_bytes,
    ui::{
        keymap::{Action, Scope},
        screens::repositories::task_lines,
        view::{CHART_BELOW, Chart, LinePart, Role, below, parts, rule, text, width, wrapped},
        words,
        world::World,
    },
};

/// With fewer rows, the last sections are left out.
const PARTIAL_BELOW_ROWS: u16 = 16;
/// With fewer rows, load and storage are brief.
const BRIEF_BELOW_ROWS: u16 = 30;
/// In one column: the least rows for problems, the least rows for the activity with its heading, and the most tasks.
const PROBLEMS_MIN: u16 = 3;
const ACTIVITY_MIN: u16 = 4;
const TASKS_MAX: usize = 3;
/// In columns: the rows that the charts need before owners get rows.
const LOAD_MIN: u16 = 22;
/// Lines of a long sentence in columns, which have more rows than one column.
const SENTENCE_LINES: usize = 2;
/// Widths from which the charts are beside the other sections, and from which running tasks are beside the problems.
const TWO_COLUMNS: u16 = 110;
const THREE_COLUMNS: u16 = 180;
/// Width of the names of figures, in cells.
const NAME_WIDTH: u16 = 12;
/// With fewer columns of the terminal, problems have no keys, and the first line has neither version nor uptime.
const NARROW_BELOW: u16 = 60;
/// Cells of the suggested action of a problem with its key, and of its age.
const ACTION_WIDTH: u16 = 12;
const AGE_WIDTH: u16 = 5;
/// Width from which the trend of a problem is a word instead of a sign.
const TREND_WORDS_FROM: u16 = 70;

/// An entry of a section.
pub(super) enum Figure {
    /// A line with a name.
    Line(&'static str, Vec<LinePart>),
    /// A line of a table.
    Row(Vec<LinePart>),
    /// A chart, and the number of rows for its columns.
    Chart(Chart, u16),
}

impl Figure {
    fn rows(&self) -> u16 {
        match self {
            Self::Line(..) | Self::Row(_) => 1,
            Self::Chart(_, rows) => rows + CHART_BELOW,
        }
    }
}

/// Returns the part of `area` from the row `y` on.
fn from_row(area: Rect, y: u16) -> Rect {
    below(area, y.saturating_sub(area.y))
}

pub(super) fn draw(dashboard: &Dashboard, at: usize, world: &World, area: Rect, buf: &mut Buffer) {
    let Some((status, _)) = &dashboard.status else { return };
    let rest = below(area, head(status, area, buf));
    let sections = Sections { dashboard, status, at, world, problems: dashboard.problems() };
    if area.width >= THREE_COLUMNS {
        sections.in_three_columns(rest, buf);
    } else if area.width >= TWO_COLUMNS {
        sections.in_two_columns(rest, buf);
    } else {
        sections.in_one_column(rest, buf);
    }
}

/// Returns columns with the given shares of the width, in percent, and two cells between them.
fn columns<const N: usize>(area: Rect, shares: [u16; N]) -> [Rect; N] {
    let mut x = area.x;
    shares.map(|share| {
        let wide = u16::try_from(u32::from(area.width) * u32::from(share) / 100).unwrap_or(area.width);
        let column = Rect { x, width: wide.saturating_sub(2), ..area }.intersection(area);
        x = x.saturating_add(wide);
        column
    })
}

struct Sections<'a> {
    dashboard: &'a Dashboard,
    status: &'a Status,
    /// The row under the cursor: problems first, then the activity.
    at: usize,
    world: &'a World,
    problems: Vec<HealthProblem>,
}

impl Sections<'_> {
    fn in_one_column(&self, area: Rect, buf: &mut Buffer) {
        let is_short = area.height < PARTIAL_BELOW_ROWS;
        if is_short && self.at >= self.problems.len() && self.at > 0 {
            // The row of the cursor is always visible.
            return self.activity(area, 1, buf);
        }
        let is_brief = area.height < BRIEF_BELOW_ROWS;
        let figures = load::figures(self.status, self.dashboard.series.as_ref(), area.width, 0, is_brief);
        let stored = storage(self.status, area.width, is_brief);
        let nodes = nodes::figures(&self.status.nodes, &self.world.clock, area.width);
        let running = self.dashboard.running(self.world);
        let tasks_rows = if running.is_empty() { 0 } else { running.len().min(TASKS_MAX) + 1 };
        let problems_rows = if is_short {
            area.height / 2
        } else {
            // The headings of the problems, the load and the storage, and the activity.
            let nodes_rows = if nodes.is_empty() { 0 } else { nodes.len() + 1 };
            let others = figures.len() + stored.len() + nodes_rows + tasks_rows + self.dashboard.unchecked().len() + 3;
            let others = u16::try_from(others).unwrap_or(u16::MAX).saturating_add(ACTIVITY_MIN);
            area.height.saturating_sub(others).max(PROBLEMS_MIN)
        };
        let mut y = self.problems(area, problems_rows, 1, buf);
        y = section(buf, from_row(area, y), &self.load_title(), &figures);
        y = section(buf, from_row(area, y), "Storage", &stored);
        if !nodes.is_empty() && !is_short {
            y = section(buf, from_row(area, y), "Nodes", &nodes);
        }
        if !running.is_empty() {
            let height = u16::try_from(tasks_rows).unwrap_or(u16::MAX);
            let tasks = from_row(area, y);
            y = task_lines::draw_progress_lines(&running, Rect { height: tasks.height.min(height), ..tasks }, y, buf);
        }
        if !is_short {
            // The owners get the rows that the activity does not need.
            let events = u16::try_from(self.dashboard.activities().len()).unwrap_or(u16::MAX);
            let kept = events.saturating_add(1).max(ACTIVITY_MIN);
            let room = from_row(area, y);
            let spare = room.height.saturating_sub(kept);
            if spare > owners::ROWS_MIN {
                y = self.owners(room, spare, buf);
            }
        }
        self.activity(from_row(area, y), 1, buf);
    }

    /// Draws the owners that use most storage in at most `rows_max` rows. Returns the row below.
    fn owners(&self, area: Rect, rows_max: u16, buf: &mut Buffer) -> u16 {
        let Some(storage) = &self.status.storage else { return area.y };
        let figures = owners::figures(storage, area.width, rows_max.saturating_sub(1));
        if figures.is_empty() {
            return area.y;
        }
        let title = format!("Storage by owner, as of {}", self.world.clock.time(&storage.computed_at));
        section(buf, area, &title, &figures)
    }

    fn in_two_columns(&self, area: Rect, buf: &mut Buffer) {
        let [left, right] = columns(area, [54, 46]);
        let y = self.problems(left, left.height / 2, SENTENCE_LINES, buf);
        let running = self.dashboard.running(self.world);
        let room = from_row(left, y + 1);
        let tasks = Rect { height: room.height.min(left.height / 3), ..room };
        let y = task_lines::draw_progress_lines(&running, tasks, tasks.y, buf);
        self.activity(from_row(left, y + 1), SENTENCE_LINES, buf);
        self.load_and_storage(Rect { width: area.right() - right.x, ..right }, buf);
    }

    fn in_three_columns(&self, area: Rect, buf: &mut Buffer) {
        let [left, right] = columns(area, [62, 38]);
        let running = self.dashboard.running(self.world);
        // Without running tasks, problems get the whole width, so that few of them need a second line.
        let y = if running.is_empty() {
            self.problems(left, left.height / 2, SENTENCE_LINES, buf)
        } else {
            let [problems, tasks] = columns(Rect { width: left.width + 2, ..left }, [60, 40]);
            let tasks = Rect { height: tasks.height / 2, ..tasks };
            let tasks_end = task_lines::draw_progress_lines(&running, tasks, tasks.y, buf);
            self.problems(problems, left.height / 2, SENTENCE_LINES, buf).max(tasks_end)
        };
        // Below both, the sentences of the activity fit into one line.
        self.activity(from_row(left, y + 1), SENTENCE_LINES, buf);
        self.load_and_storage(Rect { width: area.right() - right.x, ..right }, buf);
    }

    /// Draws the charts above the storage, which needs few rows.
    fn load_and_storage(&self, area: Rect, buf: &mut Buffer) {
        let stored = storage(self.status, area.width, false);
        let nodes = nodes::figures(&self.status.nodes, &self.world.clock, area.width);
        // The heading of the nodes and the empty row before it.
        let nodes_rows = if nodes.is_empty() { 0 } else { nodes.len() + 2 };
        // Two headings and the empty row between the sections.
        let others = u16::try_from(stored.len() + nodes_rows).unwrap_or(u16::MAX).saturating_add(3);
        let spare = area.height.saturating_sub(others + LOAD_MIN);
        let rows_of_owners = self.rows_of_owners(area.width, spare);
        let height = area.height.saturating_sub(others + rows_of_owners);
        let figures = load::figures(self.status, self.dashboard.series.as_ref(), area.width, height, false);
        let y = section(buf, area, &self.load_title(), &figures);
        let mut y = section(buf, from_row(area, y + 1), "Storage", &stored);
        if !nodes.is_empty() {
            y = section(buf, from_row(area, y + 1), "Nodes", &nodes);
        }
        self.owners(from_row(area, y + 1), rows_of_owners.saturating_sub(1), buf);
    }

    /// Returns how many of `spare` rows the owners use: an empty row, the heading and their lines.
    fn rows_of_owners(&self, width: u16, spare: u16) -> u16 {
        let Some(storage) = self.status.storage.as_ref().filter(|_| spare > owners::ROWS_MIN + 1) else { return 0 };
        match owners::figures(storage, width, spare - 2).len() {
            0 => 0,
            lines => u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2),
        }
    }

    /// Returns the heading of the charts. The period is that of the shown figures, not that of a pending request.
    fn load_title(&self) -> String {
        let Some(series) = &self.dashboard.series else { return "Load".to_owned() };
        let period = match series.step_secs {
            ..=1 => "minute",
            2..=60 => "hour",
            _ => "day",
        };
        format!("Load, last {period} (] [ period)")
    }

    /// Returns the name of the first key of an action.
    fn key_of(&self, action: Action) -> Option<String> {
        let keys = self.world.keymap.of(&[Scope::Dashboard]).find(|binding| binding.action == action)?.keys;
        keys.first().map(|key| key.name())
    }

    /// Draws problems around the cursor in at most `rows_max` rows, and the failed checks. Returns the row below.
    fn problems(&self, area: Rect, rows_max: u16, lines_max: usize, buf: &mut Buffer) -> u16 {
        let row = |y: u16| from_row(area, y);
        if area.height == 0 {
            return area.y;
        }
        let mut y = area.y + 1;
        let unchecked = self.dashboard.unchecked();
        let room = Rect { height: rows_max.max(1), ..row(y) }.intersection(row(y));
        let rows: Vec<SentenceRow> =
            self.problems.iter().map(|problem| self.problem(problem, area.width, lines_max)).collect();
        let (shown, used) = rows::draw(&rows, self.at, room, buf);
        let count = self.problems.len();
        let title =
            if shown < count { format!("Problems ({shown} of {count})") } else { format!("Problems ({count})") };
        rule(buf, area, &title);
        if self.problems.is_empty() && unchecked.is_empty() {
            text(buf, row(y), "   none", Role::Ok);
            return y + 1;
        }
        y += used;
        for check in unchecked {
            for (at, line) in wrapped(&check, area.width.saturating_sub(4)).iter().enumerate() {
                if y < area.bottom() {
                    let sign = if at == 0 { "?" } else { " " };
                    text(buf, row(y), &format!(" {sign} {line}"), Role::Warn);
                }
                y += 1;
            }
        }
        y.min(area.bottom())
    }

    /// Returns the row of a problem: the text, its age and the key of the suggested action.
    fn problem(&self, problem: &HealthProblem, room: u16, lines_max: usize) -> SentenceRow {
        // The width of the terminal counts, because columns wrap long sentences.
        let shows_keys = self.world.size.width >= NARROW_BELOW;
        let suggested = problem.target.suggested_action().filter(|_| shows_keys);
        let suggested = suggested.and_then(|(action, title)| Some(format!("{} {title}", self.key_of(action)?)));
        let suggested = suggested.unwrap_or_default();
        let age = if problem.since > 0 { self.world.clock.since_or_in(problem.since) } else { String::new() };
        let aside = match (shows_keys, age.is_empty()) {
            (true, true) if suggested.is_empty() => String::new(),
            (true, _) => format!("{age:>0$}  {suggested:<1$}", usize::from(AGE_WIDTH), usize::from(ACTION_WIDTH)),
            (false, false) => format!(" {age}"),
            (false, true) => String::new(),
        };
        let fits = |word: &str| lines_max > 1 || width(&problem.text) + width(word) + width(&aside) + 4 <= room;
        let aside = match problem.trend.filter(|_| shows_keys) {
            // The sign leaves more room for a sentence that would be cut.
            Some(trend) if room >= TREND_WORDS_FROM && fits(trend.word()) => format!("{} {aside}", trend.word()),
            Some(trend) => format!("{} {aside}", trend.sign()),
            None => aside,
        };
        SentenceRow::new("! ", &problem.text, aside, Role::Error, room, lines_max)
    }

    fn activity(&self, area: Rect, lines_max: usize, buf: &mut Buffer) {
        if area.height < 2 {
            return;
        }
        rule(buf, area, "Activity (live)");
        let all = self.dashboard.activities();
        if all.is_empty() {
            text(buf, below(area, 1), " no events yet", Role::Muted);
        }
        let at = self.at.checked_sub(self.problems.len());
        // The rows below those that can be visible are not laid out.
        let count = at.unwrap_or(0) + usize::from(area.height);
        let row = |one: &Activity| activity_row(one, &self.world.clock, area.width, lines_max);
        let rows: Vec<SentenceRow> = all.iter().take(count).map(row).collect();
        rows::draw(&rows, at.unwrap_or(usize::MAX), below(area, 1), buf);
    }
}

/// Draws one line about the server and the account. Returns the number of rows.
fn head(status: &Status, area: Rect, buf: &mut Buffer) -> u16 {
    let addresses: Vec<String> = status.listeners.iter().map(|one| one.address.clone()).collect();
    let identity = if status.identity.is_empty() { "nobody" } else { &status.identity };
    let daemon = if area.width < NARROW_BELOW {
        String::new()
    } else {
        format!(" farrierd {}   up {}  ", status.version, words::uptime(status.uptime_secs))
    };
    let line = format!("{daemon} you are {identity}   {}", addresses.join("   "));
    text(buf, Rect { height: 1, ..area }, &line, Role::Title);
    1
}

/// Returns the figures of the storage: a brief list has two rows.
fn storage(status: &Status, room: u16, is_brief: bool) -> Vec<Figure> {
    let disk = &status.disk;
    let used = disk.total_bytes - disk.free_bytes;
    let percent = words::percent(used, disk.total_bytes);
    // A full disk is a problem, and each problem is red once.
    let bar = LinePart::Bar {
        role: Role::Text,
        share: (used, disk.total_bytes),
        cells: room.saturating_sub(44).clamp(10, 24),
    };
    let (store, memory) = (human_bytes(status.store.size_bytes), human_bytes(status.resident_bytes));
    let free = LinePart::plain(format!("{:>9} free  ", human_bytes(disk.free_bytes)));
    let mut disk = vec![free, bar, LinePart::plain(format!(" {percent} %"))];
    let line = |name, text: String| Figure::Line(name, vec![LinePart::plain(text)]);
    if is_brief {
        let mut sizes = vec![(store, "store")];
        if let Some(kept) = &status.kept {
            let kept = [(&kept.repositories, "git"), (&kept.artifacts, "artifacts")];
            sizes.splice(0..0, kept.map(|(amount, name)| (human_bytes(amount.size_bytes), name)));
        }
        let sizes: Vec<String> = sizes.into_iter().map(|(size, name)| format!("{size:>9} {name}")).collect();
        disk.push(LinePart::plain(format!("   memory {memory}")));
        return vec![line("stored", sizes.join("  ")), Figure::Line("disk", disk)];
    }
    let mut figures = Vec::new();
    if let Some(kept) = &status.kept {
        let amount = |name: &str, amount: &farrier_common::api::Amount| {
            format!("{:>9} in {}", human_bytes(amount.size_bytes), words::counted(amount.count, name))
        };
        figures.push(line("git", amount("repository", &kept.repositories)));
        figures.push(line("artifacts", amount("artifact", &kept.artifacts)));
    }
    figures.push(line("store", format!("{store:>9}  {}   memory {memory}", status.store.engine)));
    figures.push(Figure::Line("disk", disk));
    figures
}

/// Draws a heading and the figures below it. Returns the row after them.
fn section(buf: &mut Buffer, area: Rect, title: &str, figures: &[Figure]) -> u16 {
    if area.height == 0 {
        return area.bottom();
    }
    rule(buf, area, title);
    let mut y = area.y + 1;
    for figure in figures {
        if y >= area.bottom() {
            break;
        }
        let rest = from_row(area, y);
        let from = |x: u16| Rect { x: rest.x + x.min(rest.width), width: rest.width.saturating_sub(x), ..rest };
        match figure {
            Figure::Line(name, line) => {
                text(buf, from(1), name, Role::Muted);
                parts(buf, from(1 + NAME_WIDTH), line);
            }
            Figure::Row(line) => parts(buf, from(1), line),
            Figure::Chart(chart, rows) => {
                chart.draw(buf, Rect { width: from(4).width.saturating_sub(1), ..from(4) }, *rows);
            }
        }
        y = area.bottom().min(y + figure.rows());
    }
    y
}
