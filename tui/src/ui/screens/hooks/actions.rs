//! Actions on one or several hooks, with their confirmations and menus.

use farrier_common::{api::EditHook, client::HookOwner};

use super::{Hooks, form as hook_form, rows as hook_rows};
use crate::ui::{
    bulk::{self, BulkAction},
    hook::HookSummary,
    key::Key,
    keymap::Action,
    layer::{
        Confirm, Layer, Menu,
        menu::{Item, Pick},
    },
    net::{Batch, Request},
    world::{Cmd, Env, World},
};

const NOUN: &str = "hook";
/// The effect of deleting hooks.
const DELETION: &str = "Pending deliveries are cancelled. This cannot be undone.";
/// Maximum number of hooks that are copied as JSON. Each is requested by itself, and more do not fit into the clipboard
/// of a terminal.
const JSON_HOOKS_MAX: usize = 200;

fn named(hook: &HookSummary) -> String {
    format!("hook {}   {}", hook.id, hook.url())
}

/// Returns the request that turns a hook on or off.
pub(in crate::ui::screens) fn switched(owner: HookOwner, id: i64, on: bool) -> Request {
    Request::EditHook(owner, id, Box::new(EditHook { active: Some(on), ..EditHook::default() }))
}

impl Hooks {
    /// Returns the owner of a listed hook.
    pub(crate) fn owner_of(&self, id: i64) -> Option<HookOwner> {
        let hook = self.all().find(|hook| hook.id == id)?;
        Some(match hook.scope() {
            "system" | "default" => HookOwner::Admin,
            _ => self.owner.clone(),
        })
    }

    fn owner_or_shown(&self, id: i64) -> HookOwner {
        self.owner_of(id).unwrap_or_else(|| self.owner.clone())
    }

    /// Returns the hooks that actions apply to: the visible marked hooks, or the hook under the cursor.
    fn targets(&self) -> Vec<&HookSummary> {
        self.feed.list.targets()
    }

    fn batch(
        &self,
        hooks: &[&HookSummary],
        doing: &'static str,
        done: &'static str,
        request: impl Fn(HookOwner, i64) -> Request,
    ) -> Request {
        let item = |hook: &&HookSummary| (format!("hook {}", hook.id), request(self.owner_or_shown(hook.id), hook.id));
        Request::Batch(Box::new(Batch { noun: NOUN, doing, done, items: hooks.iter().map(item).collect() }))
    }

