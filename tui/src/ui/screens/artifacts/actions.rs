//! Actions on artifacts and the notices about their results.

use std::{collections::HashSet, sync::Arc};

use farrier_common::{api::EditArtifact, client::RepositoryPath};
use jiff::Timestamp;

use super::{
    Artifacts, form as artifact_form, pane as artifact_pane,
    tree::{Node, NodeId},
};
use crate::ui::screens::Screen as _;
use crate::{
    output::human_bytes,
    ui::{
        bulk::{self, BulkAction},
        key::Key,
        keymap::Action,
        layer::{
            Confirm, Layer, Menu, TextView,
            menu::{Item, Pick},
        },
        list::ListView as _,
        net::{Existing, Request},
        redacted::Redacted,
        runs::{ArtifactSummary, Outcome, RunSummary},
        world::{Cmd, Env, World},
    },
};

/// An artifact that an action applies to.
const NOUN: &str = "artifact";

fn path(run: &RunSummary) -> Option<RepositoryPath> {
    run.repo.parse().ok()
}

impl Artifacts {
    /// Returns the artifacts that actions apply to, each with its run: those of the marked rows, or of the row
    /// under the cursor. A run or a job means all of its artifacts, or only the visible ones while a filter hides
    /// some.
    pub(super) fn targets(&self) -> Vec<(&Arc<ArtifactSummary>, &Arc<RunSummary>)> {
        let shown: Option<HashSet<i64>> =
            self.is_narrowed().then(|| self.rows.list.shown().filter_map(|node| Some(node.artifact()?.id)).collect());
        let mut seen = HashSet::new();
        let below = |node: &Node| -> Vec<(&Arc<ArtifactSummary>, &Arc<RunSummary>)> {
            let Some(entry) = self.tree.get(node.run().id) else { return Vec::new() };
            let is_selected = |one: &&Arc<ArtifactSummary>| match node {
                Node::Run { .. } => true,
                Node::Job { .. } => node.job().is_some_and(|job| job.id == one.job),
                Node::Artifact { artifact, .. } => artifact.id == one.id,
            };
            let is_shown = |one: &&Arc<ArtifactSummary>| shown.as_ref().is_none_or(|shown| shown.contains(&one.id));
            entry.artifacts.iter().filter(is_selected).filter(is_shown).map(|one| (one, &entry.run)).collect()
        };
        let all = self.rows.list.targets().into_iter().flat_map(below);
        all.filter(|(one, _)| seen.insert(one.id)).collect()
    }

    /// Returns whether actions apply to artifacts that are selected themselves, not through their run.
    fn is_on_artifacts(&self) -> bool {
        self.rows.list.targets().iter().all(|node| node.artifact().is_some())
    }

    fn ids(&self) -> Vec<i64> {
        self.targets().iter().map(|(artifact, _)| artifact.id).collect()
    }

    /// Returns the number of artifacts of the marked runs and jobs, and their total size.
    pub(super) fn marked_below(&self) -> Option<String> {
        let targets = self.targets();
        let bytes: i64 = targets.iter().filter(|(one, _)| one.is_ready()).map(|(one, _)| one.size).sum();
        let text = || format!("({}, {})", bulk::counted(targets.len(), NOUN), human_bytes(bytes));
        (self.rows.list.has_marks() && !self.is_on_artifacts()).then(text)
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        if action == Action::CancelRun {
            return self.live_run().is_none().then(|| "no run here that is still running".to_owned());
        }
        let on_artifacts = matches!(action, Action::Download | Action::Delete | Action::Copy | Action::Edit);
        let targets = self.targets();
        if on_artifacts && targets.is_empty() {
            return Some(match (self.rows.list.hidden_note(), self.rows.list.targets().as_slice()) {
                (Some(note), _) => note,
                (None, []) => "nothing selected".to_owned(),
                (None, [one]) => format!("{} has no artifacts", one.name()),
                (None, many) => format!("these {} rows have no artifacts", many.len()),
            });
        }
        let needs_bytes = matches!(action, Action::Download | Action::Edit);
        if needs_bytes && !targets.iter().any(|(artifact, _)| artifact.is_ready()) {
            return Some("artifacts that are uploading or expired have no content".to_owned());
        }
        if action == Action::Delete && targets.iter().all(|(artifact, _)| artifact.is_uploading()) {
            return Some("artifacts that are still uploading cannot be deleted".to_owned());
        }
        if action == Action::Inside && self.rows.list.target().is_err() {
            return self.rows.list.target().err();
        }
        let here = self.rows.list.target().ok().flatten().and_then(Node::artifact);
        (action == Action::Inside && !here.is_some_and(|artifact| artifact.is_ready()))
            .then(|| "select an artifact that is ready".to_owned())
    }

