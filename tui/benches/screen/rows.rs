//! The measurements.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    Plan, daemon,
    figures::{Figures, Table},
    kinds::{self, Kind, Listing, Load},
    terminal::Terminal,
};

pub(crate) const SMALL: (u16, u16) = (80, 24);
pub(crate) const WIDE: (u16, u16) = (120, 40);
pub(crate) const LARGE: (u16, u16) = (200, 60);
/// The budget of the resident memory, MiB.
pub(crate) const MEMORY_MAX: f64 = 40.0;
/// Time limit for all rows of a list.
const LOAD_BOUND: Duration = Duration::from_mins(2);

/// A running daemon and its temporary directory.
pub(crate) struct Setup {
    directory: tempfile::TempDir,
    socket: PathBuf,
}

impl Setup {
    pub(crate) fn with(listings: Vec<Listing>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = daemon::start(directory.path(), listings);
        Self { directory, socket }
    }

    fn repositories(rows: usize) -> Self {
        Self::with(kinds::repositories(rows))
    }

    fn terminal(&self, size: (u16, u16)) -> Terminal {
        Terminal::start(self.directory.path(), &self.socket, size)
    }

    /// Starts a terminal, opens a list, loads `rows` rows and waits until the screen is idle.
    pub(crate) fn settled(&self, size: (u16, u16), kind: &Kind, rows: usize) -> Terminal {
        let mut terminal = self.terminal(size);
        terminal.wait_for("? help");
        for key in kind.keys.chars() {
            terminal.type_(&key.to_string());
            terminal.settle();
        }
        let digits = (kind.shown)(rows).to_string();
        let (thousands, rest) = digits.split_at(digits.len().saturating_sub(3));
        let count = format!("/{thousands} {rest}").replace("/ ", "/");
        if let Load::Steps(_) = kind.load {
            let begun = Instant::now();
            while !terminal.shows(&count) {
                assert!(begun.elapsed() < LOAD_BOUND, "fewer than {rows} {} were loaded", kind.name);
                // The cursor goes to the last row.
                terminal.type_("G");
                terminal.settle();
            }
            terminal.go_to_first();
        }
        terminal.wait_for(&format!("1{count}"));
        terminal.type_("p");
        terminal.wait_for("paused");
        // The first rows are shown before the last ones arrive; the waiting indicator disappears with the last
        // ones.
        terminal.settle();
        terminal
    }
}

/// Measures the time to the first byte and to the first complete picture.
pub(crate) fn start(plan: &Plan, table: &mut Table) {
    let setup = Setup::repositories(50);
    let (mut first, mut complete) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let mut terminal = setup.terminal(SMALL);
        terminal.take(Duration::from_secs(60));
        first.push(terminal.begun.elapsed());
        terminal.wait_for("? help");
        complete.push(terminal.begun.elapsed());
        terminal.leave();
    }
    table.times("start to first byte", &first, [30.0, 30.0]);
    table.times("start to first picture", &complete, [60.0, 60.0]);
}

/// Measures the effects of keys in a long list.
pub(crate) fn keys(plan: &Plan, table: &mut Table) {
    let setup = Setup::repositories(plan.rows);
    for (size, drawing, budgets) in
        [(SMALL, Some(0.5), [300, 1_700]), (WIDE, None, [400, 3_000]), (LARGE, Some(1.5), [600, 4_800])]
    {
        let mut terminal = setup.settled(size, &kinds::REPOSITORIES, plan.rows);
        let name = format!("{}x{}", size.0, size.1);
        steps(plan, &mut terminal, table, &name, drawing, budgets);
        if size == SMALL {
            long_list(plan, &mut terminal, table);
        }
        terminal.leave();
    }
}

fn steps(plan: &Plan, terminal: &mut Terminal, table: &mut Table, at: &str, drawing: Option<f64>, budgets: [usize; 2]) {
    let process = terminal.process();
    let (mut times, mut processor, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut step, mut page) = (0, 0);
    for (key, most, stretch) in [("j", &mut step, 18), ("\x1b[6~", &mut page, usize::MAX)] {
        for round in 0..plan.rounds {
            // A step only redraws two rows while the list does not scroll.
            if round % stretch == 0 {
                terminal.go_to_first();
            }
            let before = (terminal.bytes, process.drawing(), process.writes());
            times.push(terminal.answer(key));
            *most = (*most).max(terminal.bytes - before.0);
            processor.push(Duration::from_nanos(process.drawing() - before.1));
            writes.push(process.writes() - before.2);
        }
    }
    table.times(&format!("key to first byte, {} rows, {at}", plan.rows), &times, [2.0, 16.0]);
    if let Some(budget) = drawing {
        let what = format!("processor time of a picture, with its update and its write, {at}");
        let figures = Figures::millis(&processor);
        let measured = format!("{:.2} ms, p95 {:.2} ms", figures.at(50), figures.at(95));
        table.row(&what, measured, &format!("{budget} ms"), Some(figures.at(50) <= budget));
    }
    let most = writes.iter().max().copied().unwrap_or_default();
    table.row(&format!("writes of a picture, {at}"), most.to_string(), "1", Some(most <= 1));
    let measured = format!("{step} / {page} B");
    let met = step <= budgets[0] && page <= budgets[1];
    table.row(
        &format!("most bytes of a step / a page, {at}"),
        measured,
        &format!("{} / {} B", budgets[0], budgets[1]),
        Some(met),
    );
}

