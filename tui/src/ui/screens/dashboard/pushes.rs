//! The numbers of commits of the newest pushes. Events do not contain them, so they are requested.

use std::collections::{HashMap, hash_map::Entry};

use farrier_common::{api::Event, client::RepositoryPath};

use super::{Dashboard, activity};
use crate::ui::{
    net::{Answer, Problem, PushedCommits, Request},
    world::Env,
};

/// Number of newest events whose commits are counted, because few events are visible.
const EVENTS_COUNTED: usize = 20;
/// Number of requests per refresh.
const REQUESTS_MAX: usize = 4;

/// What is known about the commits of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PushSize {
    Requested,
    Known(PushedCommits),
    /// The daemon did not count them, for example because the repository is gone.
    Unknown,
}

/// The commits of pushes, by the ID of the event.
#[derive(Debug, Default)]
pub(super) struct PushSizes(HashMap<i64, PushSize>);

impl PushSizes {
    /// Returns the numbers of commits of a push, if they are known.
    pub(super) fn of(&self, event: &Event) -> Option<PushedCommits> {
        match self.0.get(&event.id) {
            Some(PushSize::Known(size)) => Some(*size),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(super) fn known<const N: usize>(sizes: [(i64, PushedCommits); N]) -> Self {
        Self(sizes.into_iter().map(|(event, size)| (event, PushSize::Known(size))).collect())
    }

    /// Forgets the requests without a response, because they end when the screen is left.
    pub(super) fn forget_requests(&mut self) {
        self.0.retain(|_, size| *size != PushSize::Requested);
    }
}

/// Returns the request for the commits of a push; `None` for other events.
fn request(event: &Event) -> Option<Request> {
    if !activity::moves_branch(event) {
        return None;
    }
    let repo: RepositoryPath = event.repository.parse().ok()?;
    Some(Request::PushedCommits { repo, before: event.before.clone(), after: event.after.clone() })
}

impl Dashboard {
    /// Requests the commits of the newest pushes, some at each refresh.
    pub(super) fn request_push_sizes(&mut self, env: &mut Env) {
        // Sizes of events that are no longer shown are dropped.
        let oldest = self.events.back().map_or(0, |event| event.id);
        self.push_sizes.0.retain(|event, _| *event >= oldest);
        let mut sent = 0;
        for event in self.events.iter().take(EVENTS_COUNTED) {
            let Entry::Vacant(size) = self.push_sizes.0.entry(event.id) else { continue };
            let Some(request) = request(event) else { continue };
            size.insert(PushSize::Requested);
            env.send(request);
            sent += 1;
            if sent == REQUESTS_MAX {
                break;
            }
        }
    }

    /// Records the response to a request for the commits of a push.
    pub(super) fn take_push_size(&mut self, answered: &Request, result: &Result<Answer, Problem>) {
        let size = match result {
            Ok(Answer::PushedCommits(size)) => Some(PushSize::Known(*size)),
            // It is requested again when the daemon answers.
            Err(problem) if problem.is_unreachable() => None,
            _ => Some(PushSize::Unknown),
        };
        // The same branch can be moved between the same commits again.
        for event in self.events.iter().filter(|event| request(event).as_ref() == Some(answered)) {
            if let Some(size) = size {
                self.push_sizes.0.insert(event.id, size);
            } else {
                self.push_sizes.0.remove(&event.id);
            }
        }
    }
}
