//! Log lines: to standard error for the journal, and to rotated files when configured.
//!
//! No line holds a token, a signature or a secret: requests are logged without their query.

use std::io::IsTerminal as _;

use tracing_appender::{non_blocking::WorkerGuard, rolling};
use tracing_subscriber::{
    Layer, Registry, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::config::Log;

/// Why logs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The directory for files cannot be used.
    #[error("log.directory cannot be used")]
    Directory(#[from] rolling::InitError),
}

/// Starts logging. What is given back must live as long as lines are to be written.
pub fn init(log: &Log) -> Result<Option<WorkerGuard>, TelemetryError> {
    let filter = || log.filter.parse::<Targets>().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO));
    let terminal = std::io::stderr().is_terminal();
    // The journal stamps lines by itself.
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let stderr = fmt::layer().with_writer(std::io::stderr).with_ansi(terminal);
    let stderr: Box<dyn Layer<Registry> + Send + Sync> = match (log.json, journal) {
        (true, _) => stderr.json().boxed(),
        (false, true) => stderr.without_time().boxed(),
        (false, false) => stderr.boxed(),
    };
    let mut layers = vec![stderr.with_filter(filter()).boxed()];
    let mut guard = None;
    if let Some(directory) = &log.directory {
        let files = rolling::Builder::new()
            .rotation(rolling::Rotation::DAILY)
            .filename_prefix("farrierd")
            .filename_suffix("log")
            .max_log_files(log.keep_files)
            .build(directory)?;
        // Lossy by default: a burst would lose lines just when they matter.
        let (writer, worker) = tracing_appender::non_blocking::NonBlockingBuilder::default().lossy(false).finish(files);
        guard = Some(worker);
        let file = fmt::layer().with_writer(writer).with_ansi(false);
        let file: Box<dyn Layer<Registry> + Send + Sync> = if log.json { file.json().boxed() } else { file.boxed() };
        layers.push(file.with_filter(filter()).boxed());
    }
    tracing_subscriber::registry().with(layers).init();
    Ok(guard)
}
