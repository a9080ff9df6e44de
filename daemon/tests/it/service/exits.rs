//! How farrierd ends, as the manual lists it.

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
async fn every_exit_code_is_in_the_manual_and_comes_about() {
    let mut seen = BTreeSet::new();
    let mut program = Binary::new("");
    program.start().await;
    let made = send(&program.unix(), Method::POST, "/api/v1/user/repos", &[], r#"{"name":"tool"}"#).await;
    assert_eq!(made.status, 201, "{made:?}");
    // Another process has the data.
    seen.extend(program.check_data(&[]).await.status.code());
    program.terminate();
    seen.extend(program.ended().await.code());
    std::fs::write(program.data_dir().join("repositories/1.git/HEAD"), "ref: refs/heads/void\n").expect("a file");
    seen.extend(program.check_data(&[]).await.status.code());
    std::fs::remove_dir_all(program.data_dir().join("repositories")).expect("a directory");
    // The store has a repository, so the daemon does not start without the directory.
    drop(program.spawn());
    seen.extend(program.ended().await.code());
    seen.extend(farrierd(&["--nonsense"]).await);
    let file = program.scratch().join("bad.toml");
    std::fs::write(&file, "colour = 1").expect("a file");
    seen.extend(farrierd(&["--config", file.to_str().expect("text"), "check-config"]).await);

    let manual = include_str!("../../../../docs/operations.md");
    let table = manual.split("## Exit codes of farrierd").nth(1).and_then(|rest| rest.split("##").next());
    let codes = table.expect("a chapter").lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok());
    assert_eq!(seen, codes.collect());
}
