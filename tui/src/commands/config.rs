//! `farrier config`: shows and checks the configuration of this program.

use serde::Serialize;

use crate::{
    args::{ConfigCommand, DisplayArgs},
    config::{self, Config, ConfigProblem, Server},
    endpoint::variable,
    exit::{self, Failure},
    output::{Output, fields},
    ui::Settings,
};

/// The problems of a configuration file.
#[derive(Serialize)]
struct Checked {
    path: String,
    problems: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    line: usize,
    /// `error`, or `warning` for a key that is ignored.
    level: &'static str,
    text: String,
}

pub(super) fn run(command: ConfigCommand, output: &Output) -> Result<u8, Failure> {
    let path = config::path(variable).map(|path| path.display().to_string());
    let path = path.ok_or_else(|| {
        Failure::Other("cannot determine the configuration file: neither $XDG_CONFIG_HOME nor $HOME is set".to_owned())
    })?;
    let text = config::text(variable).map_err(|source| Failure::io(format!("reading {path}"), source))?;
    let (config, mut problems) = Config::parse(&text);
    match command {
        ConfigCommand::Path => output.text(&path)?,
        ConfigCommand::Show => output.text(&config_text(&config))?,
        ConfigCommand::Check => {
            problems.extend(Settings::of(&DisplayArgs::default(), &config, variable).1);
            return check(path, problems, output);
        }
    }
    Ok(exit::OK)
}

fn check(path: String, mut problems: Vec<ConfigProblem>, output: &Output) -> Result<u8, Failure> {
    problems.sort_by_key(|problem| problem.line);
    let code = if problems.iter().any(|problem| !problem.is_warning) { exit::FAILED } else { exit::OK };
    let level = |problem: &ConfigProblem| if problem.is_warning { "warning" } else { "error" };
    let problems = problems.into_iter().map(|one| Found { line: one.line, level: level(&one), text: one.text });
    let checked = Checked { path, problems: problems.collect() };
    output.object(&checked, &checked.path, || {
        let lines =
            checked.problems.iter().map(|one| format!("{}:{}: {}: {}", checked.path, one.line, one.level, one.text));
        let text = lines.collect::<Vec<_>>().join("\n");
        if text.is_empty() { format!("{}: no problems found", checked.path) } else { text }
    })?;
    Ok(code)
}

/// Returns the settings in effect, in the format of the file.
fn config_text(config: &Config) -> String {
    let (server, ui) = (&config.server, &config.ui);
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let or = |value: &Option<String>, usual: &str| value.clone().unwrap_or_else(|| usual.to_owned());
    let mut lines = vec![
        ("server.socket", path(&server.socket).unwrap_or_else(|| "default".to_owned())),
        ("server.url", or(&server.url, "none")),
        ("server.token_file", path(&server.token_file).unwrap_or_else(|| "none".to_owned())),
        ("server.ca", path(&server.ca).unwrap_or_else(|| "none".to_owned())),
        ("server.read_only", server.read_only.to_string()),
        ("ui.theme", or(&ui.theme, "default")),
        ("ui.color", or(&ui.color, "auto")),
        ("ui.glyphs", or(&ui.glyphs, "auto")),
        ("ui.clipboard", or(&ui.clipboard, "auto")),
        ("ui.start", or(&ui.start, "last screen")),
        ("ui.bell", or(&ui.bell, "off")),
        ("ui.time", or(&ui.time, "relative")),
        ("ui.sync", or(&ui.sync, "auto")),
        ("ui.mouse", ui.mouse.to_string()),
        ("ui.title", ui.title.to_string()),
        ("ui.confirm_bulk_over", ui.confirm_bulk_over.unwrap_or(1).to_string()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect::<Vec<_>>();
    for context in &config.contexts {
        let Server { token_file, ca, .. } = &context.server;
        let files = [("token_file", path(token_file)), ("ca", path(ca))];
        lines.push((format!("contexts.{}", context.name), context.describe()));
        lines.extend(
            files.into_iter().filter_map(|(key, file)| Some((format!("contexts.{}.{key}", context.name), file?))),
        );
    }
    lines.extend(config.columns.iter().map(|(list, names)| (format!("columns.{list}.show"), names.join(" "))));
    let keys = config.keys.iter().map(|one| (format!("keys.{}.{}", one.scope, one.action), one.keys.join(" ")));
    lines.extend(keys);
    for theme in &config.themes {
        let base = theme.base.iter().map(|base| ("base", base));
        let roles = theme.roles.iter().map(|(_, role, color)| (role.as_str(), color));
        lines.extend(base.chain(roles).map(|(key, value)| (format!("theme.{}.{key}", theme.name), value.clone())));
    }
    let lines: Vec<(&str, String)> = lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    fields(&lines)
}
