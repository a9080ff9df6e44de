//! What makes the screen one's own: what is remembered, themes, the mouse, the title.

use super::{App, Effect};
use crate::ui::{
    keymap::Action,
    saved_state::SavedState,
    screens::ScreenId,
    settings,
    times::Times,
    world::{Env, Link, Tone},
};

/// What the mouse did, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mouse {
    Up,
    Down,
    Click { x: u16, y: u16 },
}

/// Rows that one notch of the wheel moves.
const NOTCH: usize = 3;

impl App {
    /// Goes on as it was left.
    pub(crate) fn recall(&mut self, memory: &SavedState) {
        (self.world.wide, self.world.full_pane) = (memory.wide, memory.full_pane);
        for (list, (column, reversed)) in &memory.sorts {
            self.screens.repositories.recall(list, column, *reversed);
            self.screens.hooks.recall(list, column, *reversed);
        }
        if let Ok(screen) = memory.screen.parse() {
            self.start = self.start.or(Some(screen));
        }
    }

    /// What is to be remembered.
    pub(crate) fn saved_state(&self) -> SavedState {
        let sorts = [self.screens.repositories.sorted(), self.screens.hooks.sorted()].into_iter().flatten();
        SavedState {
            screen: self.current.name().to_lowercase(),
            sorts: sorts.map(|(list, column, reversed)| (list.to_owned(), (column.to_owned(), reversed))).collect(),
            wide: self.world.wide,
            full_pane: self.world.full_pane,
        }
    }

    /// Shows everything in another theme until the program ends.
    pub(super) fn wear(&mut self, name: &str) {
        if let Some(theme) = settings::named(name, &self.themes) {
            self.world.look.theme = theme;
            self.effects.push(Effect::Repaint);
            return;
        }
        let names = settings::all(&self.themes);
        self.say(Tone::Plain, format!("there is no theme '{name}'; there are: {names}"));
    }

    /// Writes times in another way until the program ends.
    pub(super) fn write_times(&mut self, style: &str) {
        match Times::named(style) {
            Some(style) => self.world.clock.style = style,
            None => self.say(Tone::Plain, format!("times are written as one of: {}", Times::NAMES.join(", "))),
        }
    }

    pub(super) fn toggle_mouse(&mut self) {
        self.world.mouse = !self.world.mouse;
        self.effects.push(Effect::Mouse(self.world.mouse));
        let text = if self.world.mouse {
            "the mouse is used here; selecting text needs Shift in most terminals"
        } else {
            "the mouse belongs to the terminal again"
        };
        self.say(Tone::Plain, text.to_owned());
    }

    pub(super) fn mouse(&mut self, mouse: Mouse) {
        if !self.layers.is_empty() || !self.world.mouse {
            return;
        }
        match mouse {
            Mouse::Up | Mouse::Down => {
                let action = if mouse == Mouse::Up { Action::Up } else { Action::Down };
                for _ in 0..NOTCH {
                    self.with(|screen, env| screen.act(action, env));
                }
            }
            Mouse::Click { x, y: 0 } => {
                if let Some(id) = crate::ui::view::tab_at(self, x) {
                    self.go(id);
                }
            }
            Mouse::Click { x, y } => {
                self.with(|screen, env: &mut Env| screen.click(x, y, env));
            }
        }
    }

    /// What stands in the title of the terminal's window.
    pub(crate) fn title(&self) -> String {
        let mark = if matches!(self.world.link, Link::Up | Link::Connecting) { "" } else { " (no answer)" };
        format!("farrier {}: {}{mark}", self.server(), self.current.name())
    }

    /// The screen to begin with.
    pub(super) fn first_screen(&self) -> ScreenId {
        self.start.unwrap_or(ScreenId::Repositories)
    }
}
