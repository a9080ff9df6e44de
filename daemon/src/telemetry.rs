//! Logging: to standard error for the journal, to rotated files if configured, and to memory for the API.
//!
//! Log lines must not contain tokens, signatures or secrets. Requests are logged without their query.

mod fields;
mod log_files;
mod record_layer;
pub mod records;

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

use self::{record_layer::RecordLayer, records::LogRecords};
use crate::{clock::Clock, config::LogConfig};

/// Target of requests for log records. These events are written, but not kept in memory: otherwise a client that
/// follows the log would cause a new record with each of its requests.
pub const UNRECORDED_TARGET: &str = "farrierd::access::logs";

/// Why logging could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The directory for log files cannot be created.
    #[error("creating log.directory failed")]
    Create(#[source] std::io::Error),
    /// A log file cannot be opened.
    #[error("opening a log file in log.directory failed")]
    Directory(#[from] rolling::InitError),
}

/// The running log writers. Dropping this stops writing to files.
pub struct Logs {
    filters: Vec<Handle<Targets, Registry>>,
    _files: Option<WorkerGuard>,
}

impl Logs {
    /// Applies each new value of `log_filter`, in the format of `log.filter`. Never returns.
    pub async fn follow(&self, mut log_filter: watch::Receiver<String>) {
        while log_filter.changed().await.is_ok() {
            let directives = log_filter.borrow_and_update().clone();
            for filter in &self.filters {
                // Fails only if the subscriber was dropped, but it exists as long as the process.
                let _ = filter.modify(|targets| *targets = parse(&directives));
            }
        }
        std::future::pending::<()>().await;
    }
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging.
pub fn init(log: &LogConfig) -> Result<Logs, TelemetryError> {
    let mut filters = Vec::new();
    let mut filtered = |layer: BoxedLayer| -> BoxedLayer {
        let (filter, handle) = reload::Layer::new(parse(&log.filter));
        filters.push(handle);
        layer.with_filter(filter).boxed()
    };
    let terminal = std::io::stderr().is_terminal();
    // The journal adds timestamps itself.
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
        // The appender would create the directory, too, but prints an error to standard error first.
        DirBuilder::new().recursive(true).mode(0o750).create(directory).map_err(TelemetryError::Create)?;
        let files = rolling::Builder::new()
            .rotation(rolling::Rotation::DAILY)
            .filename_prefix("farrierd")
            .filename_suffix("log")
            .max_log_files(log.keep_files)
            .build(directory)?;
        let (writer, worker) = log_files::writer(files);
        guard = Some(worker);
        let file = fmt::layer().with_writer(writer).with_ansi(false);
        let file: BoxedLayer = if log.json { file.json().boxed() } else { file.boxed() };
        layers.push(filtered(file));
    }
    if log.recent_records > 0 {
        layers.push(filtered(record_layer(log).boxed()));
    }
    tracing_subscriber::registry().with(layers).init();
    Ok(Logs { filters, _files: guard })
}

/// Starts to keep records in memory, and writes no log. For tests that run the daemon in their own process. Does
/// nothing if logging was started before.
pub fn init_recording(log: &LogConfig) {
    let layer = record_layer(log).with_filter(parse(&log.filter));
    let _ = tracing_subscriber::registry().with(layer).try_init();
}

/// Returns the layer that keeps the newest records of this process.
fn record_layer(log: &LogConfig) -> RecordLayer {
    let clock = Clock::system();
    let records = LogRecords::new(log.recent_records, log.recent_bytes, clock.now_ms()).set_for_process();
    RecordLayer::new(records, clock)
}

/// Parses directives, which the configuration has already checked.
fn parse(directives: &str) -> Targets {
    directives.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO))
}
