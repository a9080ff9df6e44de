//! What hooks can be told and asked for: for those who offer a choice.

use farrier_common::api;

use crate::{
    http::{
        auth::Anyone,
        extract::{Output, ok},
        show,
    },
    model::{hook_config::TYPES, hook_event::EVENTS},
};

/// `GET /hooks/types`
pub(in crate::http) async fn types(_anyone: Anyone) -> Output<Vec<api::HookType>> {
    ok(TYPES.iter().map(show::hook_type).collect())
}

/// `GET /hooks/events`
pub(in crate::http) async fn events(_anyone: Anyone) -> Output<Vec<api::HookEvent>> {
    ok(EVENTS.iter().map(show::hook_event).collect())
}
