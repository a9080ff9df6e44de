//! Repositories: the list, and what one of them is made of.
//!
//! Wide terminals show both side by side; on others the focused one takes the screen. Which is drawn
//! where is the only difference.

use std::time::Duration;

use farrier_common::{api::Branch, client::RepositoryPath};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Screen, ScreenId, branch_form, repo_form, repo_pane, repo_rows, sortable};
use crate::ui::{
    keymap::{Action, Scope},
    layer::Layer,
    list::{self, Feed, Filter, List, Place, Row as _, feed::Load},
    net::{Answer, Ask, Page, Problem},
    repo::Repo,
    view::Role,
    view::text,
    world::{Cmd, Env, World},
};

/// How often the list is asked for while it is looked at; sooner while something is fetched.
const PACE: Duration = Duration::from_secs(5);
/// For each so many rows the list is asked for less often.
const ROWS_A_PACE: usize = 1_000;
const PACE_MIGRATING: Duration = Duration::from_secs(1);

/// What an empty daemon shows.
const FIRST_STEPS: &[&str] = &[
    "No repositories yet.",
    "",
    "n   makes one: its page says how to push to it",
    "M   fetches one from elsewhere",
    "",
    "Then, on a repository: w its webhooks, o its runs and artifacts.",
];

/// What a repository shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Overview,
    Branches,
}

#[derive(Debug)]
pub(crate) struct Repositories {
    pub(super) repos: Feed<Repo>,
    /// Branches of the repository that is looked at.
    pub(super) branches: Feed<Branch>,
    branches_of: Option<RepositoryPath>,
    pub(super) in_detail: bool,
    pub(super) part: Part,
}

impl Default for Repositories {
    fn default() -> Self {
        Self {
            repos: Feed::new(List::sorted(0)),
            branches: Feed::new(List::sorted(0)),
            branches_of: None,
            in_detail: false,
            part: Part::Overview,
        }
    }
}

/// The path of a repository, for further questions.
pub(super) fn path(repo: &Repo) -> Option<RepositoryPath> {
    repo.full_name().parse().ok()
}

impl Repositories {
    /// Sorts a list as it was sorted before.
    pub(crate) fn recall(&mut self, list: &str, column: &str, reversed: bool) {
        match list {
            "repositories" => self.repos.list.sort_by(column, reversed),
            "branches" => self.branches.list.sort_by(column, reversed),
            _ => {}
        }
    }

    /// How its list is sorted, with the list's name.
    pub(crate) fn sorted(&self) -> Option<(&'static str, &'static str, bool)> {
        self.repos.list.sorted_by().map(|(column, reversed)| ("repositories", column, reversed))
    }

    /// Puts the cursor on the repository of this name, if it is there.
    pub(crate) fn show_named(&mut self, name: &str) {
        let found = self.repos.list.rows().iter().find(|repo| repo.full_name().eq_ignore_ascii_case(name));
        if let Some(id) = found.map(|repo| repo.id) {
            self.show(id);
        }
    }

    /// Puts the cursor on a repository, now or when it comes.
    pub(crate) fn show(&mut self, id: i64) {
        self.in_detail = false;
        self.repos.list.select(id);
    }

    pub(super) fn here(&self) -> Option<(&Repo, RepositoryPath)> {
        let repo = self.repos.list.current()?;
        Some((repo, path(repo)?))
    }

    /// What an action is about: in the list a mark counts before the cursor.
    pub(super) fn target(&self) -> Option<(&Repo, RepositoryPath)> {
        if self.in_detail {
            return self.here();
        }
        let repo = self.repos.list.target().ok()??;
        Some((repo, path(repo)?))
    }

    pub(super) fn on_branches(&self) -> bool {
        self.in_detail && self.part == Part::Branches
    }

    /// Branches are asked for when they are looked at.
    fn look(&mut self, env: &mut Env) {
        if self.part != Part::Branches || !(self.in_detail || env.world.split()) {
            return;
        }
        let Some((repo, path)) = self.here() else { return };
        if repo.is_empty() {
            self.branches.empty();
            self.branches.load = Load::Done(env.world.now);
            self.branches_of = Some(path);
            return;
        }
        if self.branches_of.as_ref() != Some(&path) {
            self.branches.empty();
            self.branches_of = Some(path.clone());
            self.branches.ask(Ask::Branches(path), env);
        }
    }

    fn back(&mut self, env: &mut Env) -> bool {
        if self.on_branches() && self.branches.list.clear_one() {
            return true;
        }
        if std::mem::take(&mut self.in_detail) {
            return true;
        }
        self.repos.clear_one(env)
    }

