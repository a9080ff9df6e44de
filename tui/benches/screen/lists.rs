//! Measures the memory of every kind of list, and keys in it at every size.

use crate::{
    Plan,
    figures::{Figures, Table},
    kinds,
    rows::{LARGE, MEMORY_MAX, SMALL, Setup, WIDE, peak_memory_of_reload},
    terminal::Terminal,
};

/// Measures the memory, the cursor and the filter in lists of all kinds.
pub(crate) fn keys(plan: &Plan, table: &mut Table) {
    for kind in kinds::ALL {
        let setup = Setup::with((kind.listings)(plan.rows));
        let rows = kind.load.loaded(plan.rows);
        let mut terminal = setup.settled(SMALL, &kind, rows);
        let (what, resident) = (format!("memory, {}, {rows} rows", kind.name), terminal.process().resident());
        table.memory(&what, resident, MEMORY_MAX);
        table.memory(
            &format!("{what}, at most while they are requested again"),
            peak_memory_of_reload(&mut terminal),
            MEMORY_MAX,
        );
        for size in [SMALL, WIDE, LARGE] {
            terminal.resize(size);
            one(plan, &mut terminal, (kind.name, rows), size, table);
        }
        terminal.leave();
    }
}

/// Measures one kind of list at one size.
fn one(plan: &Plan, terminal: &mut Terminal, (name, rows): (&str, usize), size: (u16, u16), table: &mut Table) {
    let (mut steps, mut first, mut further) = (Vec::new(), Vec::new(), Vec::new());
    terminal.go_to_first();
    for _ in 0..plan.rounds.div_ceil(7) {
        steps.push(terminal.answer("j"));
    }
    for _ in 0..plan.rounds.div_ceil(10) {
        terminal.rest();
        terminal.answer("/");
        first.push(terminal.answer("g"));
        further.extend(["a", "t"].map(|key| terminal.answer(key)));
        terminal.answer("\x1b");
    }
    terminal.rest();
    let [steps, first, further] = [steps, first, further].map(|times| Figures::millis(&times));
    let both = |figures: &Figures| format!("{:.2} / {:.2}", figures.at(50), figures.at(95));
    let measured = format!(
        "cursor {} ms, first key of a filter {} ms, further keys {} ms",
        both(&steps),
        both(&first),
        both(&further)
    );
    let met = steps.at(50) <= 2.0 && [steps, first, further].iter().all(|figures| figures.at(95) <= 16.0);
    let what = format!("{name}, {rows} rows, {}x{}, median / p95", size.0, size.1);
    table.row(&what, measured, "2 / 16 ms, 16 ms, 16 ms", Some(met));
}
