//! Users, their access tokens and their keys.

pub(crate) mod actions;
mod answers;
pub(super) mod form;
mod key_actions;
mod key_rows;
mod place;
mod rows;
mod third_pane;
pub(super) mod token_form;
mod token_rows;

use std::time::Duration;

use farrier_common::api::AccessToken;
use ratatui::{buffer::Buffer, layout::Rect};

pub(super) use self::key_rows::KeyRow;
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, Feed, List, ListView, TableOptions},
    net::{Answer, KeyRequest, Problem, Request},
    user::UserSummary,
    view::{Role, below, fit_left, text},
    world::{Cmd, Env, World},
};

/// Refresh interval while the screen is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// Part of the width for the users, in percent.
const USERS_SHARE: u16 = 52;

/// The lists of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UserPart {
    Tokens,
    Keys,
}

#[derive(Debug)]
pub(crate) struct Users {
    pub(super) rows: Feed<UserSummary>,
    /// The tokens and the keys of `part_of`.
    pub(super) tokens: Feed<AccessToken>,
    keys: Feed<KeyRow>,
    /// Name of the user whose tokens or keys are loaded or requested.
    part_of: Option<String>,
    /// The list in the pane.
    part: UserPart,
    /// Whether the pane has the focus.
    in_part: bool,
}

impl Default for Users {
    fn default() -> Self {
        Self {
            rows: Feed::new(List::default()),
            tokens: Feed::new(List::default()),
            keys: Feed::new(List::default()),
            part_of: None,
            part: UserPart::Tokens,
            in_part: false,
        }
    }
}

impl Users {
    /// Puts the cursor on a user, now or as soon as it is loaded.
    pub(crate) fn show(&mut self, login: String) {
        self.in_part = false;
        self.rows.list.show(login);
    }

    fn selected_user(&self) -> Option<&UserSummary> {
        self.rows.list.current()
    }

    fn in_tokens(&self) -> bool {
        self.in_part && self.part == UserPart::Tokens
    }

    fn in_keys(&self) -> bool {
        self.in_part && self.part == UserPart::Keys
    }

    fn part_list(&self) -> &dyn ListView {
        match self.part {
            UserPart::Tokens => &self.tokens,
            UserPart::Keys => &self.keys,
        }
    }

    fn part_list_mut(&mut self) -> &mut dyn ListView {
        match self.part {
            UserPart::Tokens => &mut self.tokens,
            UserPart::Keys => &mut self.keys,
        }
    }

    /// Requests the tokens or keys of the user under the cursor if they are visible.
    fn request_part(&mut self, again: bool, env: &mut Env) {
        let is_visible = self.in_part || env.world.split();
        let Some(login) = self.selected_user().map(|user| user.login().to_owned()).filter(|_| is_visible) else {
            return;
        };
        let is_same = self.part_of.as_ref() == Some(&login);
        if (is_same && self.part_list().was_requested() && !again) || env.is_cursor_moving() {
            return;
        }
        if !is_same {
            for list in [&mut self.tokens as &mut dyn ListView, &mut self.keys] {
                list.stop(env);
                list.empty();
            }
            self.part_of = Some(login.clone());
        }
        let request = match self.part {
            UserPart::Tokens => Request::Tokens(login),
            UserPart::Keys => Request::AccountKeys(login, KeyRequest::List),
        };
        self.part_list_mut().request(request, env);
    }

    fn focus_part(&mut self, on: bool, env: &mut Env) {
        self.in_part = on && self.selected_user().is_some();
        self.request_part(false, env);
    }

    /// Shows the other list of the user.
    fn turn(&mut self, env: &mut Env) {
        if !self.in_part && !env.world.split() {
            return env.notify("Enter opens the user; its tokens and keys are there");
        }
        self.part = if self.part == UserPart::Tokens { UserPart::Keys } else { UserPart::Tokens };
        self.request_part(true, env);
    }

