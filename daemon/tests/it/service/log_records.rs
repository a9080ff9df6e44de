//! The newest log records, over the API.

use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::World,
    support::{Binary, TestDaemon, eventually, send},
};

const LOGS: &str = "/api/farrier/v1/logs";

async fn list(program: &Binary, query: &str) -> Value {
    let answer = send(&program.unix(), Method::GET, &format!("{LOGS}?{query}"), &[], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn messages(page: &Value) -> Vec<&str> {
    let records = page["records"].as_array().expect("records");
    records.iter().map(|record| record["message"].as_str().expect("text")).collect()
}

/// Returns the record of a request with this message.
async fn find(program: &Binary, request: &str, message: &str) -> Option<Value> {
    let page = list(program, "limit=1000").await;
    let records = page["records"].as_array().expect("records").clone();
    records.into_iter().find(|record| record["request_id"] == request && record["message"] == message)
}

async fn set_filter(program: &Binary, filter: &str) {
    let body = json!({ "filter": filter }).to_string();
    let answer = send(&program.unix(), Method::PATCH, "/api/farrier/v1/log", &[], body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn a_record_names_its_request_and_objects() {
    let mut program = Binary::new("");
    program.start().await;
    let body = json!({ "name": "demo" }).to_string();
    let created = send(&program.unix(), Method::POST, "/api/v1/user/repos", &[], body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let read = send(&program.unix(), Method::GET, "/api/v1/repos/admin/demo?ref=planted", &[], "").await;
    let (created, read) = (created.header("x-request-id").to_owned(), read.header("x-request-id").to_owned());
    eventually("both records are kept", async || {
        find(&program, &read, "request").await.is_some()
            && find(&program, &created, "repository.create").await.is_some()
    })
    .await;

    let request = find(&program, &read, "request").await.expect("a record");
    assert_eq!((&request["level"], &request["target"]), (&json!("info"), &json!("farrierd::access")));
    let objects = json!([{ "kind": "repository", "name": "admin/demo" }, { "kind": "user", "name": "admin" }]);
    assert_eq!(request["objects"], objects);
    let path = json!({ "name": "path", "value": "/api/v1/repos/admin/demo" });
    assert!(request["fields"].as_array().expect("fields").contains(&path), "{request}");
    assert!(!request.to_string().contains("planted"), "{request}");
    let audited = find(&program, &created, "repository.create").await.expect("a record");
    let object = &audited["objects"][0];
    assert_eq!((&object["kind"], &object["name"]), (&json!("repository"), &json!("admin/demo")), "{audited}");
    assert!(object["id"].as_i64().is_some_and(|id| id > 0), "{audited}");
}

#[tokio::test]
async fn requests_of_full_screens_are_marked_and_can_be_left_out() {
    let mut program = Binary::new("");
    program.start().await;
    let agents = ["farrier-screen/0.1.0", "farrier/0.1.0", "farrier-screens/1", "planted-agent"];
    let mut ids = Vec::new();
    for agent in agents {
        let answer = send(&program.unix(), Method::GET, "/api/v1/user", &[("user-agent", agent)], "").await;
        ids.push(answer.header("x-request-id").to_owned());
    }
    for id in &ids {
        eventually("the record is kept", async || find(&program, id, "request").await.is_some()).await;
    }
    let mark = json!({ "name": "full_screen", "value": "true" });
    for (id, agent) in ids.iter().zip(agents) {
        let record = find(&program, id, "request").await.expect("a record");
        let is_marked = record["fields"].as_array().expect("fields").contains(&mark);
        assert_eq!(is_marked, agent == agents[0], "{record}");
        assert!(!record.to_string().contains("planted"), "other agents are not logged: {record}");
    }
    let others = list(&program, "full_screen=false&limit=1000").await;
    let is_listed =
        |id: &String| others["records"].as_array().expect("records").iter().any(|one| one["request_id"] == **id);
    assert_eq!(ids.iter().map(is_listed).collect::<Vec<_>>(), [false, true, true, true], "{others}");
}

#[tokio::test]
async fn a_client_cannot_hide_changes_and_refused_requests_with_the_name_of_the_full_screen() {
    let mut program = Binary::new("");
    program.start().await;
    let agent = [("user-agent", "farrier-screen/0.1.0")];
    let requests = [
        (Method::GET, "/api/v1/repos/admin/none"),
        (Method::DELETE, "/api/v1/repos/admin/none"),
        (Method::POST, "/api/v1/none"),
    ];
    for (method, path) in requests {
        let answer = send(&program.unix(), method, path, &agent, "").await;
        let id = answer.header("x-request-id").to_owned();
        eventually("the record is kept", async || find(&program, &id, "request").await.is_some()).await;
        let others = list(&program, "full_screen=false&limit=1000").await;
        let records = others["records"].as_array().expect("records");
        assert!(records.iter().any(|one| one["request_id"] == *id), "{path}: {others}");
    }
}

#[tokio::test]
async fn the_log_is_followed_without_gap_and_without_the_requests_that_follow_it() {
    let mut program = Binary::new("");
    program.start().await;
    let start = list(&program, "limit=1").await["next"].as_i64().expect("a number");
    for filter in ["info", "info,hyper=off", "info"] {
        set_filter(&program, filter).await;
    }
    eventually("all changes were followed", async || {
        let (mut next, mut seen) = (start, Vec::new());
        loop {
            let page = list(&program, &format!("after={next}&limit=2")).await;
            assert_eq!((&page["dropped"], &page["restarted"]), (&json!(0), &json!(false)));
            seen.extend(messages(&page).into_iter().map(str::to_owned));
            next = page["next"].as_i64().expect("a number");
            if page["more"] == false {
                return seen.iter().filter(|message| *message == "log filter changed").count() == 3;
            }
        }
    })
    .await;
    let followed = list(&program, "q=farrier/v1/logs&limit=1000").await;
    assert_eq!(followed["records"], json!([]), "requests for the log are not recorded");
    assert!(program.log().contains(LOGS), "they are in the log");
    let refused = send(&program.unix(), Method::GET, &format!("{LOGS}?level=loud"), &[], "").await;
    assert_eq!(refused.status, 422);
    eventually("a refused request is recorded", async || {
        !messages(&list(&program, "q=farrier/v1/logs").await).is_empty()
    })
    .await;
}

#[tokio::test]
async fn records_are_filtered_by_level_target_and_text() {
    let mut program = Binary::new("");
    program.start().await;
    set_filter(&program, "info,hyper=off").await;
    eventually("the change is recorded", async || !messages(&list(&program, "level=warn").await).is_empty()).await;
    let warnings = list(&program, "level=warn&limit=1000").await;
    let severe = |record: &Value| record["level"] == "warn" || record["level"] == "error";
    assert!(warnings["records"].as_array().expect("records").iter().all(severe), "{warnings}");
    assert!(messages(&warnings).contains(&"log filter changed"));
    assert_eq!(messages(&list(&program, "level=warn&q=LOG+FILTER+changed").await), ["log filter changed"]);
    assert_eq!(messages(&list(&program, "q=hyper%3Doff&target=farrierd::service").await), ["log filter changed"]);
    assert!(messages(&list(&program, "target=nothing").await).is_empty());
    assert_eq!(messages(&list(&program, "limit=1").await).len(), 1);
}

#[tokio::test]
async fn old_records_are_replaced_and_counted() {
    let mut program = Binary::new("[log]\nrecent_records = 5\n");
    program.start().await;
    let first = list(&program, "limit=1").await["next"].as_i64().expect("a number");
    for _ in 0..20 {
        send(&program.unix(), Method::GET, "/api/v1/version", &[], "").await;
    }
    eventually("twenty records were added", async || {
        list(&program, "").await["next"].as_i64().expect("a number") >= first + 20
    })
    .await;
    let page = list(&program, &format!("after={first}&limit=1000")).await;
    assert_eq!(messages(&page).len(), 5);
    assert_eq!(page["dropped"].as_i64(), page["next"].as_i64().map(|next| next - first - 5));

    program.kill().await;
    program.start().await;
    let page = list(&program, &format!("after={first}")).await;
    assert_eq!((&page["restarted"], &page["more"]), (&json!(true), &json!(false)));
    assert!(page["next"].as_i64().expect("a number") > first, "numbers grow across restarts");
}

#[tokio::test]
async fn without_recent_records_the_list_is_empty() {
    let mut program = Binary::new("[log]\nrecent_records = 0\n");
    program.start().await;
    send(&program.unix(), Method::GET, "/api/v1/version", &[], "").await;
    eventually("the request is logged", async || program.log().contains("/api/v1/version")).await;
    assert_eq!(list(&program, "").await["records"], json!([]));
}

#[tokio::test]
async fn wrong_filters_are_refused_and_large_limits_reduced() {
    let farrier = TestDaemon::start().await;
    let long = format!("q={}", "x".repeat(513));
    for (query, named) in [
        ("level=loud", "[level]: \"loud\" is not one of error, warn, info, debug, trace"),
        ("after=-1", "[after]: must be a number"),
        ("limit=many", "[limit]: must be a number"),
        (long.as_str(), "[q]: is longer than 512 bytes"),
    ] {
        let refused = farrier.admin(Method::GET, &format!("{LOGS}?{query}"), Value::Null).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.text().contains(&named.replace('"', "\\\"")), "{refused:?}");
    }
    for query in ["limit=0", "limit=99999999999", "after=18446744073709551615", "q=%00%ff", "q=&level="] {
        let listed = farrier.admin(Method::GET, &format!("{LOGS}?{query}"), Value::Null).await;
        assert_eq!(listed.status, 200, "{query}: {listed:?}");
    }
}

#[tokio::test]
async fn only_administrators_read_the_log() {
    let world = World::new().await;
    world.user("eve").await;
    world.user_with("chief", json!({ "admin": true })).await;
    for (account, scopes, status) in
        [("eve", &["all"][..], 403), ("chief", &["write:repository"], 403), ("chief", &["read:admin"], 200)]
    {
        let token = format!("token {}", world.token(account, scopes).await);
        let headers = [("authorization", token.as_str())];
        let answer = send(&world.farrier.tcp(), Method::GET, LOGS, &headers, "").await;
        assert_eq!(answer.status, status, "{account} {scopes:?}: {answer:?}");
    }
}
