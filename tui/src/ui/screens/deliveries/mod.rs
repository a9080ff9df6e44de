//! The deliveries screen: deliveries of all hooks, and an inspector for one of them.

pub(super) mod actions;
mod answers;
mod changes;
mod choice;
mod inspector;
mod place;
mod related;
pub(super) mod replay;
pub(super) mod rows;
pub(super) mod signature;
pub(super) mod text;

use std::{collections::BTreeSet, time::Duration};

use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::choice::GroupFilter;
use self::{choice::HooksMenu, inspector::Inspector};
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    delivery::DeliverySummary,
    hook::HookSummary,
    keymap::{Action, Object, Scope},
    list::{self, BadFilter, Feed, Filter, List, ListView, Row as _, TableOptions},
    net::{Answer, DELIVERIES_STEP, Problem, Request},
    view::{Role, text},
    words,
    world::{Cmd, Env, World},
};

const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// Refresh interval while deliveries are pending.
const REFRESH_INTERVAL_WAITING: Duration = Duration::from_secs(1);
/// Older deliveries are loaded when fewer rows than this are left below the cursor.
const NEAR: usize = 50;
/// Above this number of loaded rows, a filter no longer loads older deliveries by itself.
const ROWS_MAX: usize = 16_000;
/// The tabs: their names, and the state in the API's terms.
const STATES: [(&str, &str); 4] =
    [("all", ""), ("failed", "failure"), ("waiting", "pending"), ("cancelled", "cancelled")];

#[derive(Debug)]
pub(crate) struct Deliveries {
    pub(super) rows: Feed<DeliverySummary>,
    state: usize,
    hook: Option<u64>,
    /// Empty: all.
    event: String,
    /// The reason of a group of deliveries. Empty: all.
    reason: String,
    /// The host of the hooks. Empty: all.
    host: String,
    /// Hooks and events of the loaded deliveries, offered as filters.
    pub(super) hooks: BTreeSet<u64>,
    pub(super) events: BTreeSet<String>,
    pub(super) inspector: Inspector,
    reading: bool,
    /// The delivery that is being requested.
    pending: Option<String>,
    /// The request for the delivery before the shown one.
    pending_previous: Option<Request>,
    /// The last request.
    last_request: Option<Request>,
    /// Maximum number of rows to load.
    row_limit: usize,
    /// Start of the time range in the filter, RFC 3339; empty for none.
    since: String,
    /// The menu for which hooks are being listed.
    pub(super) choosing: Option<HooksMenu>,
    /// The hooks for the menu that have arrived so far.
    pub(super) listed_hooks: Vec<HookSummary>,
    /// Whether the cursor moves to the newest failure when the list is loaded.
    seeks_failure: bool,
    /// The delivery that is requested to show it, whether it is listed or not.
    requested_delivery: Option<String>,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            rows: Feed::new(List::default()),
            state: 0,
            hook: None,
            event: String::new(),
            reason: String::new(),
            host: String::new(),
            hooks: BTreeSet::new(),
            events: BTreeSet::new(),
            inspector: Inspector::default(),
            reading: false,
            pending: None,
            pending_previous: None,
            last_request: None,
            row_limit: DELIVERIES_STEP,
            since: String::new(),
            choosing: None,
            listed_hooks: Vec::new(),
            seeks_failure: false,
            requested_delivery: None,
        }
    }
}

/// Returns the beginning of a GUID, which is enough to tell deliveries apart.
fn short(guid: &str) -> &str {
    guid.get(..8).unwrap_or(guid)
}

impl Deliveries {
    fn start_over(&mut self, env: &mut Env) {
        self.row_limit = DELIVERIES_STEP;
        self.rows.stop(env);
        self.rows.empty();
        self.refresh(env);
    }

    /// Requests the list again. The rows stay until the response arrives.
    fn start_over_kept(&mut self, env: &mut Env) {
        self.row_limit = DELIVERIES_STEP;
        self.rows.stop(env);
        self.refresh(env);
    }

