//! Jobs: begun, ended, and commands run as jobs.

use std::process::Stdio;

use crate::program::{World, finish};

#[test]
fn agents_get_the_document_that_they_parse() {
    let world = World::new();
    let job = world.run("ci begin --repo o/r --run 3 --job build --sha abc --branch main --workflow w --json").json();
    let mut keys: Vec<_> = job.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["env", "job_id", "run_id", "token"]);
    assert_eq!((&job["run_id"], &job["job_id"]), (&7.into(), &9.into()));
    let sent = world.fake.state().begun[0].clone();
    assert_eq!((&sent["repo"], &sent["run_id"], &sent["job"]), (&"o/r".into(), &3.into(), &"build".into()));
}

#[test]
fn a_shell_evaluates_what_begin_prints() {
    let world = World::new();
    let exports = world.run("ci begin --repo o/r").ok().stdout;
    assert!(exports.contains("export FARRIER_JOB_ID='9'\n") && exports.contains("export GITHUB_RUN_ID='7'\n"));
    let ran = world.run_with("ci end --conclusion success", [("FARRIER_JOB_ID", "9")], "");
    assert_eq!(ran.ok().stdout, "ended job 9: success\n");
    let ended = world.run("ci end 9 --conclusion skipped --json").json();
    assert_eq!((&ended["job_id"], &ended["conclusion"]), (&9.into(), &"skipped".into()));
    assert_eq!(world.fake.state().ended, ["success", "skipped"]);
}

#[test]
fn a_command_runs_with_the_jobs_environment() {
    let world = World::new();
    let script = "cat; echo $GITHUB_RUN_ID $FARRIER_JOB_ID $NO_PROXY; test -S \"$FARRIER_SOCKET\"";
    let words = ["ci", "exec", "--repo", "o/r", "--", "sh", "-c", script];
    let ran = finish(world.command().args(words).env("NO_PROXY", "a"), "in\n").ok();
    assert_eq!(ran.stdout, "in\n7 9 a,127.0.0.1\n");
    assert_eq!(world.fake.state().ended, ["success"]);
}

#[test]
fn a_job_ends_as_its_command_does_and_the_exit_status_is_kept() {
    let world = World::new();
    let cases = [
        (vec!["sh", "-c", "exit 7"], 7, "failure"),
        (vec!["sh", "-c", "exit 130"], 130, "cancelled"),
        (vec!["sh", "-c", "kill -TERM $$"], 143, "cancelled"),
        (vec!["/nonexistent/command"], 127, "failure"),
        (vec!["/etc/passwd"], 126, "failure"),
    ];
    for (command, code, conclusion) in cases {
        let words: Vec<&str> = ["ci", "exec", "--repo", "o/r", "--"].into_iter().chain(command.clone()).collect();
        assert_eq!(world.run_words(&words).code, code, "{command:?}");
        assert_eq!(world.fake.state().ended.pop().unwrap(), conclusion, "{command:?}");
    }
}

#[test]
fn a_job_that_cannot_be_ended_is_said_and_does_not_hide_the_commands_status() {
    let world = World::new();
    world.fake.state().refuse_end = true;
    let fine = world.run_words(&["ci", "exec", "--repo", "o/r", "--", "true"]);
    assert_eq!(fine.code, 5);
    assert!(fine.stderr.contains("ending job 9: ended already"), "{}", fine.stderr);
    let failed = world.run_words(&["ci", "exec", "--repo", "o/r", "--", "sh", "-c", "exit 3"]);
    assert_eq!(failed.code, 3);
    assert!(failed.stderr.contains("ending job 9"), "{}", failed.stderr);
}

#[test]
fn a_signal_reaches_the_command_and_the_job_is_still_ended() {
    let world = World::new();
    // The command tells when it listens, and then that it heard.
    let script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let mut command = world.command();
    command.args(["ci", "exec", "--repo", "o/r", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut rest).unwrap();
    assert_eq!(rest, "heard\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(world.fake.state().ended, ["failure"]);
}

#[test]
fn a_farrier_inside_of_a_job_uploads_into_it() {
    let world = World::new();
    world.write("raw.txt", "hello");
    let farrier = env!("CARGO_BIN_EXE_farrier");
    let words = ["ci", "exec", "--repo", "o/r", "--", farrier, "artifact", "upload", "raw.txt", "-q"];
    assert_eq!(world.run_words(&words).ok().stdout, "1\n");
    let state = world.fake.state();
    assert_eq!((state.begun.len(), state.ended.as_slice()), (1, ["success".to_owned()].as_slice()));
}