    fn act_on_list(&mut self, action: Action, env: &mut Env) -> bool {
        let acted = if self.on_branches() {
            self.branches.list.act(action)
        } else if self.in_detail && !env.world.split() {
            // What is shown fits or does not: there is nothing to move.
            matches!(action, Action::Up | Action::Down)
        } else {
            self.repos.list.act(action)
        };
        self.look(env);
        acted
    }

    /// The list again, with `id` under the cursor once it is there.
    fn again(&mut self, id: Option<i64>, env: &mut Env) {
        self.repos.stop(env);
        if let Some(id) = id {
            self.repos.list.select(id);
        }
        self.repos.ask_all(Ask::Repositories, env);
    }

    fn took_repositories(&mut self, page: &Page<Repo>, env: &mut Env) {
        if let Some(gone) = self.repos.take(page.clone(), env.world) {
            env.tell(format!("{} was removed", gone.full_name()));
            self.in_detail = false;
        }
        self.look(env);
    }

    fn changed(&mut self, ask: &Ask, answer: &Answer, env: &mut Env) {
        let made = match answer {
            Answer::Repository(repo) => Some(repo.id),
            _ => None,
        };
        match ask {
            Ask::CreateRepository { .. } => env.tell(format!("{} done", ask.doing())),
            Ask::MigrateRepository(_) => env.tell(format!("{} goes on in the background", ask.doing())),
            Ask::EditRepository(path, _) => env.tell(format!("{path} saved")),
            Ask::DeleteRepository(path) => env.tell(format!("{path} deleted")),
            Ask::CreateBranch(..) | Ask::DeleteBranch(..) => {
                env.tell(format!("{} done", ask.doing()));
                self.branches_of = None;
            }
            _ => return,
        }
        self.again(made, env);
        self.look(env);
    }

    fn login(world: &World) -> String {
        world.status.as_ref().map(|status| status.identity.clone()).unwrap_or_default()
    }
}

impl Screen for Repositories {
    fn id(&self) -> ScreenId {
        ScreenId::Repositories
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        match (self.in_detail, self.part) {
            (false, _) => vec![Scope::Repositories, Scope::List, Scope::Moves, Scope::Everywhere],
            (true, Part::Overview) => vec![Scope::Repository, Scope::Everywhere],
            (true, Part::Branches) => {
                vec![Scope::Branches, Scope::Repository, Scope::List, Scope::Moves, Scope::Everywhere]
            }
        }
    }

    fn entered(&mut self, env: &mut Env) {
        if !matches!(self.repos.load, Load::Done(_)) {
            self.refresh(env);
        }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.repos.ask_all(Ask::Repositories, env);
        if self.on_branches()
            && let Some(path) = self.branches_of.clone()
        {
            self.branches.ask(Ask::Branches(path), env);
        }
    }

    fn pace(&self) -> Option<Duration> {
        let rows = self.repos.list.rows();
        let migrating = rows.iter().any(|repo| repo_rows::state(repo) == "migrating");
        let pace = if migrating { PACE_MIGRATING } else { PACE };
        // A long list is many requests; to ask for it all the time would be the daemon's main work.
        let thousands = u32::try_from(rows.len() / ROWS_A_PACE).unwrap_or(u32::MAX - 1);
        Some(pace.saturating_mul(thousands + 1))
    }

