//! Actions on accounts and tokens, with their confirmations.

use farrier_common::api::{EditUser, User};

use super::{Users, audit_trail, form};
use crate::ui::{
    bulk::BulkAction,
    keymap::Action,
    layer::{Confirm, Layer, Menu},
    net::{Batch, Request},
    world::{Env, World},
};

/// Returns the request that turns an account on or off.
pub(crate) fn switched(login: &str, on: bool) -> Request {
    Request::EditUser(login.to_owned(), Box::new(EditUser { active: Some(on), ..EditUser::default() }))
}

/// Returns the confirmation before an account is deleted.
pub(crate) fn delete_question(login: &str, world: &World) -> Layer {
    let lines = vec!["Its tokens and hooks are deleted. This cannot be undone.".to_owned()];
    let request = Request::DeleteUser(login.to_owned());
    Layer::Confirm(Confirm::typed(format!("Delete {login}"), lines, "Delete", login.to_owned(), request, world))
}

impl Users {
    /// Carries out an action that changes something or shows another screen. Returns whether it was one.
    pub(super) fn change(&self, action: Action, env: &mut Env) -> bool {
        let login = self.here().map(|user| user.login.clone());
        match (action, login) {
            (Action::New, _) => env.open(Layer::Form(Box::new(form::create_user()))),
            (Action::NewToken, Some(login)) => env.open(Layer::Form(Box::new(form::create_token(&login)))),
            (Action::Revoke, Some(login)) => self.revoke(&login, env),
            (Action::AuditTrail, Some(login)) => env.push(audit_trail(&login)),
            (Action::Toggle, _) => {
                let on = self.rows.list.targets().iter().all(|user| !user.active);
                self.switch(on, env);
            }
            (Action::TurnOn, _) => self.switch(true, env),
            (Action::TurnOff, _) => self.switch(false, env),
            (Action::Delete, _) => self.delete(env),
            (Action::Copy, _) => self.copy(env),
            _ => return false,
        }
        true
    }

    /// Turns accounts on or off: one at once, several after a confirmation.
    fn switch(&self, on: bool, env: &mut Env) {
        let targets = self.rows.list.targets();
        let changed: Vec<&User> = targets.iter().copied().filter(|user| user.active != on).collect();
        match changed.as_slice() {
            [] => env.notify(format!("already {}", if on { "on" } else { "off" })),
            [one] => env.send(switched(&one.login, on)),
            many => {
                let items = many.iter().map(|user| (user.login.clone(), switched(&user.login, on))).collect();
                let (verb, doing, done) =
                    if on { ("Turn on", "turning on", "turned on") } else { ("Turn off", "turning off", "turned off") };
                let effect =
                    if on { "They can sign in." } else { "They cannot sign in, and their tokens are refused." };
                self.confirm(BulkAction { verb, effect, ..BulkAction::default() }, doing, done, items, env);
            }
        }
    }

    fn delete(&self, env: &mut Env) {
        match self.rows.list.targets().as_slice() {
            [] => {}
            [one] => {
                let question = delete_question(&one.login, env.world);
                env.open(question);
            }
            many => {
                let request = |user: &&User| (user.login.clone(), Request::DeleteUser(user.login.clone()));
                let items = many.iter().map(request).collect();
                let effect = "Their tokens and hooks are deleted. This cannot be undone.";
                let bulk = BulkAction { verb: "Delete", effect, destroys: true, ..BulkAction::default() };
                self.confirm(bulk, "deleting", "deleted", items, env);
            }
        }
    }

    /// Opens the confirmation before requests about several accounts.
    fn confirm(
        &self,
        bulk: BulkAction,
        doing: &'static str,
        done: &'static str,
        items: Vec<(String, Request)>,
        env: &mut Env,
    ) {
        let names = items.iter().map(|(name, _)| name.clone()).collect();
        let skipped = self.rows.list.hidden_note().into_iter().collect();
        let bulk = BulkAction { noun: "account", names, skipped, ..bulk };
        let request = Request::Batch(Box::new(Batch { noun: "account", doing, done, items }));
        env.open(Layer::Confirm(bulk.question(request, env.world)));
    }

    /// Asks before tokens are revoked.
    fn revoke(&self, login: &str, env: &mut Env) {
        let targets = self.tokens.list.targets();
        let names: Vec<String> =
            targets.iter().map(|token| format!("{}   …{}", token.name, token.token_last_eight)).collect();
        let effect = "Requests with it are refused from now on. This cannot be undone.";
        let item = |token: &&farrier_common::api::AccessToken| {
            let name = format!("token {}", token.name);
            (name.clone(), Request::DeleteToken { user: login.to_owned(), id: token.id, name })
        };
        let mut items: Vec<(String, Request)> = targets.iter().map(item).collect();
        let bulk = BulkAction { verb: "Revoke", noun: "token", names, effect, ..BulkAction::default() };
        let request = match items.len() {
            0 => return,
            1 => items.swap_remove(0).1,
            _ => Request::Batch(Box::new(Batch { noun: "token", doing: "revoking", done: "revoked", items })),
        };
        env.open(Layer::Confirm(bulk.question(request, env.world)));
    }

    fn copy(&self, env: &mut Env) {
        let texts = if self.in_tokens {
            let targets = self.tokens.list.targets();
            let names = targets.iter().map(|token| token.name.clone()).collect::<Vec<_>>().join("\n");
            let ids = targets.iter().map(|token| token.id.to_string()).collect::<Vec<_>>().join("\n");
            vec![('n', "name", names), ('i', "ID", ids)]
        } else {
            let targets = self.rows.list.targets();
            let each =
                |text: &dyn Fn(&User) -> String| targets.iter().map(|user| text(user)).collect::<Vec<_>>().join("\n");
            vec![
                ('n', "name", each(&|user| user.login.clone())),
                ('e', "email", each(&|user| user.email.clone())),
                ('j', "JSON", each(&|user| serde_json::to_string(user).unwrap_or_default())),
            ]
        };
        env.open(Layer::Menu(Menu::copies("Copy", texts)));
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        let is_about_row = matches!(
            action,
            Action::Open
                | Action::NewToken
                | Action::Revoke
                | Action::AuditTrail
                | Action::Toggle
                | Action::TurnOn
                | Action::TurnOff
                | Action::Delete
                | Action::Copy
        );
        match action {
            _ if !is_about_row => None,
            _ if self.here().is_none() => Some("no account selected".to_owned()),
            Action::Revoke if self.tokens.list.targets().is_empty() => Some("no token selected".to_owned()),
            _ => None,
        }
    }
}
