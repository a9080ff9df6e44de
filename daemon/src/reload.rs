//! Reading the configuration again: SIGHUP asks, and what came of it is said in the log, to the
//! service manager, and in a small file for which `farrierd reload` waits.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::signal::unix;

use crate::{
    args::ArgsError,
    clock::Clock,
    config::Config,
    control::{Control, Reloaded},
    manager,
    running::{self, FindError},
};

/// The first line of an answer ends with one of these.
const TAKEN: &str = "taken";
const REFUSED: &str = "refused";

/// How long `farrierd reload` waits between two looks for an answer, and how often it looks: 30 seconds in all.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 1_500;

/// Answers every SIGHUP with what `read` finds. Never ends.
pub async fn serve(
    mut hangups: unix::Signal,
    read: impl Fn() -> Result<Config, ArgsError>,
    control: Control,
    data_dir: &Path,
) {
    while hangups.recv().await.is_some() {
        manager::reloading();
        let (word, lines) = match read() {
            Ok(config) => (TAKEN, taken(&control.reload(config))),
            Err(error) => (REFUSED, refused(&error)),
        };
        if let Err(error) = answer(data_dir, word, &lines) {
            tracing::warn!(%error, "what came of the new configuration cannot be written");
        }
        manager::ready(if word == TAKEN { "ready" } else { "ready; the new configuration was refused" });
    }
    std::future::pending::<()>().await;
}

fn taken(reloaded: &Reloaded) -> Vec<String> {
    let mut lines = Vec::new();
    if reloaded.changed {
        tracing::info!("the new configuration holds");
        lines.push("the new configuration holds".to_owned());
    } else {
        tracing::info!("the configuration was read again; nothing changes");
        lines.push("nothing changes".to_owned());
    }
    for key in &reloaded.waiting {
        tracing::warn!(key, "the new value holds from the next start");
        lines.push(format!("{key}: the new value holds from the next start"));
    }
    lines
}

fn refused(error: &ArgsError) -> Vec<String> {
    let mut lines = vec![format!("{error}; the old one holds")];
    match error {
        ArgsError::Problems(problems) => lines.extend(problems.iter().map(ToString::to_string)),
        ArgsError::Read { source, .. } => lines.push(source.to_string()),
    }
    for line in &lines {
        tracing::error!("{line}");
    }
    lines
}

fn answer_file(data_dir: &Path) -> PathBuf {
    data_dir.join("last-reload")
}

/// Every answer differs from the one before it, also when it says the same.
fn answer(data_dir: &Path, word: &str, lines: &[String]) -> io::Result<()> {
    let text = format!("{} {} {word}\n{}\n", Clock::system().now_ms(), std::process::id(), lines.join("\n"));
    let fresh = data_dir.join("last-reload.new");
    fs::write(&fresh, text)?;
    fs::rename(&fresh, answer_file(data_dir))
}

/// Why the running daemon does not have the new configuration.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// No daemon runs with this data directory, or it cannot be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// Another process was named.
    #[error(
        "process {named} is not the farrierd of the data directory {path}, which is process {pid}; nothing was reloaded"
    )]
    OtherProcess {
        /// The process that was named.
        named: i32,
        /// The daemon.
        pid: i32,
        /// Its data directory.
        path: PathBuf,
    },
    /// The daemon cannot be signalled.
    #[error("the daemon, process {pid}, cannot be asked to reload")]
    Signal {
        /// The daemon.
        pid: i32,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It ended.
    #[error("the daemon, process {pid}, ended before it had reloaded; its log says why")]
    Ended {
        /// The daemon.
        pid: i32,
    },
    /// It did not answer in time.
    #[error("the daemon, process {pid}, did not report a result within 30 seconds; its log says more")]
    Silent {
        /// The daemon.
        pid: i32,
    },
    /// It refused the file.
    #[error("{0}")]
    Refused(String),
}

/// Makes the daemon whose data is in `data_dir` read its configuration again; returns what it reports.
///
/// Only that daemon is ever signalled: `named`, if given, must be its process.
pub fn ask(named: Option<i32>, data_dir: &Path) -> Result<String, ReloadError> {
    let daemon = running::find(data_dir)?;
    let pid = daemon.pid;
    if let Some(named) = named.filter(|named| *named != pid) {
        return Err(ReloadError::OtherProcess { named, pid, path: data_dir.to_owned() });
    }
    let failed = |source| ReloadError::Signal { pid, source };
    let said = || fs::read_to_string(answer_file(data_dir)).unwrap_or_default();
    let before = said();
    daemon.hang_up().map_err(failed)?;
    for _ in 0..LOOKS_MAX {
        let now = said();
        if now != before && !now.is_empty() {
            let (head, lines) = now.split_once('\n').unwrap_or((&now, ""));
            let lines = lines.trim_end().to_owned();
            return if head.ends_with(TAKEN) { Ok(lines) } else { Err(ReloadError::Refused(lines)) };
        }
        if daemon.ends_within(LOOK).map_err(failed)? {
            return Err(ReloadError::Ended { pid });
        }
    }
    Err(ReloadError::Silent { pid })
}
