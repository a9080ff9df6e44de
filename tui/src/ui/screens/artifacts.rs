//! Artifacts of one repository's runs: a tree, downloads, deletions.
//!
//! Which repository is chosen first, from a list: the daemon lists artifacts below a repository only.

use std::{collections::HashSet, time::Duration};

use farrier_common::{
    api::{Artifact, Repository},
    client::RepositoryPath,
};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Screen, ScreenId,
    artifact_rows::{Node, NodeId, flatten},
    repositories::path,
    sortable,
};
use crate::{
    output::human_bytes,
    ui::{
        keymap::{Action, Scope},
        layer::{Confirm, Layer, Menu},
        list::{self, Feed, Filter, List, Place, Row as _, feed::Load},
        net::{Answer, Ask, Existing, Page, Problem, Tree},
        view::{Role, rule, text, wrapped},
        words,
        world::{Env, World},
    },
};

const PACE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Artifacts {
    places: Feed<Repository>,
    of: Option<RepositoryPath>,
    tree: Feed<Node>,
    all: Tree,
    folded: HashSet<i64>,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            places: Feed::new(List::sorted(0)),
            of: None,
            tree: Feed::new(List::default()),
            all: Tree::default(),
            folded: HashSet::new(),
        }
    }
}

impl Artifacts {
    /// Shows the artifacts of a repository.
    pub(crate) fn choose(&mut self, of: RepositoryPath, env: &mut Env) {
        if self.of.as_ref() != Some(&of) {
            self.tree.stop(env);
            self.tree.empty();
            self.all = Tree::default();
            self.folded.clear();
            self.of = Some(of);
        }
        self.refresh(env);
    }

    fn here(&self) -> Option<&Artifact> {
        match self.tree.list.current()? {
            Node::Artifact(artifact) => Some(artifact),
            Node::Run { .. } | Node::Job(_) => None,
        }
    }

    /// The marked artifacts, or the one under the cursor.
    fn targets(&self) -> Vec<&Artifact> {
        let rows = self.tree.list.targets().into_iter();
        rows.filter_map(|node| match node {
            Node::Artifact(artifact) => Some(artifact),
            Node::Run { .. } | Node::Job(_) => None,
        })
        .collect()
    }

    fn fold(&mut self) {
        let run = match self.tree.list.current() {
            Some(Node::Run { run, .. }) => run.id,
            Some(Node::Job(job)) => job.run_id,
            Some(Node::Artifact(artifact)) => artifact.workflow_run.id,
            None => return,
        };
        if !self.folded.remove(&run) {
            self.folded.insert(run);
        }
        self.tree.list.replace(flatten(&self.all, &self.folded));
        self.tree.list.select(NodeId::Run(run));
    }

    fn download(&mut self, env: &mut Env) {
        let Some(repo) = self.of.clone() else { return };
        let targets: Vec<(i64, String)> =
            self.targets().into_iter().map(|artifact| (artifact.id, artifact.name.clone())).collect();
        for (id, name) in targets {
            env.ask(Ask::Download { repo: repo.clone(), id, name, existing: Existing::Keep });
        }
        self.tree.list.unmark();
    }

    fn delete(&self, env: &mut Env) {
        let Some(repo) = self.of.clone() else { return };
        let targets = self.targets();
        let ids: Vec<i64> = targets.iter().map(|artifact| artifact.id).collect();
        let mut lines: Vec<String> = targets
            .iter()
            .take(6)
            .map(|artifact| {
                format!(
                    "{}   {}   run {}",
                    artifact.name,
                    human_bytes(artifact.size_in_bytes),
                    artifact.workflow_run.id
                )
            })
            .collect();
        if targets.len() > 6 {
            lines.push(format!("and {} more", targets.len() - 6));
        }
        lines.push("This cannot be undone.".to_owned());
        let ask = Ask::DeleteArtifacts(repo, ids);
        let question = match targets.len() {
            n if n <= env.world.bulk_over.max(1) => {
                let title = if n == 1 { "Delete 1 artifact".to_owned() } else { format!("Delete {n} artifacts") };
                Confirm::simple(title, lines, "Delete", ask, env.world)
            }
            n => Confirm::typed(format!("Delete {n} artifacts"), lines, "Delete", n.to_string(), ask, env.world),
        };
        env.open(Layer::Confirm(question));
    }

