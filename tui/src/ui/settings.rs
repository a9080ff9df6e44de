//! Combines flags, environment and configuration to settings before the terminal is acquired.

use std::{collections::HashMap, ffi::OsString};

use super::{
    caps::{Appearance, AppearanceOptions},
    keymap::Keymap,
    screens::{ScreenId, columns_of},
    theme::{self, Theme},
    times::Times,
};
use crate::{
    args::DisplayArgs,
    config::{Config, ConfigProblem, Context, ThemeSetting},
};

/// Settings of the full screen.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own that the user holds")]
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) look: Appearance,
    pub(crate) keymap: Keymap,
    pub(crate) start: Option<ScreenId>,
    /// Columns by list name; for other lists the columns that fit are shown.
    pub(crate) columns: HashMap<String, Vec<String>>,
    pub(crate) clipboard: Clipboard,
    pub(crate) bulk_over: usize,
    pub(crate) times: Times,
    pub(crate) read_only: bool,
    /// The context that was selected at the start.
    pub(crate) context: Option<Context>,
    /// The contexts of the file.
    pub(crate) contexts: Vec<Context>,
    pub(crate) title: bool,
    pub(crate) bell: bool,
    pub(crate) sync: Sync,
    pub(crate) slow: bool,
    pub(crate) mouse: bool,
    /// The themes of the file, by name.
    pub(crate) themes: Vec<(String, Theme)>,
}

/// Whether synchronized output is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sync {
    /// If the terminal answers the query in time.
    #[default]
    Auto,
    On,
    Off,
}

/// Destination of copied text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clipboard {
    /// tmux if it runs, otherwise the terminal.
    #[default]
    Auto,
    Terminal,
    Tmux,
    /// No clipboard: the text is only shown.
    Off,
}

