//! Preferences of the user: remembered state, theme, time style, mouse and window title.

use super::{App, Effect, mouse::pane_share};
use crate::ui::{
    layer::{Layer, Offer},
    list::ListView,
    place::HistoryPlace,
    saved_state::SavedState,
    screens::ScreenId,
    settings, theme,
    times::Times,
    world::{Link, Tone},
};

impl App {
    /// Restores the remembered state.
    pub(crate) fn recall(&mut self, memory: &SavedState) {
        (self.world.wide, self.world.full_pane) = (memory.wide, memory.full_pane);
        self.world.pane_share = memory.pane_share.map(pane_share);
        for (list, (column, reversed)) in &memory.sorts {
            if let Some(list) = self.screens.sorted_list(list) {
                list.sort_by(column, *reversed);
            }
        }
        self.command_history = memory.commands.clone();
        if self.start.is_none() {
            let place = memory.place.as_ref().and_then(HistoryPlace::id);
            self.start = place.or_else(|| memory.screen.parse().ok());
            self.return_later(memory.daemon.clone(), memory.place.clone());
        }
    }

    /// Returns the state to remember.
    pub(crate) fn saved_state(&self) -> SavedState {
        let sort = |(name, list): (&str, &dyn ListView)| {
            let (column, reversed) = list.sorted_by()?;
            Some((name.to_owned(), (column.to_owned(), reversed)))
        };
        let (daemon, place) = self.place_to_save();
        SavedState {
            daemon,
            place,
            screen: self.current.name().to_lowercase(),
            sorts: self.screens.sorted_lists().into_iter().filter_map(sort).collect(),
            wide: self.world.wide,
            full_pane: self.world.full_pane,
            pane_share: self.world.pane_share,
            commands: self.command_history.clone(),
        }
    }

    /// Changes the theme until the program ends.
    pub(super) fn set_theme(&mut self, name: &str) {
        if let Some(theme) = settings::named(name, &self.themes) {
            self.world.look.theme = theme;
            self.theme_before = None;
            self.effects.push(Effect::Repaint);
            return;
        }
        let names = settings::all(&self.themes);
        self.notify(Tone::Plain, format!("unknown theme '{name}'; themes: {names}"));
    }

    /// Returns the themes whose name contains `typed`.
    pub(super) fn theme_offers(&self, typed: &str) -> Vec<Offer> {
        let built_in = theme::NAMES.iter().map(|name| (*name, "built-in"));
        let own = self.themes.iter().map(|(name, _)| (name.as_str(), "from the configuration file"));
        let found = built_in.chain(own).filter(|(name, _)| name.contains(typed));
        let mut offers: Vec<Offer> =
            found.map(|(name, about)| Offer { value: name.to_owned(), about: about.to_owned() }).collect();
        offers.sort_by_key(|one| !one.value.starts_with(typed));
        offers
    }

    /// Shows the theme that is typed or chosen in the command line, until another one is or the command line closes.
    pub(super) fn preview_theme(&mut self) {
        let named = match self.top_layer() {
            Some(Layer::Palette(palette)) => palette.theme(),
            _ => None,
        };
        let theme = named.and_then(|name| settings::named(name, &self.themes));
        let before = self.theme_before.unwrap_or(self.world.look.theme);
        let shown = theme.unwrap_or(before);
        self.theme_before = theme.map(|_| before);
        if self.world.look.theme != shown {
            self.world.look.theme = shown;
            self.effects.push(Effect::Repaint);
        }
    }

    /// Changes the style of times until the program ends.
    pub(super) fn set_time_style(&mut self, style: &str) {
        match Times::named(style) {
            Some(style) => self.world.clock.style = style,
            None => {
                self.notify(Tone::Plain, format!("unknown time style '{style}'; styles: {}", Times::NAMES.join(", ")));
            }
        }
    }

    pub(super) fn toggle_mouse(&mut self) {
        self.world.mouse = !self.world.mouse;
        self.effects.push(Effect::Mouse(self.world.mouse));
        let text =
            if self.world.mouse { "Mouse on; to select text, hold Shift in most terminals" } else { "Mouse off" };
        self.notify(Tone::Plain, text.to_owned());
    }

    /// Returns the title of the terminal window.
    pub(crate) fn title(&self) -> String {
        let mark = if matches!(self.world.link, Link::Up | Link::Connecting) { "" } else { " (no answer)" };
        format!("farrier {}: {}{mark}", self.server(), self.current.name())
    }

    /// Returns the first screen.
    pub(super) fn first_screen(&self) -> ScreenId {
        self.start.unwrap_or(ScreenId::Repositories)
    }
}
