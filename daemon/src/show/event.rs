//! Converts events for farrier's own API.

use farrier_common::api;
use farrier_proto::store::Event;

use super::{number, time};
use crate::model::words;

/// Converts an event.
pub(crate) fn event(row: &Event) -> api::Event {
    let change = row.ref_change.clone().unwrap_or_default();
    api::Event {
        id: number(row.id),
        kind: row.kind.clone(),
        action: row.action.clone(),
        at: time(row.at_ms),
        repository_id: number(row.repository_id),
        repository: row.repository_path.clone(),
        actor_id: number(row.actor_id),
        actor: row.actor_name.clone(),
        r#ref: change.r#ref,
        before: change.before,
        after: change.after,
        run_id: (row.run_id != 0).then(|| number(row.run_id)),
        job_id: (row.job_id != 0).then(|| number(row.job_id)),
        conclusion: words::conclusion_word(row.conclusion()).into(),
    }
}