    /// Returns the command that downloads a listed artifact.
    pub(crate) fn download_of(&self, id: i64) -> Option<Request> {
        let entry = self.tree.get(self.tree.run_of(id)?)?;
        let artifact = entry.artifacts.iter().find(|one| one.id == id)?;
        let name = artifact.name().to_owned();
        Some(Request::Download { repo: path(&entry.run)?, id, name, existing: Existing::Keep })
    }

    /// Returns the run of the row under the cursor if it has not ended.
    fn live_run(&self) -> Option<&RunSummary> {
        let run = &**self.rows.list.current()?.run();
        let lives = |outcome: Outcome| outcome == Outcome::Running;
        (lives(run.outcome) || run.jobs.iter().any(|job| lives(job.outcome))).then_some(run)
    }

    pub(super) fn cancel_run(&self, env: &mut Env) {
        let Some(run) = self.live_run() else { return };
        let live = run.jobs.iter().filter(|job| job.outcome == Outcome::Running).count();
        let jobs = if live == 1 { "1 running job".to_owned() } else { format!("{live} running jobs") };
        let lines = vec![
            format!("run {} of {}   {}", run.id, run.repo, run.title()),
            format!("{jobs} will be cancelled. Their tokens stop working; artifacts that were uploaded stay."),
        ];
        let title = format!("Cancel run {}", run.id);
        let question = Confirm::simple(title, lines, "Cancel run", Request::CancelRun(run.id), env.world);
        env.open(Layer::Confirm(question.or("Keep running")));
    }

    pub(super) fn download(&mut self, env: &mut Env) {
        let ready: Vec<i64> = self.targets().iter().filter(|(one, _)| one.is_ready()).map(|(one, _)| one.id).collect();
        let skipped = self.targets().len() - ready.len();
        for request in ready.into_iter().filter_map(|id| self.download_of(id)) {
            env.send(request);
        }
        if skipped > 0 {
            env.notify(format!("{} skipped: no content", bulk::counted(skipped, NOUN)));
        }
        self.rows.list.unmark();
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let question = self.delete_question(&self.ids(), env.world);
        env.open(question);
    }

    /// Returns the IDs of the `count` oldest artifacts that have not expired, of one repository or of all. Fails while
    /// the list is not complete, because older ones may be missing.
    pub(crate) fn oldest(&self, count: usize, of: Option<&RepositoryPath>) -> Result<Vec<i64>, String> {
        let has_other = |of: &RepositoryPath| self.of.as_ref().is_some_and(|shown| shown != of);
        if !self.rows.has_all() || self.totals.cut || of.map_or(self.of.is_some(), has_other) {
            return Err("not all artifacts are listed; 5 lists them, then repeat the command".to_owned());
        }
        let is_of = |run: &RunSummary| of.is_none_or(|of| of.to_string().eq_ignore_ascii_case(&run.repo));
        let entries = self.tree.entries().filter(|entry| is_of(&entry.run));
        let mut ids: Vec<i64> =
            entries.flat_map(|entry| &entry.artifacts).filter(|one| one.is_ready()).map(|one| one.id).collect();
        ids.sort_unstable();
        ids.truncate(count);
        if ids.is_empty() { Err("there are no artifacts".to_owned()) } else { Ok(ids) }
    }

