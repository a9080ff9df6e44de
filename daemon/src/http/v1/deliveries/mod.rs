//! Deliveries of hooks. The same handlers serve the hooks of all kinds of owners.

pub(in crate::http) mod history;
pub(in crate::http) mod redeliver;
pub(in crate::http) mod test_events;