fn long_list(plan: &Plan, terminal: &mut Terminal, table: &mut Table) {
    let process = terminal.process();
    terminal.go_to_first();
    let before = terminal.bytes;
    terminal.type_(&"j".repeat(400));
    terminal.wait_for("401/");
    terminal.settle();
    let sent = terminal.bytes - before;
    table.row("400 keys at once", format!("{sent} B"), "6,000 B", Some(sent <= 6_000));
    frames(terminal, table);
    let mut filter = Vec::new();
    for _ in 0..plan.rounds.div_ceil(8) {
        terminal.answer("/");
        for key in ["g", "a", "t", "e", "w"] {
            filter.push(terminal.answer(key));
        }
        terminal.answer("\x1b");
        terminal.settle();
    }
    table.times(&format!("filter {} rows, each key", plan.rows), &filter, [16.0, 16.0]);
    let sort: Vec<Duration> = (0..plan.rounds.div_ceil(4)).map(|_| terminal.answer("S")).collect();
    table.times(&format!("sort {} rows", plan.rows), &sort, [60.0, 60.0]);
    table.memory(&format!("memory with {} rows", plan.rows), process.resident(), MEMORY_MAX);
    let most = peak_memory_of_reload(terminal);
    table.memory(&format!("memory while {} rows are requested again, at most", plan.rows), most, MEMORY_MAX);
}

/// Reloads all rows and returns the peak of the resident memory until the program is idle, MiB.
pub(crate) fn peak_memory_of_reload(terminal: &mut Terminal) -> f64 {
    let process = terminal.process();
    terminal.type_("r");
    let mut most = process.resident();
    loop {
        let spent = process.spent();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            terminal.take(Duration::from_millis(20));
            most = most.max(process.resident());
        }
        // A difference below a quarter of a percent is noise.
        if process.spent() - spent < 1_250_000 {
            return most;
        }
    }
}

/// Measures the frame rate while a key is held down for a second.
fn frames(terminal: &mut Terminal, table: &mut Table) {
    let process = terminal.process();
    let (before, bytes, begun) = (process.writes(), terminal.bytes, Instant::now());
    while begun.elapsed() < Duration::from_secs(1) {
        terminal.type_("\x1b[6~");
        terminal.take(Duration::from_millis(5));
    }
    let pictures = process.writes() - before;
    let measured = format!("{pictures}/s, {} kB/s", (terminal.bytes - bytes) / 1_000);
    // One more than the rate, because the first picture is drawn immediately.
    table.row("pictures while a key is held down", measured, "30/s", Some(pictures <= 31));
    terminal.settle();
}

/// Measures bytes, processor time and wake-ups while the program is idle.
pub(crate) fn silence(plan: &Plan, table: &mut Table) {
    let setup = Setup::repositories(plan.rows);
    let mut terminal = setup.settled(SMALL, &kinds::REPOSITORIES, plan.rows);
    let (bytes, spent, switches, _) = listen(&mut terminal, plan.silence);
    let what = format!("nothing live for {} s: bytes, wake-ups, processor", plan.silence);
    let measured = format!("{bytes} B, {switches}, {spent:.2} ms");
    table.row(&what, measured, "0, 0, 0", Some(bytes == 0 && switches == 0));
    terminal.leave();
    let setup = Setup::repositories(50);
    let mut terminal = setup.terminal(SMALL);
    terminal.wait_for("? help");
    terminal.type_("1");
    terminal.wait_for("[1 Dash]");
    let (bytes, spent, switches, part) = listen(&mut terminal, plan.silence);
    let what = format!("the live dashboard for {} s: bytes, wake-ups, share of a processor", plan.silence);
    table.row(&what, format!("{bytes} B, {switches}, {part:.2} % ({spent:.0} ms)"), "≤ 0.5 %", Some(part <= 0.5));
    terminal.leave();
}

fn listen(terminal: &mut Terminal, seconds: u64) -> (usize, f64, u64, f64) {
    let process = terminal.process();
    // Wait until running work has ended.
    while terminal.take(Duration::from_secs(2)) && process.spent() == 0 {}
    let (bytes, spent, switches, begun) = (terminal.bytes, process.spent(), process.switches(), Instant::now());
    let duration = Duration::from_secs(seconds);
    while let Some(left) = duration.checked_sub(begun.elapsed()) {
        terminal.take(left);
    }
    let spent = Duration::from_nanos(process.spent() - spent);
    let part = spent.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0;
    (terminal.bytes - bytes, spent.as_secs_f64() * 1_000.0, process.switches() - switches, part)
}

/// Measures the time from the end of the terminal to the end of the program.
pub(crate) fn end(plan: &Plan, table: &mut Table) {
    let setup = Setup::repositories(50);
    let times: Vec<Duration> = (0..plan.rounds)
        .map(|_| {
            let mut terminal = setup.terminal(SMALL);
            terminal.wait_for("? help");
            terminal.settle();
            terminal.close()
        })
        .collect();
    let figures = Figures::millis(&times);
    let measured = format!("{:.2} ms, at most {:.2} ms", figures.at(50), figures.most());
    table.row("terminal closed to program gone", measured, "100 ms", Some(figures.most() <= 100.0));
}