    /// Returns the confirmation before artifacts are deleted, whether they are listed or not.
    pub(crate) fn delete_question(&self, ids: &[i64], world: &World) -> Layer {
        let found = |id: i64| {
            let entry = self.tree.get(self.tree.run_of(id)?)?;
            Some((entry.artifacts.iter().find(|one| one.id == id)?, &entry.run))
        };
        let is_uploading = |id: &i64| found(*id).is_some_and(|(one, _)| one.is_uploading());
        let (uploading, ids): (Vec<i64>, Vec<i64>) = ids.iter().copied().partition(is_uploading);
        let name = |id: &i64| match found(*id) {
            Some((one, run)) => format!("{}   {}   run {}   {}", one.name(), human_bytes(one.size), run.id, run.repo),
            None => format!("artifact {id}"),
        };
        let skipped = (!uploading.is_empty())
            .then(|| format!("{} skipped: still uploading", bulk::counted(uploading.len(), NOUN)));
        let bulk = BulkAction {
            verb: "Delete",
            noun: NOUN,
            names: ids.iter().map(name).collect(),
            bytes: ids
                .iter()
                .filter_map(|id| found(*id))
                .filter(|(one, _)| one.is_ready())
                .map(|(one, _)| one.size)
                .sum(),
            effect: "The content is deleted.",
            destroys: true,
            restorable: world.after_deletion(),
            skipped: skipped.into_iter().chain(self.rows.list.hidden_note()).collect(),
            ..BulkAction::default()
        };
        Layer::Confirm(bulk.question(Request::DeleteArtifacts(ids), world))
    }

    /// Opens the menu that changes the expiry time.
    pub(super) fn keep(&self, env: &mut Env) {
        let targets = self.targets();
        let ready: Vec<_> = targets.iter().filter(|(one, _)| one.is_ready()).collect();
        let what = match ready.as_slice() {
            [(one, _)] => one.name().to_owned(),
            many => bulk::counted(many.len(), NOUN),
        };
        let ids: Vec<i64> = ready.iter().map(|(one, _)| one.id).collect();
        env.open(Layer::Menu(artifact_form::menu(&ids, &what, env.world)));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.targets();
        let each = |text: &dyn Fn(&ArtifactSummary, &RunSummary) -> String| {
            targets.iter().map(|(one, run)| text(one, run)).collect::<Vec<_>>().join("\n")
        };
        let root = env.world.status.as_ref().map_or("", |status| status.root_url.trim_end_matches('/'));
        let address = |one: &ArtifactSummary, run: &RunSummary| {
            format!("{root}/api/v1/repos/{}/actions/artifacts/{}/zip", run.repo, one.id)
        };
        let texts = vec![
            ('i', "ID", each(&|one, _| one.id.to_string())),
            ('n', "name", each(&|one, _| one.name().to_string())),
            ('h', "SHA-256", each(&|one, _| one.sha256())),
            ('a', "URL", each(&address)),
        ];
        let mut menu = Menu::copies("Copy", texts);
        if let [(one, run)] = targets.as_slice()
            && let Some(repo) = path(run)
        {
            menu.add(Item {
                key: Some(Key::Char('u')),
                title: "Signed URL that works without credentials".to_owned(),
                off: (!one.is_ready()).then(|| "no content".to_owned()),
                pick: Pick::Do(Cmd::Send(Request::SignedAddress(repo, one.id))),
            });
        }
        env.open(Layer::Menu(menu));
    }

    /// Requests the content list of the selected artifact.
    pub(super) fn look_inside(&self, env: &mut Env) {
        if let Ok(Some(Node::Artifact { artifact, run, .. })) = self.rows.list.target()
            && let Some(repo) = path(run)
        {
            env.send(Request::ZipContent { repo, id: artifact.id, name: artifact.name().to_string() });
        }
    }

