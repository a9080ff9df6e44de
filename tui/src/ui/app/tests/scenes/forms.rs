//! Scenes of the forms for tags and tokens.

use super::{super::prelude::*, Scene, on};

pub(super) const FORMS: &[Scene] = &[
    on("new-tag", |screen| {
        screen.keys("jj\n]]]]");
        screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
        screen.keys("nv1.1");
    }),
    on("new-token-scopes", |screen| {
        open_users(screen);
        screen.keys("Ndeploy\n\n");
        screen.press(Key::Down);
    }),
];
