//! Groups of deliveries by hook, by reason or by host, with results over time.
//!
//! The screen shares the digit and the tab of the deliveries. The daemon computes the groups.

mod chart;
mod place;
mod rows;

use std::time::Duration;

use farrier_common::api::{DeliveryGroup, DeliveryResults};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    GroupFilter, Screen, ScreenId, deliveries::actions::redeliver_question, hooks::actions::recover_question, panes,
};
use crate::ui::{
    delivery::DeliverySummary,
    keymap::{Action, Scope},
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    list::{self, Feed, List, ListView, TableOptions},
    net::{Answer, DELIVERIES_STEP, Page, Problem, Request, ResultsSpan},
    view::{self, below, rule},
    words,
    world::{Cmd, Env, World},
};

/// Refresh interval while the screen is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// What the deliveries of a group have in common: the names of the tabs, and the values in requests.
const GROUPINGS: [(&str, &str); 3] = [("by hook", "hook"), ("by reason", "reason"), ("by host", HOST)];
/// The value of the grouping by host.
const HOST: &str = "host";
/// The statuses of the deliveries that are redelivered: they failed for good, or wait for a retry.
const UNDELIVERED: &str = "failure,pending";
/// The group of the deliveries whose hooks, and so their hosts, are deleted. No host contains a blank.
const DELETED_HOOKS: &str = "deleted hooks";
/// Part of the width for the groups, in percent.
const GROUPS_SHARE: u16 = 54;
/// Rows of the pane below the list, without its rule.
const PANE: u16 = 9;
/// With fewer rows there is no pane below the list.
const HEIGHT_MIN_WITH_PANE: u16 = 18;

#[derive(Debug)]
pub(crate) struct DeliveryGroups {
    pub(super) rows: Feed<DeliveryGroup>,
    /// Index in [`GROUPINGS`].
    by: usize,
    /// Number of deliveries that the daemon examined, and whether there are older ones.
    examined: (i64, bool),
    span: ResultsSpan,
    /// The request of the shown results, and the response.
    results: Option<(Request, Result<DeliveryResults, String>)>,
    /// The request for results that was sent.
    pending: Option<Request>,
    /// The request for the failed deliveries of the group that is redelivered.
    redelivering: Option<Request>,
}

impl Default for DeliveryGroups {
    fn default() -> Self {
        Self {
            rows: Feed::new(List::default()),
            by: 0,
            examined: (0, false),
            span: ResultsSpan::default(),
            results: None,
            pending: None,
            redelivering: None,
        }
    }
}

impl DeliveryGroups {
    /// Groups deliveries by `by` when the screen is entered. Returns whether the screen has this grouping.
    pub(crate) fn group_by(&mut self, by: &str) -> bool {
        let Some(at) = GROUPINGS.iter().position(|(_, word)| *word == by) else { return false };
        if self.by != at {
            self.by = at;
            self.rows.empty();
        }
        true
    }

    /// Shows the groups of another grouping.
    fn regroup(&mut self, by: usize, env: &mut Env) {
        self.by = by % GROUPINGS.len();
        self.rows.stop(env);
        self.rows.empty();
        self.refresh(env);
    }

    fn is_by_host(&self) -> bool {
        GROUPINGS[self.by].1 == HOST
    }

    /// Returns the only hook of a group; `None` for a group of a reason, or of a host with several hooks.
    fn only_hook(&self, group: &DeliveryGroup) -> Option<u64> {
        match group.hooks.as_slice() {
            [one] if self.is_by_host() && group.hook_count == 1 => u64::try_from(*one).ok(),
            _ if self.is_by_host() => None,
            _ => rows::hook(group),
        }
    }

    /// Returns the hook whose results are shown; `None` for all hooks.
    fn hook(&self) -> Option<u64> {
        self.rows.list.current().and_then(|group| self.only_hook(group))
    }

    /// Requests the results of the hook under the cursor, one request at a time.
    fn request_results(&mut self, again: bool, env: &mut Env) {
        let request = Request::DeliveryResults(self.hook(), self.span);
        let is_known = self.results.as_ref().is_some_and(|(known, _)| *known == request);
        if self.pending.is_none() && (again || !is_known) && !env.is_cursor_moving() {
            self.pending = Some(request.clone());
            env.send(request);
        }
    }

