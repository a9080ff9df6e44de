//! Deliveries on the command line, with the real daemon. By default, hooks may not target this machine, so every
//! delivery fails and can be listed and redelivered.

use crate::{screen::SessionOptions, session::Daemon};

#[test]
fn an_operator_lists_failed_deliveries_and_redelivers_them() {
    let daemon = Daemon::start();
    let create = ["hook", "create", "http://127.0.0.1:9/", "--system", "--events", "repository", "--json"];
    let hook = daemon.farrier(&create).json()["id"].to_string();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let wait_for_attempt = |arguments: &[&str]| {
        for _ in 0..600 {
            let list = daemon.farrier(&[&["delivery", "list", "--json"], arguments].concat()).json();
            if list["deliveries"][0]["attempts"].as_i64() > Some(0) {
                return list["deliveries"][0].clone();
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("no attempt was made")
    };
    let row = wait_for_attempt(&["--hook", &hook, "--event", "repository", "--since", "1h"]);
    assert_eq!((&row["status"], &row["state"]), (&"blocked".into(), &"pending".into()));
    let id = row["guid"].as_str().unwrap();

    let table = daemon.farrier(&["delivery", "list"]).ok().stdout;
    assert!(table.contains(id) && table.contains("repository created"), "{table}");
    let page = daemon.farrier(&["delivery", "show", id, "--request"]).ok().stdout;
    assert!(page.contains("webhook.allowed_hosts") && page.contains("x-gitea-event: repository"), "{page}");
    let body = daemon.farrier(&["delivery", "show", id, "--body"]).ok().stdout;
    assert_eq!(daemon.farrier(&["delivery", "show", id, "--json"]).json()["request"]["body"], body, "byte for byte");
    assert!(body.contains("\"full_name\":\"admin/demo\"") && page.contains(&body), "{body}");
    assert_eq!(daemon.farrier(&["delivery", "redeliver", id, "--json"]).json()["guid"], id);
    assert_eq!(daemon.farrier(&["delivery", "list", "--failed", "--json"]).json()["total_count"], 0);
    assert_eq!(daemon.farrier(&["delivery", "recover", &hook, "--yes", "--json"]).json()["count"], 0);
    assert_eq!(daemon.farrier(&["delivery", "show", "nothing"]).code, 3);

    let total = |arguments: &[&str]| {
        daemon.farrier(&[&["delivery", "list", "--json"], arguments].concat()).json()["total_count"].clone()
    };
    daemon.farrier(&["repo", "create", "admin/other"]).ok();
    assert_eq!(
        (total(&[]), total(&["--repo", "admin/other"]), total(&["--status", "success"])),
        (2.into(), 1.into(), 0.into())
    );
    let all = ["delivery", "redeliver", "--repo", "admin/demo", "--hook", &hook, "--since", "1h"];
    let refused = daemon.farrier(&all);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("Redeliver 1 delivery") && refused.stderr.contains("requires --yes"),
        "{refused:?}"
    );
    let again = daemon.farrier(&[&all[..], &["--yes", "--json"]].concat()).json();
    assert_eq!(again["results"], serde_json::json!([{ "delivery": id, "redelivered": true, "error": null }]));
    let partly = daemon.farrier(&["delivery", "redeliver", id, "nothing", "-q"]);
    assert_eq!((partly.code, partly.stdout.trim()), (7, id), "{partly:?}");
    assert!(partly.stderr.contains("redelivering nothing"), "{partly:?}");
    assert_eq!(daemon.farrier(&["delivery", "list", "--repo", "admin/none"]).code, 3);
}

/// A daemon with `count` failed deliveries, and the ID of their hook. Tests of a hook are attempted once.
fn daemon_with_failures(count: i64) -> (Daemon, String) {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo", "--init"]).ok();
    let create = ["hook", "create", "http://127.0.0.1:9/", "--system", "--events", "delete", "--json"];
    let hook = daemon.farrier(&create).json()["id"].to_string();
    for _ in 0..count {
        daemon.farrier(&["hook", "test", &hook]).ok();
    }
    for _ in 0..600 {
        if daemon.farrier(&["delivery", "list", "--failed", "--json"]).json()["total_count"] == count {
            return (daemon, hook);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("not every delivery was attempted");
}

#[test]
fn a_bulk_redelivery_says_how_many_and_asks_for_the_number_on_a_terminal() {
    let (daemon, hook) = daemon_with_failures(11);
    let words = ["delivery", "redeliver", "--hook", &hook];
    let start = SessionOptions {
        socket: daemon.socket(),
        directory: daemon.work("."),
        words: &words,
        env: &[],
        size: (100, 40),
        script: Some("\"$0\" \"$@\"; code=$?; echo \"exit $code\"; read -r end"),
    };
    let mut session = start.session();
    session.wait_for("Type 11 to confirm:");
    session.wait_for("Redeliver 11 deliveries");
    session.type_keys("y\r");
    session.wait_for("nothing was changed");
    session.wait_for("exit 1");
    drop(session);

    daemon.farrier(&["hook", "off", &hook]).ok();
    let session = start.session();
    session.wait_for("11 skipped: their hook is inactive");
    session.wait_for("exit 0");
    drop(session);

    daemon.farrier(&["hook", "on", &hook]).ok();
    let mut session = start.session();
    session.wait_for("Type 11 to confirm:");
    session.type_keys("11\r");
    session.wait_for("queued for redelivery");
    session.wait_for("exit 0");
}

#[test]
fn a_bulk_redelivery_skips_deliveries_whose_hook_was_deleted() {
    let (daemon, hook) = daemon_with_failures(1);
    daemon.farrier(&["hook", "delete", &hook, "--yes"]).ok();
    let output = daemon.farrier(&["delivery", "redeliver", "--since", "1h", "--json"]);
    assert_eq!(output.json()["results"], serde_json::json!([]));
    assert!(output.stderr.contains("1 skipped: their hook was deleted"), "{output:?}");
}

#[test]
fn a_replay_prints_the_result_and_reads_secret_and_payload_from_files() {
    let (daemon, hook) = daemon_with_failures(1);
    let list = daemon.farrier(&["delivery", "list", "--json"]).json();
    let id = list["deliveries"][0]["guid"].as_str().unwrap();
    std::fs::write(daemon.work("secret"), "s3cr3t-in-a-file\n").unwrap();
    std::fs::write(daemon.work("payload"), "{ \"a\": 1 }").unwrap();
    let replay = ["delivery", "replay", id, "--target", "http://127.0.0.1:9/", "--secret-file", "secret"];
    let output = daemon.farrier(&[&replay[..], &["--payload-file", "payload", "--json"]].concat());
    assert_eq!(output.code, 1, "{output:?}");
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&result["error_class"], &result["replay_of"]), (&"blocked".into(), &id.into()));
    assert_eq!((&result["signed"], &result["edited"]), (&true.into(), &true.into()));
    let page = daemon.farrier(&["delivery", "replay", id, "--payload-file", "payload"]);
    assert_eq!(page.code, 1, "{page:?}");
    assert!(page.stdout.contains("webhook.allowed_hosts") && page.stdout.contains(id), "{page:?}");
    std::fs::write(daemon.work("payload"), "[1]").unwrap();
    let refused = daemon.farrier(&["delivery", "replay", id, "--payload-file", "payload"]);
    assert_eq!(refused.code, 9, "{refused:?}");
    let missing = daemon.farrier(&["delivery", "replay", id, "--payload-file", "nothing"]);
    assert_eq!(missing.code, 1, "{missing:?}");
    let both = ["--target", "http://h/", "--secret-file", "-", "--payload-file", "-"];
    assert_eq!(daemon.farrier(&[&["delivery", "replay", id][..], &both].concat()).code, 2);
    daemon.farrier(&["hook", "delete", &hook, "--yes"]).ok();
    assert_eq!(daemon.farrier(&replay).code, 5, "the hook was deleted");
}

#[test]
fn a_recovery_says_how_many_deliveries_it_sends() {
    let (daemon, hook) = daemon_with_failures(1);
    let refused = daemon.farrier(&["delivery", "recover", &hook]);
    assert_eq!(refused.code, 2, "{refused:?}");
    for text in ["Redeliver 1 delivery", "1 failed, 0 waiting for a retry", "requires --yes"] {
        assert!(refused.stderr.contains(text), "{text}: {refused:?}");
    }
    daemon.farrier(&["hook", "off", &hook]).ok();
    let inactive = daemon.farrier(&["delivery", "recover", &hook, "--yes"]);
    assert_eq!(inactive.code, 9, "{inactive:?}");
    assert!(inactive.stderr.contains(&format!("farrier hook on {hook}")), "{inactive:?}");
    daemon.farrier(&["hook", "on", &hook]).ok();
    let output = daemon.farrier(&["delivery", "recover", &hook, "--yes"]).ok();
    assert_eq!(output.stdout, "1 delivery redelivered, 0 retried now\n");
}

#[test]
fn the_screen_groups_deliveries_and_opens_a_reason() {
    let (daemon, hook) = daemon_with_failures(2);
    let start = SessionOptions {
        socket: daemon.socket(),
        directory: daemon.work("."),
        words: &["--screen", "deliveries"],
        env: &[],
        size: (120, 40),
        script: None,
    };
    let mut session = start.session();
    session.wait_for_cursor_row("FAILED");
    session.type_keys("o");
    session.wait_for_cursor_row(&format!("hook {hook}   127.0.0.1:9"));
    session.wait_for("ok 0 % of 2, 2 failed");
    session.type_keys("]");
    session.wait_for_cursor_row("blocked");
    session.type_keys("R");
    session.wait_for("Redeliver 2 deliveries");
    // A question ignores keys for a quarter of a second, so that it can be read.
    std::thread::sleep(std::time::Duration::from_millis(300));
    session.type_keys("\x1b");
    session.wait("the question to close", |screen| !screen.contents().contains("Redeliver 2 deliveries"));
    session.type_keys("\r");
    session.wait_for("reason: blocked");
    session.wait_for_cursor_row("FAILED");
    session.leave();
}

#[test]
fn the_screen_compares_deliveries_and_checks_a_signature() {
    let daemon = Daemon::start();
    let create = ["hook", "create", "http://127.0.0.1:9/", "--system", "--events", "release", "--generate-secret"];
    let created = daemon.farrier(&[&create[..], &["--json"]].concat()).json();
    let secret = created["secret"].as_str().unwrap().to_owned();
    daemon.farrier(&["repo", "create", "admin/demo", "--init"]).ok();
    for tag in ["v1", "v2"] {
        daemon.farrier(&["release", "create", "admin/demo", tag]).ok();
    }
    // A delivery has a signature only after its first attempt. The screen could show the state before it for seconds.
    let is_attempted = || {
        let list = daemon.farrier(&["delivery", "list", "--json"]).json();
        list["deliveries"].as_array().unwrap().iter().filter(|one| one["attempts"].as_i64() > Some(0)).count() == 2
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_attempted() {
        assert!(std::time::Instant::now() < deadline, "not every delivery was attempted");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let start = SessionOptions {
        socket: daemon.socket(),
        directory: daemon.work("."),
        words: &["--screen", "deliveries"],
        env: &[],
        size: (200, 60),
        script: None,
    };
    let mut session = start.session();
    session.wait_for_cursor_row("FAIL");
    session.type_keys("\r]]]");
    session.wait_for("[Changes]");
    session.wait_for("~ release.tag_name: ");
    session.type_keys("c");
    session.wait_for("Check the signature of");
    session.type_keys("wrong\x13");
    session.wait_for("does not match");
    session.type_keys(format!("\x15{secret}\x13"));
    session.wait_for("The signature matches this secret");
    assert!(!session.written().contains(&secret));
    session.leave();
}

#[test]
fn deliveries_are_grouped_and_selected_by_reason() {
    let (daemon, hook) = daemon_with_failures(2);
    let groups = |arguments: &[&str]| daemon.farrier(&[&["delivery", "groups"], arguments].concat());
    let by_hook = groups(&["--json"]).json();
    let group = &by_hook["groups"][0];
    assert_eq!((&group["key"], &group["host"]), (&hook.as_str().into(), &"127.0.0.1:9".into()));
    assert_eq!((&group["failed"], &by_hook["examined"]), (&2.into(), &2.into()));
    assert_eq!(groups(&["--by", "reason", "-q"]).ok().stdout.trim(), "blocked");
    let table = groups(&["--by", "host"]).ok().stdout;
    assert!(table.contains("GROUP") && table.contains("127.0.0.1:9"), "{table}");
    assert_eq!(groups(&["--hook", "999", "--json"]).json()["groups"], serde_json::json!([]));
    assert_eq!(groups(&["--by", "color"]).code, 2);

    let total = |reason: &str| daemon.farrier(&["delivery", "list", "--reason", reason, "--json"]).json();
    assert_eq!((&total("blocked")["total_count"], &total("timeout")["total_count"]), (&2.into(), &0.into()));
    let again = daemon.farrier(&["delivery", "redeliver", "--failed", "--reason", "blocked", "--yes", "--json"]).json();
    assert_eq!(again["results"].as_array().map(Vec::len), Some(2), "{again}");
}
