//! What the daemon says about itself.

use std::sync::atomic::Ordering;

use farrier_common::{
    VERSION,
    api::{DiskStatus, Health, ListenerStatus, Status, StoreStatus},
};

use super::Error;
use crate::{app::App, model::identity::Identity};

/// Whether requests can be served. Says what is wrong in words that tell an outsider nothing.
pub async fn health(app: &App) -> Health {
    let mut problems = Vec::new();
    if app.store.health().await.is_err() {
        problems.push("the store does not answer".to_owned());
    }
    match app.blobs.space().await {
        Ok(space) if space.free_bytes < app.config.artifacts.reserve_bytes => {
            problems.push("the disk is almost full: uploads are refused".to_owned());
        }
        Ok(_) => {}
        Err(_) => problems.push("the disk does not answer".to_owned()),
    }
    let status = if problems.is_empty() { "pass" } else { "fail" };
    Health { status: status.into(), problems }
}

/// Figures for operators; anybody who is signed in may see them.
pub async fn status(app: &App, identity: &Identity) -> Result<Status, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let store = app.store.health().await?;
    let space = app.blobs.space().await.map_err(|source| Error::Blob { doing: "looking for free space", source })?;
    let listeners = app.serving.listeners.iter();
    Ok(Status {
        version: VERSION.into(),
        api_version: app.config.server.version.clone(),
        root_url: app.root_url.clone(),
        uptime_secs: (app.now_ms() - app.serving.started_ms).max(0) / 1_000,
        listeners: listeners
            .map(|(kind, address)| ListenerStatus { kind: (*kind).into(), address: address.clone() })
            .collect(),
        resident_bytes: resident_bytes().unwrap_or_default(),
        store: StoreStatus { engine: store.name.into(), size_bytes: signed(store.size_bytes) },
        disk: DiskStatus { free_bytes: signed(space.free_bytes), total_bytes: signed(space.total_bytes) },
        connections: app.serving.connections.load(Ordering::Relaxed),
        identity: identity.label().into(),
    })
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Resident memory of this process, as the kernel counts it.
pub(super) fn resident_bytes() -> Option<i64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(i64::try_from(rustix::param::page_size()).ok()?)
}
