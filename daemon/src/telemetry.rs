//! Log lines: to standard error for the journal, and to rotated files when configured.
//!
//! No line holds a token, a signature or a secret: requests are logged without their query.

use std::{fs::DirBuilder, io::IsTerminal as _, os::unix::fs::DirBuilderExt as _};

use tokio::sync::watch;
use tracing_appender::{non_blocking::WorkerGuard, rolling};
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    fmt,
    layer::SubscriberExt as _,
    reload::{self, Handle},
    util::SubscriberInitExt as _,
};

use crate::config::Log;

/// Why logs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The directory for files cannot be made.
    #[error("log.directory cannot be made")]
    Make(#[source] std::io::Error),
    /// The directory for files cannot be used.
    #[error("log.directory cannot be used")]
    Directory(#[from] rolling::InitError),
}

/// Where lines go. It must live as long as lines are to be written.
pub struct Logs {
    filters: Vec<Handle<Targets, Registry>>,
    _files: Option<WorkerGuard>,
}

impl Logs {
    /// Logs what `wanted` says, in the words of `log.filter`, whenever that changes. Never ends.
    pub async fn follow(&self, mut wanted: watch::Receiver<String>) {
        while wanted.changed().await.is_ok() {
            let directives = wanted.borrow_and_update().clone();
            for filter in &self.filters {
                // The subscriber is there as long as the process.
                let _ = filter.modify(|targets| *targets = parse(&directives));
            }
        }
        std::future::pending::<()>().await;
    }
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging.
pub fn init(log: &Log) -> Result<Logs, TelemetryError> {
    let mut filters = Vec::new();
    let mut filtered = |layer: BoxedLayer| -> BoxedLayer {
        let (filter, handle) = reload::Layer::new(parse(&log.filter));
        filters.push(handle);
        layer.with_filter(filter).boxed()
    };
    let terminal = std::io::stderr().is_terminal();
    // The journal stamps lines by itself.
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let stderr = fmt::layer().with_writer(std::io::stderr).with_ansi(terminal);
    let stderr: BoxedLayer = match (log.json, journal) {
        (true, _) => stderr.json().boxed(),
        (false, true) => stderr.without_time().boxed(),
        (false, false) => stderr.boxed(),
    };
    let mut layers = vec![filtered(stderr)];
    let mut guard = None;
    if let Some(directory) = &log.directory {
        // The appender makes it, too, but only after it has complained on standard error that it cannot read it.
        DirBuilder::new().recursive(true).mode(0o750).create(directory).map_err(TelemetryError::Make)?;
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
        let file: BoxedLayer = if log.json { file.json().boxed() } else { file.boxed() };
        layers.push(filtered(file));
    }
    tracing_subscriber::registry().with(layers).init();
    Ok(Logs { filters, _files: guard })
}

/// The configuration has checked them.
fn parse(directives: &str) -> Targets {
    directives.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO))
}
