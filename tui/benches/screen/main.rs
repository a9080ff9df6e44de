//! The full screen on a terminal, beside its budgets: the figures of `docs/benchmarks.md`.
//!
//! `cargo bench -p farrier --bench screen -- --quick` tries everything with few rows and few rounds.
//! The program is the real one, on a pseudo-terminal; its daemon is a thread of this process that
//! answers from memory, so that what is measured is the program. A missed budget is reported and
//! fails nothing.
#![allow(clippy::unwrap_used, reason = "whatever fails here ends the measurement")]
#![allow(missing_docs, reason = "a program of its own")]

mod daemon;
mod figures;
mod process;
mod rows;
mod terminal;

use clap::Parser as _;

/// Measures the full screen.
#[derive(clap::Parser)]
struct Args {
    /// Few rows and rounds: tries the bench rather than the program.
    #[arg(long)]
    quick: bool,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How much is measured.
pub(crate) struct Plan {
    /// Rows of the long list.
    pub(crate) rows: usize,
    /// How often something short is done.
    pub(crate) rounds: usize,
    /// Seconds of silence that are listened to.
    pub(crate) silence: u64,
}

fn main() {
    let quick = Args::parse().quick;
    let plan = if quick {
        Plan { rows: 2_000, rounds: 5, silence: 3 }
    } else {
        Plan { rows: 100_000, rounds: 40, silence: 60 }
    };
    let mut table = figures::Table::default();
    rows::start(&plan, &mut table);
    rows::keys(&plan, &mut table);
    rows::silence(&plan, &mut table);
    rows::end(&plan, &mut table);
    println!("{table}");
}