    fn copy(&self, env: &mut Env) {
        let targets = self.targets();
        let each = |text: fn(&Artifact) -> String| targets.iter().map(|one| text(one)).collect::<Vec<_>>().join("\n");
        let texts = vec![
            ('i', "id", each(|one| one.id.to_string())),
            ('n', "name", each(|one| one.name.clone())),
            ('h', "sha256", each(|one| one.digest.trim_start_matches("sha256:").to_owned())),
            ('u', "address", each(|one| one.archive_download_url.clone())),
        ];
        env.open(Layer::Menu(Menu::copies("Copy", texts)));
    }

    fn deleted(&mut self, each: &[(i64, Option<String>)], env: &mut Env) {
        let failed: Vec<&(i64, Option<String>)> = each.iter().filter(|(_, error)| error.is_some()).collect();
        self.tree.list.mark_only(failed.iter().map(|(id, _)| NodeId::Artifact(*id)));
        match failed.first() {
            None => env.tell(format!("{} deleted", each.len())),
            Some((_, error)) => env.warn(format!(
                "{} deleted, {} failed and stay marked: {}",
                each.len() - failed.len(),
                failed.len(),
                error.as_deref().unwrap_or_default()
            )),
        }
        self.tree.stop(env);
        self.refresh(env);
    }

    fn detail(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let mut lines: Vec<(Role, String)> = Vec::new();
        if let Some(artifact) = self.here() {
            lines.push((Role::Title, artifact.name.clone()));
            lines.push((Role::Text, format!("id       {}   run {}", artifact.id, artifact.workflow_run.id)));
            let bytes = words::count(artifact.size_in_bytes);
            lines.push((Role::Text, format!("size     {} ({bytes})", human_bytes(artifact.size_in_bytes))));
            lines.push((Role::Text, format!("digest   {}", artifact.digest)));
            lines.push((Role::Text, format!("created  {}", words::stamp(&artifact.created_at))));
            let left = words::until(&artifact.expires_at, world.wall);
            lines.push((Role::Text, format!("expires  {}  ({left})", words::stamp(&artifact.expires_at))));
        } else if let Some(Node::Run { run, artifacts, bytes, .. }) = self.tree.list.current() {
            lines.push((Role::Title, format!("run {}  {}", run.id, run.display_title)));
            lines.push((Role::Text, format!("began    {}", words::stamp(&run.started_at))));
            lines.push((Role::Text, format!("ended    {}", words::stamp(&run.completed_at))));
            lines.push((Role::Text, format!("commit   {} {}", run.head_branch, run.head_sha)));
            lines.push((Role::Text, format!("{artifacts} artifacts, {}", human_bytes(*bytes))));
        }
        let mut y = area.y;
        for (role, line) in
            lines.iter().flat_map(|(role, line)| wrapped(line, area.width).into_iter().map(|l| (*role, l)))
        {
            if y >= area.bottom() {
                return;
            }
            text(buf, Rect { y, height: 1, ..area }, &line, role);
            y += 1;
        }
        if !world.transfers.is_empty() && y + 1 < area.bottom() {
            let rest = Rect { y: y + 1, height: area.bottom() - y - 1, ..area };
            world.transfers.draw(world.now, rest, buf);
        }
    }

    fn fail(&mut self, ask: &Ask, problem: &Problem) {
        if self.places.awaits(ask) {
            self.places.fail(problem.clone());
        } else if self.tree.awaits(ask) {
            self.tree.fail(problem.clone());
        }
    }
}

