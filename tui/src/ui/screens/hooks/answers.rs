//! Handles responses about hooks.

use farrier_common::{
    api::{EditHook, RecoveredDeliveries},
    client::HookOwner,
};

use super::Hooks;
use crate::ui::{
    bulk,
    layer::{Layer, TextView},
    list::ListView as _,
    net::{Answer, Batch, Problem, Request},
    words,
    world::{Cmd, Env},
};

/// Returns whether an edit only turns a hook on or off.
fn is_switch(request: &EditHook) -> bool {
    *request == EditHook { active: request.active, ..EditHook::default() }
}

fn is_about_hooks(batch: &Batch) -> bool {
    batch.items.iter().all(|(_, request)| {
        matches!(
            request,
            Request::EditHook(..) | Request::DeleteHook(..) | Request::TestHook(..) | Request::ApplyHook(_)
        )
    })
}

/// Returns the ID of the hook that a request concerns.
fn hook_of(request: &Request) -> Option<i64> {
    match request {
        Request::EditHook(_, id, _)
        | Request::DeleteHook(_, id)
        | Request::TestHook(_, id)
        | Request::ApplyHook(id) => Some(*id),
        _ => None,
    }
}

/// Shows a generated secret. The daemon never sends it, so it is shown only this once.
fn show_once(hook: i64, secret: Option<&str>, env: &mut Env) {
    let Some(secret) = secret else { return };
    let text = format!(
        "{secret}\n\nThis secret is shown only now. Copy it (y) and give it to the receiver, which needs it to \
         verify signatures. Esc closes."
    );
    let copy = (secret.to_owned(), "secret");
    env.open(Layer::TextView(TextView::once(format!("Secret of hook {hook}"), text, copy)));
}

