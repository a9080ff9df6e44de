//! Reading and writing git data over the REST API.

mod archives;
mod branches;
mod commits;
mod contents;
mod file_entries;
mod files;
mod job_statuses;
mod objects;
mod release_files;
mod releases;
mod sha256;
mod statuses;
mod tags;
mod writes;

use crate::support::{GitDir, Import, TestDaemon, run};

/// The commit id of the submodule.
const ELSEWHERE: &str = "0123456789012345678901234567890123456789";

/// Creates `admin/demo` with [`everything`], imported directly on disk.
async fn demo(farrier: &TestDaemon) -> GitDir {
    let repository = farrier.git_repository("demo").await;
    repository.import(&everything());
    repository
}

/// Creates `admin/demo` with a push of [`everything`], so that the daemon records the push. Needs a test with several
/// threads.
async fn pushed(farrier: &TestDaemon) -> GitDir {
    let repository = farrier.git_repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let remote = farrier.remote("admin/demo", &token);
    let work = farrier.scratch();
    run(&work, &["init", "--quiet", "--bare"], &[]);
    GitDir { path: work.clone(), api: String::new() }.import(&everything());
    run(&work, &["push", "--quiet", "--mirror", &remote], &[]);
    repository
}

/// Three commits and a merge on `main`, the branch `feature/x`, three tags, and tree entries of every type.
fn everything() -> Import {
    let modules = b"[submodule \"lib\"]\n\tpath = lib\n\turl = https://elsewhere.example/lib.git\n";
    Import::default()
        .commit("main", 1, &[], "first\n\nwith a body\n")
        .file("100644", "README.md", b"# demo\n")
        .file("100644", "src/a b", b"a b\n")
        .commit("feature/x", 2, &[1], "on the side")
        .file("100644", "side.txt", b"1\n2\n3\n")
        .file("100644", "src/a b", b"a b\nc\n")
        .commit("main", 3, &[1], "every shape")
        .file("100755", "run.sh", b"#!/bin/sh\n")
        .file("120000", "link", b"src/a b")
        .file("100644", ".gitmodules", modules)
        .submodule("lib", ELSEWHERE)
        .file("100644", "src/\u{fc}/\u{65e5}\u{672c}.txt", "\u{e4}\n".as_bytes())
        .file("100644", "binary", b"\0\x01\x02")
        .commit("main", 4, &[3, 2], "merge")
        .file("100644", "side.txt", b"1\n2\n3\n")
        .file("100644", "src/a b", b"a b\nc\n")
        .tag("v1.0", 3, "version one\n")
        .reference("refs/tags/light", 1)
        .reference("refs/tags/release/2", 4)
}