    /// Returns the filter that the deliveries of `group` match; `None` for deleted hooks, which have no host.
    fn filter_of(&self, group: &DeliveryGroup) -> Option<GroupFilter> {
        let all = GroupFilter::default();
        match self.only_hook(group) {
            Some(hook) => Some(GroupFilter { hook: Some(hook), ..all }),
            None if self.is_by_host() => group.host.clone().map(|host| GroupFilter { host, ..all }),
            None => Some(GroupFilter { reason: group.key.clone(), ..all }),
        }
    }

    /// Shows the deliveries of the group under the cursor.
    fn open(&self, env: &mut Env) {
        let Some(group) = self.rows.list.current() else { return };
        match self.filter_of(group) {
            Some(filter) => env.push(Cmd::DeliveriesOfGroup(filter)),
            None => env.open(Layer::Menu(hooks_menu(group))),
        }
    }

    /// Asks whether to recover the hooks of the marked group, or of the one under the cursor. For a reason, or if not
    /// all hooks of a host are known, it requests the failed and waiting deliveries first.
    fn redeliver(&mut self, env: &mut Env) {
        let Ok(Some(group)) = self.rows.list.target() else { return };
        let has_all_hooks = i64::try_from(group.hooks.len()) == Ok(group.hook_count);
        if group.host.is_some() && has_all_hooks {
            let question = recover_question(std::iter::empty(), &group.hooks, env.world);
            return env.push(Cmd::OpenFor(ScreenId::Hooks, Box::new(question)));
        }
        let Some(GroupFilter { hook, reason, host }) = self.filter_of(group) else { return };
        let [event, since] = std::array::from_fn(|_| String::new());
        let request =
            Request::Deliveries { status: UNDELIVERED, hook, event, reason, host, since, rows: DELIVERIES_STEP };
        if let Some(earlier) = self.redelivering.replace(request.clone()) {
            env.push(Cmd::Cancel(earlier));
        }
        env.send(request);
    }

    /// Asks whether to redeliver the listed deliveries of `group`. The question names the group, because the cursor may
    /// be on another one by now. The screen of deliveries reports the result.
    fn ask(group: &str, page: &Page<DeliverySummary>, env: &mut Env) {
        let rows = &page.items[..page.items.len().min(DELIVERIES_STEP)];
        if rows.is_empty() {
            return env.notify(format!("the group {group} has no failed or waiting deliveries any more"));
        }
        let mut notes = vec![format!("group: {group}")];
        if rows.len() == DELIVERIES_STEP {
            notes.push(format!("at most {DELIVERIES_STEP} at once, the newest first; repeat it for older ones"));
        }
        let ids = rows.iter().map(DeliverySummary::guid).collect();
        let question = redeliver_question(ids, rows, notes, env.world);
        env.push(Cmd::OpenFor(ScreenId::Deliveries, Box::new(question)));
    }

    fn take_results(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.pending = None;
        let result = match result {
            Ok(Answer::DeliveryResults(results)) => Ok((**results).clone()),
            Err(problem) => Err(problem.line().to_owned()),
            Ok(_) => return,
        };
        self.results = Some((request.clone(), result));
        // The cursor may be on another group now.
        self.request_results(false, env);
    }

    fn pane(&self, area: Rect, buf: &mut Buffer) {
        let request = Request::DeliveryResults(self.hook(), self.span);
        let results = self.results.as_ref().filter(|(known, _)| *known == request).map(|(_, results)| results);
        let used = chart::draw(self.hook(), self.span, results, area, buf);
        if let Some(group) = self.rows.list.current() {
            view::lines(buf, below(area, used + 1), chart::about(group));
        }
    }
}

/// Returns the command that shows the deliveries of a hook.
fn of_hook(hook: Option<u64>) -> Cmd {
    Cmd::DeliveriesOfGroup(GroupFilter { hook, ..GroupFilter::default() })
}

/// Returns the menu of the hooks of a group without a host.
fn hooks_menu(group: &DeliveryGroup) -> Menu {
    let item = |id: &i64| Item {
        key: None,
        title: format!("deliveries of hook {id}"),
        off: None,
        pick: Pick::Do(of_hook(u64::try_from(*id).ok())),
    };
    let more = group.hook_count - i64::try_from(group.hooks.len()).unwrap_or(i64::MAX);
    let more = if more > 0 { format!(" ({} more are not listed)", words::count(more)) } else { String::new() };
    Menu::new(format!("{}{more}", rows::name(group)), group.hooks.iter().map(item).collect())
}