    /// Shows all details of the row under the cursor in a text view.
    pub(super) fn open_details(&self, env: &mut Env) {
        let Some(node) = self.rows.list.current() else { return };
        let lines: Vec<String> = artifact_pane::details(node, env.world)
            .into_iter()
            .map(|(name, value)| format!("{name:<8}  {value}"))
            .collect();
        env.open(Layer::TextView(TextView::new(artifact_pane::title(node), lines.join("\n"))));
    }

    /// Reports the result of a deletion.
    pub(super) fn deleted(&mut self, each: &[(i64, Option<String>)], env: &mut Env) {
        let failed: Vec<(i64, String, String)> =
            each.iter().filter_map(|(id, error)| Some((*id, self.name_of(*id), error.clone()?))).collect();
        for (id, _) in each.iter().filter(|(_, error)| error.is_none()) {
            self.tree.remove(*id);
        }
        self.notify_outcome("deleted", each.len(), failed, env);
    }

    /// Reports the result of a changed expiry time, and registers the command that undoes it.
    pub(super) fn kept(&mut self, each: &[(i64, Result<i64, String>)], env: &mut Env) {
        let mut before = Vec::new();
        for (id, set) in each {
            let (Ok(expires), Some(artifact)) = (set, self.tree.find(*id)) else { continue };
            if let Ok(then) = Timestamp::from_second(artifact.expires()) {
                before.push((*id, EditArtifact { expires_at: Some(then.to_string()), ..EditArtifact::default() }));
            }
            self.tree.expires(*id, *expires);
        }
        if !before.is_empty() {
            env.push(Cmd::Undo(Box::new(Cmd::Send(Request::EditArtifacts(before)))));
        }
        let failed = each.iter().filter_map(|(id, set)| Some((*id, self.name_of(*id), set.as_ref().err()?.clone())));
        let failed = failed.collect();
        self.notify_outcome("set to expire", each.len(), failed, env);
    }

    fn name_of(&self, id: i64) -> String {
        self.tree.find(id).map_or_else(|| format!("artifact {id}"), |one| one.name().to_owned())
    }

    /// Removes the rows at once, then loads the whole list again, which may take a while.
    fn notify_outcome(&mut self, done: &str, all: usize, failed: Vec<(i64, String, String)>, env: &mut Env) {
        self.settle();
        self.rows.list.mark_only(failed.iter().map(|(id, ..)| NodeId::Artifact(*id)));
        let failed: Vec<(String, String)> = failed.into_iter().map(|(_, name, why)| (name, why)).collect();
        bulk::report(all, NOUN, done, &failed, env);
        self.rows.stop(env);
        self.refresh(env);
    }

    /// Copies a signed URL and reports how long it is valid.
    pub(super) fn signed(target: &str, env: &mut Env) {
        let root = env.world.status.as_ref().map_or("", |status| status.root_url.trim_end_matches('/'));
        let address = format!("{root}{target}");
        let clock = &env.world.clock;
        let ends = expiry_secs(target);
        let until =
            ends.map_or_else(String::new, |ends| format!(" for {},\nuntil {}", clock.left(ends), clock.stamp_of(ends)));
        let text = format!("Anyone with this URL can read the artifact{until}.\n\n{address}");
        env.push(Cmd::CopySecret(Redacted(address), "signed URL".to_owned()));
        env.open(Layer::TextView(TextView::new("Copied: signed URL", text)));
    }
}

/// Returns when a signed URL expires, in seconds since the epoch.
fn expiry_secs(target: &str) -> Option<i64> {
    let value = |name: &str| target.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    match value("se") {
        Some(time) => Some(time.replace("%3A", ":").parse::<Timestamp>().ok()?.as_second()),
        // Daemons of version 0.1.
        None => value("exp")?.parse().ok(),
    }
}
