//! Scenes without usual content: still loading, empty lists, errors.

use super::{
    super::{
        prelude::*,
        session::{alone, unknown},
    },
    Scene, on,
};
use crate::ui::net::{Page, ProblemKind};

pub(super) const STATES: &[Scene] = &[
    Scene::new("silence", Stage::started, |story| story.pass(Duration::from_millis(100))),
    Scene::new("loading", Stage::started, |story| story.pass(Duration::from_millis(1_240))),
    Scene::new("loading-slowly", Stage::started, |story| story.pass(Duration::from_secs(12))),
    Scene::new("loading-part", Stage::started, |story| {
        let Answer::Repositories(page) = repositories(&NAMES) else { return };
        let part = Page { total: Some(1_204), last: false, ..page };
        story.answer(|ask| *ask == Ask::Repositories, Ok(Answer::Repositories(part)));
    }),
    Scene::new("stopped", Stage::started, |story| {
        story.pass(Duration::from_secs(2));
        story.press(Key::Esc);
    }),
    Scene::new("no-repositories", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&[])));
    }),
    on("no-hooks", |story| {
        story.keys("3");
        story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(Answer::Hooks(Vec::new())));
    }),
    on("no-deliveries", |story| {
        story.keys("4");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(Answer::Deliveries(none)));
    }),
    on("no-artifacts", |story| {
        story.keys("o");
        story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(Answer::Runs(Box::default())));
    }),
    on("nothing-matches", |story| story.keys("/zzz\n")),
    on("no-problems", |story| story.keys("!")),
    Scene::new("partly", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        let Answer::Repositories(page) = repositories(&NAMES) else { return };
        let part = Page { total: Some(1_204), last: false, ..page };
        story.answer(|ask| *ask == Ask::Repositories, Ok(Answer::Repositories(part)));
        story.answer(|ask| *ask == Ask::Repositories, Err(broken()));
    }),
    Scene::new("failed", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Repositories, Err(broken()));
    }),
    Scene::new("details", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Repositories, Err(broken()));
        story.keys("i");
    }),
    on("forbidden", |story| {
        story.keys("3");
        let text = "listing hooks: token needs the scope read:admin; it has read:repository (403)";
        let problem = Problem::new(ProblemKind::Forbidden, text);
        story.answer(|ask| matches!(ask, Ask::Hooks(_)), Err(problem));
    }),
    on("busy", |story| {
        story.pass(Duration::from_secs(6));
        let problem = Problem::new(ProblemKind::Busy(Some(30)), "listing repositories: too many requests (429)");
        story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    }),
    on("lost", |story| {
        story.pass(Duration::from_secs(6));
        story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    }),
    Scene::new("nobody", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    }),
    Scene::new("nowhere", alone, |_| {}),
    Scene::new("refused", unknown, |_| {}),
    Scene::new("read-only", Stage::read_only, |story| story.keys("D")),
    on("paused", |story| {
        story.tell(Msg::Slow(true));
        story.keys("p");
    }),
];
