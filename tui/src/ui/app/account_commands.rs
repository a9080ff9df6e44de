//! Runs command lines about accounts.

use super::{App, command_line::LineResult};
use crate::{
    args,
    ui::screens::{ScreenId, user_actions},
};

impl App {
    /// Runs a command about accounts. Returns `None` if it runs only in the shell.
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
            args::User::Off { name } => self.change(ScreenId::Users, user_actions::switched(&name, false)),
            args::User::Delete { name, purge: false, .. } => {
                self.question(ScreenId::Users, |_, world| user_actions::delete_question(&name, world))
            }
            _ => return None,
        })
    }
}
