//! Commands that want something behind their words, and so have no keys.

/// Their words, and what they want and do.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("hook show", "deliveries of a hook: its number"),
    ("repo show", "a repository: OWNER/NAME"),
    ("artifacts", "of all repositories, or of one: OWNER/NAME"),
    ("artifact", "an artifact: its number"),
    ("run", "a run and its artifacts: its number"),
    ("delivery list --event", "deliveries of one event"),
    ("connect", "speak to another daemon: PATH or URL"),
    ("time", "relative, iso or local: how times are written"),
    ("theme", "default, mono, high-contrast, light, dark, or one of your own"),
];

/// Whether a line is such a command with what it wants.
pub(crate) fn is_whole(line: &str) -> bool {
    let rest = |known: &str| line.strip_prefix(known)?.strip_prefix(' ').map(str::trim).filter(|rest| !rest.is_empty());
    COMMANDS.iter().any(|(known, _)| match *known {
        "artifacts" => line == "artifacts" || rest(known).is_some(),
        // Other commands begin with the same word.
        "artifact" | "run" => rest(known).is_some_and(|rest| rest.parse::<u64>().is_ok()),
        known => rest(known).is_some(),
    })
}
