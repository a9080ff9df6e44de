//! Checks of the source text of the daemon: which top-level modules may use which others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The top-level modules of the crate, from the lowest to the highest. A module may use only modules before it.
const LAYERS: [&str; 40] = [
    "inherited",
    "clock",
    "file_parts",
    "id_locks",
    "outage",
    "tasks",
    "hints",
    "wake",
    "removal_holds",
    "model",
    "shares",
    "config",
    "telemetry",
    "serve",
    "store",
    "metrics",
    "set_aside",
    "git",
    "blob",
    "copies",
    "data_dir",
    "backup",
    "webhook",
    "show",
    "delivery",
    "service",
    "background",
    "http",
    "ssh",
    "metrics_listener",
    "args",
    "running",
    "control",
    "manager",
    "reload",
    "check",
    "start",
    "fuzzing",
    "main",
    "lib",
];

#[test]
fn modules_use_only_modules_of_lower_layers() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut uses = BTreeMap::new();
    collect(&source, &source, &mut uses);
    let rank = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    let mut wrong = Vec::new();
    for ((from, to), file) in &uses {
        match (rank(from), rank(to)) {
            (Some(own), Some(used)) if used < own => {}
            (Some(_), Some(_)) => wrong.push(format!("{file}: {from} must not use {to}, which is a higher layer")),
            _ => wrong.push(format!("{file}: {from} uses {to}; add new top-level modules to LAYERS")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Adds the uses in all files below `directory`: the pair of top-level modules, with the first file that has it.
fn collect(root: &Path, directory: &Path, uses: &mut BTreeMap<(String, String), String>) {
    for entry in fs::read_dir(directory).expect("a source directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, uses);
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let relative = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
        let module = relative.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        for used in used_modules(&fs::read_to_string(&path).expect("UTF-8")) {
            if used != module {
                uses.entry((module.clone(), used)).or_insert_with(|| relative.clone());
            }
        }
    }
}

/// The top-level modules that `source` names after `crate::`, alone or in braces. Comments do not count.
fn used_modules(source: &str) -> BTreeSet<String> {
    let code: String =
        source.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(first_word(rest));
            continue;
        };
        let (mut depth, mut item) = (0, String::new());
        for letter in group.chars() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    found.insert(first_word(&std::mem::take(&mut item)));
                }
                _ if depth == 0 => item.push(letter),
                _ => {}
            }
        }
        found.insert(first_word(&item));
    }
    // Types of the crate root, and the empty item after a last comma, are not modules.
    found.retain(|name| name.starts_with(|first: char| first.is_ascii_lowercase()));
    found
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}

#[test]
fn uses_are_found_alone_and_in_groups() {
    let source =
        "use crate::{\n    a::{B, c},\n    d,\n};\nuse crate::e::F; // crate::g\nlet x = crate::h::i(); crate::J";
    assert_eq!(used_modules(source), ["a", "d", "e", "h"].map(String::from).into());
}
