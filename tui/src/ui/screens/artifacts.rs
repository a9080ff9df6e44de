//! Artifacts of one repository's runs: a tree, downloads, deletions.
//!
//! Which repository is chosen first, from a list: the daemon lists artifacts below a repository only.

use std::{collections::HashSet, time::Duration};

use farrier_common::{api::Artifact, client::RepositoryPath};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Screen, ScreenId, artifact_pane,
    artifact_rows::{Node, NodeId, Order, flatten},
    repositories::path,
    sortable,
};
use crate::{
    output::human_bytes,
    ui::{
        key::Key,
        keymap::{Action, Scope},
        layer::{
            Confirm, Layer, Menu, Reader,
            menu::{Item, Pick},
        },
        list::{self, Feed, Filter, List, Place, Row as _, feed::Load},
        net::{Answer, Ask, Existing, Page, Problem, Tree},
        repo::Repo,
        view::{Role, rule, text},
        world::{Cmd, Env, World},
    },
};

const PACE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Artifacts {
    places: Feed<Repo>,
    of: Option<RepositoryPath>,
    tree: Feed<Node>,
    all: Tree,
    folded: HashSet<i64>,
    /// The artifact that the cursor goes to; its run is not folded then.
    wanted: Option<i64>,
    /// How the artifacts of a run are sorted, and whether that is reversed.
    order: (Order, bool),
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            places: Feed::new(List::sorted(0)),
            of: None,
            tree: Feed::new(List::default()),
            all: Tree::default(),
            folded: HashSet::new(),
            wanted: None,
            order: (Order::Made, false),
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

    /// Puts the cursor on an artifact, now or when it comes.
    pub(crate) fn show(&mut self, id: i64) {
        self.wanted = Some(id);
        self.tree.list.select(NodeId::Artifact(id));
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

    fn arrange(&mut self) {
        self.tree.list.replace(flatten(&self.all, &self.folded, self.order));
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
        self.arrange();
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
            ('a', "address", each(|one| one.archive_download_url.clone())),
        ];
        let mut menu = Menu::copies("Copy", texts);
        if let (Some(repo), [one]) = (self.of.clone(), targets.as_slice()) {
            menu.add(Item {
                key: Some(Key::Char('u')),
                title: "signed address that needs no credentials".to_owned(),
                off: one.expired.then(|| "it has no bytes any more".to_owned()),
                pick: Pick::Do(Cmd::Ask(Ask::SignedAddress(repo, one.id))),
            });
        }
        env.open(Layer::Menu(menu));
    }

    /// Asks what is inside of the artifact under the cursor.
    fn look_inside(&self, env: &mut Env) {
        if let (Some(repo), Some(Node::Artifact(artifact))) = (self.of.clone(), self.tree.list.current()) {
            env.ask(Ask::ZipContent { repo, id: artifact.id, name: artifact.name.clone() });
        }
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
            (Action::Inside, true) => self.look_inside(env),
            (Action::Reverse, true) => {
                self.order.1 = !self.order.1;
                self.arrange();
            }
            (Action::Back, true) => {
                if !self.tree.list.clear_one() {
                    self.tree.stop(env);
                    self.of = None;
                    self.refresh(env);
                }
            }
            (Action::Back, false) => return self.places.list.clear_one(),
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
            Action::Inside if !matches!(self.tree.list.current(), Some(Node::Artifact(one)) if !one.expired) => {
                Some("no artifact with bytes here".to_owned())
            }
            _ => None,
        }
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::SignedAddress(..), Ok(Answer::Signed(target))) => {
                let root = env.world.status.as_ref().map_or("", |status| status.root_url.trim_end_matches('/'));
                let address = format!("{root}{target}");
                let text = format!("Whoever has it can read the artifact, for a while.\n\n{address}");
                env.want(Cmd::Copy(address, "signed address".to_owned()));
                env.open(Layer::Reader(Reader::new("Copied: signed address", text)));
            }
            (Ask::ZipContent { name, .. }, Ok(Answer::Content(lines))) => {
                let text = if lines.is_empty() { "there is nothing in it".to_owned() } else { lines.join("\n") };
                env.open(Layer::Reader(Reader::new(format!("Inside of {name}"), text)));
            }
            (Ask::DeleteArtifacts(..), Ok(Answer::Each(each))) => self.deleted(each, env),
            (Ask::Repositories, Ok(Answer::Repositories(page))) if self.places.awaits(ask) => {
                self.places.take(page.clone(), env.world);
            }
            (Ask::Runs(_), Ok(Answer::Runs(tree))) if self.tree.awaits(ask) => {
                if !self.tree.has_all() {
                    // Old runs are folded: there may be hundreds.
                    self.folded = tree.runs.iter().skip(3).map(|run| run.id).collect();
                }
                self.all = (**tree).clone();
                let wanted = self.wanted.take();
                if let Some(found) = self.all.artifacts.iter().find(|one| Some(one.id) == wanted) {
                    self.folded.remove(&found.workflow_run.id);
                }
                let items = flatten(&self.all, &self.folded, self.order);
                let page = Page { total: None, items, last: true };
                if let Some(Node::Artifact(gone)) = self.tree.take(page, env.world) {
                    env.tell(format!("{} was removed", gone.name));
                }
            }
            (ask, Err(problem)) => self.fail(ask, problem),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, _: &mut Env) -> Result<(), String> {
        match self.of {
            Some(_) => self.tree.list.set_filter(Filter::parse(text, Node::filters())?),
            None => self.places.list.set_filter(Filter::parse(text, Repo::filters())?),
        }
        Ok(())
    }

    fn filter_text(&self) -> String {
        let filter = if self.of.is_some() { self.tree.list.filter() } else { self.places.list.filter() };
        filter.text().to_owned()
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        if self.of.is_some() { Order::ALL.to_vec() } else { sortable::<Repo>() }
    }

    fn sort(&mut self, column: usize) {
        if self.of.is_some() {
            self.order = (Order::of(column), false);
            self.arrange();
        } else {
            self.places.list.set_sort(column);
        }
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

    fn lost(&self, ask: &Ask) -> Option<String> {
        let Ask::DeleteArtifacts(_, ids) = ask else { return None };
        let is_there = |id: &i64| self.all.artifacts.iter().any(|artifact| artifact.id == *id);
        ids.iter().find(|id| self.tree.has_all() && !is_there(id)).map(|id| format!("artifact {id}"))
    }

    fn aside(&self, world: &World) -> Option<String> {
        if self.of.is_some() { self.tree.list.news(world) } else { self.places.list.news(world) }
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
            artifact_pane::draw(self.tree.list.current(), world, right, buf);
        } else if area.height >= 18 {
            let below = 7;
            let top = Rect { height: area.height - below - 1, ..area };
            list::draw(&self.tree, place, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            let rest = Rect { y: top.bottom() + 1, height: below, ..area };
            if world.transfers.is_empty() {
                artifact_pane::draw(self.tree.list.current(), world, rest, buf);
            } else {
                world.transfers.draw(world.now, rest, buf);
            }
        } else {
            list::draw(&self.tree, place, world, area, buf);
        }
    }
}
