//! The hooks screen: all hooks that the caller may manage, or those of one repository.

pub(super) mod actions;
mod answers;
pub(super) mod form;
mod pane;
mod place;
pub(super) mod rows;

use std::time::Duration;

use farrier_common::{api::HookEvent, client::HookOwner};
use ratatui::{buffer::Buffer, layout::Rect};

use self::{form as hook_form, pane as hook_pane, rows as hook_rows};
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    delivery::DeliverySummary,
    hook::HookSummary,
    keymap::{Action, Object, Scope},
    layer::Layer,
    list::{self, Feed, List, ListView, PendingRows, TableOptions},
    net::{Answer, Page, Problem, Request},
    view::{Role, rule, text},
    world::{Cmd, Env, World},
};

const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// Each time the list grows by this many hooks, it is refreshed less often.
const ROWS_PER_STEP: usize = 250;
/// Height from which the pane below the list is shown.
const DETAILED: u16 = 22;

/// The tabs: which hooks are shown.
const KINDS: [&str; 7] = ["all", "system", "default", "owner", "repo", "failing", "off"];

#[derive(Debug)]
pub(crate) struct Hooks {
    pub(super) owner: HookOwner,
    /// The hooks of the shown tab.
    pub(super) feed: Feed<HookSummary>,
    /// The hooks that the shown tab leaves out. Each hook is stored once, because a list can be long.
    others: Vec<HookSummary>,
    /// What arrived of a response so far.
    arriving: Arriving,
    kind: usize,
    /// The number of hooks of each kind. Counting a long list takes longer than a frame.
    counts: [usize; KINDS.len()],
    /// Events that hooks can subscribe to.
    pub(super) known: Vec<HookEvent>,
    /// The most recent deliveries of the hook with this ID; shown beside the list.
    pub(super) recent: Option<(i64, Vec<DeliverySummary>)>,
    /// The hook whose deliveries are being requested.
    pub(super) requested: Option<i64>,
}

/// The pages of an incomplete response.
#[derive(Debug, Default)]
struct Arriving {
    others: PendingRows<HookSummary>,
    counts: [usize; KINDS.len()],
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            owner: HookOwner::Any,
            feed: Feed::new(List::sorted(0)),
            others: Vec::new(),
            arriving: Arriving::default(),
            kind: 0,
            counts: [0; KINDS.len()],
            known: Vec::new(),
            recent: None,
            requested: None,
        }
    }
}

impl Hooks {
    /// Shows the hooks of an owner.
    pub(crate) fn choose(&mut self, owner: HookOwner, env: &mut Env) {
        if self.owner != owner {
            self.feed.stop(env);
            self.feed.empty();
            (self.others, self.counts) = (Vec::new(), [0; KINDS.len()]);
            (self.owner, self.kind) = (owner, 0);
        }
        self.refresh(env);
    }

    /// Puts the cursor on a hook, now or as soon as it is loaded.
    pub(crate) fn show(&mut self, id: i64, env: &mut Env) {
        if self.others.iter().any(|hook| hook.id == id) {
            self.show_kind(0, env);
        }
        self.feed.list.show(id);
    }

    pub(super) fn here(&self) -> Option<&HookSummary> {
        self.feed.list.current()
    }

    /// Requests the deliveries of the hook under the cursor if the pane shows them; one request at a time.
    pub(super) fn look(&mut self, again: bool, env: &mut Env) {
        let seen = env.world.split() || env.world.size.height >= DETAILED;
        let Some(id) = self.here().map(|hook| hook.id).filter(|_| seen) else { return };
        let known = self.recent.as_ref().is_some_and(|(of, _)| *of == id);
        if self.requested.is_none() && (again || !known) && !env.is_cursor_moving() {
            self.requested = Some(id);
            env.send(Request::LastDeliveries(u64::try_from(id).unwrap_or_default()));
        }
    }

    /// Returns the hooks that an action applies to: marked ones before the one under the cursor.
    pub(super) fn target(&self) -> Option<&HookSummary> {
        self.feed.list.target().ok()?
    }

