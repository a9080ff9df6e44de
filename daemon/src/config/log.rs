//! The section `[log]`.

use std::path::PathBuf;

use super::{
    forms::{absolute, log_filter},
    reader::ConfigReader,
};

/// Smallest limit of the records in memory. The largest record is smaller.
const RECENT_BYTES_MIN: usize = 64 << 10;

/// `[log]`
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// `filter`: directives such as `info,farrierd::http=debug`.
    pub filter: String,
    /// `json`: one JSON object per line.
    pub json: bool,
    /// `directory`: directory for rotated log files, in addition to standard error.
    pub directory: Option<PathBuf>,
    /// `keep_files`: number of daily files that are kept.
    pub keep_files: usize,
    /// `recent_records`: number of newest records that are kept in memory for the API. 0: none.
    pub recent_records: usize,
    /// `recent_bytes`: maximum size of these records.
    pub recent_bytes: usize,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            filter: "info".into(),
            json: false,
            directory: None,
            keep_files: 14,
            recent_records: 10_000,
            recent_bytes: 4 << 20,
        }
    }
}

impl LogConfig {
    pub(super) fn read(&mut self, r: &mut ConfigReader<'_>) {
        r.parsed("log", "filter", &mut self.filter, log_filter);
        r.value("log", "json", &mut self.json);
        r.parsed("log", "directory", &mut self.directory, |path| absolute(path).map(Some));
        r.at_least("log", "keep_files", &1, &mut self.keep_files);
        r.value("log", "recent_records", &mut self.recent_records);
        r.at_least("log", "recent_bytes", &RECENT_BYTES_MIN, &mut self.recent_bytes);
    }
}
