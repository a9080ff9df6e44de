//! The scenes that the snapshots show: every screen, every state of it, and every layer.
//!
//! A scene consists of keys and of responses of the daemon. It never sets the state of the program directly.

mod layers;
mod screens;
mod states;

pub(super) use self::screens::REPOSITORIES;
use self::{
    layers::LAYERS,
    screens::{ARTIFACTS, AUDIT, DASHBOARD, DELETED, DELIVERIES, HOOKS},
    states::STATES,
};
use super::prelude::*;

/// How the scene begins, and the steps that follow.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    begin: fn(Stage) -> Story,
    play: fn(&mut Story),
}

impl Scene {
    const fn new(name: &'static str, begin: fn(Stage) -> Story, play: fn(&mut Story)) -> Self {
        Self { name, begin, play }
    }

    pub(super) fn played(&self, stage: Stage) -> Story {
        let mut story = (self.begin)(stage);
        (self.play)(&mut story);
        story
    }

    /// Plays the scene on a terminal whose size changes before every message. Only scenes with rows support this.
    pub(super) fn played_restlessly(&self, stage: Stage) -> Option<Story> {
        let with_rows = std::ptr::fn_addr_eq(self.begin, Stage::settled as fn(Stage) -> Story);
        with_rows.then(|| Self { begin: Stage::restless, ..*self }.played(stage))
    }
}

/// A scene that begins with repositories.
const fn on(name: &'static str, play: fn(&mut Story)) -> Scene {
    Scene::new(name, Stage::settled, play)
}

pub(super) fn all() -> impl Iterator<Item = &'static Scene> {
    [REPOSITORIES, DELETED, HOOKS, DELIVERIES, DASHBOARD, ARTIFACTS, AUDIT, LAYERS, STATES].into_iter().flatten()
}

/// Answers the requests for the counts of repositories. A pane and a question have requests of their own, and a pane
/// sends the next request only after the response to the last one.
fn counted(story: &mut Story) {
    let is_count = |ask: &Ask| matches!(ask, Ask::RepositoryCounts(_));
    for _ in 0..3 {
        if story.app.pending.values().any(|one| is_count(&one.ask)) {
            story.answer_last_of(is_count, Ok(facts()));
        }
    }
}
