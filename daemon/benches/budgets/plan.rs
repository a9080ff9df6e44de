//! The selection and the sizes of the measurements.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Parser, Subcommand};

use crate::{Result, program, rows, servers::own::Kind};

const MIB: u64 = 1 << 20;

/// Compares farrier with other servers.
#[derive(Parser)]
pub(crate) struct Args {
    /// Small sizes and few rounds, to test the benchmark itself.
    #[arg(long)]
    quick: bool,
    /// Rows to measure, such as `get,upload`; default: all but `many-refs`, `many-pushes` and `large-repository`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Number of rounds; default: that of the plan.
    #[arg(long)]
    rounds: Option<usize>,
    /// Number of jobs of the row `ci-day`; default: 1,000. There is one repository for 25 of them.
    #[arg(long)]
    jobs: Option<usize>,
    /// Size of the repository whose cold copy is measured in the row `bucket`, MiB; default: 256.
    #[arg(long)]
    cold_mib: Option<usize>,
    /// Number of refs in the row `many-refs`; default: 1,000,000.
    #[arg(long)]
    refs: Option<usize>,
    /// Number of pushes in the row `many-pushes`; default: 100,000.
    #[arg(long)]
    pushes: Option<usize>,
    /// Size of the repository in the row `large-repository`, MiB; default: 5,120.
    #[arg(long)]
    large_mib: Option<usize>,
    /// Directory for all data, on the disk to measure.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    pub(crate) mode: Option<Mode>,
}

/// What this program does when it is not the load generator.
#[derive(Subcommand)]
pub(crate) enum Mode {
    /// Runs a reference server.
    #[command(hide = true)]
    Serve {
        /// Kind of server.
        kind: Kind,
        /// Its directory.
        dir: PathBuf,
    },
}

/// Sizes of one run.
pub(crate) struct Plan {
    only: Vec<String>,
    /// Contains the data of all servers; removed at the end.
    dir: tempfile::TempDir,
    pub(crate) quick: bool,
    /// Number of rounds in which farrier and its references alternate.
    pub(crate) rounds: usize,
    /// Duration of one round of requests.
    pub(crate) round: Duration,
    /// Size of an artifact, bytes.
    pub(crate) artifact: u64,
    /// Size of its blocks, bytes.
    pub(crate) block: u64,
    /// Number of rows in the store whose opening is timed.
    pub(crate) store_rows: u64,
    /// Number of jobs of a day.
    pub(crate) jobs: usize,
    /// Size of a large push, and of the repository whose cold copy is measured, MiB.
    pub(crate) push_mib: usize,
    pub(crate) cold_mib: usize,
    /// Sizes of the rows that take long.
    pub(crate) refs: usize,
    pub(crate) pushes: usize,
    pub(crate) large_mib: usize,
    /// Number of daemon starts.
    pub(crate) starts: usize,
    /// Number of restarts and kills under load.
    pub(crate) restarts: usize,
    pub(crate) kills: usize,
    /// Number of idle connections and of connections that send slowly.
    pub(crate) idle_connections: usize,
    pub(crate) slow_connections: usize,
    /// After this time a daemon is idle: unused blocking threads have ended.
    pub(crate) rest: Duration,
    /// Duration of the idle measurement.
    pub(crate) idle: Duration,
}

impl Plan {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        if let Some(unknown) = args.only.iter().find(|only| rows::ALL.iter().all(|(name, _)| name != *only)) {
            let known: Vec<_> = rows::ALL.iter().map(|(name, _)| *name).collect();
            return Err(format!("no row is called {unknown}; there are {}", known.join(", ")).into());
        }
        let dir = match &args.dir {
            Some(dir) => tempfile::tempdir_in(dir)?,
            None => tempfile::tempdir()?,
        };
        let (quick, full) = (args.quick, !args.quick);
        Ok(Self {
            only: args.only.clone(),
            dir,
            quick,
            rounds: args.rounds.unwrap_or(if full { 5 } else { 2 }),
            round: Duration::from_millis(if full { 2_000 } else { 200 }),
            artifact: if full { 1_024 * MIB } else { 32 * MIB },
            block: if full { 8 * MIB } else { MIB },
            store_rows: if full { 3_000_000 } else { 20_000 },
            jobs: args.jobs.unwrap_or(if full { 1_000 } else { 50 }),
            push_mib: if full { 500 } else { 20 },
            cold_mib: args.cold_mib.unwrap_or(if full { 256 } else { 20 }),
            refs: args.refs.unwrap_or(if full { 1_000_000 } else { 5_000 }),
            pushes: args.pushes.unwrap_or(if full { 100_000 } else { 120 }),
            large_mib: args.large_mib.unwrap_or(if full { 5_120 } else { 40 }),
            starts: if full { 11 } else { 3 },
            restarts: if full { 50 } else { 3 },
            kills: if full { 10 } else { 2 },
            idle_connections: if full { 10_000 } else { 500 },
            slow_connections: if full { 1_000 } else { 50 },
            rest: Duration::from_secs(if full { 12 } else { 0 }),
            idle: Duration::from_secs(if full { 10 } else { 1 }),
        })
    }

    pub(crate) fn selects(&self, row: &str) -> bool {
        let named = self.only.iter().any(|only| only == row);
        named || (self.only.is_empty() && !rows::LONG.contains(&row))
    }

    /// Returns a new directory for one server.
    pub(crate) fn dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.path().join(name);
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// Returns the path of the Markdown table, in cargo's target directory.
    pub(crate) fn markdown(&self) -> Result<PathBuf> {
        let target = program::farrierd()?.ancestors().nth(2).unwrap_or(Path::new("."));
        Ok(target.join(if self.quick { "budgets-quick.md" } else { "budgets.md" }))
    }
}
