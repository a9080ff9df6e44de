//! What can be done with a hook, each with its question or its menu.

use farrier_common::api::EditHook;

use super::{hook_rows, hooks::Hooks};
use crate::ui::{
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
}
