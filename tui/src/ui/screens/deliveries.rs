//! Deliveries of all hooks, and one of them in detail.

use std::{collections::BTreeSet, time::Duration};

use farrier_common::api::Delivery;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Screen, ScreenId, Selection, inspector::Inspector, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, Feed, Filter, List, Place, Row as _},
    net::{Answer, Ask, DELIVERIES_MAX, Problem},
    view::{Role, text},
    world::{Cmd, Env, World},
};

const PACE: Duration = Duration::from_secs(5);
/// What was just made is on its way, and somebody may be waiting for it.
const PACE_WAITING: Duration = Duration::from_secs(1);
/// What the tabs are called, and what the API calls it.
const STATES: [(&str, &str); 4] =
    [("all", ""), ("failed", "failure"), ("waiting", "pending"), ("cancelled", "cancelled")];

#[derive(Debug)]
pub(crate) struct Deliveries {
    pub(super) rows: Feed<Delivery>,
    state: usize,
    hook: Option<u64>,
    /// Empty: all.
    event: String,
    /// Hooks and events that were seen, to choose from.
    pub(super) hooks: BTreeSet<u64>,
    pub(super) events: BTreeSet<String>,
    pub(super) inspector: Inspector,
    reading: bool,
    /// The delivery that is asked for.
    pending: Option<String>,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            rows: Feed::new(List::default()),
            state: 0,
            hook: None,
            event: String::new(),
            hooks: BTreeSet::new(),
            events: BTreeSet::new(),
            inspector: Inspector::default(),
            reading: false,
            pending: None,
        }
    }
}

impl Deliveries {
    /// Shows the deliveries of one event, or of all.
    pub(crate) fn choose_event(&mut self, event: String, env: &mut Env) {
        (self.event, self.reading) = (event, false);
        self.start_over(env);
    }

    /// Shows the deliveries of one hook, or of all.
    pub(crate) fn choose(&mut self, hook: Option<u64>, env: &mut Env) {
        (self.hook, self.reading) = (hook, false);
        self.start_over(env);
    }

    /// Shows what passes: of a hook, of an event, in a state as the API calls it.
    pub(crate) fn choose_all(&mut self, hook: Option<u64>, event: String, state: &str, env: &mut Env) {
        self.state = STATES.iter().position(|(_, of_api)| *of_api == state).unwrap_or(0);
        self.event = event;
        self.choose(hook, env);
    }

    /// Shows one delivery of a hook as soon as it is listed.
    pub(crate) fn inspect(&mut self, hook: u64, delivery: String, env: &mut Env) {
        self.state = 0;
        self.event.clear();
        self.choose(Some(hook), env);
        self.rows.list.select(delivery);
        self.reading = true;
    }

    fn start_over(&mut self, env: &mut Env) {
        self.rows.stop(env);
        self.rows.empty();
        self.refresh(env);
    }

    fn ask(&self) -> Ask {
        Ask::Deliveries { status: STATES[self.state].1, hook: self.hook, event: self.event.clone() }
    }

    /// Asks for the delivery under the cursor when it is looked at; one question at a time.
    fn look(&mut self, again: bool, env: &mut Env) {
        let Some(delivery) = self.rows.list.current().filter(|_| self.reading || env.world.split()) else { return };
        let known = self.inspector.detail.as_ref().is_some_and(|old| old.delivery == *delivery);
        if self.pending.is_none() && (again || !known) && !env.is_passing() {
            self.pending = Some(delivery.guid.clone());
            env.ask(Ask::Delivery(delivery.guid.clone()));
        }
    }

