//! What can be done with a hook, each with its question or its menu.

use farrier_common::api::EditHook;

use super::{hook_rows, hooks::Hooks};
use crate::ui::{
    keymap::Action,
    layer::{Confirm, Layer, Menu},
    net::Ask,
    world::Env,
};

impl Hooks {
    pub(super) fn toggle(&self, env: &mut Env) {
        let Some(hook) = self.target() else { return };
        let wanted = EditHook { active: Some(!hook.active), ..EditHook::default() };
        env.ask(Ask::EditHook(self.place.clone(), hook.id, Box::new(wanted)));
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let Some(hook) = self.target() else { return };
        let title = format!("Delete hook {}", hook.id);
        let lines = vec![
            hook.url.clone(),
            format!("{}   {}", hook_rows::kind(hook), hook_rows::events(hook)),
            "What waits for it is not delivered any more. This cannot be undone.".to_owned(),
        ];
        let ask = Ask::DeleteHook(self.place.clone(), hook.id);
        let question = match hook.last_delivery_at {
            None => Confirm::simple(title, lines, "Delete", ask, env.world),
            Some(_) => Confirm::typed(title, lines, "Delete", hook.id.to_string(), ask, env.world),
        };
        env.open(Layer::Confirm(question));
    }

    pub(super) fn recover(&self, env: &mut Env) {
        let Some(hook) = self.target() else { return };
        let lines = vec![
            hook.url.clone(),
            "Everything that failed for this hook and is still remembered is sent again.".to_owned(),
        ];
        let title = format!("Send failed deliveries of hook {} again", hook.id);
        env.open(Layer::Confirm(Confirm::simple(title, lines, "Send", Ask::Recover(hook.id), env.world)));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let Some(hook) = self.target() else { return };
        let texts = vec![
            ('u', "address", hook.url.clone()),
            ('i', "id", hook.id.to_string()),
            // Secrets are not in it: the daemon never tells them.
            ('j', "JSON", serde_json::to_string(hook).unwrap_or_default()),
        ];
        env.open(Layer::Menu(Menu::copies("Copy", texts)));
    }

    /// Why an action makes no sense now.
    pub(super) fn why_off(&self, action: Action) -> Option<String> {
        let single = [
            Action::Edit,
            Action::Clone,
            Action::Toggle,
            Action::Test,
            Action::Apply,
            Action::Recover,
            Action::Delete,
            Action::Copy,
        ];
        if let (true, Err(why)) = (single.contains(&action), self.feed.list.target()) {
            return Some(why);
        }
        let here = self.target();
        match action {
            Action::New | Action::Edit | Action::Clone if self.known.is_empty() => {
                Some("the list of events is not there yet; r asks again".to_owned())
            }
            Action::Apply if here.is_some_and(|hook| hook.scope != "default") => {
                Some("only default hooks are copied".to_owned())
            }
            Action::Test | Action::Recover if here.is_some_and(|hook| hook.scope == "default") => {
                Some("a default hook hears of nothing itself".to_owned())
            }
            Action::Open if self.here().is_none() => Some("no hook here".to_owned()),
            action if single.contains(&action) && here.is_none() => Some("no hook here".to_owned()),
            _ => None,
        }
    }
}
