//! Timers: polling, expiry of notices, connection attempts and the next wake-up.
//!
//! Nothing wakes the program when no timer is active: [`App::wake_at`] returns when the event loop must send
//! the next tick, or nothing.

use std::time::Duration;

use super::{App, Effect, NOTICE, RequestOwner, requests::Pending};
use crate::ui::{
    net::{Answer, Request, Ticket},
    world::{Link, Tone},
};

/// Shortest poll interval on a slow connection to the terminal.
const SLOW_PACE: Duration = Duration::from_secs(5);
/// How often a running time is drawn.
const COUNT_EVERY: Duration = Duration::from_millis(100);

impl App {
    /// Returns the poll interval of the visible screen; longer on a slow terminal.
    pub(super) fn pace(&self) -> Option<Duration> {
        let pace = self.screen().refresh_interval()?;
        Some(if self.world.slow { pace.max(SLOW_PACE) } else { pace })
    }

    /// Starts the poll interval again.
    pub(super) fn poll_again(&mut self) {
        self.poll_at = self.pace().map(|pace| self.world.now + pace);
        self.no_poll_before = Duration::ZERO;
    }

    /// Returns when the visible screen is polled again.
    fn next_poll(&self) -> Option<Duration> {
        self.poll_at.map(|at| at.max(self.no_poll_before))
    }

    pub(super) fn tick(&mut self) {
        let now = self.world.now;
        if let Some((Tone::Plain, _, since)) = &self.notice
            && now >= *since + NOTICE
        {
            self.notice = None;
        }
        if self.awaits_cursor_rest && self.world.moving_until.is_none_or(|until| now >= until) {
            self.awaits_cursor_rest = false;
            self.with_screen(|screen, env| screen.cursor_moved(env));
        }
        self.prepare_filter();
        self.try_link();
        self.world.waits_since = self.waits_since();
        self.was_silent |= self.world.silence().is_some();
        let live = self.world.link == Link::Up && !self.world.paused && !self.is_heartbeat_late();
        if live && self.next_poll().is_some_and(|at| now >= at) {
            self.with_screen(|screen, env| screen.poll(env));
            self.poll_again();
        }
        self.send_heartbeat();
    }

    /// Prepares the visible list for the first key of a filter, when its time has come.
    fn prepare_filter(&mut self) {
        if self.prepare_filter_at.take_if(|at| self.world.now >= *at).is_some() {
            let id = self.current;
            self.with_screens(id, |screens, _| screens.prepare_filter(id));
        }
    }

    /// Drops what was prepared for a filter whose input was closed.
    pub(super) fn end_filter(&mut self) {
        self.prepare_filter_at = None;
        let id = self.current;
        self.with_screens(id, |screens, _| screens.end_filter(id));
    }

    /// Returns when the next timer is due.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        let notice = self.notice.as_ref().filter(|(tone, ..)| *tone == Tone::Plain).map(|(.., since)| *since + NOTICE);
        let counting = self.screen().is_loading().then_some(self.world.now + COUNT_EVERY);
        let (link, poll) = match &self.world.link {
            // The banner counts seconds.
            Link::Down { again_at, .. } => {
                let second = Duration::from_secs(self.world.now.as_secs() + 1);
                (Some(second.min((*again_at).max(self.world.now))), None)
            }
            Link::Up if self.is_heartbeat_late() => (self.heartbeat_at(), None),
            Link::Up if !self.world.paused => (self.heartbeat_at(), self.next_poll()),
            _ => (self.heartbeat_at(), None),
        };
        // A frame when the cursor stops is needed only if the screen waits for that.
        let rest = self.world.moving_until.filter(|_| self.awaits_cursor_rest);
        [notice, counting, link, poll, rest, self.prepare_filter_at, self.count_at()].into_iter().flatten().min()
    }

    /// Closes idle connections while live data are paused and no request is pending.
    pub(super) fn rest(&mut self) {
        let is_idle = self.world.paused && self.pending.is_empty();
        if is_idle && !self.idle_connections_closed {
            self.effects.push(Effect::Rest);
        }
        self.idle_connections_closed = is_idle;
    }

    /// Pauses or continues live data.
    pub(super) fn pause(&mut self) {
        self.world.paused = !self.world.paused;
        if self.world.paused {
            let follows: Vec<(Ticket, Pending)> = self
                .pending
                .iter()
                .filter(|(_, one)| matches!(one.request, Request::Events { .. }))
                .map(|(ticket, one)| (*ticket, one.clone()))
                .collect();
            for (ticket, one) in follows {
                self.cancel_ticket(ticket);
                if let RequestOwner::Screen(id) = one.owner {
                    self.answer_screen(id, &one.request, &Ok(Answer::Done));
                }
            }
        }
        self.poll_again();
    }
}
