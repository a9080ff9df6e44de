//! The history of deliveries, redeliveries and test events.

use super::*;
use crate::support::{Receiver, Reply, git::Client, send};

#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_paged_filtered_and_complete() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..11 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    receiver.wait(12).await;
    newest(&farrier, id, in_state("success")).await;
    let all = sent(&farrier, id, "?limit=50").await;
    let ids: Vec<i64> = all.iter().map(|row| row["id"].as_i64().expect("a number")).collect();
    assert!(ids.len() == 12 && ids.windows(2).all(|pair| pair[0] > pair[1]), "newest first: {ids:?}");
    // Page by cursor and by number.
    for first in ["/deliveries?limit=5", "/deliveries?limit=5&event=repository"] {
        let (mut observed, mut path) = (Vec::new(), Some(first.to_owned()));
        while let Some(next) = path {
            let page = at_hook(&farrier, Method::GET, id, &next, Value::Null).await;
            observed.extend(
                page.json().as_array().expect("a list").iter().map(|row| row["id"].as_i64().expect("a number")),
            );
            let link = page.header("link").to_owned();
            path = link
                .split_once("/deliveries?")
                .map(|(_, rest)| format!("/deliveries?{}", rest.split('>').next().expect("an address")));
        }
        assert_eq!(observed, ids, "{first}");
    }
    let page = at_hook(&farrier, Method::GET, id, "/deliveries?limit=5&page=3", Value::Null).await;
    assert_eq!((page.json().as_array().expect("a list").len(), page.header("x-total-count")), (2, "12"));
    for (query, count) in [
        ("?status=success", 12),
        ("?status=failure", 0),
        ("?status=pending", 0),
        ("?event=push", 0),
        ("?since=2000-01-01T00:00:00Z", 12),
        ("?since=2999-01-01T00:00:00Z", 0),
        ("?until=2000-01-01T00:00:00Z", 0),
    ] {
        assert_eq!(sent(&farrier, id, query).await.len(), count, "{query}");
    }
    let row = &all[0];
    assert_eq!((&row["status"], &row["status_code"], &row["action"]), (&json!("OK"), &json!(200), &json!("edited")));
    for name in [row["guid"].as_str().expect("text").to_owned(), row["id"].to_string()] {
        let detail = at_hook(&farrier, Method::GET, id, &format!("/deliveries/{name}"), Value::Null).await.json();
        assert_eq!(detail["request"]["payload"]["repository"]["description"], "10");
        assert_eq!(detail["history"].as_array().map(Vec::len), Some(1));
    }
    for unknown in ["00000000-0000-4000-8000-000000000000", "0", "x", "-1"] {
        let path = format!("/deliveries/{unknown}");
        assert_eq!(at_hook(&farrier, Method::GET, id, &path, Value::Null).await.status, 404, "{unknown}");
    }
    for bad in ["?status=odd", "?since=soon"] {
        let path = format!("/deliveries{bad}");
        assert_eq!(at_hook(&farrier, Method::GET, id, &path, Value::Null).await.status, 422, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_read_only_their_own_deliveries() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    for name in ["octo", "eve"] {
        farrier.user(name).await;
    }
    let octo = format!("token {}", farrier.token("octo", &["all"]).await);
    let eve = format!("token {}", farrier.token("eve", &["all"]).await);
    let ask = async |who: &str, method: Method, path: &str, body: Value| {
        let headers = [("authorization", who), ("content-type", "application/json")];
        send(&farrier.tcp(), method, &format!("/api/v1{path}"), &headers, body.to_string()).await
    };
    ask(&octo, Method::POST, "/user/repos", json!({ "name": "demo" })).await;
    ask(&octo, Method::POST, "/orgs", json!({ "username": "acme" })).await;
    ask(&octo, Method::POST, "/orgs/acme/repos", json!({ "name": "web" })).await;
    for (hooks_path, subject) in [
        ("/user/hooks", "/repos/octo/demo"),
        ("/repos/octo/demo/hooks", "/repos/octo/demo"),
        ("/orgs/acme/hooks", "/repos/acme/web"),
    ] {
        let config = json!({ "url": receiver.url, "content_type": "json" });
        let body = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
        let created = ask(&octo, Method::POST, hooks_path, body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let path = format!("{hooks_path}/{}", created.json()["id"]);
        let edited = ask(&octo, Method::PATCH, subject, json!({ "description": hooks_path })).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        eventually("the delivery succeeds", async || {
            let list = ask(&octo, Method::GET, &format!("{path}/deliveries"), Value::Null).await;
            list.status == 200 && list.json()[0]["state"] == "success"
        })
        .await;
        let list = ask(&octo, Method::GET, &format!("{path}/deliveries"), Value::Null).await.json();
        let one = format!("{path}/deliveries/{}", list[0]["id"]);
        let detail = ask(&octo, Method::GET, &one, Value::Null).await;
        assert_eq!((detail.status, &detail.json()["repository"]), (200, &list[0]["repository"]));
        let (id, name) = (&list[0]["repository_id"], &list[0]["repository"]);
        assert_eq!(id.is_null(), name.is_null(), "{list}");
        assert_eq!(ask(&octo, Method::POST, &format!("{one}/attempts"), Value::Null).await.status, 202);
        let refused = ask(&eve, Method::GET, &one, Value::Null).await.status;
        assert!(matches!(refused, 403 | 404), "{hooks_path} {refused}");
    }
    let all = farrier.admin(Method::GET, "/api/farrier/v1/deliveries", Value::Null).await.json();
    assert_eq!(all.as_array().map(Vec::len), Some(4), "the second change is delivered to two hooks: {all}");
    assert_eq!(ask(&octo, Method::GET, "/../farrier/v1/deliveries", Value::Null).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivery_sends_the_same_body_signed_with_the_current_secret() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook(&farrier, &receiver.url, &["repository"], json!({ "secret": "first" })).await;
    farrier.repository("demo").await;
    let first = newest(&farrier, id, in_state("success")).await;
    let config = json!({ "config": { "secret": "second" } });
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", config).await.status, 200);
    let path = format!("/deliveries/{}/attempts", first["guid"].as_str().expect("text"));
    let redelivered = at_hook(&farrier, Method::POST, id, &path, Value::Null).await;
    assert_eq!((redelivered.status, &redelivered.json()["guid"]), (202, &first["guid"]));
    let received = receiver.wait(2).await;
    assert_eq!((&received[0].body, received[0].id()), (&received[1].body, received[1].id()));
    assert_ne!(received[0].header("x-gitea-signature"), received[1].header("x-gitea-signature"));
    assert_eq!(received[1].header("x-farrier-attempt"), "2");
    let again = newest(&farrier, id, attempted(2)).await;
    assert_eq!((&again["redelivery"], &again["history"][1]["trigger"]), (&json!(true), &json!("manual")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_sends_each_failed_delivery_once_and_nothing_else() {
    let farrier = farrier_with(|config| config.webhook.retry_schedule_secs = vec![]).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([200, 500, 500, 200].map(Reply::Status));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..3 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    newest(&farrier, id, in_state("success")).await;
    let failed = sent(&farrier, id, "?status=failure").await;
    assert_eq!(failed.len(), 2);
    for (since, count) in [("2999-01-01T00:00:00Z", 0), ("2000-01-01T00:00:00Z", 2), ("2000-01-01T00:00:00Z", 0)] {
        let recovered = at_hook(&farrier, Method::POST, id, "/recover", json!({ "since": since })).await;
        assert_eq!((recovered.status, &recovered.json()["count"]), (202, &json!(count)), "{since}");
        receiver.wait(if count == 0 { 4 } else { 6 }).await;
        eventually("all attempts are recorded", async || sent(&farrier, id, "?status=pending").await.is_empty()).await;
    }
    let received = receiver.requests();
    let mut again: Vec<String> = received[4..].iter().map(crate::support::ReceivedRequest::id).collect();
    let mut expected: Vec<String> = failed.iter().map(|row| row["guid"].as_str().expect("text").to_owned()).collect();
    again.sort_unstable();
    expected.sort_unstable();
    assert_eq!(again, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_sends_nothing_and_an_inactive_hook_gets_no_redelivery() {
    let farrier = farrier_with(|config| config.webhook.retry_schedule_secs = vec![]).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([500, 500].map(Reply::Status));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    touch(&farrier, "demo", "again").await;
    eventually("both have failed", async || sent(&farrier, id, "?status=failure").await.len() == 2).await;
    let guid = sent(&farrier, id, "?status=failure").await[0]["guid"].as_str().expect("text").to_owned();
    let recover = async |body: Value| at_hook(&farrier, Method::POST, id, "/recover", body).await;

    let counted = recover(json!({ "dry_run": true })).await;
    assert_eq!((counted.status, &counted.json()["count"]), (202, &json!(2)));
    let counted = recover(json!({ "dry_run": true, "since": "2999-01-01T00:00:00Z" })).await;
    assert_eq!((counted.status, &counted.json()["count"]), (202, &json!(0)));
    assert_eq!(sent(&farrier, id, "?status=failure").await.len(), 2, "nothing is queued");

    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", json!({ "active": false })).await.status, 200);
    let any = format!("/api/farrier/v1/deliveries/{guid}/attempts");
    for refused in [
        recover(json!({})).await,
        recover(json!({ "dry_run": true })).await,
        at_hook(&farrier, Method::POST, id, &format!("/deliveries/{guid}/attempts"), Value::Null).await,
        farrier.admin(Method::POST, &any, Value::Null).await,
    ] {
        let expected_text = format!("hook {id} is switched off; switch it on (farrier hook on {id}");
        assert_eq!((refused.status, refused.text().contains(&expected_text)), (422, true), "{refused:?}");
    }
    assert_eq!((sent(&farrier, id, "?status=failure").await.len(), receiver.requests().len()), (2, 2));

    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", json!({ "active": true })).await.status, 200);
    assert_eq!(recover(json!({})).await.json()["count"], 2);
    receiver.wait(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_hook_gets_no_deliveries_and_keeps_its_history() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Status(500));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    let failed = newest(&farrier, id, attempted(1)).await;
    assert_eq!((&failed["state"], &failed["repository"]), (&json!("pending"), &json!("admin/demo")));
    let minute = farrier.admin(Method::GET, "/api/farrier/v1/metrics/series", Value::Null).await.json();
    assert_eq!(minute["waiting"], 1, "{minute}");
    let day = farrier.admin(Method::GET, "/api/farrier/v1/metrics/series?span=day", Value::Null).await.json();
    assert_eq!((&day["step_secs"], day["git"].as_array().map(Vec::len)), (&json!(300), Some(288)), "{day}");
    let unknown = farrier.admin(Method::GET, "/api/farrier/v1/metrics/series?span=year", Value::Null).await;
    assert_eq!(unknown.status, 422, "{unknown:?}");
    assert_eq!(at_hook(&farrier, Method::DELETE, id, "", Value::Null).await.status, 204);
    let path = format!("/api/farrier/v1/deliveries/{}", failed["guid"].as_str().expect("text"));
    let history = farrier.admin(Method::GET, &path, Value::Null).await;
    assert_eq!((history.status, &history.json()["history"][0]["status_code"]), (200, &json!(500)));
    assert_eq!(at_hook(&farrier, Method::GET, id, "/deliveries", Value::Null).await.status, 404);
    let again = farrier.admin(Method::POST, &format!("{path}/attempts"), Value::Null).await;
    assert_eq!(again.status, 409, "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_is_applied_without_a_restart() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = farrier_at(clock.clone(), |config| config.webhook.keep_per_hook = 50).await;
    let receiver = Receiver::start().await;
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..250 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    receiver.wait(251).await;
    let pending = async || {
        let path = "/api/farrier/v1/deliveries?status=pending";
        farrier.admin(Method::GET, path, Value::Null).await.json() != json!([])
    };
    // The retention applies to finished deliveries. The receiver has a request before its delivery is finished.
    eventually("all deliveries are finished", async || !pending().await).await;
    let total = async || {
        let list = at_hook(&farrier, Method::GET, id, "/deliveries", Value::Null).await;
        list.header("x-total-count").parse::<u64>().expect("a number")
    };
    eventually("the history is limited to about 100 deliveries", async || total().await <= 101).await;
    clock.advance_ms(7 * 86_400_000 + 1);
    eventually("old deliveries are deleted", async || total().await == 0).await;
    let all = farrier.admin(Method::GET, "/api/farrier/v1/deliveries", Value::Null).await.json();
    assert_eq!(all, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_event_reaches_any_hook_exactly_once() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    farrier.repository("demo").await;
    let id = hook(&farrier, &receiver.url, &["delete"], json!({})).await;
    let body = json!({ "active": false, "branch_filter": "nothing-like-this" });
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", body).await.status, 200);
    let test = async |query: &str| at_hook(&farrier, Method::POST, id, &format!("/tests{query}"), Value::Null).await;
    assert_eq!(test("").await.status, 404, "nothing was ever pushed");
    assert_eq!(test("?repository=admin/demo").await.status, 404);
    let token = farrier.token("admin", &["all"]).await;
    let work = Client::init(farrier.scratch().join("work"));
    let tip = work.commit("a", "a");
    work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main"]);
    let sent = test("").await;
    assert_eq!(sent.status, 204, "{sent:?}");
    let received = receiver.wait(1).await;
    assert_eq!((received[0].event(), sent.header("x-farrier-delivery").to_owned()), ("push".into(), received[0].id()));
    let json = received[0].json();
    assert_eq!((&json["before"], &json["after"]), (&json!(tip), &json!(tip)));
    assert_eq!((&json["total_commits"], &json["commits"][0]["id"]), (&json!(1), &json!(tip)));
    assert_eq!((test("?ref=nowhere").await.status, test("?repository=admin/none").await.status), (404, 404));
    let waited = test("?ref=main&wait=1").await;
    assert_eq!((waited.status, &waited.json()["state"]), (200, &json!("success")));
    receiver.reply_with([Reply::Status(500)]);
    let ping = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
    assert_eq!((&ping["state"], &ping["event"], &ping["trigger"]), (&json!("failed"), &json!("ping"), &json!("test")));
    assert_eq!(receiver.requests().len(), 3);
}
