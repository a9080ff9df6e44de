//! Contexts: named daemons, each with its credentials and its limits.

use super::{ConfigProblem, Server};

/// Longest name. The header shows it beside the tabs.
const NAME_CHARS_MAX: usize = 32;

/// A named daemon of the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) server: Server,
    /// Whether the full screen marks the daemon as a production system.
    pub(crate) production: bool,
    /// The first mistake in its table. A context with a mistake is refused: the ignored setting could be `read_only`.
    pub(crate) mistake: Option<ConfigProblem>,
}

impl Context {
    /// Returns the limits and the address, for lists. The limits come first, because a long address is truncated. Of a
    /// context with a mistake, returns the line, because its limits are not known and its URL may contain a password.
    pub(crate) fn describe(&self) -> String {
        if let Some(ConfigProblem { line, .. }) = &self.mistake {
            return format!("cannot be used: config.toml line {line}");
        }
        let Server { socket, url, read_only, .. } = &self.server;
        let socket = socket.as_ref().map(|path| path.display().to_string());
        let address = socket.or_else(|| url.clone()).unwrap_or_default();
        let marks = [(self.production, "production"), (*read_only, "read-only")];
        let marks = marks.into_iter().filter_map(|(is, mark)| is.then_some(mark));
        marks.chain([address.as_str()]).collect::<Vec<_>>().join(", ")
    }
}

/// Returns whether a context may have this name. A name has no `/`, so that it is neither a path nor a URL.
pub(super) fn is_name(name: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Returns the context of this name. The error names the known contexts, or the line with the mistake.
pub(crate) fn named<'c>(contexts: &'c [Context], name: &str) -> Result<&'c Context, String> {
    let Some(context) = contexts.iter().find(|context| context.name == name) else {
        let known: Vec<&str> = contexts.iter().map(|context| context.name.as_str()).collect();
        return Err(match known.as_slice() {
            [] => format!("unknown context '{name}'; config.toml defines none: add [contexts.NAME]"),
            known => format!("unknown context '{name}'; known contexts: {}", known.join(", ")),
        });
    };
    match &context.mistake {
        None => Ok(context),
        Some(ConfigProblem { line, text, .. }) => {
            Err(format!("context '{name}' cannot be used: config.toml line {line}: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Config, *};

    fn contexts(text: &str) -> Vec<Context> {
        Config::parse(text).0.contexts
    }

    #[test]
    fn contexts_are_parsed_and_found_by_name() {
        let all = contexts(
            "[contexts.prod]\nurl = \"https://forge.example\"\ntoken_file = \"/t\"\nca = \"/ca.pem\"\nread_only = true\n\
             production = true\n[contexts.lab]\nsocket = \"/run/lab.sock\"\n",
        );
        let prod = named(&all, "prod").unwrap();
        assert_eq!(prod.server.url.as_deref(), Some("https://forge.example"));
        assert!(
            prod.production && prod.server.read_only && prod.server.token_file.is_some() && prod.server.ca.is_some()
        );
        assert_eq!(prod.describe(), "production, read-only, https://forge.example");
        let lab = named(&all, "lab").unwrap();
        assert!(!lab.production && !lab.server.read_only);
        assert_eq!(lab.describe(), "/run/lab.sock");
    }

    #[test]
    fn an_unknown_context_lists_the_known_ones() {
        let all = contexts("[contexts.a]\nsocket = \"/a\"\n[contexts.b]\nsocket = \"/b\"\n");
        assert_eq!(named(&all, "A").unwrap_err(), "unknown context 'A'; known contexts: a, b");
        assert!(named(&[], "a").unwrap_err().contains("add [contexts.NAME]"));
    }

    #[test]
    fn a_context_with_a_mistake_is_reported_with_its_line_and_refused() {
        for (table, line, words) in [
            ("url = \"http://h\"\nread_only = \"yes\"", 3, "read_only must be true or false"),
            ("url = \"http://h\"\nreadonly = true", 3, "'readonly' is unknown; known keys: socket, url"),
            ("url = \"http://h\"\nproduction = 1", 3, "production must be true or false"),
            ("url = \"http://h\"\nsocket = \"/s\"", 1, "must have either socket or url"),
            ("token_file = \"/t\"", 1, "must have either socket or url"),
            ("url = \"ftp://h\"", 1, "url "),
            ("url = \"http://a:secret@h\"", 1, "url "),
            ("token = \"frr_secret\"\nsocket = \"/s\"", 2, "'token' is unknown"),
        ] {
            let (config, problems) = Config::parse(&format!("[contexts.x]\n{table}\n"));
            let refused = named(&config.contexts, "x").unwrap_err();
            assert!(refused.contains(&format!("line {line}: ")) && refused.contains(words), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
            assert_eq!(config.contexts[0].describe(), format!("cannot be used: config.toml line {line}"));
            assert!(problems.iter().any(|one| one.line == line && !one.is_warning), "{problems:?}");
        }
        for name in ["\"a/b\"", "\"\"", "\"-x\"", "\"a b\"", "\"\\u001b[2J\""] {
            let (config, problems) = Config::parse(&format!("[contexts.{name}]\nsocket = \"/s\"\n"));
            assert!(config.contexts.iter().all(|context| context.mistake.is_some()), "{name}");
            assert!(problems[0].text.contains("letters, digits"), "{problems:?}");
        }
        assert!(Config::parse("contexts = 7\n").1[0].text.contains("contexts must be a table"));
        assert!(Config::parse("[contexts]\nprod = \"http://h\"\n").1[0].text.contains("must be a table"));
    }
}
