//! Measures the full screen on a terminal against its budgets. The results are in `docs/benchmarks.md`.
//!
//! `cargo bench -p farrier --bench screen -- --quick` runs everything with few rows and rounds, `-- --lists` only the
//! lists of all kinds. The benchmark runs the real program on a pseudo-terminal. Its daemon is a thread of the
//! benchmark that responds from memory, so that only the program is measured. An exceeded budget is reported but is
//! not an error.
#![allow(clippy::unwrap_used, reason = "a failure ends the measurement")]
#![allow(missing_docs, reason = "a program of its own")]

mod daemon;
mod figures;
mod kinds;
mod lists;
mod process;
mod rows;
mod terminal;

use clap::Parser as _;

/// Measures the full screen.
#[derive(clap::Parser)]
struct Args {
    /// Few rows and rounds, to test the benchmark itself.
    #[arg(long)]
    quick: bool,
    /// Only the lists of all kinds.
    #[arg(long)]
    lists: bool,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The size of the measurements.
pub(crate) struct Plan {
    /// Number of rows of the long list.
    pub(crate) rows: usize,
    /// Number of repetitions of short measurements.
    pub(crate) rounds: usize,
    /// Duration of the idle measurement, seconds.
    pub(crate) silence: u64,
}

fn main() {
    let args = Args::parse();
    let plan = if args.quick {
        Plan { rows: 2_000, rounds: 5, silence: 3 }
    } else {
        Plan { rows: 100_000, rounds: 40, silence: 60 }
    };
    let mut table = figures::Table::default();
    if !args.lists {
        rows::start(&plan, &mut table);
        rows::keys(&plan, &mut table);
        rows::silence(&plan, &mut table);
        rows::end(&plan, &mut table);
    }
    lists::keys(&plan, &mut table);
    println!("{table}");
}