    /// Returns the loaded hooks of all kinds.
    pub(super) fn all(&self) -> impl Iterator<Item = &HookSummary> {
        self.feed.list.rows().iter().chain(&self.others)
    }

    /// Requests the hooks of the owner, unless they are requested already.
    pub(super) fn request(&mut self, env: &mut Env) {
        if !self.feed.is_waiting() {
            self.arriving = Arriving::default();
        }
        self.feed.request(Request::Hooks(self.owner.clone()), env);
    }

    /// Counts the hooks of a page and keeps those that the shown tab leaves out. Returns the hooks of the tab.
    pub(super) fn split(&mut self, page: &Page<HookSummary>) -> Page<HookSummary> {
        let mut items = Vec::new();
        for hook in &page.items {
            for (count, kind) in self.arriving.counts.iter_mut().zip(KINDS) {
                *count += usize::from(hook_rows::is_of(hook, kind));
            }
            if hook_rows::is_of(hook, KINDS[self.kind]) {
                items.push(hook.clone());
            } else {
                self.arriving.others.add(hook.clone(), &self.others);
            }
        }
        if page.last || !self.feed.has_all() {
            self.counts = self.arriving.counts;
        }
        if page.last {
            let arrived = std::mem::take(&mut self.arriving);
            if let Some(others) = arrived.others.rows(&self.others) {
                self.others = others;
            }
        }
        Page { items, total: page.total, last: page.last }
    }

    fn show_kind(&mut self, kind: usize, env: &mut Env) {
        if self.owner != HookOwner::Any {
            return;
        }
        // The pages of a pending response were split by the tab that was shown.
        let was_waiting = self.feed.stop(env);
        self.kind = kind % KINDS.len();
        let of_tab = |is_shown: bool| {
            let is_kept = |hook: &&HookSummary| hook_rows::is_of(hook, KINDS[self.kind]) == is_shown;
            let mut hooks: Vec<HookSummary> = self.all().filter(is_kept).cloned().collect();
            hooks.sort_unstable_by_key(|hook| hook.id);
            hooks
        };
        let (shown, others) = (of_tab(true), of_tab(false));
        self.others = others;
        self.feed.list.replace(shown);
        if was_waiting {
            self.request(env);
        }
    }

    /// Returns the owner of a new hook.
    fn owner_of_new(&self) -> HookOwner {
        if self.owner == HookOwner::Any { HookOwner::Admin } else { self.owner.clone() }
    }

    /// Returns the highest ID of the existing hooks, to recognize new ones. While hooks are missing in the list, the
    /// highest ID is not known, and no hook may be taken for a new one.
    fn highest(&self) -> i64 {
        if self.feed.has_all() { self.all().map(|hook| hook.id).max().unwrap_or(0) } else { i64::MAX }
    }

    fn detail(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let Some(hook) = self.here() else { return };
        let recent = self.recent.as_ref().filter(|(of, _)| *of == hook.id);
        let rows = recent.map(|(_, rows)| rows.as_slice()).unwrap_or_default();
        let y = hook_pane::draw(hook, rows, world, area, buf);
        let rest = Rect { y: y.saturating_add(1), height: area.bottom().saturating_sub(y + 1), ..area };
        if !rows.is_empty() && !world.three_panes() {
            hook_pane::recent(rows, &world.clock, rest, buf);
        }
    }

    fn parts(&self, world: &World, area: Rect, buf: &mut Buffer) {
        if let HookOwner::Repository(path) = &self.owner {
            text(buf, area, &format!(" hooks of {path}   Esc shows all hooks"), Role::Title);
            return;
        }
        // The numbers are known after the first response.
        let is_counted = self.feed.filled_at().is_some();
        let name =
            |(kind, count): (&&str, usize)| if is_counted { format!("{kind} {count}") } else { (*kind).to_owned() };
        let counted = KINDS.iter().zip(self.counts).map(name);
        panes::tabs(counted, self.kind, true, &world.tabs, area, buf);
    }
}

