//! Configuration reload. SIGHUP starts it. The result goes to the log, to the service manager, and to a small file that
//! `farrierd reload` waits for.

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
    control::{Control, ReloadResult},
    manager,
    running::{self, FindError},
    service::Error,
};

/// Last word of the first line of the result file: the configuration was applied.
const APPLIED: &str = "taken";
/// Last word of the first line of the result file: the configuration was refused.
const REFUSED: &str = "refused";

/// Interval at which `farrierd reload` reads the result file.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of reads before `farrierd reload` gives up: 30 seconds in total.
const POLLS_MAX: usize = 1_500;

/// Reloads the configuration with `read` at each SIGHUP. Never returns.
pub async fn serve(
    mut hangups: unix::Signal,
    read: impl Fn() -> Result<Config, ArgsError>,
    control: Control,
    data_dir: &Path,
) {
    while hangups.recv().await.is_some() {
        manager::reloading();
        let (word, lines) = match read() {
            Ok(config) => match control.reload(config).await {
                Ok(result) => (APPLIED, report_applied(&result)),
                Err(error) => (REFUSED, report_unrecorded(&error)),
            },
            Err(error) => {
                control.refused(&error.to_string()).await;
                (REFUSED, report_refused(&error))
            }
        };
        if let Err(error) = write_result(data_dir, word, &lines) {
            tracing::warn!(%error, "writing the result of the reload failed");
        }
        manager::ready(if word == APPLIED { "ready" } else { "ready; the new configuration was refused" });
    }
    std::future::pending::<()>().await;
}

/// Logs the result of a reload and returns it as lines for the result file.
fn report_applied(result: &ReloadResult) -> Vec<String> {
    let mut lines = Vec::new();
    if result.changed {
        tracing::info!("configuration reloaded");
        lines.push("configuration reloaded".to_owned());
    } else {
        tracing::info!("configuration reloaded; nothing changed");
        lines.push("nothing changed".to_owned());
    }
    for key in &result.pending {
        tracing::warn!(key, "the new value takes effect at the next start");
        lines.push(format!("{key}: the new value takes effect at the next start"));
    }
    lines
}

/// Logs why a configuration was refused and returns the reasons as lines for the result file.
fn report_refused(error: &ArgsError) -> Vec<String> {
    let mut lines = vec![format!("{error}; the old configuration stays in effect")];
    match error {
        ArgsError::Problems(problems) => lines.extend(problems.iter().map(ToString::to_string)),
        ArgsError::Read { source, .. } => lines.push(source.to_string()),
    }
    for line in &lines {
        tracing::error!("{line}");
    }
    lines
}

/// Logs that a configuration was refused because the reload cannot be recorded in the audit log.
fn report_unrecorded(error: &Error) -> Vec<String> {
    let error = error as &dyn std::error::Error;
    tracing::error!(error, "the reload could not be recorded in the audit log; the old configuration stays in effect");
    vec![
        "the reload could not be recorded in the audit log, which audit.required demands; the old configuration stays \
         in effect"
            .to_owned(),
    ]
}

fn result_file(data_dir: &Path) -> PathBuf {
    data_dir.join("last-reload")
}

/// Writes the result file. The first line has the time, so that each result differs from the one before it.
fn write_result(data_dir: &Path, word: &str, lines: &[String]) -> io::Result<()> {
    let text = format!("{} {} {word}\n{}\n", Clock::system().now_ms(), std::process::id(), lines.join("\n"));
    let fresh = data_dir.join("last-reload.new");
    fs::write(&fresh, text)?;
    fs::rename(&fresh, result_file(data_dir))
}

/// Why the running daemon did not apply the new configuration.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// No daemon runs with this data directory, or it cannot be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The given process is not the daemon.
    #[error(
        "process {named} is not the farrierd of the data directory {path}, which is process {pid}; nothing was reloaded"
    )]
    OtherProcess {
        /// The given process.
        named: i32,
        /// The daemon.
        pid: i32,
        /// Its data directory.
        path: PathBuf,
    },
    /// The daemon cannot be signalled.
    #[error("sending the reload signal to the daemon, process {pid}, failed")]
    Signal {
        /// The daemon.
        pid: i32,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The daemon ended before it wrote a result.
    #[error("the daemon, process {pid}, ended before it had reloaded; see its log")]
    Ended {
        /// The daemon.
        pid: i32,
    },
    /// The daemon did not write a result in time.
    #[error("the daemon, process {pid}, did not report a result within 30 seconds; see its log")]
    Silent {
        /// The daemon.
        pid: i32,
    },
    /// The daemon refused the configuration.
    #[error("{0}")]
    Refused(String),
}

/// Makes the daemon that uses `data_dir` reload its configuration, and returns the result that it reports.
///
/// Signals only that daemon: if `named` is given and is not its process id, this fails.
pub fn request(named: Option<i32>, data_dir: &Path) -> Result<String, ReloadError> {
    let daemon = running::find(data_dir)?;
    let pid = daemon.pid;
    if let Some(named) = named.filter(|named| *named != pid) {
        return Err(ReloadError::OtherProcess { named, pid, path: data_dir.to_owned() });
    }
    let failed = |source| ReloadError::Signal { pid, source };
    let read_result = || fs::read_to_string(result_file(data_dir)).unwrap_or_default();
    let previous = read_result();
    daemon.hang_up().map_err(failed)?;
    for _ in 0..POLLS_MAX {
        let result = read_result();
        if result != previous && !result.is_empty() {
            let (head, lines) = result.split_once('\n').unwrap_or((&result, ""));
            let lines = lines.trim_end().to_owned();
            return if head.ends_with(APPLIED) { Ok(lines) } else { Err(ReloadError::Refused(lines)) };
        }
        if daemon.ends_within(POLL_INTERVAL).map_err(failed)? {
            return Err(ReloadError::Ended { pid });
        }
    }
    Err(ReloadError::Silent { pid })
}
