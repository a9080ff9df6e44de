//! Reading the configuration again: SIGHUP asks, and what came of it is said in the log, to the
//! service manager, and in a small file for which `farrierd reload` waits.

use std::{
    error::Error as StdError,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::signal::unix;

use crate::{
    args::ArgsError,
    clock::Clock,
    config::Config,
    control::{Control, Reloaded},
    manager,
};

/// The first line of an answer ends with one of these.
const TAKEN: &str = "taken";
const REFUSED: &str = "refused";

/// How often `farrierd reload` looks for an answer, and how often at most.
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

/// Why a running daemon does not have the new configuration.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// There is no such process, or it belongs to somebody else.
    #[error("process {pid} cannot be asked to reload")]
    Signal {
        /// The process.
        pid: i32,
        /// Why.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// It said nothing.
    #[error("process {pid} did not say what came of it; is {path} its data directory?")]
    Silent {
        /// The process.
        pid: i32,
        /// Where it should have.
        path: PathBuf,
    },
    /// It refused the file.
    #[error("{0}")]
    Refused(String),
}

/// Lets the daemon `pid`, whose data lies in `data_dir`, read its configuration again; gives what it
/// says to it.
pub fn ask(pid: i32, data_dir: &Path) -> Result<String, ReloadError> {
    let signal = |source: Box<dyn StdError + Send + Sync>| ReloadError::Signal { pid, source };
    let process = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(|| signal("it is no process".into()))?;
    let said = || fs::read_to_string(answer_file(data_dir)).unwrap_or_default();
    let before = said();
    kill_process(process, Signal::HUP).map_err(|error| signal(error.into()))?;
    for _ in 0..LOOKS_MAX {
        let now = said();
        if now != before && !now.is_empty() {
            let (head, lines) = now.split_once('\n').unwrap_or((&now, ""));
            let lines = lines.trim_end().to_owned();
            return if head.ends_with(TAKEN) { Ok(lines) } else { Err(ReloadError::Refused(lines)) };
        }
        test_kill_process(process).map_err(|error| signal(error.into()))?;
        std::thread::sleep(LOOK);
    }
    Err(ReloadError::Silent { pid, path: data_dir.to_owned() })
}
