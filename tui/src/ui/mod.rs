//! The full-screen interface.
//!
//! Contains everything between the terminal and the typed client: model, update, view. It does not use the command
//! line's output, and the command line uses only [`open`] of it.

mod app;
mod audit;
mod bulk;
mod cache;
mod caps;
mod compact;
mod copy;
mod deleted;
mod delivery;
mod editor;
mod form;
mod frame_rate;
mod hook;
mod key;
mod keymap;
mod layer;
mod line;
mod list;
mod net;
mod organization;
mod pager;
mod place;
mod redacted;
mod repo;
mod report;
mod run;
mod runs;
mod saved_state;
mod screens;
mod settings;
mod starter;
mod term;
mod theme;
mod times;
mod transfers;
mod user;
mod view;
mod words;
mod world;

use std::{io::IsTerminal as _, process::ExitCode};

pub(crate) use self::{caps::ColorMode, screens::ScreenId, settings::Settings, view::rate};
use crate::{
    args::{DisplayArgs, Global},
    config::{self, Config},
    endpoint::{self, variable},
    exit::Failure,
};

/// Returns whether the terminal supports the full screen.
pub(crate) fn is_available() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && caps::full_screen(variable("TERM"))
}

/// Shows the full screen until the user quits.
pub(crate) fn open(global: &Global, looks: &DisplayArgs) -> Result<ExitCode, Failure> {
    let (config, mut problems) = Config::parse(&config::text(variable).unwrap_or_default());
    let (settings, more) = Settings::of(looks, &config, variable);
    problems.extend(more);
    let context = endpoint::selected_context(global)?;
    let settings = Settings { read_only: settings.read_only || global.read_only, context, ..settings };
    run::run(global, settings, &problems).map_err(|source| {
        // Writing a frame to a closed terminal fails. This may happen before the hang-up thread ends the program.
        if term::is_closed() {
            exit_for_signal(1);
        }
        Failure::io("showing the full screen", source)
    })
}

/// Returns the key bindings, by scope.
pub(crate) fn keys() -> Vec<crate::ScreenKeys> {
    keymap::manual()
}

/// Returns the commands that have no key.
pub(crate) fn typed() -> Vec<(String, &'static str)> {
    keymap::Keymap::default().only_words().collect()
}

/// Exits at once with the exit code of a signal, without writing to the terminal.
fn exit_for_signal(signal: u8) -> ! {
    term::abandon();
    editor::abandon();
    // The thread that ends the program in the normal way no longer responds.
    std::process::exit(i32::from(128 + signal));
}
