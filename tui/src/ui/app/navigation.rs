//! The visible screen and the switch from one screen to another.
//!
//! Screens are called only here: the commands that they return are run as soon as the call ends.

use farrier_common::client::{HookOwner, RepositoryPath};

use super::{App, RequestOwner};
use crate::ui::{
    keymap::Scope,
    screens::{Deliveries, Relation, Screen, ScreenId, Screens},
    world::{Env, Link, Tone},
};

/// Digits of the shortest abbreviation of a commit.
const COMMIT_MIN: usize = 7;

impl App {
    pub(crate) fn screen(&self) -> &dyn Screen {
        self.screens.get(self.current)
    }

    /// Calls the visible screen and runs the commands that it returns.
    pub(super) fn with_screen<T>(&mut self, act: impl FnOnce(&mut dyn Screen, &mut Env) -> T) -> T {
        let current = self.current;
        self.with_screens(current, |screens, env| act(screens.get_mut(current), env))
    }

    /// Calls the screen `id`, visible or not, and runs the commands that it returns.
    pub(super) fn with_screens<T>(&mut self, id: ScreenId, act: impl FnOnce(&mut Screens, &mut Env) -> T) -> T {
        let mut env = Env::new(&self.world);
        let acted = act(&mut self.screens, &mut env);
        let commands = env.commands;
        self.run_commands(RequestOwner::Screen(id), commands);
        acted
    }

    /// Switches to a screen.
    pub(super) fn go(&mut self, id: ScreenId) {
        self.note_jump();
        if id != self.current {
            self.current = id;
            self.world.third_has_focus = false;
            self.third.restart();
        }
        self.with_screen(|screen, env| screen.entered(env));
        self.poll_again();
    }

    pub(super) fn refresh(&mut self) {
        self.with_screen(|screen, env| screen.refresh(env));
        self.poll_again();
    }

    /// Shows the artifacts of one repository or of all, and puts the cursor on the artifact `at`.
    pub(super) fn show_artifacts(&mut self, of: Option<RepositoryPath>, at: Option<i64>) {
        // Choose before the screen is entered, because entering sends the missing requests.
        self.with_screens(ScreenId::Artifacts, |screens, env| {
            screens.artifacts.choose(of, env);
            if let Some(id) = at {
                screens.artifacts.show_artifact(id);
            }
        });
        self.go(ScreenId::Artifacts);
    }

    /// Shows a run among those of all repositories.
    pub(super) fn show_run(&mut self, id: i64) {
        self.show_artifacts(None, None);
        self.screens.artifacts.show_run(id);
    }

    pub(super) fn show_hooks(&mut self, path: RepositoryPath, at: Option<i64>) {
        self.go(ScreenId::Hooks);
        self.with_screens(ScreenId::Hooks, |screens, env| {
            screens.hooks.choose(HookOwner::Repository(path), env);
            if let Some(id) = at {
                screens.hooks.show(id, env);
            }
        });
    }

    pub(super) fn show_deliveries(&mut self, show: impl FnOnce(&mut Deliveries, &mut Env)) {
        self.note_jump();
        // Choose before the screen is entered, because entering sends the missing requests.
        self.with_screens(ScreenId::Deliveries, |screens, env| show(&mut screens.deliveries, env));
        self.go(ScreenId::Deliveries);
    }

    /// Goes from the object under the cursor to the nearest object of a kind.
    pub(super) fn go_to(&mut self, relation: Relation) {
        let all = if self.selection().is_some() { self.screen().related() } else { Vec::new() };
        let Some(line) = relation.of(&all).map(|one| one.line.clone()) else {
            return self.notify(Tone::Plain, format!("No {} belongs to this row", relation.noun()));
        };
        if let Err(why) = self.run_line(&line) {
            self.notify(Tone::Error, why);
        }
    }

    /// Shows a commit of a repository, with its diff.
    pub(super) fn show_commit(&mut self, path: &RepositoryPath, commit: &str) -> Result<(), String> {
        let is_id = commit.len() >= COMMIT_MIN && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(format!("'{commit}' is no commit ID"));
        }
        self.show_repository(path)?;
        self.with_screens(ScreenId::Repositories, |screens, env| screens.repositories.open_commit(path, commit, env));
        Ok(())
    }

    /// Returns the scopes in which keys are looked up, the most specific first.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let mut scopes = self.screen().scopes(&self.world);
        if self.screen().is_failed() {
            let known = self.problem().is_some_and(|problem| problem.request.is_some());
            scopes.splice(0..0, [Scope::Failed].into_iter().chain(known.then_some(Scope::FailedRequest)));
        }
        match &self.world.link {
            Link::Refused { .. } => scopes = vec![Scope::Refused, Scope::Everywhere],
            _ if self.world.has_no_daemon() => scopes = vec![Scope::Nowhere, Scope::Everywhere],
            Link::Down { .. } => scopes.insert(0, Scope::Away),
            _ => {}
        }
        scopes
    }
}