    /// Removes the hooks for which `why` returns a reason.
    fn without<'a>(
        hooks: Vec<&'a HookSummary>,
        is_left_out: impl Fn(&HookSummary) -> bool,
        why: &str,
    ) -> (Vec<&'a HookSummary>, Vec<String>) {
        let (out, kept): (Vec<_>, Vec<_>) = hooks.into_iter().partition(|hook| is_left_out(hook));
        let skipped = (!out.is_empty()).then(|| format!("{} skipped: {why}", bulk::counted(out.len(), NOUN)));
        (kept, skipped.into_iter().collect())
    }

    /// Opens the confirmation for several hooks, or reports that none is left.
    fn confirm_bulk(&self, bulk: BulkAction, request: Request, env: &mut Env) {
        if bulk.names.is_empty() {
            return env.notify(bulk.skipped.join("; "));
        }
        let mut bulk = bulk;
        bulk.skipped.extend(self.feed.list.hidden_note());
        env.open(Layer::Confirm(bulk.question(request, env.world)));
    }

    /// `t`: turns an active hook off, and an inactive one on. For a mixed selection a menu asks which.
    pub(super) fn toggle(&self, env: &mut Env) {
        let targets = self.targets();
        let on = targets.iter().filter(|hook| hook.is_active()).count();
        if on > 0 && on < targets.len() {
            let item = |key: char, title: &str, active: bool| {
                let hooks: Vec<&HookSummary> =
                    targets.iter().copied().filter(|hook| hook.is_active() != active).collect();
                Item {
                    key: Some(Key::Char(key)),
                    title: format!("Turn {} {title}", bulk::counted(hooks.len(), NOUN)),
                    off: None,
                    pick: Pick::Do(Cmd::Send(self.switch_request(&hooks, active))),
                }
            };
            let items = vec![item('o', "on", true), item('f', "off", false)];
            return env.open(Layer::Menu(Menu::new("Some are on and some are off", items)));
        }
        self.switch(on == 0, env);
    }

    fn switch_request(&self, hooks: &[&HookSummary], on: bool) -> Request {
        let change = |hook: &&HookSummary| switched(self.owner_or_shown(hook.id), hook.id, on);
        match hooks {
            [one] => change(one),
            many => {
                let items = many.iter().map(|hook| (format!("hook {}", hook.id), change(hook))).collect();
                Request::Batch(Box::new(switch_batch(items, on)))
            }
        }
    }

    /// Turns hooks on or off. Hooks that already are in that state are left out.
    pub(super) fn switch(&self, on: bool, env: &mut Env) {
        let word = if on { "on" } else { "off" };
        let targets = self.targets();
        let is_one = targets.len() == 1;
        let (hooks, skipped) = Self::without(targets, |hook| hook.is_active() == on, &format!("already {word}"));
        match hooks.as_slice() {
            [] => env.notify(if is_one { format!("the hook is already {word}") } else { skipped.join("; ") }),
            [_] if is_one => env.send(self.switch_request(&hooks, on)),
            _ => {
                self.confirm_bulk(switch_action(&hooks, on, skipped), self.switch_request(&hooks, on), env);
            }
        }
    }

    pub(super) fn test(&self, env: &mut Env) {
        let targets = self.targets();
        if let [hook] = targets.as_slice() {
            return env.send(Request::TestHook(self.owner_or_shown(hook.id), hook.id));
        }
        let (hooks, mut skipped) = Self::without(targets, |hook| !hook.is_active(), "off");
        let (hooks, defaults) = Self::without(hooks, HookSummary::is_default, "default hooks receive no events");
        skipped.extend(defaults);
        let names = hooks.iter().map(|hook| named(hook)).collect();
        let effect = "Each receives one test event.";
        let bulk = BulkAction { verb: "Test", noun: NOUN, names, effect, skipped, ..BulkAction::default() };
        let request = self.batch(&hooks, "testing", "tested", Request::TestHook);
        self.confirm_bulk(bulk, request, env);
    }

    pub(super) fn apply(&self, env: &mut Env) {
        let targets = self.targets();
        let (hooks, skipped) = Self::without(targets, |hook| !hook.is_default(), "not a default hook");
        let names = hooks.iter().map(|hook| named(hook)).collect();
        let effect = "Every repository without a copy of it gets one.";
        let bulk = BulkAction { verb: "Copy", noun: "default hook", names, effect, skipped, ..BulkAction::default() };
        let request = match hooks.as_slice() {
            [one] => Request::ApplyHook(one.id),
            many => self.batch(many, "copying", "copied", |_, id| Request::ApplyHook(id)),
        };
        self.confirm_bulk(bulk, request, env);
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let hooks: Vec<(HookOwner, i64)> =
            self.targets().iter().map(|hook| (self.owner_or_shown(hook.id), hook.id)).collect();
        if !hooks.is_empty() {
            let question = self.delete_question(&hooks, env.world);
            env.open(question);
        }
    }

    /// Returns the confirmation before hooks are deleted, whether they are listed or not.
    pub(crate) fn delete_question(&self, hooks: &[(HookOwner, i64)], world: &World) -> Layer {
        let known = |id: i64| self.all().find(|hook| hook.id == id);
        if let [(owner, id)] = hooks {
            return delete_one_question(owner, *id, known(*id), world);
        }
        let name = |(_, id): &(HookOwner, i64)| known(*id).map_or_else(|| format!("hook {id}"), named);
        let items = hooks.iter().map(|(owner, id)| (format!("hook {id}"), Request::DeleteHook(owner.clone(), *id)));
        let batch = Batch { noun: NOUN, doing: "deleting", done: "deleted", items: items.collect() };
        let bulk = BulkAction {
            verb: "Delete",
            noun: NOUN,
            names: hooks.iter().map(name).collect(),
            effect: DELETION,
            destroys: true,
            skipped: self.feed.list.hidden_note().into_iter().collect(),
            ..BulkAction::default()
        };
        Layer::Confirm(bulk.question(Request::Batch(Box::new(batch)), world))
    }

    pub(super) fn recover(&self, env: &mut Env) {
        let ids: Vec<i64> = self.targets().iter().map(|hook| hook.id).collect();
        if !ids.is_empty() {
            let question = self.recover_question(&ids, env.world);
            env.open(question);
        }
    }

    pub(crate) fn recover_question(&self, ids: &[i64], world: &World) -> Layer {
        recover_question(self.all(), ids, world)
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.targets();
        let each = |text: &dyn Fn(&HookSummary) -> String| {
            targets.iter().map(|hook| text(hook)).collect::<Vec<_>>().join("\n")
        };
        let texts =
            vec![('u', "URL", each(&|hook| hook.url().to_owned())), ('i', "ID", each(&|hook| hook.id.to_string()))];
        let mut menu = Menu::copies("Copy", texts);
        let is_too_long = targets.len() > JSON_HOOKS_MAX;
        let hooks = targets.iter().take(JSON_HOOKS_MAX).map(|hook| (self.owner_or_shown(hook.id), hook.id)).collect();
        menu.add(Item {
            key: Some(Key::Char('j')),
            title: "JSON       everything the API returns".to_owned(),
            off: is_too_long.then(|| format!("at most {JSON_HOOKS_MAX} hooks at once")),
            pick: Pick::Do(Cmd::Send(Request::HookJson(hooks))),
        });
        env.open(Layer::Menu(menu));
    }

    pub(super) fn edit(&self, env: &mut Env) {
        if let Some(hook) = self.target() {
            let owner = self.owner_or_shown(hook.id);
            let form = hook_form::edit(owner, hook, &self.known);
            env.open(Layer::Form(Box::new(form)));
        }
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        let needs_events = matches!(action, Action::New | Action::Edit | Action::Clone);
        if needs_events && self.known.is_empty() {
            return Some("the list of events is not loaded yet; r refreshes".to_owned());
        }
        let on_hooks = matches!(
            action,
            Action::Toggle
                | Action::TurnOn
                | Action::TurnOff
                | Action::Test
                | Action::Apply
                | Action::Recover
                | Action::Delete
                | Action::Copy
        );
        if matches!(action, Action::Edit | Action::Clone) {
            return match self.feed.list.target() {
                Err(why) => Some(why),
                Ok(None) => Some("no hook selected".to_owned()),
                Ok(Some(_)) => None,
            };
        }
        if action == Action::Open && self.here().is_none() {
            return Some("no hook selected".to_owned());
        }
        if !on_hooks {
            return None;
        }
        match (action, self.targets().as_slice()) {
            (_, []) => Some(self.feed.list.hidden_note().unwrap_or_else(|| "no hook selected".to_owned())),
            (Action::Apply, hooks) if hooks.iter().all(|hook| !hook.is_default()) => {
                Some("only default hooks can be copied into repositories".to_owned())
            }
            (Action::Test | Action::Recover, hooks) if hooks.iter().all(|hook| hook.is_default()) => {
                Some("default hooks receive no events themselves".to_owned())
            }
            (Action::Recover, [hook]) if !hook.is_active() => {
                Some(format!("hook {} is off; turn it on first (t)", hook.id))
            }
            (Action::Recover, hooks) if hooks.iter().all(|hook| !hook.is_active()) => {
                Some("all of these hooks are off; turn them on first (t)".to_owned())
            }
            _ => None,
        }
    }
}

