//! CI jobs: beginning and ending them, and running commands as jobs.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Sandbox, finish};

#[test]
fn begin_prints_the_json_that_agents_parse() {
    let sandbox = Sandbox::new();
    let job = sandbox.run("ci begin --repo o/r --run 3 --job build --sha abc --branch main --workflow w --json").json();
    let mut keys: Vec<_> = job.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["env", "job_id", "run_id", "token"]);
    assert_eq!((&job["run_id"], &job["job_id"]), (&7.into(), &9.into()));
    let sent = sandbox.fake.state().started_jobs[0].clone();
    assert_eq!((&sent["repo"], &sent["run_id"], &sent["job"]), (&"o/r".into(), &3.into(), &"build".into()));
}

#[test]
fn begin_prints_shell_exports() {
    let sandbox = Sandbox::new();
    let exports = sandbox.run("ci begin --repo o/r").ok().stdout;
    assert!(exports.contains("export FARRIER_JOB_ID='9'\n") && exports.contains("export GITHUB_RUN_ID='7'\n"));
    let output = sandbox.run_with("ci end --conclusion success", [("FARRIER_JOB_ID", "9")], "");
    assert_eq!(output.ok().stdout, "Job 9 ended: success\n");
    let ended = sandbox.run("ci end 9 --conclusion skipped --json").json();
    assert_eq!((&ended["job_id"], &ended["conclusion"]), (&9.into(), &"skipped".into()));
    assert_eq!(sandbox.fake.state().ended, ["success", "skipped"]);
}

#[test]
fn a_command_runs_with_the_jobs_environment() {
    let sandbox = Sandbox::new();
    let script = "cat; echo $GITHUB_RUN_ID $FARRIER_JOB_ID $NO_PROXY; test -S \"$FARRIER_SOCKET\"";
    let words = ["ci", "exec", "--repo", "o/r", "--", "sh", "-c", script];
    let output = finish(sandbox.command().args(words).env("NO_PROXY", "a"), "in\n").ok();
    assert_eq!(output.stdout, "in\n7 9 a,127.0.0.1\n");
    assert_eq!(sandbox.fake.state().ended, ["success"]);
}

#[test]
fn the_exit_status_of_the_command_decides_the_conclusion_of_the_job() {
    let sandbox = Sandbox::new();
    let cases = [
        (vec!["sh", "-c", "exit 7"], 7, "failure"),
        (vec!["sh", "-c", "exit 130"], 130, "cancelled"),
        (vec!["sh", "-c", "kill -TERM $$"], 143, "cancelled"),
        (vec!["/nonexistent/command"], 127, "failure"),
        (vec!["/etc/passwd"], 126, "failure"),
    ];
    for (command, code, conclusion) in cases {
        let words: Vec<&str> = ["ci", "exec", "--repo", "o/r", "--"].into_iter().chain(command.clone()).collect();
        assert_eq!(sandbox.run_words(&words).code, code, "{command:?}");
        assert_eq!(sandbox.fake.state().ended.pop().unwrap(), conclusion, "{command:?}");
    }
}

#[test]
fn the_exit_code_is_that_of_the_command_when_the_end_of_the_job_cannot_be_reported() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().refuse_end = true;
    for (script, code, conclusion) in [("exit 0", 0, "success"), ("exit 3", 3, "failure")] {
        let output = sandbox.run_words(&["ci", "exec", "--repo", "o/r", "--", "sh", "-c", script]);
        assert_eq!(output.code, code);
        let message = format!("could not report the conclusion {conclusion} of job 9: ended already");
        assert!(output.stderr.contains(&message), "{}", output.stderr);
    }
    sandbox.fake.state().refuse_end = false;
    sandbox.fake.state().busy_end_responses = usize::MAX;
    let output = sandbox.run_words(&["ci", "exec", "--repo", "o/r", "--report-timeout", "0", "--", "true"]);
    assert_eq!(output.code, 0);
    assert!(output.stderr.contains("could not report the conclusion success of job 9"), "{}", output.stderr);
}

#[test]
fn the_end_of_a_job_is_reported_again_until_the_daemon_answers() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().busy_end_responses = 2;
    let output = sandbox.run_words(&["ci", "exec", "--repo", "o/r", "--", "true"]).ok();
    assert!(output.stderr.contains("cannot report the end of job 9 yet"), "{}", output.stderr);
    assert!(!output.stderr.contains("could not"), "{}", output.stderr);
    assert_eq!(sandbox.fake.state().ended, ["success"]);
}

