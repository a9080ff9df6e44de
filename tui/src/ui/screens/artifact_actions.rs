//! What can be done with artifacts, and what came of it.

use std::sync::Arc;

use farrier_common::{api::EditArtifact, client::RepositoryPath};
use jiff::Timestamp;

use super::{
    Screen as _, artifact_form, artifact_pane,
    artifact_tree::{Node, NodeId},
    artifacts::Artifacts,
    named_first,
};
use crate::{
    output::human_bytes,
    ui::{
        key::Key,
        keymap::Action,
        layer::{
            Confirm, Layer, Menu, Reader,
            menu::{Item, Pick},
        },
        net::{Ask, Existing},
        runs::{Artifact, Run},
        world::{Cmd, Env},
    },
};

fn path(run: &Run) -> Option<RepositoryPath> {
    run.repo.parse().ok()
}

impl Artifacts {
    /// The marked artifacts, or the one under the cursor, each with its run.
    pub(super) fn targets(&self) -> Vec<(&Arc<Artifact>, &Arc<Run>)> {
        let rows = self.rows.list.targets().into_iter();
        rows.filter_map(|node| Some((node.artifact()?, node.run()))).collect()
    }

    fn ids(&self) -> Vec<i64> {
        self.targets().iter().map(|(artifact, _)| artifact.id).collect()
    }

    /// Why an action makes no sense now.
    pub(super) fn why_off(&self, action: Action) -> Option<String> {
        let on_artifacts = matches!(action, Action::Download | Action::Delete | Action::Copy | Action::Edit);
        let needs_bytes = matches!(action, Action::Download | Action::Edit);
        if on_artifacts && self.targets().is_empty() {
            return Some("no artifact here".to_owned());
        }
        if needs_bytes && self.targets().iter().any(|(artifact, _)| !artifact.is_ready()) {
            return Some("an artifact that is being uploaded or has expired has no bytes".to_owned());
        }
        if action == Action::Delete && self.targets().iter().any(|(artifact, _)| artifact.is_uploading()) {
            return Some("an artifact that is being uploaded is not there yet".to_owned());
        }
        let here = self.rows.list.current().and_then(Node::artifact);
        (action == Action::Inside && !here.is_some_and(|artifact| artifact.is_ready()))
            .then(|| "no artifact with bytes here".to_owned())
    }

    pub(super) fn download(&mut self, env: &mut Env) {
        for (artifact, run) in self.targets() {
            let Some(repo) = path(run) else { continue };
            env.ask(Ask::Download {
                repo,
                id: artifact.id,
                name: artifact.name().to_string(),
                existing: Existing::Keep,
            });
        }
        self.rows.list.unmark();
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let targets = self.targets();
        let mut lines =
            named_first(targets.iter().map(|(one, run)| {
                format!("{}   {}   run {}   {}", one.name(), human_bytes(one.size), run.id, run.repo)
            }));
        lines.push("This cannot be undone.".to_owned());
        let ask = Ask::DeleteArtifacts(self.ids());
        let question = match targets.len() {
            n if n <= env.world.bulk_over.max(1) => {
                let title = if n == 1 { "Delete 1 artifact".to_owned() } else { format!("Delete {n} artifacts") };
                Confirm::simple(title, lines, "Delete", ask, env.world)
            }
            n => Confirm::typed(format!("Delete {n} artifacts"), lines, "Delete", n.to_string(), ask, env.world),
        };
        env.open(Layer::Confirm(question));
    }

    /// Offers other ends.
    pub(super) fn keep(&self, env: &mut Env) {
        let what = match self.targets().as_slice() {
            [(one, _)] => one.name().to_string(),
            many => format!("{} artifacts", many.len()),
        };
        env.open(Layer::Menu(artifact_form::menu(&self.ids(), &what, env.world)));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.targets();
        let each = |text: &dyn Fn(&Artifact, &Run) -> String| {
            targets.iter().map(|(one, run)| text(one, run)).collect::<Vec<_>>().join("\n")
        };
        let root = env.world.status.as_ref().map_or("", |status| status.root_url.trim_end_matches('/'));
        let address =
            |one: &Artifact, run: &Run| format!("{root}/api/v1/repos/{}/actions/artifacts/{}/zip", run.repo, one.id);
        let texts = vec![
            ('i', "id", each(&|one, _| one.id.to_string())),
            ('n', "name", each(&|one, _| one.name().to_string())),
            ('h', "sha256", each(&|one, _| one.sha256())),
            ('a', "address", each(&address)),
        ];
        let mut menu = Menu::copies("Copy", texts);
        if let [(one, run)] = targets.as_slice()
            && let Some(repo) = path(run)
        {
            menu.add(Item {
                key: Some(Key::Char('u')),
                title: "signed address that needs no credentials".to_owned(),
                off: (!one.is_ready()).then(|| "it has no bytes".to_owned()),
                pick: Pick::Do(Cmd::Ask(Ask::SignedAddress(repo, one.id))),
            });
        }
        env.open(Layer::Menu(menu));
    }

