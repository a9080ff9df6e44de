//! Actions on tasks, with their confirmations.

use farrier_common::api::BackgroundTask;

use super::{Tasks, plain, rows};
use crate::ui::{
    keymap::Action,
    layer::{Confirm, Layer, TextView},
    net::Request,
    words,
    world::{Cmd, Env, World},
};

/// Width of the text of a task in a text view, in cells.
const TEXT_WIDTH: u16 = 76;

/// Returns the confirmation before the import of a repository is cancelled. `id`: the ID of its task.
pub(in crate::ui::screens) fn cancel_import_question(id: i64, repository: &str, world: &World) -> Layer {
    let lines = ["What was fetched so far is removed, and the name is free again.", "The source is not changed."];
    question(id, &format!("the import of {repository}"), "Cancel import", &lines, world)
}

fn question(id: i64, name: &str, verb: &'static str, lines: &[&str], world: &World) -> Layer {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    let question = Confirm::simple(format!("Cancel {name}"), lines, verb, Request::CancelTask(id), world);
    Layer::Confirm(question.or("Keep running"))
}

impl Tasks {
    fn find(&self, id: i64) -> Option<&BackgroundTask> {
        self.rows.list.rows().iter().find(|task| task.id == id)
    }

    /// Returns the name of a task in sentences, whether it is listed or not.
    pub(super) fn name_of(&self, id: i64) -> String {
        match self.find(id) {
            Some(task) if task.kind == rows::LFS_COLLECTION => "the search for unused LFS objects".to_owned(),
            Some(task) if !task.repository.is_empty() => format!("the import of {}", task.repository),
            _ => format!("task {id}"),
        }
    }

    /// Returns the confirmation before a task is cancelled, whether it is listed or not.
    pub(crate) fn cancel_question(&self, id: i64, world: &World) -> Layer {
        match self.find(id) {
            Some(task) if task.kind == rows::LFS_COLLECTION => {
                let lines = ["Objects that it has removed stay removed.", "The next search begins again."];
                question(id, &self.name_of(id), "Cancel search", &lines, world)
            }
            Some(task) if !task.repository.is_empty() => cancel_import_question(id, &task.repository, world),
            _ => question(id, &self.name_of(id), "Cancel task", &["Its partial result is removed."], world),
        }
    }

    pub(super) fn cancel(&self, env: &mut Env) {
        let Ok(Some(task)) = self.rows.list.target() else { return };
        let question = self.cancel_question(task.id, env.world);
        env.open(question);
    }

    /// Requests the repository of a failed import, to open the form that imports it again.
    pub(super) fn retry(&self, env: &mut Env) {
        let Ok(Some(task)) = self.rows.list.target() else { return };
        if let Ok(path) = task.repository.parse() {
            env.send(Request::FailedImport(path));
        }
    }

    /// Shows all fields and phases of the task under the cursor.
    pub(super) fn open(&self, env: &mut Env) {
        let Some(task) = self.rows.list.current() else { return };
        let lines = rows::lines(task, &env.world.clock, TEXT_WIDTH);
        let text = lines.iter().map(|line| plain(line)).collect::<Vec<_>>().join("\n");
        env.open(Layer::TextView(TextView::new(format!("Task {}", task.id), text)));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        let json: Vec<String> =
            targets.iter().map(|task| serde_json::to_string_pretty(task).unwrap_or_default()).collect();
        env.push(Cmd::Copy(json.join("\n"), words::count(i64::try_from(targets.len()).unwrap_or(0)) + " as JSON"));
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        match action {
            Action::CancelTask => match self.rows.list.target() {
                Err(why) => Some(why),
                Ok(task) if task.is_some_and(BackgroundTask::is_running) => None,
                Ok(_) => Some("no running task selected".to_owned()),
            },
            Action::Recover => match self.rows.list.target() {
                Err(why) => Some(why),
                Ok(task) if task.is_some_and(|task| task.kind == "migration" && task.state == "failed") => None,
                Ok(_) => Some("no failed import selected".to_owned()),
            },
            Action::Open if self.rows.list.current().is_none() => Some("no task selected".to_owned()),
            Action::Copy if self.rows.list.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no task selected".to_owned()))
            }
            _ => None,
        }
    }
}
