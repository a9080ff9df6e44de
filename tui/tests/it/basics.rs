//! Accounts, tokens, repositories, output and exit codes.

use std::process::Stdio;

use crate::program::{Sandbox, finish, program};

#[test]
fn without_arguments_and_a_terminal_the_status_is_printed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("").ok().stdout, sandbox.run("status").ok().stdout);
    assert!(sandbox.run("--help").ok().stdout.contains("artifact"));
    assert_eq!(sandbox.run("nonsense").code, 2);
}

#[test]
fn the_status_is_printed_as_text_or_json() {
    let sandbox = Sandbox::new();
    let status = sandbox.run("status --json").json();
    assert_eq!((&status["schema"], &status["identity"]), (&1.into(), &"admin".into()));
    assert!(sandbox.run("status").ok().stdout.contains("you are      admin\n"));
}

#[test]
fn the_log_filter_is_shown_and_changed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("log show").ok().stdout, "filter      debug\nconfigured  info\n");
    let now = sandbox.run("log set warn,farrierd=debug --json").json();
    assert_eq!((&now["filter"], &now["configured"]), (&"warn,farrierd=debug".into(), &"info".into()));
    assert_eq!(sandbox.run("log set").code, 2);
}

#[test]
fn a_user_is_created() {
    let sandbox = Sandbox::new();
    let output = sandbox.run_with("user create octo --email o@x.y --admin --password-stdin --json", [], "pass word\n");
    assert_eq!(output.json()["login"], "octo");
    assert_eq!(sandbox.run("user create octo --email o@x.y -q").ok().stdout, "octo\n");
    let duplicate = sandbox.run("user create taken --email o@x.y");
    assert_eq!(duplicate.code, 5);
    assert_eq!(duplicate.stderr, "farrier: creating taken: taken (422)\n");
    assert_eq!(sandbox.run("user create a --email b --password-stdin").code, 2);
}

#[test]
fn a_new_token_is_the_only_output() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("token create --user octo --name ci --scopes all").ok().stdout, "0123abcd\n");
    let token = sandbox.run("token create --user octo --name ci --scopes read:user,write:repository --json").json();
    assert_eq!((&token["sha1"], token["scopes"].as_array().unwrap().len()), (&"0123abcd".into(), 2));
}

#[test]
fn repositories_are_created_and_shown() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("repo create octo/tool --private --json").json()["full_name"], "octo/tool");
    assert_eq!(sandbox.run("repo show octo/none").code, 3);
    let refused = sandbox.run("repo show octo/private");
    assert_eq!(refused.code, 4);
    assert_eq!(refused.stderr, "farrier: showing octo/private: not yours (403, request r1)\n");
}

#[test]
fn repositories_are_listed_edited_deleted_and_migrated() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("repo list -q").ok().stdout, "octo/tool\n");
    assert!(sandbox.run("repo list").ok().stdout.contains("private  octo/tool\n"));
    let list = sandbox.run("repo list --json").json();
    assert_eq!((&list["total_count"], &list["repositories"][0]["id"]), (&1.into(), &4.into()));
    assert_eq!(sandbox.run("repo edit octo/tool --archived true --json").json()["archived"], true);
    assert_eq!(sandbox.run("repo delete octo/tool").code, 2);
    assert_eq!(sandbox.run("repo delete octo/tool --yes").ok().stdout, "Repository octo/tool deleted\n");
    assert_eq!(sandbox.run("repo migrate http://h/a octo/copy --wait -q").ok().stdout, "octo/copy\n");
    assert_eq!(sandbox.run("repo migrate http://h/a octo/copy -q").ok().stdout, "6\n", "the ID of the task");
    let refused = sandbox.run_with("repo migrate http://h/a octo/copy --password-stdin", [], "s3cret\n");
    assert_eq!((refused.code, refused.stderr.as_str()), (1, "farrier: importing octo/copy: no\n"));
}

#[test]
fn a_missing_daemon_is_reported_with_all_addresses_that_were_tried() {
    let sandbox = Sandbox::new();
    let work = sandbox.work("");
    let unreachable = finish(program(&work).arg("status").env("XDG_RUNTIME_DIR", &work), "");
    assert_eq!(unreachable.code, 6);
    for hint in ["work/farrier/farrier.sock", ".local/share/farrier/farrier.sock", "/run/farrier", "--socket"] {
        assert!(unreachable.stderr.contains(hint), "{hint}: {}", unreachable.stderr);
    }
    let named = sandbox.run("status --socket /nonexistent/s");
    assert_eq!(named.code, 6);
    assert!(named.stderr.contains("the socket /nonexistent/s"), "{}", named.stderr);
    assert_eq!(sandbox.run("status --url http://127.0.0.1:9").code, 6);
    let invalid = sandbox.run("status --url ftp://forge.example");
    assert_eq!(invalid.code, 2);
    assert!(invalid.stderr.contains("expected https:// or http://"), "{}", invalid.stderr);
}

#[test]
fn a_token_is_read_from_a_file_and_never_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("token", "s3cret t0ken\n");
    let invalid = sandbox.run("status --token-file token");
    assert_eq!(invalid.code, 1);
    assert!(!invalid.stderr.contains("s3cret"), "{}", invalid.stderr);
    sandbox.write("token", "s3cret\n");
    sandbox.run("status --token-file token").ok();
    assert_eq!(sandbox.run("status --token-file missing").code, 1);
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = sandbox.command().args(["status"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = status.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