    /// Asks what is inside of the artifact under the cursor.
    pub(super) fn look_inside(&self, env: &mut Env) {
        if let Some(Node::Artifact { artifact, run, .. }) = self.rows.list.current()
            && let Some(repo) = path(run)
        {
            env.ask(Ask::ZipContent { repo, id: artifact.id, name: artifact.name().to_string() });
        }
    }

    /// Everything about the row under the cursor.
    pub(super) fn tell_all(&self, env: &mut Env) {
        let Some(node) = self.rows.list.current() else { return };
        let lines: Vec<String> = artifact_pane::details(node, env.world)
            .into_iter()
            .map(|(name, value)| format!("{name:<8}  {value}"))
            .collect();
        env.open(Layer::Reader(Reader::new(artifact_pane::title(node), lines.join("\n"))));
    }

    /// Tells what came of a deletion.
    pub(super) fn deleted(&mut self, each: &[(i64, Option<String>)], env: &mut Env) {
        for (id, _) in each.iter().filter(|(_, error)| error.is_none()) {
            self.tree.remove(*id);
        }
        let failed: Vec<(i64, &str)> = each.iter().filter_map(|(id, error)| Some((*id, error.as_deref()?))).collect();
        self.tell_outcome("deleted", each.len(), &failed, env);
    }

    /// Tells what came of new ends, and how to take them back.
    pub(super) fn kept(&mut self, each: &[(i64, Result<i64, String>)], env: &mut Env) {
        let mut before = Vec::new();
        for (id, set) in each {
            let (Ok(expires), Some(artifact)) = (set, self.tree.find(*id)) else { continue };
            if let Ok(then) = Timestamp::from_second(artifact.expires) {
                before.push((*id, EditArtifact { expires_at: Some(then.to_string()), ..EditArtifact::default() }));
            }
            self.tree.expires(*id, *expires);
        }
        if !before.is_empty() {
            env.want(Cmd::Undo(Box::new(Cmd::Ask(Ask::EditArtifacts(before)))));
        }
        let failed = each.iter().filter_map(|(id, set)| Some((*id, set.as_ref().err()?.as_str())));
        let failed: Vec<(i64, &str)> = failed.collect();
        self.tell_outcome("set to expire", each.len(), &failed, env);
    }

    /// What was done is shown at once; then everything is asked for again, which may take a while.
    fn tell_outcome(&mut self, done: &str, all: usize, failed: &[(i64, &str)], env: &mut Env) {
        self.settle();
        self.rows.list.mark_only(failed.iter().map(|(id, _)| NodeId::Artifact(*id)));
        match failed.first() {
            None => env.tell(format!("{all} {done}")),
            Some((_, why)) => {
                let (good, bad) = (all - failed.len(), failed.len());
                env.warn(format!("{good} {done}, {bad} failed and stay marked: {why}"));
            }
        }
        self.rows.stop(env);
        self.refresh(env);
    }

    /// Copies a signed address and says how long it works.
    pub(super) fn signed(target: &str, env: &mut Env) {
        let root = env.world.status.as_ref().map_or("", |status| status.root_url.trim_end_matches('/'));
        let address = format!("{root}{target}");
        let clock = &env.world.clock;
        let ends = target.split(['?', '&']).find_map(|pair| pair.strip_prefix("exp=")?.parse::<i64>().ok());
        let until =
            ends.map_or_else(String::new, |ends| format!(" for {},\nuntil {}", clock.left(ends), clock.stamp_of(ends)));
        let text = format!("Whoever has it can read the artifact{until}.\n\n{address}");
        env.want(Cmd::Copy(address, "signed address".to_owned()));
        env.open(Layer::Reader(Reader::new("Copied: signed address", text)));
    }
}