    /// Draws the delivery under the cursor, and never another one.
    fn pane(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let row = Rect { height: area.height.min(1), ..area };
        match self.rows.list.current() {
            Some(one) if self.inspector.shows(&one.guid()) => self.inspector.draw(self.reading, world, area, buf),
            Some(one) => {
                text(buf, row, &format!("{} …", one.id), Role::Muted);
            }
            None if self.rows.is_waiting() => {
                text(buf, row, "loading …", Role::Muted);
            }
            None => {}
        }
    }

    fn parts(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let left = panes::tabs(STATES.iter().map(|(state, _)| state), self.state, true, &world.tabs, area, buf);
        let hook = self.hook.map_or_else(|| "any".to_owned(), |hook| hook.to_string());
        let event = if self.event.is_empty() { "any" } else { &self.event };
        let mut given = format!("   hook: {hook}   event: {event}");
        for (name, value) in [("reason", &self.reason), ("host", &self.host)] {
            if !value.is_empty() {
                given = format!("{given}   {name}: {value}");
            }
        }
        text(buf, left, &given, Role::Muted);
    }

    fn step(&mut self, action: Action, env: &mut Env) {
        let by = if action == Action::NextItem { Action::Down } else { Action::Up };
        self.rows.list.act(by);
        self.look(false, env);
    }
}

