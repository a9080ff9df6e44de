//! Scenes with layers above screens: menus, dialogs, and the input line.

use super::{super::prelude::*, Scene, counted, on};
use crate::ui::net::ProblemKind;

pub(super) const LAYERS: &[Scene] = &[
    on("menu", |story| story.keys("x")),
    Scene::new("menu-read-only", Stage::read_only, |story| story.keys("x")),
    on("copy", |story| story.keys("y")),
    on("sort", |story| story.keys("s")),
    on("filter", |story| story.keys("/da")),
    on("wrong-filter", |story| story.keys("/size:>")),
    on("help", |story| story.keys("?")),
    on("palette", |story| story.keys(":repo")),
    on("messages", |story| story.keys("Qy\x1b:mess\n")),
    on("discard", |story| story.keys("ntool\x1b")),
    on("delete", |story| {
        story.keys("D");
        counted(story);
    }),
    on("delete-typed", |story| {
        story.keys("D");
        story.pass(Duration::from_millis(300));
        story.keys("data/lake");
    }),
    on("delete-hook", |story| {
        on_hooks(story);
        story.keys("jD");
    }),
    on("delete-artifact", |story| {
        on_artifacts(story);
        story.keys("jjD");
    }),
    on("delete-artifacts", |story| {
        on_artifacts(story);
        story.keys("*D");
    }),
    on("redeliver", |story| {
        on_deliveries(story);
        story.keys("R");
    }),
    on("file-exists", |story| {
        on_artifacts(story);
        story.keys("jjd");
        let exists = Problem::new(ProblemKind::Exists, "fetching: dist-linux.zip exists");
        story.answer(|ask| matches!(ask, Ask::Download { .. }), Err(exists));
    }),
];
