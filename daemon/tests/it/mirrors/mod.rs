//! Pull mirrors and push mirrors, with the real git and a second daemon, or a hostile server, as the other side.

mod across;
mod hostile;
mod kill;
mod pull;
mod push;
mod settings;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestDaemon, eventually, git::Client, send};

/// A daemon that may connect to this machine.
async fn daemon() -> TestDaemon {
    TestDaemon::with(|config| config.migration.allowed_hosts = "loopback".into()).await
}

/// Creates `admin/NAME` with a commit on `main`, and returns a working copy whose remote `origin` is the repository.
async fn filled(farrier: &TestDaemon, name: &str) -> Client {
    farrier.repository(name).await;
    let token = farrier.token("admin", &["all"]).await;
    let work = Client::init(farrier.scratch().join(format!("work-{name}")));
    work.commit("a", "one");
    work.done(&["remote", "add", "origin", &farrier.remote(&format!("admin/{name}"), &token)]);
    work.done(&["push", "-q", "origin", "main"]);
    work
}

/// Imports `address` as the pull mirror `admin/copy`.
async fn mirror(farrier: &TestDaemon, address: &str, more: Value) -> Value {
    let mut body = json!({ "clone_addr": address, "repo_name": "copy", "mirror": true, "mirror_interval": "10m" });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let created = farrier.admin(Method::POST, "/api/v1/repos/migrate", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    created.json()
}

const COPY: &str = "/api/v1/repos/admin/copy";

/// Returns the number of ended syncs of a kind.
async fn ended(farrier: &TestDaemon, kind: &str) -> u64 {
    let metrics = farrier.admin(Method::GET, "/metrics", Value::Null).await.text();
    let prefix = format!("farrier_mirror_syncs_total{{kind=\"{kind}\"");
    let lines = metrics.lines().filter(|line| line.starts_with(&prefix));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Syncs the pull mirror `admin/copy` and waits until the sync has ended. Returns the state of the mirror.
async fn synced(farrier: &TestDaemon) -> Value {
    let before = ended(farrier, "pull").await;
    let requested = farrier.admin(Method::POST, &format!("{COPY}/mirror-sync"), Value::Null).await;
    assert_eq!((requested.status, requested.text().as_str()), (200, ""), "{requested:?}");
    eventually("the sync has ended", || async { ended(farrier, "pull").await > before }).await;
    farrier.show(COPY).await.json()["farrier_mirror"].clone()
}

/// Returns the branches and tags of a repository as `NAME ID` lines.
fn refs(farrier: &TestDaemon, id: &Value) -> String {
    farrier.git(id, &["for-each-ref", "--format=%(refname) %(objectname)"])
}

/// Returns the events of a repository about refs, as `KIND REF BEFORE AFTER ACTOR` with abbreviated ids.
async fn ref_events(farrier: &TestDaemon, id: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let path = format!("/api/farrier/v1/events?after={after}&limit=100");
        let page = send(&farrier.unix(), Method::GET, &path, &[("accept", "application/json")], "").await.json();
        for event in page["events"].as_array().expect("a list") {
            let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            if event["repository_id"] == *id && !text("ref").is_empty() {
                let (before, after) = (text("before"), text("after"));
                found.push(format!(
                    "{} {} {} {} {}",
                    text("kind"),
                    text("ref"),
                    &before[..7],
                    &after[..7],
                    text("actor")
                ));
            }
        }
        after = page["next"].as_i64().expect("a number");
        if page["more"] != true {
            return found;
        }
    }
}

async fn post(farrier: &TestDaemon, path: &str, body: Value) -> Answer {
    farrier.admin(Method::POST, path, body).await
}