#[test]
fn a_signal_reaches_the_command_and_the_job_is_still_ended() {
    let sandbox = Sandbox::new();
    // The command prints when it is ready, and when it receives the signal.
    let script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let (output, code) = run_and_signal(&sandbox, &[], script, Signal::TERM);
    assert_eq!((output.as_str(), code), ("heard\n", Some(5)));
    assert_eq!(sandbox.fake.state().ended, ["failure"]);
}

/// Runs `script` as a job until it prints `ready`, and sends `signal` to the program. Returns the further output of
/// the script and the exit code, once no process has the standard output open.
fn run_and_signal(sandbox: &Sandbox, options: &[&str], script: &str, signal: Signal) -> (String, Option<i32>) {
    let mut command = sandbox.command();
    command.args(["ci", "exec", "--repo", "o/r"]).args(options).args(["--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    kill_process(Pid::from_child(&child), signal).unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    (rest, child.wait().unwrap().code())
}

#[test]
fn a_signal_reaches_the_processes_below_the_command() {
    let sandbox = Sandbox::new();
    let script = "(trap 'echo below; exit 0' TERM; echo ready; while :; do sleep 0.05; done) & wait";
    let (output, code) = run_and_signal(&sandbox, &[], script, Signal::TERM);
    assert_eq!((output.as_str(), code), ("below\n", Some(143)));
    assert_eq!(sandbox.fake.state().ended, ["cancelled"]);
}

#[test]
fn processes_that_ignore_a_signal_are_killed_after_the_grace_time() {
    let sandbox = Sandbox::new();
    // One of the processes has left the process group and the session of the command.
    let script = "trap '' TERM; setsid sleep 600 & echo ready; sleep 600; sleep 600";
    let (output, code) = run_and_signal(&sandbox, &["--grace", "1"], script, Signal::TERM);
    assert_eq!((output.as_str(), code), ("", Some(137)));
    assert_eq!(sandbox.fake.state().ended, ["cancelled"]);
}

#[test]
fn processes_left_in_the_process_group_of_the_command_are_ended() {
    let sandbox = Sandbox::new();
    let output = sandbox.run_words(&["ci", "exec", "--repo", "o/r", "--", "sh", "-c", "sleep 600 & echo done"]).ok();
    // The output ends only when no process has it open any more.
    assert_eq!(output.stdout, "done\n");
    assert_eq!(sandbox.fake.state().ended, ["success"]);
}

#[test]
fn the_command_ends_when_the_program_is_killed() {
    let sandbox = Sandbox::new();
    let script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let (output, code) = run_and_signal(&sandbox, &[], script, Signal::KILL);
    assert_eq!((output.as_str(), code), ("heard\n", None));
}

#[test]
fn a_job_has_a_lease_and_passes_its_run_to_the_command() {
    let sandbox = Sandbox::new();
    let script = "echo $FARRIER_RUN_ID; test -z \"$FARRIER_URL\" && test -S \"$FARRIER_SOCKET\"";
    let output = sandbox.run_words(&["ci", "exec", "--repo", "o/r", "--", "sh", "-c", script]).ok();
    assert_eq!(output.stdout, "7\n");
    let started = sandbox.fake.state().started_jobs[0].clone();
    assert_eq!(started["lease_secs"], 120);
    sandbox.run_with("ci begin --repo o/r", [("FARRIER_RUN_ID", "7")], "").ok();
    let started = sandbox.fake.state().started_jobs[1].clone();
    assert_eq!((&started["run_id"], &started["lease_secs"]), (&7.into(), &serde_json::Value::Null));
}

#[test]
fn farrier_inside_of_a_job_uploads_to_that_job() {
    let sandbox = Sandbox::new();
    sandbox.write("raw.txt", "hello");
    let farrier = env!("CARGO_BIN_EXE_farrier");
    let words = ["ci", "exec", "--repo", "o/r", "--", farrier, "artifact", "upload", "raw.txt", "-q"];
    assert_eq!(sandbox.run_words(&words).ok().stdout, "1\n");
    let state = sandbox.fake.state();
    assert_eq!((state.started_jobs.len(), state.ended.as_slice()), (1, ["success".to_owned()].as_slice()));
}
