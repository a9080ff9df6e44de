//! Parses the configuration and reports each problem with its line.

use farrier_common::client::Endpoint;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Config, ConfigProblem, Context, KeySetting, Server, ThemeSetting, context};

type Entry<'a, 'i> = (&'a str, usize, &'a Spanned<DeValue<'i>>);

pub(super) struct Reader<'t> {
    text: &'t str,
    problems: Vec<ConfigProblem>,
}

impl<'t> Reader<'t> {
    pub(super) fn read(text: &'t str) -> (Config, Vec<ConfigProblem>) {
        let mut reader = Self { text, problems: Vec::new() };
        let mut config = Config::default();
        match DeTable::parse(text) {
            Ok(table) => reader.sections(table.get_ref(), &mut config),
            Err(error) => {
                let line = error.span().map_or(1, |span| reader.line(span.start));
                reader.problems.push(ConfigProblem::error(line, error.message().to_owned()));
                // The file may contain `read_only`.
                config.server.read_only = true;
            }
        }
        reader.problems.sort_by_key(|problem| problem.line);
        (config, reader.problems)
    }

    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    fn error(&mut self, line: usize, text: impl Into<String>) {
        self.problems.push(ConfigProblem::error(line, text));
    }

    fn unknown(&mut self, line: usize, key: &str, known: &[&str]) {
        self.problems
            .push(ConfigProblem::warning(line, format!("'{key}' is unknown; known keys: {}", known.join(", "))));
    }

    /// Returns the entries of a table.
    fn entries<'a, 'i>(&mut self, name: &str, value: &'a Spanned<DeValue<'i>>) -> Vec<Entry<'a, 'i>> {
        let line = self.line(value.span().start);
        if let DeValue::Table(table) = value.get_ref() {
            return self.of_table(table);
        }
        self.error(line, format!("{name} must be a table"));
        Vec::new()
    }

