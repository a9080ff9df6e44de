//! `/api/farrier/v1`: what the compatible API has no word for.

pub(super) mod checks;
pub(super) mod ci;
pub(super) mod events;
pub(super) mod hooks;
pub(super) mod log;
pub(super) mod series;
pub(super) mod status;
