//! Reads and changes the log filter of the running daemon.

use farrier_common::api::{LogFilter, SetLogFilter};

use super::Error;
use crate::{app::App, config::forms, model::identity::Identity};

/// Longest filter, in bytes. It is stored and shown.
const FILTER_MAX: usize = 4_096;

/// Returns the active and the configured log filter.
pub fn get(app: &App) -> LogFilter {
    LogFilter { filter: app.log_filter.borrow().clone(), configured: app.config.log.filter.clone() }
}

/// Changes the log filter until the configuration is reloaded.
pub fn set(app: &App, identity: &Identity, input: SetLogFilter) -> Result<LogFilter, Error> {
    if let Some(filter) = input.filter {
        if filter.len() > FILTER_MAX {
            return Err(Error::Invalid { field: "filter", reason: format!("is longer than {FILTER_MAX} bytes") });
        }
        let filter = forms::log_filter(filter).map_err(|reason| Error::Invalid { field: "filter", reason })?;
        // Logged under the old filter, so that silencing the log leaves a trace.
        tracing::warn!(filter, by = identity.label(), "log filter changed");
        app.log_filter.send_replace(filter);
    }
    Ok(get(app))
}