    fn draw_part(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let Some(login) = self.selected_user().map(UserSummary::login) else { return };
        let (what, other) = match self.part {
            UserPart::Tokens => ("tokens", "] keys"),
            UserPart::Keys => ("keys", "] tokens"),
        };
        let used = fit_left(buf, area, other, Role::Muted);
        let place = Rect { x: area.right().saturating_sub(used), width: used, height: area.height.min(1), ..area };
        // The index is only that of a tab: there are two lists, and a click shows the other one.
        world.tabs.add(place, usize::from(self.part == UserPart::Tokens));
        let room = area.width.saturating_sub(used + 1);
        text(buf, Rect { width: room, ..area }, &format!(" {what} of {login}"), Role::Title);
        if self.part_of.as_deref() != Some(login) {
            return;
        }
        let empty: &[&str] = match self.part {
            UserPart::Tokens => &["No tokens.", "", "N creates one. It is shown once."],
            UserPart::Keys => &["No SSH keys and no OpenPGP keys.", "", "n adds an SSH key."],
        };
        let options = TableOptions { what, empty, focused: self.in_part };
        list::draw(self.part_list(), options, world, below(area, 1), buf);
    }
}

impl Screen for Users {
    fn id(&self) -> ScreenId {
        ScreenId::Users
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        let own = match self.part {
            _ if !self.in_part => Scope::Users,
            UserPart::Tokens => Scope::Tokens,
            UserPart::Keys => Scope::AccountKeys,
        };
        vec![own, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn right_has_focus(&self) -> Option<bool> {
        Some(self.in_part)
    }

    fn list(&self) -> Option<&dyn ListView> {
        if self.in_part { Some(self.part_list()) } else { Some(&self.rows) }
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        if self.in_part { Some(self.part_list_mut()) } else { Some(&mut self.rows) }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::Users, env);
        self.request_part(true, env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        self.request_part(false, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(REFRESH_INTERVAL)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open if !self.in_part => self.focus_part(true, env),
            Action::OtherPane => self.focus_part(!self.in_part, env),
            Action::NextPart | Action::PreviousPart | Action::Part(_) => self.turn(env),
            Action::Back if self.in_part => {
                if !self.part_list_mut().clear_one(env) {
                    self.focus_part(false, env);
                }
            }
            Action::Back => return self.rows.clear_one(env),
            action if self.change(action, env) => {}
            action if self.in_part => return self.part_list_mut().act(action),
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
        if self.in_keys() {
            self.keys.list.subject(|key| format!("key {}", key.title()), "keys")
        } else if self.in_tokens() {
            self.tokens.list.subject(|token| format!("token {}", token.name), "tokens")
        } else {
            self.rows.list.subject(|user| user.login().to_owned(), "users")
        }
    }

    fn related(&self) -> Vec<Related> {
        let Some(user) = self.selected_user() else { return Vec::new() };
        let about = match self.tokens.list.current().filter(|_| self.in_tokens()) {
            Some(token) => Related::audit_of("token", &token.id.to_string()),
            None => Related::audit_of("user", user.login()),
        };
        vec![Related::audit_by(user.login()), about, Related::repositories_of(user.login())]
    }

    fn third_pane(&self, world: &World, room: u16) -> Option<ThirdPane> {
        third_pane::of(self, &world.clock, room)
    }

    fn selection(&self) -> Option<Selection> {
        let name = self.subject()?;
        if self.in_keys() {
            self.keys.list.selection(Object::Key, name)
        } else if self.in_tokens() {
            self.tokens.list.selection(Object::Token, name)
        } else {
            self.rows.list.selection(Object::User, name)
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let empty: &[&str] = &["No users."];
        let options = TableOptions { what: "users", empty, focused: !self.in_part };
        if world.split() {
            let (left, right) = panes::side_by_side_focused(area, USERS_SHARE, self.in_part, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            self.draw_part(world, right, buf);
        } else if self.in_part {
            self.draw_part(world, area, buf);
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}

/// Shows what a user did, and what was done to the account and to what it owns.
fn audit_trail(login: &str) -> Cmd {
    Cmd::Line(format!("audit list --user {login}"))
}
