//! What is logged, and changing that while the daemon runs.

use farrier_common::api::{LogFilter, SetLogFilter};

use super::Error;
use crate::{app::App, config::forms, model::identity::Identity};

/// Longest filter; it is kept and shown.
const FILTER_MAX: usize = 4_096;

/// What is logged.
pub fn get(app: &App) -> LogFilter {
    LogFilter { filter: app.log_filter.borrow().clone(), configured: app.config.log.filter.clone() }
}

/// Logs something else until the configuration is read again.
pub fn set(app: &App, identity: &Identity, wanted: SetLogFilter) -> Result<LogFilter, Error> {
    if let Some(filter) = wanted.filter {
        if filter.len() > FILTER_MAX {
            return Err(Error::Invalid { field: "filter", reason: format!("is longer than {FILTER_MAX} bytes") });
        }
        let filter = forms::log_filter(filter).map_err(|reason| Error::Invalid { field: "filter", reason })?;
        // While the old one still holds: whoever quiets the log leaves a line.
        tracing::warn!(filter, by = identity.label(), "what is logged changes");
        app.log_filter.send_replace(filter);
    }
    Ok(get(app))
}