impl Hooks {
    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::HookEvents, Ok(Answer::HookEvents(known))) => self.known.clone_from(known),
            (Request::Hooks(_), Ok(Answer::Hooks(page))) if self.feed.awaits(request) => {
                let page = self.split(page);
                if let Some(gone) = self.feed.take(page, env.world) {
                    env.notify(format!("Hook {} was removed", gone.id));
                }
                self.look(false, env);
            }
            (Request::LastDeliveries(of), result) => {
                self.requested = None;
                let rows = if let Ok(Answer::LastDeliveries(rows)) = result { rows.clone() } else { Vec::new() };
                self.recent = Some((i64::try_from(*of).unwrap_or_default(), rows));
                self.look(false, env);
            }
            (Request::HookJson(_), Ok(Answer::HookJson(text))) => {
                env.push(Cmd::Copy(text.clone(), "JSON".to_owned()));
            }
            (Request::Hooks(_), Err(problem)) if self.feed.awaits(request) => self.feed.fail(problem.clone()),
            (request, Ok(answer)) => self.changed(request, answer, env),
            _ => {}
        }
    }

    /// Reports that a hook was turned on or off, and registers the undo command if its state changed.
    fn turned(&mut self, owner: &HookOwner, id: i64, active: bool, env: &mut Env) {
        let word = if active { "on" } else { "off" };
        if self.all().any(|hook| hook.id == id && hook.is_active() == active) {
            return env.notify(format!("Hook {id} was already {word}"));
        }
        env.notify(format!("Hook {id} turned {word} - z undoes"));
        let back = EditHook { active: Some(!active), ..EditHook::default() };
        env.push(Cmd::Undo(Box::new(Cmd::Send(Request::EditHook(owner.clone(), id, Box::new(back))))));
    }

    /// Reports the result of an action on several hooks. Hooks for which it failed stay marked.
    fn did_many(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let outcomes = || batch.items.iter().zip(each);
        let failed: Vec<(String, String)> =
            outcomes().filter_map(|((name, _), why)| Some((name.clone(), why.clone()?))).collect();
        self.feed
            .list
            .mark_only(outcomes().filter(|(_, why)| why.is_some()).filter_map(|((_, request), _)| hook_of(request)));
        let back: Vec<(String, Request)> = outcomes()
            .filter(|(_, why)| why.is_none())
            .filter_map(|((name, request), _)| match request {
                Request::EditHook(owner, id, request) if is_switch(request) => {
                    let back = EditHook { active: request.active.map(|on| !on), ..EditHook::default() };
                    Some((name.clone(), Request::EditHook(owner.clone(), *id, Box::new(back))))
                }
                _ => None,
            })
            .collect();
        if !back.is_empty() {
            let undo = Batch { noun: batch.noun, doing: "restoring", done: "restored", items: back };
            env.push(Cmd::Undo(Box::new(Cmd::Send(Request::Batch(Box::new(undo))))));
        }
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
    }

    /// Reports how many deliveries are sent again. Of several hooks, those that were refused stay marked.
    fn recovered(&mut self, hooks: &[i64], each: &[Result<RecoveredDeliveries, String>], env: &mut Env) {
        let sum = |count: fn(&RecoveredDeliveries) -> i64| words::count(each.iter().flatten().map(count).sum());
        let counts = format!("{} redelivered, {} retried now", sum(|one| one.count), sum(|one| one.retried));
        if let [one] = hooks {
            return env.notify(format!("Hook {one}: {counts}"));
        }
        let refused: Vec<(i64, &str)> =
            hooks.iter().zip(each).filter_map(|(id, one)| Some((*id, one.as_ref().err()?.as_str()))).collect();
        self.feed.list.mark_only(refused.iter().map(|(id, _)| *id));
        let good = bulk::counted(hooks.len() - refused.len(), "hook");
        if refused.is_empty() {
            return env.notify(format!("{good}: {counts}"));
        }
        let (failed, stay) = (bulk::counted(refused.len(), "hook"), bulk::stay_marked(refused.len()));
        env.warn(format!("{good}: {counts}; {failed} failed and {stay}"));
        let lines: Vec<String> = refused.iter().map(|(id, why)| format!("hook {id}\n  {why}")).collect();
        let title = format!("{failed} failed, {good}: {counts}");
        env.open(Layer::TextView(TextView::new(title, lines.join("\n"))));
    }

    fn again(&mut self, env: &mut Env) {
        self.feed.stop(env);
        self.request(env);
    }

    fn changed(&mut self, request: &Request, answer: &Answer, env: &mut Env) {
        match (request, answer) {
            (Request::CreateHook(new), Answer::Hook(hook)) => {
                env.notify(format!("Hook {} created", hook.id));
                self.feed.list.select(hook.id);
                show_once(hook.id, new.shown_once.as_deref(), env);
            }
            (Request::EditHook(owner, id, request), _) => match request.active {
                Some(active) if is_switch(request) => {
                    self.turned(owner, *id, active, env);
                }
                _ => env.notify(format!("Hook {id} saved")),
            },
            (Request::SaveHook(save), Answer::Hook(_)) => {
                env.notify(format!("Hook {} saved", save.id));
                show_once(save.id, save.shown_once.as_deref(), env);
            }
            (Request::DeleteHook(_, id), _) => env.notify(format!("Hook {id} deleted")),
            (Request::CreateHook(_) | Request::TestHook(..), Answer::Tested { hook, delivery }) => {
                match delivery {
                    Ok(delivery) => {
                        env.notify(format!("Test event sent to hook {hook}"));
                        env.push(Cmd::Inspect(u64::try_from(*hook).unwrap_or_default(), delivery.clone()));
                    }
                    Err(why) => env.warn(format!("Hook {hook} created, but not tested: {why}")),
                }
                if let Request::CreateHook(new) = request {
                    self.feed.list.select(*hook);
                    show_once(*hook, new.shown_once.as_deref(), env);
                }
            }
            (Request::ApplyHook(id), Answer::Applied { copied, skipped }) => {
                let copied = words::counted(*copied, "repository");
                env.notify(format!("Hook {id} copied into {copied}, {skipped} skipped"));
            }
            (Request::Recover(hooks), Answer::Recovered(each)) => self.recovered(hooks, each, env),
            (Request::Batch(batch), Answer::Batch(each)) if is_about_hooks(batch) => self.did_many(batch, each, env),
            _ => return,
        }
        self.again(env);
    }
}