    fn take(&mut self, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Ok(Answer::Deliveries(page)) => {
                self.rows.take(page.clone(), env.world);
                self.hooks.extend(page.items.iter().filter_map(|one| u64::try_from(one.hook_id).ok()));
                self.events.extend(page.items.iter().map(|one| one.event.clone()));
                self.look(false, env);
            }
            Ok(_) => {}
            Err(problem) => self.rows.fail(problem.clone()),
        }
    }

    fn parts(&self, area: Rect, buf: &mut Buffer) {
        let left = panes::tabs(STATES.iter().map(|(state, _)| state), self.state, true, area, buf);
        let hook = self.hook.map_or_else(|| "any".to_owned(), |hook| hook.to_string());
        let event = if self.event.is_empty() { "any" } else { &self.event };
        text(buf, left, &format!("   hook: {hook}   event: {event}"), Role::Muted);
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

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        let ask = self.ask();
        self.rows.ask(ask, env);
    }

    fn rested(&mut self, env: &mut Env) {
        self.look(false, env);
    }

    fn pace(&self) -> Option<Duration> {
        let waits = self.rows.list.rows().iter().any(|one| one.state == "pending" && one.attempts == 0);
        Some(if waits { PACE_WAITING } else { PACE })
    }

    fn is_loading(&self) -> bool {
        self.rows.is_loading()
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.reading = true,
            Action::OtherPane if env.world.split() || self.reading => self.reading = !self.reading,
            Action::Redeliver => self.redeliver(env),
            Action::ChooseHook => self.choose_hook(env),
            Action::ChooseEvent => self.offer_events(env),
            Action::Copy => self.copy(env),
            Action::NextItem | Action::PreviousItem => self.step(action, env),
            Action::Pager => {
                if let Some(text) = self.inspector.paged(&env.world.clock) {
                    env.want(Cmd::Page(text));
                }
            }
            Action::Back if self.reading => {
                if !self.inspector.forget_search() {
                    self.reading = false;
                }
            }
            Action::Back => {
                if !self.rows.list.clear_one() {
                    if self.hook.is_none() && self.state == 0 && self.event.is_empty() {
                        return false;
                    }
                    self.state = 0;
                    self.event.clear();
                    self.choose(None, env);
                }
            }
            Action::NextPart | Action::PreviousPart if !self.reading => {
                let by = if action == Action::NextPart { 1 } else { STATES.len() - 1 };
                self.state = (self.state + by) % STATES.len();
                self.start_over(env);
            }
            action if self.reading => return self.inspector.act(action, &env.world.clock),
            action => {
                let acted = self.rows.list.act(action);
                self.look(false, env);
                return acted;
            }
        }
        self.look(false, env);
        true
    }

    fn off(&self, action: Action) -> Option<String> {
        match action {
            Action::Open | Action::Redeliver | Action::Copy if self.rows.list.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no delivery selected".to_owned()))
            }
            Action::Sort | Action::Reverse => Some("deliveries are always sorted by time".to_owned()),
            _ => None,
        }
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::Deliveries { .. }, result) if self.rows.awaits(ask) => self.take(result, env),
            (Ask::Delivery(id), result) if self.pending.as_ref() == Some(id) => {
                self.pending = None;
                match result {
                    Ok(Answer::Delivery(detail)) => {
                        let asked = self.rows.list.current().is_some_and(|one| one.guid == *id);
                        self.inspector.show((**detail).clone());
                        if !asked {
                            self.look(false, env);
                        }
                    }
                    Err(problem) => env.warn(problem.line()),
                    Ok(_) => {}
                }
            }
            (Ask::Redeliver(_), Ok(Answer::EachOf(each))) => self.redelivered(each, env),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), String> {
        if self.reading {
            self.inspector.search(text, &env.world.clock);
            return Ok(());
        }
        self.rows.list.set_filter(Filter::parse(text, Delivery::filters())?);
        self.look(false, env);
        Ok(())
    }

    fn filter_text(&self) -> String {
        if self.reading {
            return self.inspector.searched().to_owned();
        }
        self.rows.list.filter().text().to_owned()
    }

    fn click(&mut self, x: u16, y: u16, env: &mut Env) {
        self.rows.list.click(x, y);
        self.look(false, env);
    }

    fn subject(&self) -> Option<String> {
        let name = |one: &Delivery| format!("delivery {}", one.guid.get(..8).unwrap_or(&one.guid));
        match &self.inspector.detail {
            Some(detail) if self.reading => Some(name(&detail.delivery)),
            _ => self.rows.list.subject(name, "deliveries"),
        }
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

    fn problem(&self) -> Option<&Problem> {
        self.rows.problem()
    }

    fn is_failed(&self) -> bool {
        !self.reading && self.rows.is_failed()
    }

    fn aside(&self, world: &World) -> Option<String> {
        if self.reading { self.inspector.next_try(&world.clock) } else { self.rows.list.news(world) }
    }

    fn standing(&self, world: &World) -> String {
        if self.reading {
            return self.inspector.standing(&world.clock);
        }
        let standing = self.rows.list.standing(self.rows.total);
        let many = self.rows.list.rows().len();
        if self.rows.total.is_none() && many >= DELIVERIES_MAX {
            return format!("{standing}  the newest; H, E and ] look further");
        }
        standing
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        if self.reading && !world.split() {
            return self.inspector.draw(true, &world.clock, area, buf);
        }
        self.parts(area, buf);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let empty: &[&str] = &["No deliveries.", "", "Deliveries appear when an event matches a hook.", "3   hooks"];
        let place = Place { what: "deliveries", empty, focused: !self.reading };
        if !world.split() {
            return list::draw(&self.rows, place, world, body, buf);
        }
        let (left, right) = panes::beside(body, 52, buf);
        list::draw(&self.rows, place, world, left, buf);
        let read = self.inspector.detail.as_ref().map(|detail| &detail.delivery.guid);
        // What was read before is not shown beside another one.
        match self.rows.list.current().filter(|one| !self.reading && read != Some(&one.guid)) {
            Some(one) => {
                text(buf, Rect { height: 1, ..right }, &format!("{} …", one.guid), Role::Muted);
            }
            None => self.inspector.draw(self.reading, &world.clock, right, buf),
        }
    }
}
