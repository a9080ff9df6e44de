//! Commands about users and access tokens.

use super::{LineResult, filter_words};
use crate::{
    args, commands,
    ui::{
        app::App,
        net::Request,
        screens::{ScreenId, user_actions},
    },
};

impl App {
    /// Runs a command about users. Returns `None` if it runs only in the shell.
    pub(super) fn user_line(&mut self, command: args::User) -> Option<LineResult> {
        Some(match command {
            args::User::List { text, .. } => {
                let text = filter_words(&text.unwrap_or_default())?;
                self.go(ScreenId::Users);
                if !text.is_empty() {
                    self.filter(&text);
                }
                Ok(())
            }
            args::User::Show { name } => {
                self.screens.users.show(name);
                self.go(ScreenId::Users);
                Ok(())
            }
            args::User::Off { name } => {
                self.question(ScreenId::Users, |_, world| user_actions::off_question(&name, None, world))
            }
            args::User::Delete { name, purge: false, .. } => {
                self.question(ScreenId::Users, |_, world| user_actions::delete_question(&name, None, world))
            }
            _ => return None,
        })
    }

    /// Runs a command about access tokens. Returns `None` if no screen shows its result.
    pub(super) fn token_line(&mut self, command: args::Token) -> Option<LineResult> {
        Some(match command {
            args::Token::List { user, .. } => {
                self.screens.users.show(user);
                self.go(ScreenId::Users);
                Ok(())
            }
            // The screen shows the new token once and can copy it.
            args::Token::Create(args) => {
                commands::token_creation(args).map_err(|failure| failure.report()).and_then(|(user, request)| {
                    self.change(ScreenId::Users, Request::CreateToken(user, Box::new(request)))
                })
            }
            args::Token::Revoke { .. } => return None,
        })
    }
}
