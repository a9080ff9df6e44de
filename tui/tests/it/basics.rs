//! Accounts, tokens, repositories, output and exit codes.

use std::process::Stdio;

use crate::program::{World, finish, program};

#[test]
fn without_arguments_and_a_terminal_the_status_is_printed() {
    let world = World::new();
    assert_eq!(world.run("").ok().stdout, world.run("status").ok().stdout);
    assert!(world.run("--help").ok().stdout.contains("artifact"));
    assert_eq!(world.run("nonsense").code, 2);
}

#[test]
fn the_status_is_printed_as_text_or_json() {
    let world = World::new();
    let status = world.run("status --json").json();
    assert_eq!((&status["schema"], &status["identity"]), (&1.into(), &"admin".into()));
    assert!(world.run("status").ok().stdout.contains("you are      admin\n"));
}

#[test]
fn the_log_filter_is_shown_and_changed() {
    let world = World::new();
    assert_eq!(world.run("log show").ok().stdout, "filter      debug\nconfigured  info\n");
    let now = world.run("log set warn,farrierd=debug --json").json();
    assert_eq!((&now["filter"], &now["configured"]), (&"warn,farrierd=debug".into(), &"info".into()));
    assert_eq!(world.run("log set").code, 2);
}

#[test]
fn a_user_is_created() {
    let world = World::new();
    let ran = world.run_with("user create octo --email o@x.y --admin --password-stdin --json", [], "pass word\n");
    assert_eq!(ran.json()["login"], "octo");
    assert_eq!(world.run("user create octo --email o@x.y -q").ok().stdout, "octo\n");
    let taken = world.run("user create taken --email o@x.y");
    assert_eq!(taken.code, 5);
    assert_eq!(taken.stderr, "farrier: creating taken: taken (422)\n");
    assert_eq!(world.run("user create a --email b --password-stdin").code, 2);
}

#[test]
fn a_new_token_is_the_only_output() {
    let world = World::new();
    assert_eq!(world.run("token create --user octo --name ci --scopes all").ok().stdout, "0123abcd\n");
    let token = world.run("token create --user octo --name ci --scopes read:user,write:repository --json").json();
    assert_eq!((&token["sha1"], token["scopes"].as_array().unwrap().len()), (&"0123abcd".into(), 2));
}

#[test]
fn repositories_are_created_and_shown() {
    let world = World::new();
    assert_eq!(world.run("repo create octo/tool --private --json").json()["full_name"], "octo/tool");
    assert_eq!(world.run("repo show octo/none").code, 3);
    let refused = world.run("repo show octo/private");
    assert_eq!(refused.code, 4);
    assert_eq!(refused.stderr, "farrier: showing octo/private: not yours (403, request r1)\n");
}

#[test]
fn repositories_are_listed_edited_deleted_and_migrated() {
    let world = World::new();
    assert_eq!(world.run("repo list -q").ok().stdout, "octo/tool\n");
    assert!(world.run("repo list").ok().stdout.contains("private  octo/tool\n"));
    let list = world.run("repo list --json").json();
    assert_eq!((&list["total_count"], &list["repositories"][0]["id"]), (&1.into(), &4.into()));
    assert_eq!(world.run("repo edit octo/tool --archived true --json").json()["archived"], true);
    assert_eq!(world.run("repo delete octo/tool").code, 2);
    assert_eq!(world.run("repo delete octo/tool --yes").ok().stdout, "Deleted octo/tool\n");
    assert_eq!(world.run("repo migrate http://h/a octo/copy --wait -q").ok().stdout, "octo/copy\n");
    assert_eq!(world.run("repo migrate http://h/a octo/copy -q").ok().stdout, "6\n", "the ID of the task");
    let refused = world.run_with("repo migrate http://h/a octo/copy --password-stdin", [], "s3cret\n");
    assert_eq!((refused.code, refused.stderr.as_str()), (1, "farrier: importing octo/copy: no\n"));
}

#[test]
fn a_missing_daemon_is_reported_with_all_places_that_were_tried() {
    let world = World::new();
    let work = world.work("");
    let nowhere = finish(program(&work).arg("status").env("XDG_RUNTIME_DIR", &work), "");
    assert_eq!(nowhere.code, 6);
    for hint in ["work/farrier/farrier.sock", ".local/share/farrier/farrier.sock", "/run/farrier", "--socket"] {
        assert!(nowhere.stderr.contains(hint), "{hint}: {}", nowhere.stderr);
    }
    let named = world.run("status --socket /nonexistent/s");
    assert_eq!(named.code, 6);
    assert!(named.stderr.contains("the socket /nonexistent/s"), "{}", named.stderr);
    assert_eq!(world.run("status --url http://127.0.0.1:9").code, 6);
    let odd = world.run("status --url ftp://forge.example");
    assert_eq!(odd.code, 2);
    assert!(odd.stderr.contains("expected https:// or http://"), "{}", odd.stderr);
}

#[test]
fn a_token_is_read_from_a_file_and_never_shown() {
    let world = World::new();
    world.write("token", "s3cret t0ken\n");
    let odd = world.run("status --token-file token");
    assert_eq!(odd.code, 1);
    assert!(!odd.stderr.contains("s3cret"), "{}", odd.stderr);
    world.write("token", "s3cret\n");
    world.run("status --token-file token").ok();
    assert_eq!(world.run("status --token-file missing").code, 1);
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let world = World::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = world.command().args(["status"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = status.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
