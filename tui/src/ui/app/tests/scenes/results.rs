//! Scenes with the results of commands and keys: objects to choose from, outputs, failures and conflicts.

use farrier_common::api;

use super::{
    super::{hooks::loaded, prelude::*},
    Scene, on,
};
use crate::ui::net::{FoundObject, FoundObjects, ProblemKind};

pub(super) const RESULTS: &[Scene] = &[
    on("related-menu", |screen| {
        open_deliveries(screen);
        screen.keys("f");
    }),
    on("number-menu", |screen| screen.keys(":12\n")),
    on("found-objects", |screen| {
        screen.keys(":infra");
        let object = |kind, name: &str, about: &str| FoundObject {
            kind,
            name: name.to_owned(),
            about: about.to_owned(),
            line: format!("{kind} show {name}"),
            exact: name == "infra",
        };
        let objects = vec![
            object("organization", "infra", "services of the edge"),
            object("repository", "infra/auth", "edge proxy for the CI farm"),
            object("hook", "12", "https://ci.example.net/infra"),
        ];
        let (searched, failed) = (vec!["repositories", "users"], Vec::new());
        let found = FoundObjects { word: "infra".to_owned(), objects, searched, failed };
        let is_search = |request: &Request| matches!(request, Request::FindObjects(_));
        screen.answer_last_of(is_search, Ok(Answer::FoundObjects(Box::new(found))));
    }),
    on("themes", |screen| screen.keys(":theme ")),
    on("help-search", |screen| screen.keys("?webhook")),
    on("shell-output", |screen| {
        screen.take_requests();
        screen.keys(":cache usage\n");
        let text =
            "REPOSITORY     ENTRIES     SIZE\ninfra/gateway        2  5.0 GiB\nweb/site             2  180 MiB\n";
        screen.answer_last(Ok(Answer::Printed { text: text.to_owned(), failed: false }));
    }),
    on("failed-deletions", |screen| {
        open_artifacts(screen);
        screen.keys("*D");
        screen.advance(Duration::from_millis(300));
        screen.keys("3\t\n");
        let reason = "the artifact is being downloaded; try again later";
        let each = vec![(21, None), (20, Some(reason.to_owned())), (7, None)];
        screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Each(each))));
    }),
    on("quit-with-download", |screen| {
        screen.keys("ag");
        screen.press(Key::Ctrl('c'));
    }),
    on("hook-conflict", |screen| {
        open_hooks(screen);
        screen.keys("je");
        screen.answer(|request| matches!(request, Request::LoadHook(_, 12)), Ok(loaded(|_| {}, "\"1\"")));
        screen.keys("\t/v2");
        screen.press(Key::Ctrl('s'));
        let problem = Problem::new(ProblemKind::Changed, "changing hook 12: changed meanwhile (412)");
        screen.send(Msg::Answer(screen.app.tickets, Err(problem)));
        let theirs = |hook: &mut api::Hook| hook.url = "https://elsewhere.lan/hook".into();
        screen.answer(|request| matches!(request, Request::LoadHook(_, 12)), Ok(loaded(theirs, "\"2\"")));
    }),
];
