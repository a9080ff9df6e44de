//! Checks of the source text of the daemon: which files may write refs, and which may run git in a repository.
//!
//! The rows of the store decide which refs a repository has, and its files of refs are written from them. A change of a
//! file of a ref in any other way has no event, and is undone when the file is written again.

use std::{fs, path::Path};

/// Texts that only some source files may contain.
struct Restricted {
    /// Any of these texts, compared without spaces and line breaks.
    texts: &'static [&'static str],
    /// Files and directories (with a slash at the end) below `src`.
    allowed: &'static [&'static str],
    reason: &'static str,
}

const RESTRICTED: [Restricted; 14] = [
    Restricted { texts: &["\"update-ref\""], allowed: &[], reason: "the rows decide; use service/ref_moves" },
    Restricted {
        texts: &["\"receive-pack\""],
        // The advertisement shows git's capabilities. `transfers/access.rs` has the name of the service.
        allowed: &["git/capabilities.rs", "service/transfers/access.rs", "ssh/run.rs"],
        reason: "pushes are received by git/incoming.rs",
    },
    Restricted {
        texts: &["\"fast-import\""],
        // The first commit, before the repository has a row; and objects of a workspace.
        allowed: &["git/tree_edit.rs", "service/initial.rs"],
        reason: "it writes refs",
    },
    Restricted {
        texts: &[".write_refs(", ".begin_rewrite("],
        allowed: &["copies/"],
        reason: "only copies writes the rows to files of refs",
    },
    Restricted {
        texts: &["write_packed_refs("],
        allowed: &["git/fork.rs", "git/import/new_refs.rs"],
        reason: "only directories without a row get their refs this way",
    },
    Restricted {
        texts: &["\"pack-refs\""],
        allowed: &["git/prune.rs", "git/upkeep.rs"],
        reason: "files of refs change only under the lock of the repository",
    },
    Restricted {
        texts: &["refs::set(", "refs::advance("],
        allowed: &["check/decide/", "service/ref_moves/", "store/"],
        reason: "only service/ref_moves changes the rows of refs",
    },
    Restricted {
        texts: &["refs::create("],
        allowed: &[
            "check/decide.rs",
            "service/forks.rs",
            "service/migrations/record.rs",
            "service/repositories/create.rs",
            "store/",
        ],
        reason: "only new repositories get their first rows of refs this way",
    },
    Restricted {
        texts: &[
            "dropped_packs::drop_all(",
            "dropped_packs::take_back(",
            "packs::add(",
            "packs::replace(",
            "packs::suspend(",
            "pack_rows::add(",
            "pack_rows::replace(",
        ],
        allowed: &[
            "check/decide/tips.rs",
            "check/repositories/packs.rs",
            "service/forks.rs",
            "service/migrations/record.rs",
            "service/packs.rs",
            "service/ref_moves/commit.rs",
            "service/repositories/create.rs",
            "service/tidying.rs",
            "store/dropped_packs.rs",
        ],
        reason: "only these change manifests: changes of refs, new repositories, service/packs and service/tidying",
    },
    Restricted {
        texts: &["\"repack\"", "\"prune-packed\"", "\"gc\""],
        allowed: &["git/upkeep.rs"],
        reason: "git replaces packs only in service/packs::adopt",
    },
    Restricted {
        texts: &[".git.prune(", ".pack_loose_objects(", ".hide_packs", ".remove_packs("],
        allowed: &["service/packs.rs", "service/repositories/prune.rs", "service/tidying.rs"],
        reason: "packs are replaced only by service/tidying, pruning and service/packs::adopt",
    },
    Restricted {
        texts: &[".hide_unnamed_packs(", ".remove_hidden_packs("],
        allowed: &["copies/others.rs"],
        reason: "only a copy of packs in a bucket may lose packs without a row",
    },
    Restricted {
        texts: &["\"mktag\"", "\"unpack-objects\"", "\"hash-object\""],
        // In a workspace.
        allowed: &["git/workspace.rs"],
        reason: "loose objects are in no manifest; use a workspace",
    },
    Restricted {
        texts: &["context.git.call(", "context.git.run(", "context.git.reader("],
        // Each of these files calls `Copies::current` before, holds the lock, or uses a repository that has no row yet.
        allowed: &[
            "delivery/completion.rs",
            "service/browse/mod.rs",
            "service/ci/job_statuses.rs",
            "service/initial.rs",
            "service/pushes/forced.rs",
            "service/ref_changes/apply.rs",
            "service/ref_rules/check.rs",
            "service/transfers/fetch_answer.rs",
            "service/transfers/push/finish.rs",
            "ssh/run.rs",
        ],
        reason: "call Copies::current before git reads refs, and add the file to this list",
    },
];

/// Path below `src`, and the text without tests, comments and white space, of all source files.
fn sources() -> Vec<(String, String)> {
    fn collect(root: &Path, directory: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(directory).expect("a source directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            if path.file_stem().is_some_and(|stem| stem == "tests") {
                continue;
            }
            if path.is_dir() {
                collect(root, &path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((name, code_of(&fs::read_to_string(&path).expect("UTF-8"))));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found
}

/// Returns the code before the unit tests, without comments and white space.
fn code_of(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    code.split_whitespace().collect()
}

#[test]
fn refs_are_written_and_git_is_run_only_by_the_named_files() {
    let mut wrong = Vec::new();
    for (file, code) in sources() {
        for Restricted { texts, allowed, reason } in &RESTRICTED {
            let is_allowed =
                allowed.iter().any(|place| if place.ends_with('/') { file.starts_with(place) } else { file == *place });
            if let Some(text) = texts.iter().find(|text| !is_allowed && code.contains(**text)) {
                wrong.push(format!("{file} contains {text}: {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn receive_pack_runs_only_to_advertise() {
    let mut runs = 0;
    for (file, code) in sources() {
        for call in code.split("[\"receive-pack\"").skip(1) {
            let arguments = call.split(']').next().unwrap_or_default();
            assert!(arguments.contains("\"--advertise-refs\""), "{file}: {arguments}");
            runs += 1;
        }
    }
    assert!(runs > 0, "the advertisement of pushes was not found");
}

#[test]
fn code_is_found_across_lines_and_without_comments_and_tests() {
    let source = "context\n    .git\n    .run(x) // \"update-ref\"\n#[cfg(test)]\nmod tests { \"pack-refs\" }";
    assert_eq!(code_of(source), "context.git.run(x)");
}
