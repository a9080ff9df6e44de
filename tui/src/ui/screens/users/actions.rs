//! Actions on users and tokens, with their confirmations.

use farrier_common::api::{AccessToken, EditUser};

use super::{Users, audit_trail, form, token_form, token_rows};
use crate::ui::{
    bulk::BulkAction,
    keymap::Action,
    layer::{Confirm, Layer, Menu, TextView},
    net::{Batch, Request},
    user::UserSummary,
    world::{Env, World},
};

/// Returns the request that turns a user on or off.
pub(crate) fn switched(login: &str, on: bool) -> Request {
    Request::EditUser(login.to_owned(), Box::new(EditUser { active: Some(on), ..EditUser::default() }))
}

/// Returns the confirmation before a user is turned off. `skipped`: objects that are left out, and why.
pub(crate) fn off_question(login: &str, skipped: Option<String>, world: &World) -> Layer {
    let mut lines: Vec<String> = skipped.into_iter().collect();
    lines.extend(is_own(login, world).then(|| "This is your own account.".to_owned()));
    lines.push("It cannot sign in, and its tokens are refused.".to_owned());
    Layer::Confirm(Confirm::simple(format!("Turn off {login}"), lines, "Turn off", switched(login, false), world))
}

/// Returns the confirmation before a user is deleted. `skipped`: objects that are left out, and why.
pub(crate) fn delete_question(login: &str, skipped: Option<String>, world: &World) -> Layer {
    let mut lines: Vec<String> = skipped.into_iter().collect();
    lines.push("Its tokens and hooks are deleted. This cannot be undone.".to_owned());
    let request = Request::DeleteUser(login.to_owned());
    Layer::Confirm(Confirm::typed(format!("Delete {login}"), lines, "Delete", login.to_owned(), request, world))
}

/// Returns whether a login is that of the caller.
pub(crate) fn is_own(login: &str, world: &World) -> bool {
    world.status.as_ref().is_some_and(|status| status.identity == login)
}

/// Returns the name of a user in a confirmation.
fn named(login: &str, world: &World) -> String {
    if is_own(login, world) { format!("{login}   your own account") } else { login.to_owned() }
}

