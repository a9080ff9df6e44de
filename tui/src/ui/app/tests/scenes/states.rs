//! Scenes without usual content: still loading, empty lists, errors.

use super::{
    super::{
        prelude::*,
        session::{alone, unknown},
    },
    Scene, on,
};
use crate::ui::{
    app::RequestOwner,
    net::{Page, ProblemKind},
    runs::RunsBatch,
};

pub(super) const STATES: &[Scene] = &[
    Scene::new("silence", TestTerminal::start, |screen| screen.advance(Duration::from_millis(100))),
    Scene::new("loading", TestTerminal::start, |screen| screen.advance(Duration::from_millis(1_240))),
    Scene::new("loading-slowly", TestTerminal::start, |screen| screen.advance(Duration::from_secs(12))),
    Scene::new("loading-part", TestTerminal::start, |screen| {
        let Answer::Repositories(page) = repositories(&NAMES) else { return };
        let part = Page { total: Some(1_204), last: false, ..page };
        screen.answer(|request| *request == Request::Repositories, Ok(Answer::Repositories(part)));
    }),
    Scene::new("stopped", TestTerminal::start, |screen| {
        screen.advance(Duration::from_secs(2));
        screen.press(Key::Esc);
    }),
    Scene::new("no-repositories", TestTerminal::start, |screen| {
        screen.answer(|request| *request == Request::Status, Ok(status()));
        screen.answer(|request| *request == Request::Repositories, Ok(repositories(&[])));
    }),
    on("no-hooks", |screen| {
        screen.keys("3");
        screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(listed_hooks(Vec::new())));
    }),
    on("no-deliveries", |screen| {
        screen.keys("4");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(Answer::Deliveries(none)));
    }),
    on("no-artifacts", |screen| {
        screen.keys("o");
        screen.answer(
            |request| matches!(request, Request::Runs(_)),
            Ok(Answer::Runs(Box::new(RunsBatch { last: true, ..RunsBatch::default() }))),
        );
    }),
    on("nothing-matches", |screen| screen.keys("/zzz\n")),
    on("no-problems", |screen| screen.keys("!")),
    Scene::new("partly", TestTerminal::start, |screen| {
        screen.answer(|request| *request == Request::Status, Ok(status()));
        let Answer::Repositories(page) = repositories(&NAMES) else { return };
        let part = Page { total: Some(1_204), last: false, ..page };
        screen.answer(|request| *request == Request::Repositories, Ok(Answer::Repositories(part)));
        screen.answer(|request| *request == Request::Repositories, Err(broken()));
    }),
    Scene::new("failed", TestTerminal::start, |screen| {
        screen.answer(|request| *request == Request::Status, Ok(status()));
        screen.answer(|request| *request == Request::Repositories, Err(broken()));
    }),
    Scene::new("details", TestTerminal::start, |screen| {
        screen.answer(|request| *request == Request::Status, Ok(status()));
        screen.answer(|request| *request == Request::Repositories, Err(broken()));
        screen.keys("i");
    }),
    on("forbidden", |screen| {
        screen.keys("3");
        let text = "listing hooks: token needs the scope read:admin; it has read:repository (403)";
        let problem = Problem::new(ProblemKind::Forbidden, text);
        screen.answer(|request| matches!(request, Request::Hooks(_)), Err(problem));
    }),
    on("busy", |screen| {
        screen.advance(Duration::from_secs(6));
        let problem = Problem::new(ProblemKind::Busy(Some(30)), "reading the status: too many requests (429)");
        screen.answer(|request| *request == Request::Repositories, Err(problem.clone()));
        screen.app.send(RequestOwner::App, Request::Status);
        screen.answer_last_of(|request| *request == Request::Status, Err(problem));
    }),
    on("busy-list", |screen| {
        screen.advance(Duration::from_secs(6));
        let problem = Problem::new(ProblemKind::Busy(Some(30)), "listing repositories: too many requests (503)");
        screen.answer(|request| *request == Request::Repositories, Err(problem));
    }),
    on("lost", |screen| {
        screen.advance(Duration::from_secs(6));
        screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    }),
    Scene::new("nobody", TestTerminal::start, |screen| {
        screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    }),
    Scene::new("nowhere", alone, |_| {}),
    Scene::new("refused", unknown, |_| {}),
    Scene::new("read-only", TestTerminal::read_only, |screen| screen.keys("D")),
    on("paused", |screen| {
        screen.send(Msg::Slow(true));
        screen.keys("p");
    }),
];
