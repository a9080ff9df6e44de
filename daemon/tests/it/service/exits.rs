//! Exit codes of farrierd.

use std::collections::BTreeSet;

use http::Method;

use crate::support::{
    Binary,
    process::{command, output},
    send,
};

async fn farrierd(args: &[&str]) -> Option<i32> {
    let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
    command.args(args);
    output(command).await.expect("the program").status.code()
}

#[tokio::test]
async fn the_manual_lists_exactly_the_exit_codes_that_occur() {
    let mut observed = BTreeSet::new();
    let mut program = Binary::new("");
    program.start().await;
    let created = send(&program.unix(), Method::POST, "/api/v1/user/repos", &[], r#"{"name":"tool"}"#).await;
    assert_eq!(created.status, 201, "{created:?}");
    // Fails because another process uses the data directory.
    observed.extend(program.check_data(&[]).await.status.code());
    program.terminate();
    observed.extend(program.ended().await.code());
    std::fs::write(program.data_dir().join("repositories/1.git/HEAD"), "ref: refs/heads/void\n").expect("a file");
    observed.extend(program.check_data(&[]).await.status.code());
    std::fs::remove_dir_all(program.data_dir().join("repositories")).expect("a directory");
    // The start is refused: the store contains a repository, but the directory is missing.
    drop(program.spawn());
    observed.extend(program.ended().await.code());
    observed.extend(farrierd(&["--nonsense"]).await);
    let file = program.scratch().join("bad.toml");
    std::fs::write(&file, "colour = 1").expect("a file");
    observed.extend(farrierd(&["--config", file.to_str().expect("text"), "check-config"]).await);

    let manual = include_str!("../../../../docs/operations.md");
    let table = manual.split("## Exit codes of farrierd").nth(1).and_then(|rest| rest.split("##").next());
    let codes = table.expect("a section").lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok());
    assert_eq!(observed, codes.collect());
}

#[tokio::test]
async fn a_missing_or_too_old_git_is_refused_with_the_required_version() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let program = Binary::new("");
    for (path, problem) in [
        ("no-git", "there is no git in PATH; install git 2.38 or newer"),
        ("old-git", "/old-git/git is git 2.36, which is too old; install git 2.38 or newer"),
        ("odd-git", "/odd-git/git version gave no answer that can be read; install git 2.38 or newer"),
    ] {
        for args in [&["check-config"][..], &["--listen", "127.0.0.1:0"]] {
            let mut command = program.program(args);
            command.env("PATH", data.join(path));
            let result = output(command).await.expect("the program");
            let text = String::from_utf8_lossy(&result.stderr).into_owned();
            assert_eq!((result.status.code(), text.contains(problem)), (Some(78), true), "{path} {args:?}: {text}");
        }
    }
    assert!(!program.data_dir().join("farrier.redb").exists(), "no store is created before the check");
    let mut command = program.program(&["check-config", "--file-only"]);
    command.env("PATH", data.join("old-git"));
    assert_eq!(output(command).await.expect("the program").status.code(), Some(0));
}