    fn is_loading(&self) -> bool {
        !self.repos.has_all() && self.repos.is_waiting() || self.branches.is_waiting()
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open if self.here().is_some() => self.in_detail = true,
            Action::OtherPane if env.world.split() || self.in_detail => self.in_detail = !self.in_detail,
            Action::NextPart | Action::PreviousPart => {
                self.part = if self.part == Part::Overview { Part::Branches } else { Part::Overview };
            }
            Action::Back => {
                if self.repos.stop(env) && !self.repos.has_all() {
                    return true;
                }
                return self.back(env);
            }
            Action::New if self.on_branches() => {
                if let Some((repo, path)) = self.here() {
                    let from =
                        self.branches.list.current().map_or(repo.default_branch(), |branch| branch.name.as_str());
                    env.open(Layer::Form(Box::new(branch_form::create(path, from))));
                }
            }
            Action::New => env.open(Layer::Form(Box::new(repo_form::create(&Self::login(env.world))))),
            Action::Migrate => env.open(Layer::Form(Box::new(repo_form::migrate(&Self::login(env.world))))),
            Action::Edit => {
                if let Some((repo, path)) = self.target() {
                    env.open(Layer::Form(Box::new(repo_form::edit(repo, path))));
                }
            }
            Action::Delete if self.on_branches() => self.delete_branch(env),
            Action::Delete => self.delete(env),
            Action::Copy => self.copy(env),
            Action::Archive => self.archive(env),
            Action::CancelMigration => self.cancel_migration(env),
            Action::Artifacts => {
                if let Some((_, path)) = self.here() {
                    env.want(Cmd::Artifacts(path));
                }
            }
            Action::Hooks => {
                if let Some((_, path)) = self.here() {
                    env.want(Cmd::Hooks(path));
                }
            }
            action => return self.act_on_list(action, env),
        }
        self.look(env);
        true
    }

    fn off(&self, action: Action) -> Option<String> {
        self.why_off(action)
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::Repositories | Ask::FindRepositories(_), Ok(Answer::Repositories(page)))
                if self.repos.awaits(ask) =>
            {
                self.took_repositories(page, env);
            }
            (_, Err(problem)) if self.repos.awaits(ask) => self.repos.fail(problem.clone()),
            (Ask::Branches(_), Ok(Answer::Branches(page))) if self.branches.awaits(ask) => {
                self.branches.take(page.clone(), env.world);
            }
            (Ask::Branches(_), Err(problem)) if self.branches.awaits(ask) => self.branches.fail(problem.clone()),
            (Ask::Repository(_), Ok(Answer::Repository(repo))) => {
                let text = serde_json::to_string(repo).unwrap_or_default();
                env.want(Cmd::Copy(text, "JSON".to_owned()));
            }
            (ask, Ok(answer)) => self.changed(ask, answer, env),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), String> {
        if self.on_branches() {
            self.branches.list.set_filter(Filter::parse(text, Branch::filters())?);
        } else {
            let filter = Filter::parse(text, Repo::filters())?;
            // The daemon looks at names alone, without their owners.
            let word = filter.word().map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
            self.repos.find(word.filter(|word| !word.is_empty()).map(Ask::FindRepositories), env);
            self.repos.list.set_filter(filter);
        }
        Ok(())
    }

    fn filter_text(&self) -> String {
        let filter = if self.on_branches() { self.branches.list.filter() } else { self.repos.list.filter() };
        filter.text().to_owned()
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        if self.on_branches() { sortable::<Branch>() } else { sortable::<Repo>() }
    }

    fn sort(&mut self, column: usize) {
        if self.on_branches() {
            self.branches.list.set_sort(column);
        } else {
            self.repos.list.set_sort(column);
        }
    }

    fn click(&mut self, x: u16, y: u16, env: &mut Env) {
        self.in_detail = !self.repos.list.click(x, y) && self.in_detail;
        if self.branches.list.click(x, y) {
            self.in_detail = true;
        }
        self.look(env);
    }

    fn problem(&self) -> Option<&Problem> {
        [&self.branches.load, &self.repos.load].into_iter().find_map(|load| match load {
            Load::Failed(problem) => Some(problem),
            _ => None,
        })
    }

    fn lost(&self, ask: &Ask) -> Option<String> {
        match ask {
            Ask::DeleteRepository(path) if self.repos.has_all() => {
                let name = path.to_string();
                (!self.repos.list.rows().iter().any(|repo| repo.full_name() == name)).then_some(name)
            }
            Ask::DeleteBranch(path, name) if self.branches.has_all() && self.branches_of.as_ref() == Some(path) => {
                (!self.branches.list.rows().iter().any(|branch| branch.name == *name)).then(|| name.clone())
            }
            _ => None,
        }
    }

    fn aside(&self, world: &World) -> Option<String> {
        if self.on_branches() { self.branches.list.news(world) } else { self.repos.list.news(world) }
    }

    fn standing(&self, world: &World) -> String {
        if self.on_branches() {
            return self.branches.list.standing(self.branches.total);
        }
        if self.in_detail && !world.split() {
            return self.here().map(|(_, path)| path.to_string()).unwrap_or_default();
        }
        self.repos.standing()
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let place = Place { what: "repositories", empty: FIRST_STEPS, focused: !self.in_detail };
        if !world.split() {
            if self.in_detail {
                repo_pane::draw(self, true, world, area, buf);
            } else {
                list::draw(&self.repos, place, world, area, buf);
            }
            return;
        }
        let left = Rect { width: area.width * 57 / 100, ..area };
        let right = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..area };
        list::draw(&self.repos, place, world, Rect { width: left.width - 1, ..left }, buf);
        for y in area.y..area.bottom() {
            text(buf, Rect { x: left.right(), y, width: 1, height: 1 }, "│", Role::Muted);
        }
        repo_pane::draw(self, self.in_detail, world, right, buf);
    }
}
