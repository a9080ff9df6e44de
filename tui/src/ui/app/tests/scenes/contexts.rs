//! Scenes of named daemons: the header, the mark of production, a read-only context and `:connect`.

use super::{
    super::{contexts::contexts, prelude::*},
    Scene,
};

pub(super) const CONTEXTS: &[Scene] = &[
    Scene::new("context", in_lab, |_| {}),
    Scene::new("production", in_production, |_| {}),
    Scene::new("read-only-context", in_production, |screen| screen.keys("D")),
    Scene::new("connect", in_lab, |screen| screen.keys(":connect ")),
    Scene::new("connect-unknown", in_lab, |screen| screen.keys(":connect staging\n")),
];

fn in_lab(terminal: TestTerminal) -> TestScreen {
    started("lab", terminal)
}

/// The context `prod` is read-only and marked as a production system.
fn in_production(terminal: TestTerminal) -> TestScreen {
    started("prod", terminal)
}

/// Starts in a context, and answers the requests for the status and the repositories.
fn started(name: &str, terminal: TestTerminal) -> TestScreen {
    let context = contexts().into_iter().find(|one| one.name == name);
    let settings = Settings { contexts: contexts(), context, ..terminal.settings() };
    let mut screen = TestScreen::with(settings, terminal.width, terminal.height);
    screen.answer(|request| matches!(request, Request::Status), Ok(status()));
    screen.answer(|request| matches!(request, Request::Repositories), Ok(repositories(&NAMES)));
    screen
}
