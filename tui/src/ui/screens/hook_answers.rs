//! What came of what was asked about hooks.

use farrier_common::api::EditHook;

use super::hooks::Hooks;
use crate::ui::{
    net::{Answer, Ask, Page, Problem},
    world::{Cmd, Env},
};

impl Hooks {
    /// Takes an answer that may be for this screen.
    pub(super) fn take(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::HookEvents, Ok(Answer::HookEvents(known))) => self.known.clone_from(known),
            (Ask::Hooks(_), Ok(Answer::Hooks(all))) if self.feed.awaits(ask) => {
                self.all.clone_from(all);
                let page = Page { items: self.of_kind(all), total: None, last: true };
                if let Some(gone) = self.feed.take(page, env.world) {
                    env.tell(format!("hook {} was removed", gone.id));
                }
                self.look(false, env);
            }
            (Ask::LastDeliveries(of), result) => {
                self.asked = None;
                let rows = if let Ok(Answer::LastDeliveries(rows)) = result { rows.clone() } else { Vec::new() };
                self.recent = Some((i64::try_from(*of).unwrap_or_default(), rows));
                self.look(false, env);
            }
            (Ask::Hooks(_), Err(problem)) if self.feed.awaits(ask) => self.feed.fail(problem.clone()),
            (ask, Ok(answer)) => self.changed(ask, answer, env),
            _ => {}
        }
    }

    fn again(&mut self, env: &mut Env) {
        self.feed.stop(env);
        self.feed.ask(Ask::Hooks(self.place.clone()), env);
    }

    fn changed(&mut self, ask: &Ask, answer: &Answer, env: &mut Env) {
        match (ask, answer) {
            (Ask::CreateHook(..), Answer::Hook(hook)) => {
                env.tell(format!("hook {} made", hook.id));
                self.feed.list.select(hook.id);
            }
            (Ask::EditHook(_, id, wanted), _) => match (wanted.active, &wanted.config) {
                (Some(active), None) => {
                    env.tell(format!("hook {id} switched {} - z undo", if active { "on" } else { "off" }));
                    let back = EditHook { active: Some(!active), ..EditHook::default() };
                    let place = self.place.clone();
                    env.want(Cmd::Undo(Box::new(Cmd::Ask(Ask::EditHook(place, *id, Box::new(back))))));
                }
                _ => env.tell(format!("hook {id} saved")),
            },
            (Ask::DeleteHook(_, id), _) => env.tell(format!("hook {id} deleted")),
            (Ask::CreateHook(_) | Ask::TestHook(..), Answer::Tested { hook, delivery }) => {
                if let Ask::CreateHook(_) = ask {
                    self.feed.list.select(*hook);
                }
                match delivery {
                    Ok(delivery) => {
                        env.tell(format!("hook {hook} is being tested"));
                        env.want(Cmd::Inspect(u64::try_from(*hook).unwrap_or_default(), delivery.clone()));
                    }
                    Err(why) => env.warn(format!("hook {hook} is made, but not tested: {why}")),
                }
            }
            (Ask::ApplyHook(id), Answer::Applied { copied, skipped }) => {
                env.tell(format!("hook {id}: {copied} copies made, {skipped} repositories skipped"));
            }
            (Ask::Recover(id), Answer::Recovered(count)) => {
                env.tell(format!("hook {id}: {count} deliveries are sent again"));
            }
            _ => return,
        }
        self.again(env);
    }
}
