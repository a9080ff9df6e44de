//! docs/security.md names existing tests.

use std::{collections::BTreeMap, fs, path::Path};

const PAGE: &str = include_str!("../../../docs/security.md");

/// The sources of the tests, by module.
fn modules(directory: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            modules(&path, &format!("{prefix}{stem}::"), found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = if stem == "mod" { prefix.trim_end_matches("::").to_owned() } else { format!("{prefix}{stem}") };
            found.insert(name, fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn the_security_page_names_existing_tests() {
    let mut sources = BTreeMap::new();
    modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), "", &mut sources);
    let cells = PAGE.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let named: Vec<&str> = cells
        .filter(|(claim, _)| claim.ends_with('.'))
        .flat_map(|(claim, tests)| {
            assert!(tests.starts_with('`'), "{claim} names no test");
            tests.split('`').skip(1).step_by(2)
        })
        .collect();
    assert!(named.len() > 40, "{named:?}");
    for test in named {
        let (module, function) = test.rsplit_once("::").unwrap_or_else(|| panic!("{test} has no module"));
        let source = sources.get(module).unwrap_or_else(|| panic!("{test}: there is no module {module}"));
        let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
        let begins = [format!("fn {function}("), format!("async fn {function}(")];
        let defined = lines.iter().position(|line| begins.iter().any(|begin| line.starts_with(begin.as_str())));
        let line = defined.unwrap_or_else(|| panic!("{test} does not exist"));
        assert!(lines[line - 1].starts_with("#["), "{test} is not a test");
    }
}
