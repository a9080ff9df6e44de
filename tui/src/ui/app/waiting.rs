//! How long the daemon has not answered, and what waits for it.
//!
//! Owns the heartbeat: the daemon is asked for its status while a request waits or nothing was heard for a
//! while, so that a daemon that hangs is noticed even though its socket accepts connections.

use std::time::Duration;

use super::App;
use crate::ui::{
    layer::Layer,
    net::{Ask, Ticket},
    world::{Link, Tone},
};

/// Nothing was asked and nothing was heard for this long: ask for a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// A request has waited this long: ask for a sign of life, because the request itself may be slow.
const DOUBT: Duration = Duration::from_secs(2);
/// A request for a sign of life got no answer for this long: try again on another connection.
const RETRY: Duration = Duration::from_secs(10);
/// An action that waits this long is shown with its age and can be cancelled.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Waiting times are shown in whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// A request without an answer.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) ask: Ask,
    /// When it was sent.
    pub(super) since: Duration,
}

impl Pending {
    /// Whether a daemon that works answers soon: not a stream, not a transfer, not a daemon that only starts.
    fn is_prompt(&self) -> bool {
        !matches!(self.ask, Ask::Events { .. } | Ask::Download { .. } | Ask::Archive { .. } | Ask::StartDaemon(_))
    }
}

impl App {
    /// Since when an answer is due: the last sign of life, or the oldest waiting request if that is later.
    pub(super) fn waits_since(&self) -> Option<Duration> {
        if !matches!(self.world.link, Link::Up | Link::Connecting) {
            // The banner says more.
            return None;
        }
        let oldest = self.pending.values().filter(|one| one.is_prompt()).map(|one| one.since).min()?;
        Some(oldest.max(self.heard))
    }

    /// When the daemon is asked for a sign of life, if nothing else happens before.
    pub(super) fn heartbeat_at(&self) -> Option<Duration> {
        if let Some(since) = self.waits_since() {
            let asked = self.pending.values().filter(|one| one.ask == Ask::Status).map(|one| one.since).max();
            return Some(asked.map_or(since + DOUBT, |asked| asked + RETRY));
        }
        let live = self.world.link == Link::Up && !self.world.paused && self.poll_at.is_some();
        live.then_some(self.heard + HEARTBEAT)
    }

    /// Asks for a sign of life when it is time, in place of an earlier request that got no answer.
    pub(super) fn beat(&mut self) {
        if self.heartbeat_at().is_some_and(|at| self.world.now >= at) {
            self.cancel(&Ask::Status);
            self.ask(Ask::Status);
        }
    }

    /// Whether a sign of life was asked for that may still come, or a daemon is being started.
    pub(super) fn is_asking_for_life(&self) -> bool {
        let now = self.world.now;
        self.pending.values().any(|one| match one.ask {
            Ask::Status => now < one.since + RETRY,
            Ask::StartDaemon(_) => true,
            _ => false,
        })
    }

    /// When the age of what waits changes on the screen.
    pub(super) fn count_at(&self) -> Option<Duration> {
        let since = self.waits_since()?;
        let seconds = u32::try_from(self.world.now.saturating_sub(since).as_secs()).unwrap_or(u32::MAX - 1);
        Some(since + SECOND.saturating_mul(seconds + 1))
    }

    /// Whether a sign of life is late, so that asking for more would only pile up requests.
    pub(super) fn is_in_doubt(&self) -> bool {
        let late = |one: &Pending| one.ask == Ask::Status && self.world.now >= one.since + SECOND;
        let since = self.waits_since().filter(|since| self.world.now >= *since + DOUBT);
        since.is_some() && self.pending.values().any(late)
    }

    /// The oldest action that waits outside of a form, and since when.
    fn waiting_action(&self) -> Option<(Ticket, &Pending)> {
        let forms: Vec<Ticket> = self.layers.iter().filter_map(Layer::ticket).collect();
        let actions = self.pending.iter().filter(|(ticket, one)| one.ask.changes() && !forms.contains(ticket));
        let late = actions.filter(|(_, one)| self.world.now >= one.since + SHOWN_AFTER && one.is_prompt());
        late.map(|(ticket, one)| (*ticket, one)).min_by_key(|(ticket, _)| *ticket)
    }

    /// `deleting hook 7: waiting for 4 s, Esc cancels`
    pub(crate) fn waiting(&self) -> Option<String> {
        let (_, one) = self.waiting_action()?;
        let age = self.world.now.saturating_sub(one.since).as_secs();
        Some(format!("{}: waiting for {age} s, Esc cancels", one.ask.doing()))
    }

    /// Stops waiting for the form on top, or for the oldest action. Says whether something waited.
    pub(super) fn cancel_waiting(&mut self) -> bool {
        if let Some(Layer::Form(form)) = self.layers.last_mut() {
            let Some(ticket) = form.ticket else { return false };
            form.cancelled();
            self.cancel_ticket(ticket);
            return true;
        }
        if !self.layers.is_empty() {
            return false;
        }
        let Some((ticket, one)) = self.waiting_action() else { return false };
        let doing = one.ask.doing();
        self.cancel_ticket(ticket);
        self.say(Tone::Error, format!("cancelled: {doing}; the daemon may have done it, r refreshes"));
        true
    }
}
