//! Commands about users.

use super::LineResult;
use crate::{
    args,
    ui::{
        app::App,
        screens::{ScreenId, user_actions},
    },
};

impl App {
    /// Runs a command about users. Returns `None` if it runs only in the shell.
    pub(super) fn user_line(&mut self, command: args::User) -> Option<LineResult> {
        Some(match command {
            args::User::List { text, .. } => {
                self.go(ScreenId::Users);
                if let Some(text) = text {
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
}