impl Screen for Artifacts {
    fn id(&self) -> ScreenId {
        ScreenId::Artifacts
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        let own = if self.of.is_some() { Scope::Artifacts } else { Scope::ArtifactPlaces };
        vec![own, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        match self.of.clone() {
            Some(of) => self.tree.ask(Ask::Runs(of), env),
            None => self.places.ask(Ask::Repositories, env),
        }
    }

    fn pace(&self) -> Option<Duration> {
        Some(PACE)
    }

    fn is_loading(&self) -> bool {
        if self.of.is_some() {
            !self.tree.has_all() && self.tree.is_waiting()
        } else {
            self.places.is_waiting() && !self.places.has_all()
        }
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match (action, self.of.is_some()) {
            (Action::Open, false) => {
                if let Some(path) = self.places.list.current().and_then(path) {
                    self.choose(path, env);
                }
            }
            (Action::Open, true) => self.fold(),
            (Action::Download, true) => self.download(env),
            (Action::Delete, true) => self.delete(env),
            (Action::Copy, true) => self.copy(env),
            (Action::Back, true) => {
                if !self.tree.list.clear_one() {
                    self.tree.stop(env);
                    self.of = None;
                    self.refresh(env);
                }
            }
            (Action::Back, false) => return self.places.list.clear_one(),
            (Action::Sort | Action::Reverse, true) => return true,
            (action, true) => return self.tree.list.act(action),
            (action, false) => return self.places.list.act(action),
        }
        true
    }

    fn off(&self, action: Action) -> Option<String> {
        match action {
            Action::Download | Action::Delete | Action::Copy if self.of.is_none() => {
                Some("choose a repository first".to_owned())
            }
            Action::Download | Action::Delete | Action::Copy if self.targets().is_empty() => {
                Some("no artifact here".to_owned())
            }
            Action::Download if self.targets().iter().any(|artifact| artifact.expired) => {
                Some("an expired artifact has no bytes".to_owned())
            }
            Action::Sort | Action::Reverse if self.of.is_some() => {
                Some("a tree keeps the order of its runs".to_owned())
            }
            _ => None,
        }
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::DeleteArtifacts(..), Ok(Answer::Each(each))) => self.deleted(each, env),
            (Ask::Repositories, Ok(Answer::Repositories(page))) if self.places.awaits(ask) => {
                self.places.take(page.clone(), env.world.now);
            }
            (Ask::Runs(_), Ok(Answer::Runs(tree))) if self.tree.awaits(ask) => {
                if !self.tree.has_all() {
                    // Old runs are folded: there may be hundreds.
                    self.folded = tree.runs.iter().skip(3).map(|run| run.id).collect();
                }
                self.all = (**tree).clone();
                let items = flatten(&self.all, &self.folded);
                let page = Page { total: None, items, last: true };
                if let Some(Node::Artifact(gone)) = self.tree.take(page, env.world.now) {
                    env.tell(format!("{} was removed", gone.name));
                }
            }
            (ask, Err(problem)) => self.fail(ask, problem),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str) -> Result<(), String> {
        match self.of {
            Some(_) => self.tree.list.set_filter(Filter::parse(text, Node::filters())?),
            None => self.places.list.set_filter(Filter::parse(text, Repository::filters())?),
        }
        Ok(())
    }

    fn filter_text(&self) -> String {
        let filter = if self.of.is_some() { self.tree.list.filter() } else { self.places.list.filter() };
        filter.text().to_owned()
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        if self.of.is_some() { Vec::new() } else { sortable::<Repository>() }
    }

    fn sort(&mut self, column: usize) {
        self.places.list.set_sort(column);
    }

    fn click(&mut self, x: u16, y: u16, _: &mut Env) {
        match self.of {
            Some(_) => self.tree.list.click(x, y),
            None => self.places.list.click(x, y),
        };
    }

    fn problem(&self) -> Option<&Problem> {
        let load = if self.of.is_some() { &self.tree.load } else { &self.places.load };
        match load {
            Load::Failed(problem) => Some(problem),
            _ => None,
        }
    }

    fn standing(&self, _: &World) -> String {
        match &self.of {
            Some(of) => format!("{of}  {}", self.tree.list.standing(None)),
            None => format!("choose a repository  {}", self.places.list.standing(self.places.total)),
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let Some(of) = &self.of else {
            let empty: &[&str] = &["No repositories yet, so no artifacts.", "", "2   repositories"];
            return list::draw(&self.places, Place { what: "repositories", empty, focused: true }, world, area, buf);
        };
        let name = format!("farrier ci exec --repo {of} -- COMMAND");
        let empty: &[&str] = &["No runs yet. Agents begin them:", "", &name];
        let place = Place { what: "runs", empty, focused: true };
        if world.split() {
            let left = Rect { width: area.width * 58 / 100, ..area };
            let right = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..area };
            list::draw(&self.tree, place, world, Rect { width: left.width - 1, ..left }, buf);
            for y in area.y..area.bottom() {
                text(buf, Rect { x: left.right(), y, width: 1, height: 1 }, "│", Role::Muted);
            }
            self.detail(world, right, buf);
        } else if area.height >= 18 {
            let below = 7;
            let top = Rect { height: area.height - below - 1, ..area };
            list::draw(&self.tree, place, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            let rest = Rect { y: top.bottom() + 1, height: below, ..area };
            if world.transfers.is_empty() {
                self.detail(world, rest, buf);
            } else {
                world.transfers.draw(world.now, rest, buf);
            }
        } else {
            list::draw(&self.tree, place, world, area, buf);
        }
    }
}
