//! The scenes that the snapshots show: every screen, every state of it, and every layer.
//!
//! A scene consists of keys and of responses of the daemon. It never sets the state of the program directly.

mod contexts;
mod forms;
mod keys;
mod layers;
mod logs;
mod management;
mod nodes;
mod organizations;
mod results;
mod screens;
mod states;
mod wide;
mod work;

pub(super) use self::screens::REPOSITORIES;
use self::{
    contexts::CONTEXTS,
    forms::FORMS,
    keys::KEYS,
    layers::LAYERS,
    logs::{AUDIT, LOGS},
    management::MANAGEMENT,
    nodes::NODES,
    organizations::ORGANIZATIONS,
    results::RESULTS,
    screens::{ARTIFACTS, CACHES, DASHBOARD, DELETED, DELIVERIES, HOOKS, USERS},
    states::STATES,
    wide::{PROBLEMS, WIDE},
    work::{RUNS, TASKS},
};
use super::prelude::*;

/// How the scene begins, and the steps that follow.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    begin: fn(TestTerminal) -> TestScreen,
    play: fn(&mut TestScreen),
}

impl Scene {
    const fn new(name: &'static str, begin: fn(TestTerminal) -> TestScreen, play: fn(&mut TestScreen)) -> Self {
        Self { name, begin, play }
    }

    pub(super) fn play(&self, terminal: TestTerminal) -> TestScreen {
        let mut screen = (self.begin)(terminal);
        (self.play)(&mut screen);
        screen
    }

    /// Plays the scene on a terminal whose size changes before every message. Only scenes with rows support this.
    pub(super) fn play_with_resizes(&self, terminal: TestTerminal) -> Option<TestScreen> {
        let with_rows = std::ptr::fn_addr_eq(self.begin, TestTerminal::loaded as fn(TestTerminal) -> TestScreen);
        with_rows.then(|| Self { begin: TestTerminal::with_resizes, ..*self }.play(terminal))
    }
}

/// A scene that begins with repositories.
const fn on(name: &'static str, play: fn(&mut TestScreen)) -> Scene {
    Scene::new(name, TestTerminal::loaded, play)
}

pub(super) fn all() -> impl Iterator<Item = &'static Scene> {
    let repositories = [REPOSITORIES, MANAGEMENT, DELETED, ORGANIZATIONS];
    let others = [HOOKS, DELIVERIES, DASHBOARD, ARTIFACTS, CACHES, AUDIT, LOGS, USERS, KEYS, FORMS, LAYERS, STATES];
    let more = [RUNS, TASKS, PROBLEMS, CONTEXTS, WIDE, RESULTS, NODES];
    repositories.into_iter().chain(others).chain(more).flatten()
}

/// Answers the requests for the counts of repositories. A pane and a question have requests of their own, and a pane
/// sends the next request only after the response to the last one.
fn counted(screen: &mut TestScreen) {
    let is_count = |request: &Request| matches!(request, Request::RepositoryCounts(_));
    for _ in 0..3 {
        if screen.app.pending.values().any(|one| is_count(&one.request)) {
            screen.answer_last_of(is_count, Ok(repository_counts()));
        }
    }
}
