//! Which screen is visible, and the ways from one to another.
//!
//! Screens act only in here: what they want is carried out as soon as they have acted.

use farrier_common::client::{HookPlace, RepositoryPath};

use super::App;
use crate::ui::{
    keymap::Scope,
    screens::{Deliveries, Screen, ScreenId, Screens},
    world::{Env, Link},
};

impl App {
    pub(crate) fn screen(&self) -> &dyn Screen {
        self.screens.get(self.current)
    }

    /// Lets the visible screen do something and carries out what it wants.
    pub(super) fn with<T>(&mut self, act: impl FnOnce(&mut dyn Screen, &mut Env) -> T) -> T {
        let current = self.current;
        self.with_all(|screens, env| act(screens.get_mut(current), env))
    }

    /// Lets screens do something, visible or not, and carries out what they want.
    pub(super) fn with_all<T>(&mut self, act: impl FnOnce(&mut Screens, &mut Env) -> T) -> T {
        let mut env = Env::new(&self.world);
        let acted = act(&mut self.screens, &mut env);
        let wants = env.wants;
        self.carry_out(wants);
        acted
    }

    pub(super) fn go(&mut self, id: ScreenId) {
        if id != self.current {
            (self.last, self.current) = (self.current, id);
        }
        self.with(|screen, env| screen.entered(env));
        self.poll_again();
    }

    pub(super) fn refresh(&mut self) {
        self.with(|screen, env| screen.refresh(env));
        self.poll_again();
    }

    /// Shows the artifacts of a repository, or of all, with the cursor on one of them.
    pub(super) fn show_artifacts(&mut self, of: Option<RepositoryPath>, at: Option<i64>) {
        // Before it is entered: that asks for whatever is not asked for yet.
        self.with_all(|screens, env| {
            screens.artifacts.choose(of, env);
            if let Some(id) = at {
                screens.artifacts.show_artifact(id);
            }
        });
        self.go(ScreenId::Artifacts);
    }

    pub(super) fn show_hooks(&mut self, path: RepositoryPath, at: Option<i64>) {
        self.go(ScreenId::Hooks);
        self.with_all(|screens, env| {
            screens.hooks.choose(HookPlace::Repository(path), env);
            if let Some(id) = at {
                screens.hooks.show(id);
            }
        });
    }

    pub(super) fn show_deliveries(&mut self, show: impl FnOnce(&mut Deliveries, &mut Env)) {
        // Before it is entered: that asks for whatever is not asked for yet.
        self.with_all(|screens, env| show(&mut screens.deliveries, env));
        self.go(ScreenId::Deliveries);
    }

    /// Where keys are looked for, the particular first.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let mut scopes = self.screen().scopes(&self.world);
        if self.screen().is_failed() {
            let known = self.problem().is_some_and(|problem| problem.request.is_some());
            scopes.splice(0..0, [Scope::Failed].into_iter().chain(known.then_some(Scope::FailedRequest)));
        }
        match &self.world.link {
            Link::Refused { .. } => scopes = vec![Scope::Refused, Scope::Everywhere],
            _ if self.world.is_nowhere() => scopes = vec![Scope::Nowhere, Scope::Everywhere],
            Link::Down { .. } => scopes.insert(0, Scope::Away),
            _ => {}
        }
        scopes
    }
}
