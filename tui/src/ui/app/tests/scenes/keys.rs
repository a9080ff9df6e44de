//! Scenes of the SSH keys and OpenPGP keys of a user.

use super::{super::prelude::*, Scene, on};

pub(super) const KEYS: &[Scene] = &[
    on("user-keys", |screen| open_keys(screen, Ok(account_keys()))),
    on("user-key", |screen| {
        open_keys(screen, Ok(account_keys()));
        screen.keys("\n");
    }),
    on("new-ssh-key", |screen| {
        open_keys(screen, Ok(account_keys()));
        screen.keys("n");
    }),
    on("delete-ssh-key", |screen| {
        open_keys(screen, Ok(account_keys()));
        screen.keys("D");
    }),
    on("no-keys", |screen| open_keys(screen, Ok(Answer::AccountKeys(Vec::new(), Vec::new())))),
    on("forbidden-keys", |screen| {
        let text = "listing keys of admin: token needs the scope read:user; it has read:repository (403)";
        open_keys(screen, Err(Problem::new(crate::ui::net::ProblemKind::Forbidden, text)));
    }),
];
