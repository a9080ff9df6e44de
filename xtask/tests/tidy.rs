//! Rules for the source text that the compiler does not check.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Longest source file, lines.
const FILE_LINES_MAX: usize = 400;
/// Longest comment line, characters.
const LINE_CHARS_MAX: usize = 120;

/// Crates whose source is checked.
const CRATES: [&str; 5] = ["common", "daemon", "proto", "tui", "xtask"];

/// Names of types that do not tell their role. Most of them were in use once.
const RETIRED_NAMES: [&str; 38] = [
    "Asked",
    "Begun",
    "Coming",
    "Desk",
    "Eyes",
    "Found",
    "Front",
    "Lane",
    "Ledger",
    "Lent",
    "Lingering",
    "Manners",
    "Needs",
    "News",
    "Of",
    "Parts",
    "Piece",
    "Pieces",
    "Place",
    "Places",
    "Purpose",
    "Ready",
    "Reserve",
    "Seat",
    "Seen",
    "Sieve",
    "Stalling",
    "Stand",
    "Standing",
    "Taken",
    "Tally",
    "Telling",
    "Then",
    "Turn",
    "Turns",
    "Wanted",
    "Wish",
    "Work",
];

/// Phrases that readers had to decode, each with the plain words to use instead.
const RETIRED_PHRASES: [(&str, &str); 12] = [
    ("so many", "at most N, the number of"),
    ("whoever", "the caller, the receiver, the client"),
    ("what there is", "the rows, the entries"),
    ("is told", "is notified, receives"),
    ("are told", "are notified, receive"),
    ("hears of", "receives, learns of"),
    ("one that", "a hook that, the row that"),
    ("what has become of", "the result of, the state of"),
    ("that there is not", "that does not exist"),
    ("take turns", "alternate"),
    ("nobody waits", "no caller waits"),
    ("the words of", "the text of"),
];

/// A file: its path from the root of the project, and its text.
struct Source {
    path: PathBuf,
    text: String,
}

/// The Rust files of all crates.
fn sources() -> Vec<Source> {
    files(&CRATES, "rs")
}

/// The documents for readers and developers.
fn documents() -> Vec<Source> {
    files(&["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs"], "md")
}

/// The files with the extension `extension` at or below `paths`.
fn files(paths: &[&str], extension: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project");
    let mut sources = Vec::new();
    let (named, mut directories): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().map(|name| root.join(name)).partition(|path| path.is_file());
    for path in named {
        let text = fs::read_to_string(&path).expect("UTF-8");
        sources.push(Source { path: path.strip_prefix(root).expect("below the root").to_owned(), text });
    }
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of the project") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !matches!(name, "target" | "node_modules" | "fuzz") {
                directories.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                let text = fs::read_to_string(&path).expect("UTF-8");
                sources.push(Source { path: path.strip_prefix(root).expect("below the root").to_owned(), text });
            }
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    sources
}

/// The name of the type that `line` declares at module level for other modules, if it declares one.
fn declared_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = if let Some(limited) = rest.strip_prefix('(') { limited.split_once(')')?.1 } else { rest };
    let mut words = rest.split_whitespace();
    if !matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union") {
        return None;
    }
    let name = words.next()?;
    Some(&name[..name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len())])
}

#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_and_comment_lines_are_short() {
    let mut faults = Vec::new();
    for Source { path, text } in sources() {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{}: {lines} lines, at most {FILE_LINES_MAX}", path.display()));
        }
        for (number, line) in text.lines().enumerate() {
            let chars = line.chars().count();
            // The formatter limits lines of code, but neither comments nor string literals.
            if chars > LINE_CHARS_MAX && line.trim_start().starts_with("//") {
                faults.push(format!("{}:{}: {chars} characters", path.display(), number + 1));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn public_type_names_are_unique_within_a_crate() {
    let mut declared: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for Source { path, text } in sources() {
        let mut components = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let (Some(krate), Some(source)) = (components.next(), components.next()) else { continue };
        if source != "src" {
            continue;
        }
        for name in text.lines().filter_map(declared_type) {
            declared.entry((krate.clone(), name.to_owned())).or_default().push(path.display().to_string());
        }
    }
    let several = declared.iter().filter(|(_, files)| files.len() > 1);
    assert_none(&several.map(|((_, name), files)| format!("{name}: {}", files.join(", "))).collect::<Vec<_>>());
}

#[test]
fn retired_type_names_are_not_used() {
    let mut faults = Vec::new();
    for Source { path, text } in sources() {
        if !path.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        let retired = text.lines().filter_map(declared_type).filter(|name| RETIRED_NAMES.contains(name));
        faults.extend(retired.map(|name| format!("{}: {name}", path.display())));
    }
    assert_none(&faults);
}

#[test]
fn retired_phrases_are_not_used() {
    let mut faults = Vec::new();
    for Source { path, text } in sources().into_iter().chain(documents()) {
        if path.ends_with("xtask/tests/tidy.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for (phrase, instead) in RETIRED_PHRASES {
                if lower.contains(phrase) {
                    faults.push(format!("{}:{}: \"{phrase}\": {instead}", path.display(), number + 1));
                }
            }
        }
    }
    assert_none(&faults);
}
