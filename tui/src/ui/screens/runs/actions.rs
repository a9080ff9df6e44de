//! Actions on runs, jobs and artifacts, with their confirmations.

use super::{RunTab, Runs, part_rows::RunPart, rows};
use crate::{
    config::TYPED_ABOVE,
    ui::{
        bulk,
        keymap::Action,
        layer::{Confirm, Layer, TextView},
        list::ListView as _,
        net::{Batch, Request},
        runs::ListedRun,
        screens::Screen as _,
        words,
        world::{Cmd, Env, World},
    },
};

/// An object that the actions apply to.
const NOUN: &str = "run";
/// Number of runs that a confirmation lists.
const NAMED_MAX: usize = 6;
/// The effect of a cancellation, for confirmations.
const EFFECT: &str = "Running jobs end as cancelled. Their tokens stop working; artifacts that were uploaded stay.";

impl Runs {
    /// Returns the runs that actions apply to.
    fn targets(&self) -> Vec<&ListedRun> {
        if self.in_parts { self.rows.list.current().into_iter().collect() } else { self.rows.list.targets() }
    }

    /// Returns the runs that actions apply to and that have not ended.
    fn live(&self) -> Vec<&ListedRun> {
        self.targets().into_iter().filter(|run| run.is_running()).collect()
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        match action {
            Action::CancelRun => self.live().is_empty().then(|| "no run here that is still running".to_owned()),
            Action::Open if self.in_parts && self.current_part().is_none() => {
                Some("no job or artifact selected".to_owned())
            }
            Action::Copy if self.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no run selected".to_owned()))
            }
            Action::Open | Action::Artifacts if self.rows.list.current().is_none() => {
                Some("no run selected".to_owned())
            }
            Action::Sort | Action::Reverse if !self.in_parts => {
                Some("runs are always sorted by time, the newest first".to_owned())
            }
            Action::Sort | Action::Reverse => Some("artifacts are always listed below their jobs".to_owned()),
            _ => None,
        }
    }

    pub(super) fn cancel(&self, env: &mut Env) {
        let live = self.live();
        if live.is_empty() {
            return;
        }
        let ended = self.targets().len() - live.len();
        let mut skipped: Vec<String> = Vec::new();
        if ended > 0 {
            skipped.push(format!("{} skipped: completed already", bulk::counted(ended, NOUN)));
        }
        skipped.extend(self.rows.list.hidden_note().filter(|_| !self.in_parts));
        let ids: Vec<i64> = live.iter().map(|run| run.id).collect();
        env.open(self.question(&ids, skipped, env.world));
    }

    /// Returns the confirmation before a run is cancelled, whether it is listed or not.
    pub(crate) fn cancel_question(&self, id: i64, world: &World) -> Layer {
        self.question(&[id], Vec::new(), world)
    }

    /// Returns the confirmation before runs are cancelled. `skipped`: runs that are left out, and why.
    fn question(&self, ids: &[i64], skipped: Vec<String>, world: &World) -> Layer {
        let name = |id: i64| match self.rows.list.rows().iter().find(|run| run.id == id) {
            Some(run) => format!("run {id} of {}   {}", run.repository(), run.title()).trim_end().to_owned(),
            None => format!("run {id}"),
        };
        let mut lines: Vec<String> = ids.iter().take(NAMED_MAX).map(|id| name(*id)).collect();
        if ids.len() > NAMED_MAX {
            lines.push(format!("and {} more", ids.len() - NAMED_MAX));
        }
        lines.extend(skipped);
        lines.push(EFFECT.to_owned());
        if let [id] = ids {
            let title = format!("Cancel run {id}");
            let question = Confirm::simple(title, lines, "Cancel run", Request::CancelRun(*id), world);
            return Layer::Confirm(question.or("Keep running"));
        }
        let items = ids.iter().map(|id| (name(*id), Request::CancelRun(*id))).collect();
        let request = Request::Batch(Box::new(Batch { noun: NOUN, doing: "cancelling", done: "cancelled", items }));
        let title = format!("Cancel {}", bulk::counted(ids.len(), NOUN));
        let question = if ids.len() > TYPED_ABOVE {
            Confirm::typed(title, lines, "Cancel runs", ids.len().to_string(), request, world)
        } else {
            Confirm::simple(title, lines, "Cancel runs", request, world)
        };
        Layer::Confirm(question.or("Keep running"))
    }

    /// Shows the run on the screen of artifacts, which downloads and deletes them.
    pub(super) fn show_artifacts(&self, env: &mut Env) {
        if let Some(run) = self.rows.list.current() {
            env.push(Cmd::Run(run.id));
        }
    }

    /// Shows all fields of the job under the cursor, or the artifact on its own screen.
    pub(super) fn open_part(&self, env: &mut Env) {
        match self.current_part() {
            Some(RunPart::Artifact(artifact)) => env.push(Cmd::Line(format!("artifact {}", artifact.id))),
            Some(part @ RunPart::Job(job)) => {
                let facts = rows::job_facts(job, &env.world.clock);
                env.open(Layer::TextView(TextView::new(part.name(), facts)));
            }
            None => {}
        }
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.targets();
        let json: Vec<String> =
            targets.iter().map(|run| serde_json::to_string_pretty(&run.run()).unwrap_or_default()).collect();
        env.push(Cmd::Copy(json.join("\n"), words::count(i64::try_from(targets.len()).unwrap_or(0)) + " as JSON"));
    }

    /// Stops the first load, else clears marks and filters, else shows the runs of all repositories. Returns whether
    /// anything changed.
    pub(super) fn back(&mut self, env: &mut Env) -> bool {
        if !self.rows.has_all() && self.rows.stop(env) {
            return true;
        }
        if self.rows.clear_one(env) {
            self.request_filtered(env);
            self.cursor_moved(env);
            return true;
        }
        let is_limited = self.of.is_some() || self.tab != RunTab::All;
        if is_limited {
            self.choose(None, RunTab::All, env);
        }
        is_limited
    }
}
