//! Scenes with layers above screens: menus, dialogs, and the input line.

use super::{super::prelude::*, Scene, counted, on};
use crate::ui::net::ProblemKind;

pub(super) const LAYERS: &[Scene] = &[
    on("menu", |screen| screen.keys("x")),
    Scene::new("menu-read-only", TestTerminal::read_only, |screen| screen.keys("x")),
    on("copy", |screen| screen.keys("y")),
    on("sort", |screen| screen.keys("s")),
    on("filter", |screen| screen.keys("/da")),
    on("wrong-filter", |screen| screen.keys("/size:>")),
    on("help", |screen| screen.keys("?")),
    on("palette", |screen| screen.keys(":repo")),
    on("messages", |screen| screen.keys("Qy\x1b:mess\n")),
    on("discard", |screen| screen.keys("ntool\x1b")),
    on("delete", |screen| {
        screen.keys("D");
        counted(screen);
    }),
    on("delete-typed", |screen| {
        screen.keys("D");
        screen.advance(Duration::from_millis(300));
        screen.keys("data/lake");
    }),
    on("delete-hook", |screen| {
        open_hooks(screen);
        screen.keys("jD");
    }),
    on("delete-artifact", |screen| {
        open_artifacts(screen);
        screen.keys("jjD");
    }),
    on("delete-artifacts", |screen| {
        open_artifacts(screen);
        screen.keys("*D");
    }),
    on("redeliver", |screen| {
        open_deliveries(screen);
        screen.keys("R");
    }),
    on("file-exists", |screen| {
        open_artifacts(screen);
        screen.keys("jjd");
        let exists = Problem::new(ProblemKind::Exists, "fetching: dist-linux.zip exists");
        screen.answer(|request| matches!(request, Request::Download { .. }), Err(exists));
    }),
];
