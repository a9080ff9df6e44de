//! The state of the connection to the daemon.
//!
//! A lost connection never ends the program: it shows the problem, retries, and refreshes the visible screen
//! when the daemon responds again. A daemon that is too busy for one request may answer all others: only the heartbeat
//! decides whether it is shown as busy.

use std::time::Duration;

use super::{App, RequestOwner};
use crate::ui::{
    net::{Answer, Problem, ProblemKind, Request},
    world::{Link, Tone},
};

/// Delays between connection attempts in milliseconds; the last one repeats.
const TRIES: [u64; 7] = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000];

impl App {
    /// Updates the state of the connection after the response to `request`.
    pub(super) fn update_link(&mut self, request: &Request, result: &Result<Answer, Problem>) {
        let now = self.world.now;
        let is_heartbeat = *request == Request::Status;
        match result {
            // The sender shows the error. A daemon that was shown as busy stays so until the heartbeat is answered.
            Err(Problem { kind: ProblemKind::Busy(_), .. }) if !is_heartbeat => {
                if self.world.link == Link::Connecting {
                    self.world.link = Link::Up;
                }
            }
            Err(problem) if problem.is_unreachable() || matches!(problem.kind, ProblemKind::Busy(_)) => {
                let (since, tries) = match &self.world.link {
                    Link::Down { since, tries, again_at, .. } if *again_at > now => (*since, *tries),
                    Link::Down { since, tries, .. } => (*since, tries + 1),
                    _ => (now, 1),
                };
                let retry_after = problem.retry_after().unwrap_or_default();
                let wait = TRIES[usize::try_from(tries - 1).unwrap_or(0).min(TRIES.len() - 1)];
                // Jitter, so that clients that lost the connection together do not reconnect together.
                let jitter = u64::from(now.subsec_micros()) % (wait / 5);
                let again_at = now + Duration::from_millis(wait).max(retry_after) + Duration::from_millis(jitter);
                self.world.link = Link::Down { since, tries, again_at, problem: problem.clone() };
            }
            Err(problem) if problem.kind == ProblemKind::Unauthorized => {
                self.world.link = Link::Refused { problem: problem.clone() };
            }
            _ => {
                let before = std::mem::replace(&mut self.world.link, Link::Up);
                if matches!(before, Link::Down { .. } | Link::Refused { .. }) {
                    self.refused = 0;
                    self.notify(Tone::Plain, "Connected again".to_owned());
                    self.refresh();
                }
            }
        }
    }

    /// Starts a connection attempt when it is due.
    pub(super) fn try_link(&mut self) {
        let Link::Down { again_at, .. } = &self.world.link else { return };
        if self.world.now >= *again_at && !self.has_pending_heartbeat() {
            self.cancel(RequestOwner::App, &Request::Status);
            self.send(RequestOwner::App, Request::Status);
        }
    }

    /// Starts a connection attempt now.
    pub(super) fn try_link_now(&mut self) {
        if let Link::Down { again_at, .. } = &mut self.world.link {
            *again_at = self.world.now;
        }
        self.try_link();
    }
}