    fn of_table<'a, 'i>(&self, table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), self.line(key.span().start), value)).collect()
    }

    fn sections(&mut self, table: &DeTable, config: &mut Config) {
        for (name, line, value) in self.of_table(table) {
            match name {
                "server" => self.server(value, config),
                "contexts" => self.contexts(value, config),
                "ui" => self.ui(value, config),
                "columns" => self.columns(value, config),
                "keys" => self.keys(value, config),
                "theme" => self.themes(value, config),
                other => self.unknown(line, other, &["server", "contexts", "ui", "columns", "keys", "theme"]),
            }
        }
    }

    fn server(&mut self, value: &Spanned<DeValue>, config: &mut Config) {
        for entry in self.entries("server", value) {
            if !self.daemon_setting(entry, &mut config.server) {
                self.unknown(entry.1, entry.0, SERVER);
            }
        }
    }

    /// Reads a setting of a daemon. Returns whether its key is known.
    fn daemon_setting(&mut self, (key, line, value): Entry, server: &mut Server) -> bool {
        match key {
            "socket" => server.socket = self.text(line, key, value, &[]).map(Into::into),
            "url" => server.url = self.text(line, key, value, &[]),
            "token_file" => server.token_file = self.text(line, key, value, &[]).map(Into::into),
            "ca" => server.ca = self.text(line, key, value, &[]).map(Into::into),
            // An invalid value must not permit changes.
            "read_only" => server.read_only = self.switch(line, key, value) || value.get_ref().as_bool().is_none(),
            _ => return false,
        }
        true
    }

    /// Reads the contexts. Unknown keys are errors, because a misspelled `read_only` must not permit changes.
    fn contexts(&mut self, value: &Spanned<DeValue>, config: &mut Config) {
        for (name, line, value) in self.entries("contexts", value) {
            let before = self.problems.len();
            let mut context = Context { name: name.to_owned(), ..Context::default() };
            if !context::is_name(name) {
                self.error(
                    line,
                    format!("{name:?} is not a name of a context: at most 32 letters, digits, '.', '_' and '-'"),
                );
            }
            for entry in self.entries(&format!("contexts.{name}"), value) {
                let (key, line, value) = entry;
                if key == "production" {
                    context.production = self.switch(line, key, value);
                } else if !self.daemon_setting(entry, &mut context.server) {
                    self.error(line, format!("'{key}' is unknown; known keys: {}, production", SERVER.join(", ")));
                }
            }
            if self.problems.len() == before {
                self.check_address(line, &context);
            }
            context.mistake = self.problems.get(before).cloned();
            config.contexts.push(context);
        }
    }

    fn check_address(&mut self, line: usize, context: &Context) {
        match (&context.server.socket, &context.server.url) {
            (Some(_), None) => {}
            (None, Some(url)) => {
                if let Err(error) = Endpoint::parse_url(url) {
                    self.error(line, format!("contexts.{}: url {error}", context.name));
                }
            }
            _ => self.error(line, format!("contexts.{} must have either socket or url", context.name)),
        }
    }

    fn ui(&mut self, value: &Spanned<DeValue>, config: &mut Config) {
        let ui = &mut config.ui;
        for (key, line, value) in self.entries("ui", value) {
            match key {
                "theme" => ui.theme = self.text(line, key, value, &[]),
                "color" => ui.color = self.text(line, key, value, &["never", "16", "256", "true", "auto"]),
                "glyphs" => ui.glyphs = self.text(line, key, value, &["auto", "unicode", "ascii"]),
                "clipboard" => ui.clipboard = self.text(line, key, value, &["auto", "osc52", "tmux", "off"]),
                "start" => ui.start = self.text(line, key, value, SCREENS),
                "time" => ui.time = self.text(line, key, value, &["relative", "iso", "local"]),
                "bell" => ui.bell = self.text(line, key, value, &["off", "problems"]),
                "sync" => ui.sync = self.text(line, key, value, &["auto", "on", "off"]),
                "mouse" => ui.mouse = self.switch(line, key, value),
                "title" => ui.title = self.switch(line, key, value),
                "confirm_bulk_over" => ui.confirm_bulk_over = self.number(line, key, value),
                other => self.unknown(line, other, UI),
            }
        }
    }

    fn columns(&mut self, value: &Spanned<DeValue>, config: &mut Config) {
        for (list, line, value) in self.entries("columns", value) {
            if !LISTS.contains(&list) {
                self.unknown(line, list, LISTS);
                continue;
            }
            for (key, line, value) in self.entries(list, value) {
                match key {
                    "show" => config.columns.push((list.to_owned(), self.texts(line, key, value))),
                    other => self.unknown(line, other, &["show"]),
                }
            }
        }
    }

    fn keys(&mut self, value: &Spanned<DeValue>, config: &mut Config) {
        for (scope, _, value) in self.entries("keys", value) {
            for (action, line, value) in self.entries(scope, value) {
                let keys = self.texts(line, action, value);
                config.keys.push(KeySetting { line, scope: scope.to_owned(), action: action.to_owned(), keys });
            }
        }
    }

    fn themes(&mut self, value: &Spanned<DeValue>, config: &mut Config) {
        for (name, line, value) in self.entries("theme", value) {
            let mut theme = ThemeSetting { line, name: name.to_owned(), base: None, roles: Vec::new() };
            for (key, line, value) in self.entries(name, value) {
                let Some(text) = self.text(line, key, value, &[]) else { continue };
                match key {
                    "base" => theme.base = Some(text),
                    role => theme.roles.push((line, role.to_owned(), text)),
                }
            }
            config.themes.push(theme);
        }
    }

    /// Reads a string. If `known` is not empty, the string must be one of its elements.
    fn text(&mut self, line: usize, key: &str, value: &Spanned<DeValue>, known: &[&str]) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            self.error(line, format!("{key} must be a string"));
            return None;
        };
        if !known.is_empty() && !known.contains(&text) {
            self.error(line, format!("{key} = \"{text}\": must be one of {}", known.join(", ")));
            return None;
        }
        Some(text.to_owned())
    }

    fn texts(&mut self, line: usize, key: &str, value: &Spanned<DeValue>) -> Vec<String> {
        let all = value.get_ref().as_array().map(|values| {
            values.iter().map(|value| value.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        all.flatten().unwrap_or_else(|| {
            self.error(line, format!("{key} must be a list of strings"));
            Vec::new()
        })
    }

    fn switch(&mut self, line: usize, key: &str, value: &Spanned<DeValue>) -> bool {
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.error(line, format!("{key} must be true or false"));
            false
        })
    }

    fn number(&mut self, line: usize, key: &str, value: &Spanned<DeValue>) -> Option<usize> {
        let number = value.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        if number.is_none() {
            self.error(line, format!("{key} must be a whole number of at least 0"));
        }
        number
    }
}

