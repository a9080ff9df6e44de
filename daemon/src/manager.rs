//! Notifications for the service manager (`sd_notify`). Without a service manager they have no effect.

use std::time::Duration;

use sd_notify::NotifyState;

use crate::control::Control;

/// Health checks per watchdog interval.
const CHECKS_PER_INTERVAL: u32 = 4;

/// Notifies that the daemon handles requests.
pub fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Notifies that the daemon reloads its configuration. Must be followed by [`ready`].
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "reading the clock for the service manager failed"),
    }
}

/// Notifies that the daemon stops and waits for running requests.
pub fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("waiting for running requests")]);
}

/// Sends watchdog notifications as long as the daemon passes its own health check. Never returns.
pub async fn run_watchdog(control: Control) {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| *limit > Duration::ZERO) else {
        return std::future::pending().await;
    };
    let mut interval = tokio::time::interval(limit / CHECKS_PER_INTERVAL);
    loop {
        interval.tick().await;
        // The check must not fail only because clients use all file descriptors.
        let _guard = control.spare_descriptor();
        match tokio::time::timeout(limit / CHECKS_PER_INTERVAL, control.is_healthy()).await {
            Ok(true) => notify(&[NotifyState::Watchdog]),
            Ok(false) => {} // `is_healthy` has logged the reason
            Err(_) => tracing::error!(waited = ?limit / CHECKS_PER_INTERVAL, "the daemon's health check timed out"),
        }
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "notifying the service manager failed");
    }
}
