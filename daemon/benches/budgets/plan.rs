//! What is measured, and how much of it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Parser, Subcommand};

use crate::{Result, rows, servers::own::Kind};

const MIB: u64 = 1 << 20;

/// Measures farrier beside other servers.
#[derive(Parser)]
pub(crate) struct Args {
    /// Small sizes and few rounds: tries the benches rather than farrier.
    #[arg(long)]
    quick: bool,
    /// Rows to measure, such as `get,upload`; all without it.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds instead of the plan's.
    #[arg(long)]
    rounds: Option<usize>,
    /// Where data is kept while measuring; on the disk that is to be measured.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    pub(crate) mode: Option<Mode>,
}

/// What this program is when it is not the load generator.
#[derive(Subcommand)]
pub(crate) enum Mode {
    /// A server to compare with.
    #[command(hide = true)]
    Serve {
        /// Which.
        kind: Kind,
        /// Its directory.
        dir: PathBuf,
    },
}

/// Sizes of one run.
pub(crate) struct Plan {
    only: Vec<String>,
    /// Holds everybody's data; removed at the end.
    dir: tempfile::TempDir,
    pub(crate) quick: bool,
    /// Rounds in which farrier and its references alternate.
    pub(crate) rounds: usize,
    /// How long one round of requests lasts.
    pub(crate) round: Duration,
    /// One artifact, bytes.
    pub(crate) artifact: u64,
    /// One block of it, bytes.
    pub(crate) block: u64,
    /// Rows in the store whose opening is timed.
    pub(crate) store_rows: u64,
    /// Starts of a daemon.
    pub(crate) starts: usize,
    /// Restarts and kills under load.
    pub(crate) restarts: usize,
    pub(crate) kills: usize,
    /// Connections that ask nothing, and that ask slowly.
    pub(crate) idle_connections: usize,
    pub(crate) slow_connections: usize,
    /// A daemon is at rest by then: threads that waited for more blocking work have ended.
    pub(crate) rest: Duration,
    /// How long an idle daemon is watched.
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
            starts: if full { 11 } else { 3 },
            restarts: if full { 50 } else { 3 },
            kills: if full { 10 } else { 2 },
            idle_connections: if full { 10_000 } else { 500 },
            slow_connections: if full { 1_000 } else { 50 },
            rest: Duration::from_secs(if full { 12 } else { 0 }),
            idle: Duration::from_secs(if full { 10 } else { 1 }),
        })
    }

    pub(crate) fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == row)
    }

    /// A fresh directory for one server.
    pub(crate) fn dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.path().join(name);
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// The table's file, in cargo's target directory.
    pub(crate) fn markdown(&self) -> PathBuf {
        let target = Path::new(env!("CARGO_BIN_EXE_farrierd")).ancestors().nth(2).unwrap_or(Path::new("."));
        target.join(if self.quick { "budgets-quick.md" } else { "budgets.md" })
    }
}
