//! Reads the newest log records, and reads and changes the log filter of the running daemon.

mod objects;
mod records;

use farrier_common::api::{LogFilter, SetLogFilter};

pub use self::{
    objects::{LogObject, LogObjectKind},
    records::{LogPage, LogQuery, ShownRecord, list},
};
use super::{
    Context, Error,
    audit::{self, Action, Entry, Object},
};
use crate::{config::forms, model::identity::Identity};

/// Longest filter, in bytes. It is stored and shown.
const FILTER_MAX: usize = 4_096;

/// Returns the active and the configured log filter.
pub fn get(context: &Context) -> LogFilter {
    LogFilter { filter: context.log_filter.borrow().clone(), configured: context.config.log.filter.clone() }
}

/// Changes the log filter until the configuration is reloaded.
pub async fn set(context: &Context, identity: &Identity, input: SetLogFilter) -> Result<LogFilter, Error> {
    if let Some(filter) = input.filter {
        if filter.len() > FILTER_MAX {
            return Err(Error::Invalid { field: "filter", reason: format!("is longer than {FILTER_MAX} bytes") });
        }
        let filter = forms::log_filter(filter).map_err(|reason| Error::Invalid { field: "filter", reason })?;
        // Logged under the old filter, so that silencing the log leaves a trace.
        tracing::warn!(filter, by = identity.label(), "log filter changed");
        let entry = Entry::new(Action::SettingsLogFilter, Object::new("settings", 0, "log.filter"));
        let entry = entry.field("filter", context.log_filter.borrow().clone(), filter.clone());
        if !entry.is_unchanged() {
            audit::record_before(context, entry).await?;
        }
        context.log_filter.send_replace(filter);
    }
    Ok(get(context))
}