impl Screen for DeliveryGroups {
    fn id(&self) -> ScreenId {
        ScreenId::DeliveryGroups
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::DeliveryGroups, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::DeliveryGroups(GROUPINGS[self.by].1), env);
        if self.rows.has_all() {
            self.request_results(true, env);
        }
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        if self.rows.has_all() {
            self.request_results(false, env);
        }
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(REFRESH_INTERVAL)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Recover => self.redeliver(env),
            Action::NextPart => self.regroup(self.by + 1, env),
            Action::PreviousPart => self.regroup(self.by + GROUPINGS.len() - 1, env),
            Action::Part(at) => self.regroup(at, env),
            Action::NextSpan => {
                self.span = self.span.next();
                if let Some(earlier) = self.pending.take() {
                    env.push(Cmd::Cancel(earlier));
                }
                self.request_results(false, env);
            }
            Action::Back => {
                if !self.rows.clear_one(env) {
                    env.push(Cmd::Screen(ScreenId::Deliveries));
                }
            }
            action => {
                let acted = self.rows.act(action);
                self.cursor_moved(env);
                return acted;
            }
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        if !matches!(action, Action::Open | Action::Recover) {
            return None;
        }
        let group = if action == Action::Open { Ok(self.rows.list.current()) } else { self.rows.list.target() };
        match group {
            Err(why) => Some(why),
            Ok(None) => Some("no group selected".to_owned()),
            Ok(Some(_)) if action == Action::Open => None,
            Ok(Some(group)) if group.failed == 0 && group.pending == 0 => {
                Some("this group has no failed or waiting deliveries".to_owned())
            }
            Ok(Some(group)) if self.is_by_host() && group.host.is_none() => Some("the hooks were deleted".to_owned()),
            Ok(Some(group)) if rows::is_of_deleted_hook(group) => Some("the hook was deleted".to_owned()),
            Ok(Some(_)) => None,
        }
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::DeliveryGroups(_), Ok(Answer::DeliveryGroups(all))) if self.rows.awaits(request) => {
                self.examined = (all.examined, all.truncated);
                let mut items = all.groups.clone();
                for group in items.iter_mut().filter(|group| self.is_by_host() && group.key.is_empty()) {
                    DELETED_HOOKS.clone_into(&mut group.key);
                }
                let page = Page { items, total: Some(all.total_count), last: true };
                self.rows.take(page, env.world);
                self.request_results(false, env);
            }
            (Request::DeliveryGroups(_), Err(problem)) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            (Request::DeliveryResults(..), result) if self.pending.as_ref() == Some(request) => {
                self.take_results(request, result, env);
            }
            (Request::Deliveries { hook, reason, host, .. }, result) if self.redelivering.as_ref() == Some(request) => {
                self.redelivering = None;
                let name = if host.is_empty() { reason } else { host };
                let group = hook.map_or_else(|| name.clone(), |id| format!("hook {id}"));
                match result {
                    Ok(Answer::Deliveries(page)) => Self::ask(&group, page, env),
                    Err(problem) => env.warn(problem.line()),
                    Ok(_) => {}
                }
            }
            _ => {}
        }
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(rows::name, "groups")
    }

    fn status(&self, _: &World) -> String {
        let (examined, is_truncated) = self.examined;
        let older = if is_truncated { ", older ones are left out" } else { "" };
        format!("groups  {}  {}{older}", self.rows.status_text(), words::counted(examined, "delivery"))
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        panes::tabs(GROUPINGS.iter().map(|(name, _)| name), self.by, true, &world.tabs, area, buf);
        let area = below(area, 1);
        let empty: &[&str] = &["No deliveries.", "", "Deliveries appear when an event matches a hook."];
        let options = TableOptions { what: "groups of deliveries", empty, focused: true };
        if world.split() {
            let (left, right) = panes::side_by_side(area, GROUPS_SHARE, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            self.pane(right, buf);
        } else if area.height >= HEIGHT_MIN_WITH_PANE {
            let top = Rect { height: area.height - PANE - 1, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            self.pane(below(area, top.height + 1), buf);
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}