impl Screen for Deliveries {
    fn id(&self) -> ScreenId {
        ScreenId::Deliveries
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        if self.reading {
            return vec![Scope::Inspector, Scope::Moves, Scope::Everywhere];
        }
        vec![Scope::Deliveries, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn right_has_focus(&self) -> Option<bool> {
        Some(self.reading)
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        let request = self.list_request();
        self.last_request = Some(request.clone());
        self.rows.request(request, env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        self.look(false, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let waits = self.rows.list.rows().iter().any(|one| one.state() == "pending" && one.attempts == 0);
        let slower = u32::try_from(self.row_limit / DELIVERIES_STEP).unwrap_or(1);
        Some(if waits { REFRESH_INTERVAL_WAITING } else { REFRESH_INTERVAL }.saturating_mul(slower))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.reading = true,
            Action::OtherPane if env.world.split() || self.reading => self.reading = !self.reading,
            Action::Redeliver => self.redeliver(env),
            Action::ChooseHook => self.list_hooks(HooksMenu::Hooks, env),
            Action::ChooseHost => self.list_hooks(HooksMenu::Hosts, env),
            Action::ChooseEvent => self.offer_events(env),
            Action::Copy => self.copy(env),
            Action::CheckSignature => self.check_signature(env),
            Action::Replay | Action::EditPayload => self.replay(action, env),
            Action::NextItem | Action::PreviousItem => self.step(action, env),
            Action::Pager => {
                if let Some(text) = self.inspector.paged(&env.world.clock) {
                    env.push(Cmd::Page(text));
                }
            }
            Action::Back if self.reading => {
                if !self.inspector.forget_search() {
                    self.reading = false;
                }
            }
            Action::Back => {
                if self.rows.clear_one(env) {
                    // A filter that the daemon applied does not restrict the rows any more.
                    self.since.clear();
                    if self.last_request.as_ref() != Some(&self.list_request()) {
                        self.start_over_kept(env);
                    }
                } else {
                    let is_free = [&self.event, &self.reason, &self.host].iter().all(|value| value.is_empty());
                    if self.hook.is_none() && self.state == 0 && is_free {
                        return false;
                    }
                    self.choose_group(GroupFilter::default(), env);
                }
            }
            Action::NextPart | Action::PreviousPart | Action::Part(_) if !self.reading => {
                let state = match action {
                    Action::Part(at) => at,
                    Action::NextPart => self.state + 1,
                    _ => self.state + STATES.len() - 1,
                };
                self.state = state % STATES.len();
                self.start_over(env);
            }
            action if self.reading => {
                let acted = self.inspector.act(action, &env.world.clock);
                self.compare(env);
                return acted;
            }
            action => {
                let acted = self.rows.list.act(action);
                self.look(false, env);
                self.fetch_on(env);
                return acted;
            }
        }
        self.look(false, env);
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        match action {
            Action::Open | Action::Redeliver | Action::Copy if self.rows.list.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no delivery selected".to_owned()))
            }
            Action::CheckSignature => self.signed().err().map(str::to_owned),
            Action::Replay | Action::EditPayload => self.loaded().err().map(str::to_owned),
            Action::Sort | Action::Reverse => Some("deliveries are always sorted by time".to_owned()),
            _ => None,
        }
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), BadFilter> {
        if self.reading {
            self.inspector.search(text, &env.world.clock);
            return Ok(());
        }
        let filter = Filter::parse(text, DeliverySummary::FILTERS)?;
        let age = filter.must_be("age").1.filter(|_| filter != *self.rows.list.filter());
        if filter != *self.rows.list.filter() {
            let since = age.map(|age| env.world.clock.now.as_second().saturating_sub(age));
            let since = since.and_then(|at| jiff::Timestamp::from_second(at).ok());
            self.since = since.map(|at| at.to_string()).unwrap_or_default();
        }
        self.rows.list.set_filter(filter);
        let request = self.list_request();
        if self.rows.has_all() && self.last_request.as_ref() != Some(&request) {
            self.rows.stop(env);
            self.refresh(env);
        }
        self.look(false, env);
        self.fetch_on(env);
        Ok(())
    }

    fn filter_text(&self) -> String {
        if self.reading {
            return self.inspector.searched().to_owned();
        }
        self.rows.list.filter().text().to_owned()
    }

    fn subject(&self) -> Option<String> {
        let name = |guid: &str| format!("delivery {}", short(guid));
        match &self.inspector.detail {
            Some(detail) if self.reading => Some(name(&detail.delivery.guid)),
            _ => self.rows.list.subject(|one| name(&one.guid()), "deliveries"),
        }
    }

    fn related(&self) -> Vec<Related> {
        self.related_objects()
    }

    fn selection(&self) -> Option<Selection> {
        let name = self.subject()?;
        match &self.inspector.detail {
            Some(detail) if self.reading => {
                Some(Selection { object: Object::Delivery, name, rows: detail.delivery.guid.clone() })
            }
            _ => self.rows.list.selection(Object::Delivery, name),
        }
    }

    fn third_pane(&self, world: &World, room: u16) -> Option<ThirdPane> {
        let delivery = self.rows.list.current()?;
        let is_loaded = self.inspector.shows(&delivery.guid());
        Some(self.inspector.third_pane(is_loaded, room, &world.clock))
    }

    fn is_failed(&self) -> bool {
        !self.reading && self.rows.is_failed()
    }

    fn status_note(&self, world: &World) -> Option<String> {
        if self.reading { self.inspector.next_try(&world.clock) } else { self.rows.list.new_above(world) }
    }

    fn status(&self, world: &World) -> String {
        if self.reading {
            return self.inspector.status(&world.clock);
        }
        let status = self.rows.list.status_text(None);
        if !self.is_cut() {
            return status;
        }
        // The daemon knows the other tests of a filter.
        let is_local = !self.rows.list.filter().required_words(&["repo"], usize::MAX).is_empty();
        let note = if is_local { self.rows.list.loaded_rows_note() } else { "" };
        let loaded = words::count(i64::try_from(self.rows.list.rows().len()).unwrap_or(i64::MAX));
        match self.rows.total {
            Some(total) => format!("{status}  {loaded} of {} loaded{note}", words::count(total)),
            None => format!("{status}  the newest {loaded} loaded{note}"),
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        if self.reading && !world.split() {
            return self.pane(world, area, buf);
        }
        self.parts(world, area, buf);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let empty: &[&str] = &["No deliveries.", "", "Deliveries appear when an event matches a hook.", "3   hooks"];
        let options = TableOptions { what: "deliveries", empty, focused: !self.reading };
        if !world.split() {
            return list::draw(&self.rows, options, world, body, buf);
        }
        let (left, right) = panes::side_by_side_focused(body, 58, self.reading, world, buf);
        list::draw(&self.rows, options, world, left, buf);
        self.pane(world, right, buf);
    }
}
