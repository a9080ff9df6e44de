//! Deliveries from the shell, with the real daemon. Its hooks reach nobody: the default refuses this
//! machine, and a refused delivery is a delivery that can be looked at.

use crate::session::Daemon;

#[test]
fn an_operator_sees_what_failed_and_sends_it_again() {
    let daemon = Daemon::start();
    let made = ["hook", "create", "http://127.0.0.1:9/", "--system", "--events", "repository", "--json"];
    let hook = daemon.farrier(&made).json()["id"].to_string();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let first = |arguments: &[&str]| {
        for _ in 0..600 {
            let list = daemon.farrier(&[&["delivery", "list", "--json"], arguments].concat()).json();
            if list["deliveries"][0]["attempts"].as_i64() > Some(0) {
                return list["deliveries"][0].clone();
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("no attempt is made")
    };
    let row = first(&["--hook", &hook, "--event", "repository", "--since", "1h"]);
    assert_eq!((&row["status"], &row["state"]), (&"blocked".into(), &"pending".into()));
    let id = row["guid"].as_str().unwrap();

    let table = daemon.farrier(&["delivery", "list"]).ok().stdout;
    assert!(table.contains(id) && table.contains("repository created"), "{table}");
    let shown = daemon.farrier(&["delivery", "show", id, "--request"]).ok().stdout;
    assert!(shown.contains("webhook.allowed_hosts") && shown.contains("x-gitea-event: repository"), "{shown}");
    let body = daemon.farrier(&["delivery", "show", id, "--body"]).ok().stdout;
    assert_eq!(daemon.farrier(&["delivery", "show", id, "--json"]).json()["request"]["body"], body, "byte for byte");
    assert!(body.contains("\"full_name\":\"admin/demo\"") && shown.contains(&body), "{body}");
    assert_eq!(daemon.farrier(&["delivery", "redeliver", id, "--json"]).json()["guid"], id);
    assert_eq!(daemon.farrier(&["delivery", "list", "--failed", "--json"]).json()["total_count"], 0);
    assert_eq!(daemon.farrier(&["delivery", "recover", &hook]).code, 2, "it has to be said twice");
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
    assert_eq!(daemon.farrier(&all).code, 2, "it has to be said twice");
    let again = daemon.farrier(&[&all[..], &["--yes", "--json"]].concat()).json();
    assert_eq!(again["results"], serde_json::json!([{ "delivery": id, "redelivered": true, "error": null }]));
    let partly = daemon.farrier(&["delivery", "redeliver", id, "nothing", "-q"]);
    assert_eq!((partly.code, partly.stdout.trim()), (7, id), "{partly:?}");
    assert!(partly.stderr.contains("sending nothing again"), "{partly:?}");
    assert_eq!(daemon.farrier(&["delivery", "list", "--repo", "admin/none"]).code, 3);
}