impl Settings {
    /// Combines flags, environment and file, in this precedence. Also returns the problems in the file.
    pub(crate) fn of(
        looks: &DisplayArgs,
        config: &Config,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> (Self, Vec<ConfigProblem>) {
        let mut problems = Vec::new();
        let themes = themes(&config.themes, &mut problems);
        let name = config.ui.theme.as_deref().unwrap_or("default");
        let theme = named(name, &themes).unwrap_or_else(|| {
            problems.push(ConfigProblem::error(1, format!("unknown theme '{name}'; expected one of {}", all(&themes))));
            Theme::default()
        });
        let options = AppearanceOptions {
            ascii: looks.ascii || config.ui.glyphs.as_deref() == Some("ascii"),
            unicode: config.ui.glyphs.as_deref() == Some("unicode"),
            mono: name == "mono",
            flag: looks.color,
            file: config.ui.color.as_deref().and_then(|word| word.parse().ok()),
        };
        for (list, names) in &config.columns {
            let known = columns_of(list);
            for name in names.iter().filter(|name| !known.contains(name)) {
                let text = format!("{list} has no column '{name}'; expected one of {}", known.join(", "));
                problems.push(ConfigProblem::warning(1, text));
            }
        }
        let (keymap, wrong) = Keymap::with(&config.keys);
        problems.extend(wrong);
        let start = looks.screen.or_else(|| config.ui.start.as_deref().and_then(|name| name.parse().ok()));
        let settings = Self {
            look: Appearance { theme, ..Appearance::of(options, variable) },
            keymap,
            start,
            columns: config.columns.iter().cloned().collect(),
            clipboard: match config.ui.clipboard.as_deref() {
                Some("osc52") => Clipboard::Terminal,
                Some("tmux") => Clipboard::Tmux,
                Some("off") => Clipboard::Off,
                _ => Clipboard::Auto,
            },
            bulk_over: config.ui.confirm_bulk_over.unwrap_or(1),
            times: config.ui.time.as_deref().and_then(Times::named).unwrap_or_default(),
            read_only: config.server.read_only,
            context: None,
            contexts: config.contexts.clone(),
            title: config.ui.title,
            bell: config.ui.bell.as_deref() == Some("problems"),
            sync: match config.ui.sync.as_deref() {
                Some("on") => Sync::On,
                Some("off") => Sync::Off,
                _ => Sync::Auto,
            },
            slow: looks.slow,
            mouse: looks.mouse || config.ui.mouse,
            themes,
        };
        (settings, problems)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::of(&DisplayArgs::default(), &Config::default(), |_| None).0
    }
}

/// Returns the themes of a file. A theme may be based on an earlier one.
fn themes(settings: &[ThemeSetting], problems: &mut Vec<ConfigProblem>) -> Vec<(String, Theme)> {
    let mut themes: Vec<(String, Theme)> = Vec::new();
    for setting in settings {
        let base = setting.base.as_deref().unwrap_or("default");
        let mut theme = named(base, &themes).unwrap_or_else(|| {
            let text = format!("unknown base theme '{base}'; expected one of {}", all(&themes));
            problems.push(ConfigProblem::error(setting.line, text));
            Theme::default()
        });
        for (line, role, color) in &setting.roles {
            match theme.with(role, color) {
                Ok(with) => theme = with,
                Err(text) => problems.push(ConfigProblem::error(*line, text)),
            }
        }
        themes.push((setting.name.clone(), theme));
    }
    themes
}

/// Returns a theme of the file, or a built-in one.
pub(crate) fn named(name: &str, own: &[(String, Theme)]) -> Option<Theme> {
    let found = own.iter().find(|(known, _)| known == name).map(|(_, theme)| *theme);
    found.or_else(|| Theme::named(name))
}

/// Returns the names of all themes.
pub(crate) fn all(own: &[(String, Theme)]) -> String {
    let names: Vec<&str> = theme::NAMES.into_iter().chain(own.iter().map(|(name, _)| name.as_str())).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::caps::{Colors, Glyphs};

    fn settings(text: &str, looks: &DisplayArgs) -> (Settings, Vec<ConfigProblem>) {
        let (config, problems) = Config::parse(text);
        assert_eq!(problems, [], "{text}");
        Settings::of(looks, &config, |name| (name == "LANG").then(|| "C.UTF-8".into()))
    }

    #[test]
    fn flags_override_the_configuration_file() {
        let file = "[ui]\ncolor = \"256\"\nglyphs = \"ascii\"\nstart = \"hooks\"\n[server]\nread_only = true\n";
        let (from_file, problems) = settings(file, &DisplayArgs::default());
        assert_eq!(problems, []);
        assert_eq!((from_file.look.colors, from_file.look.glyphs), (Colors::Many, Glyphs::Ascii));
        assert_eq!((from_file.start, from_file.read_only), (Some(ScreenId::Hooks), true));
        let looks = DisplayArgs {
            color: Some("never".parse().unwrap()),
            screen: "artifacts".parse().ok(),
            ..DisplayArgs::default()
        };
        let (flagged, _) = settings(file, &looks);
        assert_eq!((flagged.look.colors, flagged.start), (Colors::Never, Some(ScreenId::Artifacts)));
    }

    #[test]
    fn themes_extend_earlier_themes_and_errors_are_reported() {
        let file =
            "[ui]\ntheme = \"b\"\n[theme.a]\nbase = \"dark\"\n[theme.b]\nbase = \"a\"\nok = \"blue\"\nx = \"red\"\n";
        let (checked, problems) = settings(file, &DisplayArgs::default());
        assert_eq!(checked.look.theme, Theme::named("dark").unwrap().with("ok", "blue").unwrap());
        assert_eq!((problems.len(), problems[0].line), (1, 8));
        let (checked, problems) = settings("[ui]\ntheme = \"pink\"\n", &DisplayArgs::default());
        assert_eq!(checked.look.theme, Theme::default());
        assert!(problems[0].text.contains("high-contrast"), "{}", problems[0].text);
        assert_eq!(settings("[ui]\ntheme = \"mono\"\n", &DisplayArgs::default()).0.look.colors, Colors::Never);
    }
}
