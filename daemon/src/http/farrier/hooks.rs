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

/// What hooks can be told.
#[utoipa::path(
    get, path = "/hooks/types",
    operation_id = "farrierListHookTypes", tag = "farrier",
    responses((status = 200, body = Vec<api::HookType>)),
)]
pub(in crate::http) async fn types(_anyone: Anyone) -> Output<Vec<api::HookType>> {
    ok(TYPES.iter().map(show::hook_type).collect())
}

/// What hooks can ask for.
#[utoipa::path(
    get, path = "/hooks/events",
    operation_id = "farrierListHookEvents", tag = "farrier",
    responses((status = 200, body = Vec<api::HookEvent>)),
)]
pub(in crate::http) async fn events(_anyone: Anyone) -> Output<Vec<api::HookEvent>> {
    ok(EVENTS.iter().map(show::hook_event).collect())
}
