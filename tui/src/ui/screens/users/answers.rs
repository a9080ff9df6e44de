//! Handles responses about users, tokens and keys.

use farrier_common::api::{AccessToken, EditUser};

use super::{KeyRow, Users, actions::switched};
use crate::ui::{
    bulk,
    layer::{Layer, TextView},
    list::ListView as _,
    net::{Answer, Batch, Page, Problem, Request},
    screens::Screen as _,
    world::{Cmd, Env},
};

/// Shows a new token. The daemon never sends it again.
fn show_once(login: &str, token: &AccessToken, env: &mut Env) {
    let text = format!("{}\n\nThis token is not shown again. y copies it, Esc closes this window.", token.sha1);
    let title = format!("Token {} of {login}", token.name);
    env.open(Layer::TextView(TextView::once(title, text, (token.sha1.clone(), "token"))));
}

/// Returns whether an edit only turns a user on or off.
fn is_switch(request: &EditUser) -> bool {
    *request == EditUser { active: request.active, ..EditUser::default() }
}

impl Users {
    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::Users, Ok(Answer::Users(page))) if self.rows.awaits(request) => {
                if let Some(gone) = self.rows.take(page.clone(), env.world) {
                    env.notify(format!("User {} was removed", gone.login()));
                }
                self.request_part(false, env);
            }
            (Request::AccountKeys(..), Ok(Answer::AccountKeys(ssh, gpg))) if self.keys.awaits(request) => {
                let ssh = ssh.iter().map(|key| KeyRow::Ssh(Box::new(key.clone())));
                let gpg = gpg.iter().map(|key| KeyRow::Gpg(Box::new(key.clone())));
                let items: Vec<KeyRow> = ssh.chain(gpg).collect();
                let total = i64::try_from(items.len()).ok();
                self.keys.take(Page { items, total, last: true }, env.world);
            }
            (Request::AccountKeys(..), Err(problem)) if self.keys.awaits(request) => self.keys.fail(problem.clone()),
            // Another client may have deleted the key. The application reports the error.
            (Request::AccountKeys(..), Err(problem)) if request.changes() && !problem.is_unreachable() => {
                self.refresh(env);
            }
            (Request::Tokens(_), Ok(Answer::Tokens(page))) if self.tokens.awaits(request) => {
                self.tokens.take(page.clone(), env.world);
            }
            (Request::Users, Err(problem)) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            (Request::Tokens(_), Err(problem)) if self.tokens.awaits(request) => self.tokens.fail(problem.clone()),
            (request, Ok(answer)) => self.changed(request, answer, env),
            _ => {}
        }
    }

    fn changed(&mut self, request: &Request, answer: &Answer, env: &mut Env) {
        match (request, answer) {
            (Request::CreateUser(_), Answer::User(user)) => {
                env.notify(format!("User {} created", user.login));
                self.rows.list.select(user.login.clone());
            }
            (Request::EditUser(login, edit), _) => match edit.active {
                Some(on) if is_switch(edit) => {
                    env.notify(format!("User {login} turned {} - z undoes", if on { "on" } else { "off" }));
                    env.push(Cmd::Undo(Box::new(Cmd::Send(switched(login, !on)))));
                }
                _ => env.notify(format!("User {login} saved")),
            },
            (Request::DeleteUser(login), _) => env.notify(format!("User {login} deleted")),
            (Request::CreateToken(login, _), Answer::Token(token)) => {
                env.notify(format!("Token {} created", token.name));
                self.tokens.list.select(token.id);
                show_once(login, token, env);
            }
            (Request::AccountKeys(login, change), _) if request.changes() => env.notify(change.done(login)),
            (Request::DeleteToken { name, .. }, _) => env.notify(format!("Token {name} revoked")),
            (Request::Batch(batch), Answer::Batch(each)) => self.report(batch, each, env),
            _ => return,
        }
        self.rows.stop(env);
        self.tokens.stop(env);
        self.keys.stop(env);
        self.refresh(env);
    }

    /// Reports the result of an action on several objects. Those for which it failed stay marked.
    fn report(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let failed =
            || batch.items.iter().zip(each).filter_map(|((name, request), why)| Some((name, request, why.as_ref()?)));
        self.rows.list.mark_only(failed().filter_map(|(_, request, _)| match request {
            Request::EditUser(login, _) | Request::DeleteUser(login) => Some(login.clone()),
            _ => None,
        }));
        self.tokens.list.mark_only(failed().filter_map(|(_, request, _)| match request {
            Request::DeleteToken { id, .. } => Some(*id),
            _ => None,
        }));
        let failed: Vec<(String, String)> = failed().map(|(name, _, why)| (name.clone(), why.clone())).collect();
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
    }
}
