//! Commands about runs, background tasks and the log.

use super::{LineResult, filter_words};
use crate::{
    args,
    ui::{
        app::App,
        screens::{LogLevel, RunTab, ScreenId},
    },
};

impl App {
    /// Runs a command about workflow runs. Returns `None` if it runs only in the shell.
    pub(super) fn run_command(&mut self, command: args::Run) -> Option<LineResult> {
        Some(match command {
            args::Run::List(list) => {
                let (status, conclusion) = (list.status.unwrap_or_default(), list.conclusion.unwrap_or_default());
                let tab = RunTab::of(&status, &conclusion)?;
                let text = filter_words(&list.text.unwrap_or_default())?;
                // Choose before the screen is entered, because entering sends the missing requests.
                self.with_screens(ScreenId::Runs, |screens, env| screens.runs.choose(list.repo, tab, env));
                self.go(ScreenId::Runs);
                if !text.is_empty() {
                    self.filter(&text);
                }
                Ok(())
            }
            args::Run::Show { run } => {
                self.with_screens(ScreenId::Runs, |screens, env| screens.runs.show(run, env));
                self.go(ScreenId::Runs);
                Ok(())
            }
            args::Run::Cancel { run } => {
                self.question(ScreenId::Runs, |screens, world| screens.runs.cancel_question(run, world))
            }
        })
    }

    /// Shows the log. Returns `None` if the screen lacks one of the filters.
    pub(super) fn show_logs(&mut self, args: args::Logs) -> Option<LineResult> {
        let args::Logs { level, grep, target: None, limit: None, .. } = args else { return None };
        // A filter looks for each word by itself.
        let text = grep.unwrap_or_default();
        if text.contains(char::is_whitespace) {
            return None;
        }
        let text = filter_words(&text)?;
        let level = LogLevel::of(&level.unwrap_or_default());
        self.with_screens(ScreenId::Logs, |screens, env| screens.logs.choose(level, env));
        self.go(ScreenId::Logs);
        self.filter(&text);
        Some(Ok(()))
    }

    /// Runs a command about background tasks. Returns `None` if it runs only in the shell.
    pub(super) fn task_command(&mut self, command: &args::Task) -> Option<LineResult> {
        Some(match *command {
            args::Task::List { .. } => {
                self.go(ScreenId::Tasks);
                Ok(())
            }
            args::Task::Show { id } => {
                self.screens.tasks.show(id);
                self.go(ScreenId::Tasks);
                Ok(())
            }
            args::Task::Cancel { id } => {
                self.question(ScreenId::Tasks, |screens, world| screens.tasks.cancel_question(id, world))
            }
            args::Task::Wait { .. } | args::Task::Run { .. } => return None,
        })
    }
}