/// Returns the confirmation before a hook is deleted. `known`: the hook, if its data is loaded.
pub(in crate::ui::screens) fn delete_one_question(
    owner: &HookOwner,
    id: i64,
    known: Option<&HookSummary>,
    world: &World,
) -> Layer {
    let mut lines: Vec<String> = Vec::new();
    if let Some(hook) = known {
        lines.push(hook.url().to_owned());
        lines.push(format!("{}   {}", hook_rows::kind(hook), hook_rows::events(hook)));
    }
    lines.push(DELETION.to_owned());
    let (title, request) = (format!("Delete hook {id}"), Request::DeleteHook(owner.clone(), id));
    // For a hook with deliveries, or a hook whose data is not loaded, the ID must be typed.
    let is_new = known.is_some_and(|hook| hook.last_attempt().is_none());
    Layer::Confirm(if is_new {
        Confirm::simple(title, lines, "Delete", request, world)
    } else {
        Confirm::typed(title, lines, "Delete", id.to_string(), request, world)
    })
}

/// Returns the confirmation before failed deliveries are sent again and waiting ones are tried. The daemon counts them
/// first. `known` has the hooks whose state is known.
pub(in crate::ui::screens) fn recover_question<'a>(
    known: impl Iterator<Item = &'a HookSummary>,
    ids: &[i64],
    world: &World,
) -> Layer {
    let known: Vec<&HookSummary> = known.filter(|hook| ids.contains(&hook.id)).collect();
    let is_left_out = |id: &i64| known.iter().any(|hook| hook.id == *id && (!hook.is_active() || hook.is_default()));
    let remaining: Vec<i64> = ids.iter().copied().filter(|id| !is_left_out(id)).collect();
    let mut lines: Vec<String> =
        known.iter().filter(|hook| remaining.contains(&hook.id)).take(4).map(|hook| named(hook)).collect();
    if lines.is_empty() {
        lines.push(remaining.iter().map(|id| format!("hook {id}")).collect::<Vec<_>>().join(", "));
    }
    if remaining.len() < ids.len() {
        lines.push(format!("{} skipped: off", bulk::counted(ids.len() - remaining.len(), NOUN)));
    }
    lines.push("Each delivery is sent again with the same ID.".to_owned());
    let title = match remaining.as_slice() {
        [one] => format!("Redeliver failed deliveries of hook {one}"),
        many => format!("Redeliver failed deliveries of {}", bulk::counted(many.len(), NOUN)),
    };
    let request = Request::Recover(remaining.clone());
    let count = Request::Recoverable(remaining);
    Layer::Confirm(Confirm::simple(title, lines, "Redeliver", request, world).after_counting(count))
}

/// Returns the confirmation before several hooks are turned on or off.
pub(in crate::ui::screens) fn switch_question(
    hooks: &[&HookSummary],
    on: bool,
    owner: impl Fn(&HookSummary) -> HookOwner,
    world: &World,
) -> Layer {
    let items = hooks.iter().map(|hook| (format!("hook {}", hook.id), switched(owner(hook), hook.id, on))).collect();
    let batch = switch_batch(items, on);
    Layer::Confirm(switch_action(hooks, on, Vec::new()).question(Request::Batch(Box::new(batch)), world))
}

fn switch_batch(items: Vec<(String, Request)>, on: bool) -> Batch {
    let (doing, done) = if on { ("turning on", "turned on") } else { ("turning off", "turned off") };
    Batch { noun: NOUN, doing, done, items }
}

fn switch_action(hooks: &[&HookSummary], on: bool, skipped: Vec<String>) -> BulkAction {
    let effect = if on { "They receive new events." } else { "They receive no events until turned on." };
    let verb = if on { "Turn on" } else { "Turn off" };
    let names = hooks.iter().map(|hook| named(hook)).collect();
    BulkAction { verb, noun: NOUN, names, effect, skipped, ..BulkAction::default() }
}
