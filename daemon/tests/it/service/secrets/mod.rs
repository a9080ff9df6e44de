//! Secrets are sent to the daemon in every possible place, and must not appear in any output except the response that
//! creates them: not in logs, errors, metrics or process lists.

mod outputs;
mod uses;

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

use self::outputs::{Outputs, Secret};
use crate::support::{Binary, eventually};

/// The file contains `USER:PASSWORD`; only the password is secret.
const PROXY: Secret = Secret::never("a proxy's password", "wombat-px-51c09");
const IN_A_BROKEN_FILE: Secret = Secret::never("a password in a file that is not TOML", "wombat-bk-7d2e1");
const IN_A_WRONG_FILE: Secret = Secret::never("a password in a file that cannot be used", "wombat-wr-90ab3");

/// The copy of the audit log.
fn audit_file(program: &Binary) -> PathBuf {
    program.scratch().join("audit.jsonl")
}

/// A program with the most verbose log, also written to files, and a proxy password as a credential of its unit.
async fn program() -> Binary {
    let mut program = Binary::new("");
    let (credentials, logs) = (program.scratch(), program.scratch().join("logs"));
    std::fs::create_dir(&logs).expect("a directory");
    let file = credentials.join("proxy");
    std::fs::write(&file, format!("pxuser:{}\n", PROXY.text)).expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).expect("a mode");
    program.env("CREDENTIALS_DIRECTORY", credentials);
    program.configure(&format!(
        "[auth]\nquery_tokens = true\n[webhook]\nallowed_hosts = \"external, loopback\"\nretry_schedule_secs = []\n\
         proxy_url = \"http://127.0.0.1:1\"\nproxy_auth_file = \"proxy\"\nproxy_hosts = \"*.proxied.example\"\n\
         [migration]\nallowed_hosts = \"loopback\"\n[log]\nfilter = \"trace\"\ndirectory = \"{}\"\n\
         [audit]\nfile = \"{}\"\n",
        logs.display(),
        audit_file(&program).display()
    ));
    program.start().await;
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_do_not_appear_in_any_output() {
    let mut program = program().await;
    let mut outputs = Outputs::of(&program);
    uses::accounts(&program, &mut outputs).await;
    uses::jobs(&program, &mut outputs).await;
    uses::hooks(&program, &mut outputs).await;
    uses::migrations(&program, &mut outputs).await;
    for path in ["/metrics", "/api/healthz", "/openapi.json", "/api/farrier/v1/status", "/api/farrier/v1/log"] {
        outputs.get(path).await;
    }
    log_records(&mut outputs).await;
    outputs.ask("GET", "/api/farrier/v1/events?limit=100", &[("accept", "application/json")], "").await;
    bad_files(&program, &mut outputs).await;
    let mut page = Some("/api/farrier/v1/audit?limit=50".to_owned());
    while let Some(path) = page {
        let answer = outputs.ask("GET", &path, &[], "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let next = answer.header("link").split_once("/api/").and_then(|(_, rest)| rest.split_once('>'));
        page = next.map(|(rest, _)| format!("/api/{rest}"));
    }

    outputs.secret(PROXY);
    outputs.secret(IN_A_BROKEN_FILE);
    outputs.secret(IN_A_WRONG_FILE);
    outputs.processes(program.id());
    program.terminate();
    assert!(program.ended().await.success());
    let checked = program.check_data(&["--json"]).await;
    outputs.note("check-data", [checked.stdout, checked.stderr].concat());
    outputs.note("the log", program.log());
    let copied = std::fs::read(audit_file(&program)).expect("a copy of the audit log");
    assert!(copied.len() > 1_000, "the copy has entries");
    outputs.note("the copy of the audit log", copied);
    for file in std::fs::read_dir(program.scratch().join("logs")).expect("a directory") {
        outputs.note("a file of the log", std::fs::read(file.expect("a file").path()).expect("text"));
    }
    outputs
        .note("the result of the last reload", std::fs::read(program.data_dir().join("last-reload")).expect("a file"));
    assert!(program.log().len() > 10_000, "the log is verbose");
    outputs.assert_no_secret_shown();
}

/// All log records in memory.
async fn log_records(outputs: &mut Outputs) {
    let (mut after, mut records) = (0, 0);
    loop {
        let answer = outputs.get(&format!("/api/farrier/v1/logs?after={after}&limit=1000")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let page = answer.json();
        records += page["records"].as_array().expect("records").len();
        after = page["next"].as_u64().expect("a number");
        if page["more"] == false {
            break;
        }
    }
    assert!(records > 20, "{records}: the log is verbose");
}

/// Invalid configuration files, for a reload and for `check-config`.
async fn bad_files(program: &Binary, outputs: &mut Outputs) {
    let broken = format!("[webhook]\nproxy_url = \"http://u:{}@h\n", IN_A_BROKEN_FILE.text);
    let wrong = format!("[webhook]\nproxy_url = \"ftp://u:{}@h\"\n", IN_A_WRONG_FILE.text);
    for (file, named) in [(broken, "line 2"), (wrong, "must begin with http://")] {
        program.configure(&file);
        program.hang_up();
        eventually("the daemon names the problem", async || program.log().contains(named)).await;
        let refused = crate::support::process::output(program.reload_command()).await.expect("the program");
        assert!(!refused.status.success());
        outputs.note("farrierd reload", [refused.stdout, refused.stderr].concat());
    }
}