impl Screen for Hooks {
    fn id(&self) -> ScreenId {
        ScreenId::Hooks
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Hooks, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.feed)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.feed)
    }

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
        if self.known.is_empty() {
            env.send(Request::HookEvents);
        }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.request(env);
        self.look(true, env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        self.look(false, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        // A long list takes many requests.
        let hooks = self.feed.list.rows().len() + self.others.len();
        let slower = u32::try_from(hooks / ROWS_PER_STEP).unwrap_or(u32::MAX - 1);
        Some(REFRESH_INTERVAL.saturating_mul(slower + 1))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => env.push(Cmd::Deliveries(self.here().and_then(|hook| u64::try_from(hook.id).ok()))),
            Action::New => {
                env.open(Layer::Form(Box::new(hook_form::create(
                    self.owner_of_new(),
                    self.highest(),
                    None,
                    &self.known,
                ))));
            }
            Action::Clone => {
                let form = hook_form::create(self.owner_of_new(), self.highest(), self.target(), &self.known);
                env.open(Layer::Form(Box::new(form)));
            }
            Action::Edit => self.edit(env),
            Action::Toggle => self.toggle(env),
            Action::TurnOn => self.switch(true, env),
            Action::TurnOff => self.switch(false, env),
            Action::Test => self.test(env),
            Action::Apply => self.apply(env),
            Action::Recover => self.recover(env),
            Action::Delete => self.delete(env),
            Action::Copy => self.copy(env),
            Action::NextPart => self.show_kind(self.kind + 1, env),
            Action::PreviousPart => self.show_kind(self.kind + KINDS.len() - 1, env),
            Action::Part(at) => self.show_kind(at, env),
            Action::Back => {
                if self.feed.clear_one(env) {
                    return true;
                }
                if self.owner == HookOwner::Any {
                    return false;
                }
                self.choose(HookOwner::Any, env);
            }
            action => {
                let acted = self.feed.act(action);
                self.look(false, env);
                return acted;
            }
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn third_pane(&self, world: &World, _: u16) -> Option<ThirdPane> {
        let hook = self.here()?;
        let recent = self.recent.as_ref().filter(|(of, _)| *of == hook.id);
        Some(hook_pane::third_pane(recent.map(|(_, rows)| rows.as_slice()), &world.clock))
    }

    fn subject(&self) -> Option<String> {
        self.feed.list.subject(|hook| format!("hook {}", hook.id), "hooks")
    }

    fn related(&self) -> Vec<Related> {
        let Some(hook) = self.here() else { return Vec::new() };
        let mut all = vec![Related::deliveries_of(hook.id)];
        all.extend(
            hook.repository()
                .into_iter()
                .flat_map(|path| [Related::repository(path), Related::runs_in(path), Related::pushes_to(path)]),
        );
        all.push(Related::audit_of("hook", &hook.id.to_string()));
        all
    }

    fn selection(&self) -> Option<Selection> {
        self.feed.list.selection(Object::Hook, self.subject()?)
    }

    fn missing_target(&self, request: &Request) -> Option<String> {
        let id = match request {
            Request::DeleteHook(_, id) | Request::ApplyHook(id) => id,
            Request::Recover(hooks) if hooks.len() == 1 => hooks.first()?,
            _ => return None,
        };
        let is_gone = self.feed.has_all() && !self.all().any(|hook| hook.id == *id);
        is_gone.then(|| format!("hook {id}"))
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        self.parts(world, area, buf);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let empty: &[&str] = &[
            "No hooks yet.",
            "",
            "A system hook gets the events of every repository.",
            "A default hook is copied into each new repository.",
            "",
            "n   new hook",
        ];
        let options = TableOptions { what: "hooks", empty, focused: true };
        if world.split() {
            let (left, right) = panes::side_by_side(body, 58, world, buf);
            list::draw(&self.feed, options, world, left, buf);
            self.detail(world, right, buf);
        } else if world.size.height >= DETAILED && self.here().is_some() {
            let top = Rect { height: body.height - 10, ..body };
            list::draw(&self.feed, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..body }, "");
            self.detail(world, Rect { y: top.bottom() + 1, height: 9, ..body }, buf);
        } else {
            list::draw(&self.feed, options, world, body, buf);
        }
    }
}
