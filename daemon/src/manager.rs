//! What the service manager hears of the daemon. Where there is none nothing happens.

use std::time::Duration;

use sd_notify::NotifyState;

use crate::control::Control;

/// How often the daemon is looked at within the time that the manager allows.
const LOOKS: u32 = 4;

/// Requests are answered.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The configuration is being read again; [`ready`] ends that.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the service manager cannot be told the time"),
    }
}

/// Running requests may end, nothing else begins.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("waiting for running requests")]);
}

/// Tells the manager, for as long as it is so, that the daemon answers. Never ends.
pub async fn prove_life(control: Control) {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| *limit > Duration::ZERO) else {
        return std::future::pending().await;
    };
    let mut looks = tokio::time::interval(limit / LOOKS);
    loop {
        looks.tick().await;
        // That clients hold every descriptor is no fault of the daemon.
        let _lent = control.lend_descriptor();
        match tokio::time::timeout(limit / LOOKS, control.answers()).await {
            Ok(true) => tell(&[NotifyState::Watchdog]),
            Ok(false) => {} // said why
            Err(_) => tracing::error!(waited = ?limit / LOOKS, "the daemon does not answer itself in time"),
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
