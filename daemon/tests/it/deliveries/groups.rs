//! Groups of deliveries, and their results over time.

use super::*;
use crate::support::{Receiver, Reply};

const API: &str = "/api/farrier/v1/deliveries";

/// Returns the answer of a route below [`API`], which must succeed.
async fn read(farrier: &TestDaemon, path: &str) -> Value {
    let answer = farrier.admin(Method::GET, &format!("{API}{path}"), Value::Null).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

/// A daemon without retries, and its hooks: one whose receiver answers 200, 500 and 503, and one whose target is
/// blocked. All deliveries have ended.
async fn with_results() -> (TestDaemon, Receiver, i64, i64) {
    let farrier = farrier_with(|config| config.webhook.retry_schedule_secs = vec![]).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([200, 500, 503].map(Reply::Status));
    let answers = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    let blocked = hook(&farrier, "http://10.0.0.1:8443/hook?token=t0ps3cret", &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..2 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    eventually("all deliveries have ended", async || {
        let all = read(&farrier, "").await;
        all.as_array().expect("a list").iter().filter(|row| row["state"] != "pending").count() == 6
    })
    .await;
    (farrier, receiver, answers, blocked)
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_grouped_by_hook_reason_and_host() {
    let (farrier, receiver, answers, blocked) = with_results().await;
    let by_hook = read(&farrier, "/groups").await;
    let keys = |groups: &Value| {
        let groups = groups["groups"].as_array().expect("a list").iter();
        groups.map(|group| group["key"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&by_hook), [blocked.to_string(), answers.to_string()], "the most failures come first: {by_hook}");
    let group = &by_hook["groups"][1];
    assert_eq!((&group["count"], &group["failed"], &group["pending"]), (&json!(3), &json!(2), &json!(0)));
    let own_host = receiver.url.trim_start_matches("http://").trim_end_matches("/hook").to_owned();
    assert_eq!((&group["host"], &group["hooks"]), (&json!(own_host), &json!([answers])));
    let newest_failed = &sent(&farrier, answers, "?status=failure&limit=1").await[0];
    assert_eq!((&group["example"], &group["last_at"]), (&newest_failed["guid"], &newest_failed["created_at"]));
    assert_eq!((&by_hook["examined"], &by_hook["truncated"]), (&json!(6), &json!(false)));
    assert!(!by_hook.to_string().contains("t0ps3cret"), "groups have no paths of hooks: {by_hook}");

    let by_reason = read(&farrier, "/groups?by=reason").await;
    let mut reasons = keys(&by_reason);
    reasons.sort_unstable();
    assert_eq!(reasons, ["OK", "blocked", "http 500", "http 503"]);
    assert_eq!(by_reason["total_count"], 4);
    // Each reason is a filter of lists, which has the deliveries of its group.
    for group in by_reason["groups"].as_array().expect("a list") {
        let reason = group["key"].as_str().expect("text").replace(' ', "%20");
        let listed = read(&farrier, &format!("?reason={reason}")).await;
        assert_eq!(json!(listed.as_array().map(Vec::len)), group["count"], "{reason}");
    }
    assert_eq!(keys(&read(&farrier, &format!("/groups?by=reason&hook={blocked}")).await), ["blocked"]);
    assert_eq!(keys(&read(&farrier, "/groups?by=reason&status=success").await), ["OK"]);
    assert_eq!(keys(&read(&farrier, "/groups?until=2000-01-01T00:00:00Z").await), [""; 0]);

    assert_eq!(keys(&read(&farrier, "/groups?by=host").await), ["10.0.0.1:8443", &own_host]);
    // Each host is a filter of lists and groups, too.
    let of_host = read(&farrier, &format!("?host={own_host}")).await;
    assert_eq!(json!(of_host.as_array().map(Vec::len)), json!(3), "{of_host}");
    let of_host = read(&farrier, &format!("/groups?by=hook&host={own_host}")).await;
    assert_eq!(keys(&of_host), [answers.to_string()]);
    assert_eq!(sent(&farrier, blocked, &format!("?host={own_host}")).await.len(), 0, "the host of another hook");
    assert_eq!(at_hook(&farrier, Method::DELETE, blocked, "", Value::Null).await.status, 204);
    let by_host = read(&farrier, "/groups?by=host").await;
    assert_eq!(keys(&by_host), ["", &own_host], "deliveries of deleted hooks have no host: {by_host}");
    assert_eq!(by_host["groups"][0]["host"], Value::Null);
    assert_eq!(read(&farrier, "?host=10.0.0.1:8443").await, json!([]), "the hook was deleted");
}

/// Redelivers the listed deliveries, as the screen of groups does. Returns the statuses of the responses.
async fn redeliver_all(farrier: &TestDaemon, listed: &Value) -> Vec<u16> {
    let mut statuses = Vec::new();
    for delivery in listed.as_array().expect("a list") {
        let path = format!("{API}/{}/attempts", delivery["guid"].as_str().expect("text"));
        statuses.push(farrier.admin(Method::POST, &path, json!({})).await.status);
    }
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failed_deliveries_of_all_hooks_of_a_host_are_redelivered_and_no_others() {
    let (farrier, receiver, answers, blocked) = with_results().await;
    let own_host = receiver.url.trim_start_matches("http://").trim_end_matches("/hook").to_owned();
    // A second hook of the same host, and a hook that is switched off.
    let second = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    receiver.reply_with([500, 500, 500].map(Reply::Status));
    let off = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    touch(&farrier, "demo", "again").await;
    eventually("the new deliveries have ended", async || {
        read(&farrier, &format!("?host={own_host}&status=failure")).await.as_array().map(Vec::len) == Some(5)
    })
    .await;
    let switched = at_hook(&farrier, Method::PATCH, off, "", json!({ "active": false })).await;
    assert_eq!(switched.status, 200, "{switched:?}");

    let failed = read(&farrier, &format!("?host={own_host}&status=failure")).await;
    let rows = failed.as_array().expect("a list");
    assert!(rows.iter().all(|row| row["state"] == "failed" && row["hook_id"] != blocked), "{failed}");
    let mut statuses = redeliver_all(&farrier, &failed).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 202, 202, 422], "a hook that is off does not stop the others");
    eventually("the deliveries succeed", async || {
        let left = read(&farrier, &format!("?host={own_host}&status=failure")).await;
        left.as_array().expect("a list").iter().all(|row| row["hook_id"] == off)
            && sent(&farrier, answers, "?status=success").await.len() == 4
            && sent(&farrier, second, "?status=success").await.len() == 1
    })
    .await;
    let others = sent(&farrier, blocked, "").await;
    assert!(others.iter().all(|row| row["redelivery"] == false), "another host: {others:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_no_host_selects_nothing() {
    let (farrier, receiver, ..) = with_results().await;
    let own_host = receiver.url.trim_start_matches("http://").trim_end_matches("/hook").to_owned();
    let port = own_host.rsplit(':').next().expect("a port");
    for host in [
        "%00".to_owned(),
        "%FF%FE".to_owned(),
        "%20".to_owned(),
        "*".to_owned(),
        "127.0.0.1".to_owned(),
        format!(":{port}"),
        format!("{own_host}/hook"),
        format!("http://{own_host}"),
        format!("user@{own_host}"),
        format!("{own_host}%0a"),
        "a".repeat(4_000),
    ] {
        let listed = read(&farrier, &format!("?status=failure&host={host}")).await;
        assert_eq!(listed, json!([]), "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_over_time_count_each_attempted_delivery_once() {
    let (farrier, _receiver, answers, blocked) = with_results().await;
    for (query, steps, step_secs, attempted, failed) in [
        (String::new(), 96, 900, 6, 5),
        ("?span=hour".to_owned(), 60, 60, 6, 5),
        ("?span=week".to_owned(), 84, 7_200, 6, 5),
        (format!("?span=week&hook={answers}"), 84, 7_200, 3, 2),
        (format!("?hook={blocked}"), 96, 900, 3, 3),
        ("?hook=999".to_owned(), 96, 900, 0, 0),
    ] {
        let results = read(&farrier, &format!("/results{query}")).await;
        let sum = |name: &str| {
            let values = results[name].as_array().expect("a list");
            assert_eq!(values.len(), steps, "{query} {name}");
            values.iter().map(|value| value.as_i64().expect("a number")).sum::<i64>()
        };
        assert_eq!((sum("attempted"), sum("failed")), (attempted, failed), "{query}: {results}");
        assert_eq!((&results["step_secs"], &results["truncated"]), (&json!(step_secs), &json!(false)), "{query}");
        assert!(sum("p50_millis") <= sum("p95_millis") && sum("p95_millis") <= sum("max_millis"), "{results}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_groupings_and_spans_are_refused() {
    let farrier = farrier().await;
    for (path, expected) in [
        ("/groups?by=color", "is not one of hook, reason, host"),
        ("/groups?status=odd", "is not one of success"),
        ("/groups?since=soon", "is not a time"),
        ("/results?span=year", "is not one of hour, day, week"),
        ("/results?hook=x", "must be a number"),
        ("/results?hook=-1", "must be a number"),
    ] {
        let answer = farrier.admin(Method::GET, &format!("{API}{path}"), Value::Null).await;
        assert_eq!((answer.status, answer.text().contains(expected)), (422, true), "{path}: {answer:?}");
    }
    let none = read(&farrier, "/groups?by=reason").await;
    assert_eq!((&none["groups"], &none["total_count"], &none["examined"]), (&json!([]), &json!(0), &json!(0)));
}