impl Users {
    /// Carries out an action that changes something or shows another screen. Returns whether the action was handled.
    pub(super) fn change(&self, action: Action, env: &mut Env) -> bool {
        let login = self.selected_user().map(|user| user.login().to_owned());
        // The rows can be those of a removed user until those of this one are requested.
        if self.in_part && self.part_of != login {
            return false;
        }
        if let Some(login) = login.as_ref().filter(|_| self.in_keys())
            && self.change_keys(login, action, env)
        {
            return true;
        }
        match (action, login) {
            (Action::Open, _) if self.in_tokens() => self.show_token(env),
            (Action::New, _) => env.open(Layer::Form(Box::new(form::create_user()))),
            (Action::NewToken, Some(login)) => env.open(Layer::Form(Box::new(token_form::create(&login)))),
            (Action::Revoke, Some(login)) => self.revoke(&login, env),
            (Action::AuditTrail, Some(login)) => env.push(audit_trail(&login)),
            (Action::Toggle, _) => {
                let on = self.rows.list.targets().iter().all(|user| !user.is_active());
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

    /// Shows all fields of the token under the cursor.
    fn show_token(&self, env: &mut Env) {
        let Some(token) = self.tokens.list.current() else { return };
        let text = token_rows::details(token, &env.world.clock);
        env.open(Layer::TextView(TextView::new(format!("Token {}", token.name), text)));
    }

    /// Turns users on or off. A single user is turned on at once; everything else requires a confirmation.
    fn switch(&self, on: bool, env: &mut Env) {
        let targets = self.rows.list.targets();
        let changed: Vec<&UserSummary> = targets.iter().copied().filter(|user| user.is_active() != on).collect();
        let skipped = self.rows.list.hidden_note();
        match changed.as_slice() {
            [] => env.notify(format!("already {}", if on { "on" } else { "off" })),
            [one] if on && skipped.is_none() => env.send(switched(one.login(), true)),
            [one] if !on => {
                let question = off_question(one.login(), skipped, env.world);
                env.open(question);
            }
            many => {
                let items = many.iter().map(|user| (user.login().to_owned(), switched(user.login(), on))).collect();
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
                let question = delete_question(one.login(), self.rows.list.hidden_note(), env.world);
                env.open(question);
            }
            many => {
                let request =
                    |user: &&UserSummary| (user.login().to_owned(), Request::DeleteUser(user.login().to_owned()));
                let items = many.iter().map(request).collect();
                let effect = "Their tokens and hooks are deleted. This cannot be undone.";
                let bulk = BulkAction { verb: "Delete", effect, destroys: true, ..BulkAction::default() };
                self.confirm(bulk, "deleting", "deleted", items, env);
            }
        }
    }

    /// Opens the confirmation before requests about several users.
    fn confirm(
        &self,
        bulk: BulkAction,
        doing: &'static str,
        done: &'static str,
        items: Vec<(String, Request)>,
        env: &mut Env,
    ) {
        let names = items.iter().map(|(login, _)| named(login, env.world)).collect();
        let skipped = self.rows.list.hidden_note().into_iter().collect();
        let bulk = BulkAction { noun: "user", names, skipped, ..bulk };
        let request = Request::Batch(Box::new(Batch { noun: "user", doing, done, items }));
        env.open(Layer::Confirm(bulk.question(request, env.world)));
    }

    /// Asks before tokens are revoked.
    fn revoke(&self, login: &str, env: &mut Env) {
        let targets = self.tokens.list.targets();
        let names: Vec<String> =
            targets.iter().map(|token| format!("{}   …{} of {login}", token.name, token.token_last_eight)).collect();
        let effect = if names.len() == 1 {
            "Requests with it are refused. This cannot be undone."
        } else {
            "Requests with them are refused. This cannot be undone."
        };
        let item = |token: &&AccessToken| {
            let request = Request::DeleteToken { user: login.to_owned(), id: token.id, name: token.name.clone() };
            (format!("token {}", token.name), request)
        };
        let mut items: Vec<(String, Request)> = targets.iter().map(item).collect();
        let skipped = self.tokens.list.hidden_note().into_iter().collect();
        let bulk = BulkAction {
            verb: "Revoke",
            noun: "token",
            names,
            effect,
            destroys: true,
            skipped,
            ..BulkAction::default()
        };
        let request = match items.len() {
            0 => return,
            1 => items.swap_remove(0).1,
            _ => Request::Batch(Box::new(Batch { noun: "token", doing: "revoking", done: "revoked", items })),
        };
        env.open(Layer::Confirm(bulk.question(request, env.world)));
    }

    fn copy(&self, env: &mut Env) {
        let texts = if self.in_tokens() {
            let targets = self.tokens.list.targets();
            let names = targets.iter().map(|token| token.name.clone()).collect::<Vec<_>>().join("\n");
            let ids = targets.iter().map(|token| token.id.to_string()).collect::<Vec<_>>().join("\n");
            vec![('n', "name", names), ('i', "ID", ids)]
        } else {
            let targets = self.rows.list.targets();
            let each = |text: &dyn Fn(&UserSummary) -> String| {
                targets.iter().map(|user| text(user)).collect::<Vec<_>>().join("\n")
            };
            vec![
                ('n', "name", each(&|user| user.login().to_owned())),
                ('e', "email", each(&|user| user.email().to_owned())),
                ('j', "JSON", each(&|user| serde_json::to_string(&user.user()).unwrap_or_default())),
            ]
        };
        env.open(Layer::Menu(Menu::copies("Copy", texts)));
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        if self.in_keys() && matches!(action, Action::Open | Action::Copy | Action::DeleteEntry) {
            return self.keys_unavailable(action);
        }
        let no_user = || Some(self.rows.list.hidden_note().unwrap_or_else(|| "no user selected".to_owned()));
        let no_token = || Some(self.tokens.list.hidden_note().unwrap_or_else(|| "no token selected".to_owned()));
        match action {
            Action::Open | Action::NewToken | Action::AuditTrail | Action::Revoke if self.selected_user().is_none() => {
                Some("no user selected".to_owned())
            }
            Action::Open if self.in_tokens() && self.tokens.list.current().is_none() => {
                Some("no token selected".to_owned())
            }
            Action::Revoke if self.tokens.list.targets().is_empty() => no_token(),
            Action::Copy if self.in_tokens() => self.tokens.list.targets().is_empty().then(no_token).flatten(),
            Action::Toggle | Action::TurnOn | Action::TurnOff | Action::Delete | Action::Copy => {
                self.rows.list.targets().is_empty().then(no_user).flatten()
            }
            _ => None,
        }
    }
}
