//! Compares farrier with other servers in one run. The results are in `docs/benchmarks.md`.
//!
//! `cargo bench -p farrier-budgets -- --quick` runs everything with small sizes. This process
//! generates the load. Every server is a separate process, so that memory and processor time can be
//! distinguished. Rounds of farrier and of the server that it is compared with alternate.
//!
//! An exceeded budget is reported but is not an error: these are measurements, not tests.

mod child;
mod client;
mod farrier;
mod figures;
mod load;
mod plan;
mod program;
mod rows;
mod servers;
mod table;

use std::{process::ExitCode, time::Instant};

use clap::Parser as _;

use self::{
    plan::{Args, Mode, Plan},
    table::Table,
};

/// An error ends the benchmark.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("budgets: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match args.mode {
        Some(Mode::Serve { kind, dir }) => runtime.block_on(servers::own::serve(kind, dir)),
        None => runtime.block_on(measure(&Plan::new(&args)?)),
    }
}

async fn measure(plan: &Plan) -> Result<()> {
    program::farrierd()?; // built before anything is measured
    let begun = Instant::now();
    let mut table = Table::default();
    let mut failed = Ok(());
    for (name, row) in rows::ALL {
        if plan.selects(name) {
            eprintln!("{:>5.0} s  {name}", begun.elapsed().as_secs_f64());
            // The other rows are still measured and written.
            if let Err(error) = row(plan, &mut table).await {
                eprintln!("budgets: {name}: {error}");
                failed = Err("not all rows were measured".into());
            }
        }
    }
    println!("{}", table.text(plan));
    let file = plan.markdown()?;
    std::fs::write(&file, table.markdown(plan))?;
    eprintln!("{:>5.0} s  written to {}", begun.elapsed().as_secs_f64(), file.display());
    failed
}
