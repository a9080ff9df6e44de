//! Requests the list, older deliveries and the delivery under the cursor, and handles the responses.

use farrier_common::client::HookOwner;

use super::{Deliveries, NEAR, ROWS_MAX, STATES, choice::HooksMenu, replay, short};
use crate::ui::{
    delivery::DeliverySummary,
    list::ListView as _,
    net::{Answer, Problem, Request},
    screens::Screen as _,
    world::{Cmd, Env},
};

impl Deliveries {
    /// Returns the request for the list with the chosen filters.
    pub(super) fn list_request(&self) -> Request {
        let filter = self.rows.list.filter();
        let of_filter = |word: &str| STATES[1..].iter().find(|(shown, _)| shown.starts_with(word)).map(|(_, api)| *api);
        let state = filter.must_hold("state").and_then(|word| match word {
            "pending" => Some("pending"),
            "success" => Some("success"),
            word => of_filter(word),
        });
        let event = filter.must_hold("event").filter(|word| self.event.is_empty() && self.events.contains(*word));
        Request::Deliveries {
            status: if self.state == 0 { state.unwrap_or_default() } else { STATES[self.state].1 },
            hook: self.hook.or_else(|| u64::try_from(filter.must_be("hook").0?).ok()),
            event: event.map_or_else(|| self.event.clone(), str::to_owned),
            reason: self.reason.clone(),
            host: self.host.clone(),
            since: self.since.clone(),
            rows: self.row_limit,
        }
    }

    /// Returns whether older deliveries exist that are not loaded.
    pub(super) fn is_cut(&self) -> bool {
        self.rows.has_all() && self.rows.list.rows().len() >= self.row_limit
    }

    /// Loads older deliveries when the cursor comes near the last row or a filter leaves few rows.
    pub(super) fn fetch_on(&mut self, env: &mut Env) {
        if self.is_cut() && !self.rows.is_waiting() && self.rows.list.below() < NEAR && self.row_limit < ROWS_MAX {
            self.row_limit = (self.row_limit * 2).min(ROWS_MAX);
            self.refresh(env);
        }
    }

    /// Requests the delivery under the cursor while the inspector is open; one request at a time.
    pub(super) fn look(&mut self, again: bool, env: &mut Env) {
        let Some(delivery) = self.rows.list.current().filter(|_| self.reading || env.world.split()) else { return };
        let known = self.inspector.detail.as_ref().is_some_and(|old| DeliverySummary::of(&old.delivery) == *delivery);
        if self.pending.is_none() && (again || !known) && !env.is_cursor_moving() {
            self.pending = Some(delivery.guid());
            env.send(Request::Delivery(delivery.guid()));
        }
    }

    /// Requests the delivery before the shown one, if the inspector compares them.
    pub(super) fn compare(&mut self, env: &mut Env) {
        let Some(request) = self.inspector.wanted() else { return };
        if self.pending_previous.as_ref() != Some(&request) {
            self.pending_previous = Some(request.clone());
            env.send(request);
        }
    }

    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::Deliveries { .. }, result) if self.rows.awaits(request) => self.take_rows(result, env),
            (Request::Delivery(id), result) if self.requested_delivery.as_ref() == Some(id) => {
                self.requested_delivery = None;
                match result {
                    Ok(Answer::Delivery(detail)) => {
                        let hook = u64::try_from(detail.delivery.hook_id).unwrap_or_default();
                        env.push(Cmd::Inspect(hook, detail.delivery.guid.clone()));
                    }
                    Err(problem) => env.warn(problem.line()),
                    Ok(_) => {}
                }
            }
            (Request::Delivery(id), result) if self.pending.as_ref() == Some(id) => {
                self.pending = None;
                match result {
                    Ok(Answer::Delivery(detail)) => {
                        let is_current = self.rows.list.current().is_some_and(|one| one.guid() == *id);
                        self.inspector.show((**detail).clone());
                        self.compare(env);
                        if !is_current {
                            self.look(false, env);
                        }
                    }
                    Err(problem) => env.warn(problem.line()),
                    Ok(_) => {}
                }
            }
            (Request::PreviousDelivery { id, .. }, result) if self.pending_previous.as_ref() == Some(request) => {
                self.pending_previous = None;
                let previous = match result {
                    Ok(Answer::PreviousDelivery(previous)) => Ok(previous.as_deref()),
                    Err(problem) => Err(problem.line()),
                    Ok(_) => return,
                };
                self.inspector.compare(*id, previous, &env.world.clock);
            }
            (Request::Hooks(HookOwner::Any), result) => self.offer_menu(result, env),
            (Request::Replay(_), Ok(Answer::Replayed(replayed))) => env.open(replay::result(replayed)),
            (Request::Redeliver(_), Ok(Answer::EachOf(each))) => self.redelivered(each, env),
            _ => {}
        }
    }

    /// Opens the menu for which hooks were listed.
    fn offer_menu(&mut self, result: &Result<Answer, Problem>, env: &mut Env) {
        if let Ok(Answer::Hooks(page)) = result {
            self.listed_hooks.extend_from_slice(&page.items);
            if !page.last {
                return;
            }
        }
        let hooks = std::mem::take(&mut self.listed_hooks);
        match (self.choosing.take(), result) {
            (Some(HooksMenu::Hooks), Ok(Answer::Hooks(_))) => self.offer_hooks(&hooks, env),
            // The loaded deliveries name hooks, but no hosts.
            (Some(HooksMenu::Hooks), _) => self.offer_hooks(&[], env),
            (Some(HooksMenu::Hosts), Ok(Answer::Hooks(_))) => Self::offer_hosts(&hooks, env),
            (Some(HooksMenu::Hosts), Err(problem)) => env.warn(problem.line()),
            (Some(HooksMenu::Hosts), Ok(_)) | (None, _) => {}
        }
    }

    fn take_rows(&mut self, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Ok(Answer::Deliveries(page)) => {
                let gone = self.rows.take(page.clone(), env.world);
                if let Some(gone) = gone.filter(|_| self.reading) {
                    self.reading = false;
                    env.notify(format!("delivery {} is no longer in this list", short(&gone.guid())));
                }
                self.hooks.extend(page.items.iter().filter_map(|one| u64::try_from(one.hook).ok()));
                for event in page.items.iter().map(DeliverySummary::event) {
                    if !self.events.contains(event) {
                        self.events.insert(event.to_owned());
                    }
                }
                self.go_to_failure();
                self.look(false, env);
                self.fetch_on(env);
            }
            Ok(_) => {}
            Err(problem) => self.rows.fail(problem.clone()),
        }
    }
}