const SERVER: &[&str] = &["socket", "url", "token_file", "ca", "read_only"];
const SCREENS: &[&str] =
    &["dashboard", "repositories", "hooks", "deliveries", "artifacts", "audit", "users", "runs", "tasks", "logs"];
const LISTS: &[&str] = &[
    "repositories",
    "files",
    "commits",
    "branches",
    "tags",
    "releases",
    "rules",
    "collaborators",
    "deploy_keys",
    "mirrors",
    "hooks",
    "deliveries",
    "runs",
    "workflow_runs",
    "tasks",
    "logs",
    "audit",
    "caches",
    "users",
    "tokens",
    "keys",
    "organizations",
    "teams",
    "members",
];
const UI: &[&str] =
    &["theme", "color", "glyphs", "clipboard", "start", "bell", "time", "sync", "mouse", "title", "confirm_bulk_over"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_parsed() {
        let text = r##"
[server]
socket = "/run/x.sock"
token_file = "/home/o/token"
read_only = true
[ui]
theme = "mine"
color = "256"
start = "hooks"
time = "iso"
title = true
confirm_bulk_over = 5
[columns.repositories]
show = ["name", "size"]
[keys.global]
redeliver = ["f5"]
[keys.hooks]
unbind = ["D"]
[theme.mine]
base = "dark"
error = "#ff0000"
"##;
        let (config, problems) = Reader::read(text);
        assert_eq!(problems, []);
        assert_eq!(config.server.socket.as_deref(), Some(std::path::Path::new("/run/x.sock")));
        assert!(config.server.read_only && config.ui.title);
        assert_eq!(config.ui.time.as_deref(), Some("iso"));
        assert_eq!((config.ui.theme.as_deref(), config.ui.confirm_bulk_over), (Some("mine"), Some(5)));
        assert_eq!(config.columns, [("repositories".to_owned(), vec!["name".to_owned(), "size".to_owned()])]);
        assert_eq!((config.keys[1].scope.as_str(), config.keys[1].action.as_str()), ("hooks", "unbind"));
        assert_eq!(config.themes[0].roles, [(21, "error".to_owned(), "#ff0000".to_owned())]);
    }

    #[test]
    fn problems_report_the_line_and_the_valid_values() {
        let text = "[ui]\ncolor = \"pink\"\nglyph = 1\nstart = 7\ntitle = true\n[other]\n[keys.hooks]\nx = \"a\"\n";
        let (config, problems) = Reader::read(text);
        let found: Vec<(usize, bool)> = problems.iter().map(|one| (one.line, one.is_warning)).collect();
        assert_eq!(found, [(2, false), (3, true), (4, false), (6, true), (8, false)]);
        assert_eq!(problems[0].text, "color = \"pink\": must be one of never, 16, 256, true, auto");
        assert!(problems[1].text.contains("known keys: theme, color, glyphs"), "{}", problems[1].text);
        assert!(config.ui.title && config.ui.color.is_none(), "the valid settings are kept");
        let (config, problems) = Reader::read("[ui]\ntheme = \n");
        let server = Server { read_only: true, ..Server::default() };
        assert_eq!((config, problems[0].line), (Config { server, ..Config::default() }, 2));
    }

    #[test]
    fn a_mistake_that_may_hide_read_only_permits_no_changes() {
        for text in ["[server]\nread_only = \"yes\"\n", "[server]\nread_only = true\n[contexts.prod\n"] {
            let (config, problems) = Reader::read(text);
            assert!(config.server.read_only && !problems.is_empty(), "{text}");
        }
        assert!(!Reader::read("[ui]\nglyphs = 1\n").0.server.read_only);
    }
}
