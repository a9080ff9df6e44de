//! The heartbeat, and requests that wait for long.
//!
//! The heartbeat requests the status of the daemon while a request waits or no response has arrived for a
//! while. So a daemon that hangs is noticed even though its socket accepts connections.

use std::time::Duration;

use super::{App, RequestOwner, requests::Pending};
use crate::ui::{
    layer::Layer,
    net::{Request, Ticket},
    world::{Link, Tone},
};

/// Time without a request or response after which a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Age of a waiting request at which a heartbeat is sent, because the request itself may be slow.
const DOUBT: Duration = Duration::from_secs(2);
/// Age of a heartbeat without a response at which another one is sent on another connection.
const RETRY: Duration = Duration::from_secs(10);
/// Age at which a waiting action is shown with its age and can be cancelled.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Waiting times are shown in whole seconds.
const SECOND: Duration = Duration::from_secs(1);

impl Pending {
    /// Returns whether a working daemon responds soon: not a stream, a transfer or the start of a daemon.
    fn is_answered_soon(&self) -> bool {
        !matches!(
            self.request,
            Request::Events { .. } | Request::Download { .. } | Request::Archive { .. } | Request::StartDaemon(_)
        )
    }
}

impl App {
    /// Returns since when a response is due: the last response, or the oldest waiting request if that is later.
    pub(super) fn waits_since(&self) -> Option<Duration> {
        if !matches!(self.world.link, Link::Up | Link::Connecting) {
            // The banner shows the state in this case.
            return None;
        }
        let oldest = self.pending.values().filter(|one| one.is_answered_soon()).map(|one| one.since).min()?;
        Some(oldest.max(self.last_response))
    }

    /// Returns when the next heartbeat is due.
    pub(super) fn heartbeat_at(&self) -> Option<Duration> {
        if let Some(since) = self.waits_since() {
            let sent = self.pending.values().filter(|one| one.request == Request::Status).map(|one| one.since).max();
            return Some(sent.map_or(since + DOUBT, |sent| sent + RETRY));
        }
        let live = self.world.link == Link::Up && !self.world.paused && self.poll_at.is_some();
        live.then_some(self.last_response + HEARTBEAT)
    }

    /// Sends a heartbeat when it is due. It replaces an earlier one without a response.
    pub(super) fn send_heartbeat(&mut self) {
        if self.heartbeat_at().is_some_and(|at| self.world.now >= at) {
            self.cancel(RequestOwner::App, &Request::Status);
            self.send(RequestOwner::App, Request::Status);
        }
    }

    /// Returns whether a heartbeat may still be answered, or a daemon is being started.
    pub(super) fn has_pending_heartbeat(&self) -> bool {
        let now = self.world.now;
        self.pending.values().any(|one| match one.request {
            Request::Status => now < one.since + RETRY,
            Request::StartDaemon(_) => true,
            _ => false,
        })
    }

    /// Returns when the displayed waiting time changes.
    pub(super) fn count_at(&self) -> Option<Duration> {
        let since = self.waits_since()?;
        let seconds = u32::try_from(self.world.now.saturating_sub(since).as_secs()).unwrap_or(u32::MAX - 1);
        Some(since + SECOND.saturating_mul(seconds + 1))
    }

    /// Returns whether a heartbeat is late, so that more requests would only pile up.
    pub(super) fn is_heartbeat_late(&self) -> bool {
        let late = |one: &Pending| one.request == Request::Status && self.world.now >= one.since + SECOND;
        let since = self.waits_since().filter(|since| self.world.now >= *since + DOUBT);
        since.is_some() && self.pending.values().any(late)
    }

    /// Returns the oldest action that waits and does not belong to a form.
    fn waiting_action(&self) -> Option<(Ticket, &Pending)> {
        let forms: Vec<Ticket> = self.layers.iter().filter_map(|open| open.layer.ticket()).collect();
        let actions = self.pending.iter().filter(|(ticket, one)| one.request.changes() && !forms.contains(ticket));
        let late = actions.filter(|(_, one)| self.world.now >= one.since + SHOWN_AFTER && one.is_answered_soon());
        late.map(|(ticket, one)| (*ticket, one)).min_by_key(|(ticket, _)| *ticket)
    }

    /// Formats the waiting action, for example `deleting hook 7: waiting for 4 s, Esc cancels`.
    pub(crate) fn waiting(&self) -> Option<String> {
        let (_, one) = self.waiting_action()?;
        let age = self.world.now.saturating_sub(one.since).as_secs();
        Some(format!("{}: waiting for {age} s, Esc cancels", one.request.doing()))
    }

    /// Cancels the request of the form on top, or the oldest action. Returns whether there was one.
    pub(super) fn cancel_waiting(&mut self) -> bool {
        if let Some(Layer::Form(form)) = self.top_layer_mut() {
            let Some(ticket) = form.ticket else { return false };
            form.cancelled();
            self.cancel_ticket(ticket);
            return true;
        }
        if !self.layers.is_empty() {
            return false;
        }
        let Some((ticket, one)) = self.waiting_action() else { return false };
        let doing = one.request.doing();
        self.cancel_ticket(ticket);
        self.notify(Tone::Error, format!("cancelled: {doing}; the daemon may have done it, r refreshes"));
        true
    }
}
