//! Users and their access tokens.

pub(crate) mod actions;
mod answers;
pub(super) mod form;
mod rows;
mod token_rows;

use std::time::Duration;

use farrier_common::api::{AccessToken, User};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Related, Screen, ScreenId, Selection, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, Feed, List, ListView, TableOptions},
    net::{Answer, Problem, Request},
    view::{Role, below, text},
    world::{Cmd, Env, World},
};

/// Refresh interval while the screen is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// Part of the width for the users, in percent.
const USERS_SHARE: u16 = 52;

#[derive(Debug)]
pub(crate) struct Users {
    pub(super) rows: Feed<User>,
    /// The tokens of `tokens_of`.
    pub(super) tokens: Feed<AccessToken>,
    /// Name of the user whose tokens are loaded or requested.
    tokens_of: Option<String>,
    /// Whether the tokens have the focus.
    in_tokens: bool,
}

impl Default for Users {
    fn default() -> Self {
        let (rows, tokens) = (Feed::new(List::default()), Feed::new(List::default()));
        Self { rows, tokens, tokens_of: None, in_tokens: false }
    }
}

impl Users {
    /// Puts the cursor on a user, now or as soon as it is loaded.
    pub(crate) fn show(&mut self, login: String) {
        self.in_tokens = false;
        self.rows.list.select(login);
    }

    fn selected_user(&self) -> Option<&User> {
        self.rows.list.current()
    }

    /// Requests the tokens of the user under the cursor if they are visible.
    fn request_tokens(&mut self, again: bool, env: &mut Env) {
        let is_visible = self.in_tokens || env.world.split();
        let Some(login) = self.selected_user().map(|user| user.login.clone()).filter(|_| is_visible) else { return };
        let is_loaded = self.tokens_of.as_ref() == Some(&login);
        if (is_loaded && !again) || env.is_cursor_moving() {
            return;
        }
        if !is_loaded {
            self.tokens.stop(env);
            self.tokens.empty();
            self.tokens_of = Some(login.clone());
        }
        self.tokens.request(Request::Tokens(login), env);
    }

    fn focus_tokens(&mut self, on: bool, env: &mut Env) {
        self.in_tokens = on && self.selected_user().is_some();
        self.request_tokens(false, env);
    }

    fn draw_tokens(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let Some(login) = self.selected_user().map(|user| &user.login) else { return };
        text(buf, area, &format!(" tokens of {login}"), Role::Title);
        if self.tokens_of.as_ref() != Some(login) {
            return;
        }
        let empty: &[&str] = &["No tokens.", "", "N creates one. It is shown once."];
        let options = TableOptions { what: "tokens", empty, focused: self.in_tokens };
        list::draw(&self.tokens, options, world, below(area, 1), buf);
    }
}

impl Screen for Users {
    fn id(&self) -> ScreenId {
        ScreenId::Users
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        let own = if self.in_tokens { Scope::Tokens } else { Scope::Users };
        vec![own, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        if self.in_tokens { Some(&self.tokens) } else { Some(&self.rows) }
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        if self.in_tokens { Some(&mut self.tokens) } else { Some(&mut self.rows) }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::Users, env);
        self.request_tokens(true, env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        if !self.in_tokens {
            self.request_tokens(false, env);
        }
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(REFRESH_INTERVAL)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open if !self.in_tokens => self.focus_tokens(true, env),
            Action::OtherPane => self.focus_tokens(!self.in_tokens, env),
            Action::Back if self.in_tokens => {
                if !self.tokens.clear_one(env) {
                    self.focus_tokens(false, env);
                }
            }
            Action::Back => return self.rows.clear_one(env),
            action if self.change(action, env) => {}
            action if self.in_tokens => return self.tokens.act(action),
            action => {
                let acted = self.rows.act(action);
                self.cursor_moved(env);
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

    fn subject(&self) -> Option<String> {
        if self.in_tokens {
            self.tokens.list.subject(|token| format!("token {}", token.name), "tokens")
        } else {
            self.rows.list.subject(|user| user.login.clone(), "users")
        }
    }

    fn related(&self) -> Vec<Related> {
        let Some(user) = self.selected_user() else { return Vec::new() };
        vec![Related::audit_by(&user.login), Related::audit_of("user", &user.login)]
    }

    fn selection(&self) -> Option<Selection> {
        let name = self.subject()?;
        if self.in_tokens {
            self.tokens.list.selection(Object::Token, name)
        } else {
            self.rows.list.selection(Object::User, name)
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let empty: &[&str] = &["No users."];
        let options = TableOptions { what: "users", empty, focused: !self.in_tokens };
        if world.split() {
            let (left, right) = panes::side_by_side(area, USERS_SHARE, buf);
            list::draw(&self.rows, options, world, left, buf);
            self.draw_tokens(world, right, buf);
        } else if self.in_tokens {
            self.draw_tokens(world, area, buf);
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}

/// Shows what a user did.
fn audit_trail(login: &str) -> Cmd {
    Cmd::Line(format!("audit list --actor {login}"))
}
