//! Releases on the command line, with a real daemon and git.

use crate::repos::{demo, git};

#[test]
fn a_release_is_created_filled_downloaded_published_and_deleted() {
    let daemon = demo();
    let release = |words: &[&str]| daemon.farrier(&[&["release"][..], words].concat());
    std::fs::write(daemon.work("notes.md"), "What is new\n").unwrap();
    std::fs::write(daemon.work("tool.bin"), vec![7; 300_000]).unwrap();
    std::fs::write(daemon.work("empty"), "").unwrap();
    let created = ["create", "admin/demo", "v3", "--title", "Three", "--notes-file", "notes.md", "--draft", "--json"];
    let created = release(&created).json();
    assert_eq!((&created["draft"], &created["body"]), (&true.into(), &"What is new\n".into()));
    assert_eq!(release(&["upload", "admin/demo", "v3", "tool.bin", "empty", "-q"]).ok().stdout, "tool.bin\nempty\n");
    assert_eq!(release(&["upload", "admin/demo", "v3", "empty"]).code, 5, "the name is taken");
    let shown = release(&["show", "admin/demo", "v3"]).ok().stdout;
    for part in ["Three", "draft", "tool.bin, 29", "empty, 0", "What is new"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let download = ["download", "admin/demo", "v3", "tool.bin", "-o", "copy.bin"];
    release(&download).ok();
    assert_eq!(std::fs::read(daemon.work("copy.bin")).unwrap(), vec![7; 300_000]);
    assert_eq!(release(&download).code, 5, "an existing file is not replaced");
    assert_eq!(release(&["download", "admin/demo", "v3", "nothing"]).code, 3);
    release(&["edit", "admin/demo", "v3", "--tag-message", "the third"]).ok();
    assert_eq!(release(&["edit", "admin/demo", "v3", "--tag-message", ""]).code, 2, "an empty message");
    let published = release(&["edit", "admin/demo", "v3", "--draft", "false", "--json"]).json();
    assert_eq!((&published["draft"], &published["name"]), (&false.into(), &"Three".into()));
    assert_eq!(release(&["list", "admin/demo", "-q"]).ok().stdout, "v3\n");
    assert_eq!(release(&["edit", "admin/demo", "v3"]).code, 2, "nothing to change");
    daemon.farrier(&["repo", "archive", "admin/demo", "--format", "bundle", "-o", "all.bundle"]).ok();
    git(&daemon, &["clone", "-q", "--mirror", "all.bundle", "copy.git"]);
    assert_eq!(git(&daemon, &["-C", "copy.git", "tag", "-l", "--format=%(contents)", "v3"]).trim(), "the third");
    let refused = release(&["edit", "admin/demo", "v3", "--tag-message", "other"]);
    assert!(refused.code == 2 && refused.stderr.contains("release v3 is published"), "{refused:?}");
    release(&["delete", "admin/demo", "v3", "--yes"]).ok();
    assert_eq!(release(&["show", "admin/demo", "v3"]).code, 3);
}
