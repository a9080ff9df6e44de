//! docs/reliability.md lists every source file that removes or overwrites files or rows.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Calls that remove or overwrite data.
const CALLS: [&str; 10] = [
    "remove_file(",
    "remove_dir(",
    "remove_dir_all(",
    "fs::rename(",
    "renameat_with(",
    ".persist(",
    ".set_len(",
    "tx.delete(",
    "max_log_files(",
    "--cruft-expiration",
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            // Tests delete only what they have created.
            if !["tests", "conformance"].contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

#[test]
fn every_source_file_that_deletes_data_is_listed_in_the_reliability_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let page = include_str!("../../../docs/reliability.md");
    let mut files = Vec::new();
    for part in ["daemon/src", "tui/src", "common/src"] {
        sources(&root.join(part), &mut files);
    }
    let deleting: BTreeSet<String> = files
        .iter()
        .filter(|path| {
            let text = fs::read_to_string(path).expect("text");
            // Unit tests are at the end of a file.
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            CALLS.iter().any(|call| code.contains(call))
        })
        .map(|path| path.strip_prefix(root).expect("below the workspace").display().to_string())
        .collect();
    assert!(deleting.len() > 20, "{deleting:?}");
    let missing: Vec<_> = deleting.iter().filter(|path| !page.contains(&format!("`{path}`"))).collect();
    assert!(missing.is_empty(), "docs/reliability.md does not say what prevents a loss in {missing:#?}");
    for named in page.split('`').filter(|word| word.ends_with(".rs")) {
        assert!(root.join(named).exists(), "docs/reliability.md names {named}, which does not exist");
    }
}
