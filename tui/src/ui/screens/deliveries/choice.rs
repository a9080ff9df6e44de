//! Chooses which deliveries the list shows: of a group, of an event, in a state, or one delivery.

use super::{Deliveries, STATES};
use crate::ui::{
    delivery::DeliveryId,
    list::{ListView as _, Row},
    net::Request,
    world::Env,
};

/// The deliveries of a group: of a hook, with a reason, or of the hooks with a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupFilter {
    pub(crate) hook: Option<u64>,
    /// Empty: all.
    pub(crate) reason: String,
    /// Empty: all.
    pub(crate) host: String,
}

/// What the menu offers for which hooks are being listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui::screens) enum HooksMenu {
    Hooks,
    Hosts,
}

impl Deliveries {
    /// Shows the deliveries of one event, or of all.
    pub(crate) fn choose_event(&mut self, event: String, env: &mut Env) {
        (self.event, self.reading) = (event, false);
        self.start_over(env);
    }

    /// Shows the deliveries of one hook, or of all.
    pub(crate) fn choose(&mut self, hook: Option<u64>, env: &mut Env) {
        self.restrict(GroupFilter { hook, ..GroupFilter::default() }, env);
    }

    /// Shows the deliveries of the hooks with a host, or of all.
    pub(crate) fn choose_host(&mut self, host: String, env: &mut Env) {
        self.restrict(GroupFilter { host, ..GroupFilter::default() }, env);
    }

    /// Shows the deliveries of a group, in any state and of any event.
    pub(crate) fn choose_group(&mut self, group: GroupFilter, env: &mut Env) {
        self.state = 0;
        self.event.clear();
        self.restrict(group, env);
    }

    /// Shows the deliveries of a group, with the cursor on the newest one whose last attempt failed.
    pub(crate) fn choose_problem(&mut self, group: GroupFilter, env: &mut Env) {
        self.choose_group(group, env);
        self.seeks_failure = true;
    }

    /// Moves the cursor to the newest delivery whose last attempt failed, once the deliveries of a problem are loaded.
    /// Deliveries that wait behind it have no attempt that would show the cause.
    pub(super) fn go_to_failure(&mut self) {
        if self.rows.has_all() && std::mem::take(&mut self.seeks_failure) {
            let failed = self.rows.list.shown().find(|delivery| delivery.is_problem()).map(Row::id);
            if let Some(id) = failed {
                self.rows.list.select(id);
            }
        }
    }

    /// Shows the deliveries of a group, of an event, and in a state (in the API's terms).
    pub(crate) fn choose_all(&mut self, group: GroupFilter, event: String, state: &str, env: &mut Env) {
        self.state = STATES.iter().position(|(_, of_api)| *of_api == state).unwrap_or(0);
        self.event = event;
        self.restrict(group, env);
    }

    /// Shows the deliveries of a group in the shown state and of the shown event.
    fn restrict(&mut self, group: GroupFilter, env: &mut Env) {
        self.seeks_failure = false;
        (self.hook, self.reason, self.host, self.reading) = (group.hook, group.reason, group.host, false);
        self.start_over(env);
    }

    /// Shows one delivery, by its UUID or ID, of any hook.
    pub(crate) fn find(&mut self, delivery: String, env: &mut Env) {
        env.send(Request::Delivery(delivery.clone()));
        self.requested_delivery = Some(delivery);
    }

    /// Shows one delivery of a hook as soon as it is listed.
    pub(crate) fn inspect(&mut self, hook: u64, delivery: &str, env: &mut Env) {
        self.state = 0;
        self.event.clear();
        self.choose(Some(hook), env);
        self.rows.list.show(DeliveryId::of(delivery));
        self.reading = true;
    }
}
