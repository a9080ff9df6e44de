//! The audit log: what is recorded, how it is read, and how it is bounded.

mod copies;
mod offline;

use std::sync::Arc;

use farrierd::{
    clock::Clock,
    store::{Store, engine::MemoryEngine},
};
use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::{PASSWORD, World, basic},
    repos::migrating,
    support::{Answer, Source, TestDaemon, eventually, send},
};

const AUDIT: &str = "/api/farrier/v1/audit";
const DAY_MS: i64 = 86_400_000;

/// The entries that a query selects, newest first. Reads one page.
async fn audit(farrier: &TestDaemon, query: &str) -> Vec<Value> {
    let answer = farrier.admin(Method::GET, &format!("{AUDIT}?limit=50&{query}"), Value::Null).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.json().as_array().expect("a list").clone()
}

/// Actions and names of the objects.
fn shown(entries: &[Value]) -> Vec<(&str, &str)> {
    entries
        .iter()
        .map(|entry| (entry["action"].as_str().expect("text"), entry["object"]["name"].as_str().expect("text")))
        .collect()
}

async fn waits_for(farrier: &TestDaemon, query: &str, count: usize) -> Vec<Value> {
    eventually(query, async || audit(farrier, query).await.len() == count).await;
    audit(farrier, query).await
}

#[tokio::test]
async fn an_entry_has_the_actor_the_object_and_the_changed_fields() {
    let world = World::new().await;
    world.user("octo").await;
    world.user_with("chief", json!({ "admin": true })).await;
    let chief = format!("token {}", world.token("chief", &["all"]).await);
    let headers = [("authorization", chief.as_str()), ("sudo", "octo"), ("content-type", "application/json")];
    let body = json!({ "name": "demo", "private": true }).to_string();
    let created = send(&world.farrier.tcp(), Method::POST, "/api/v1/user/repos", &headers, body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let [entry] = &audit(&world.farrier, "action=repository").await[..] else { panic!("one entry") };
    let actor = &entry["actor"];
    assert_eq!((&actor["kind"], &actor["name"], &actor["acts_as"]), (&json!("user"), &json!("chief"), &json!("octo")));
    assert!(
        actor["token_id"].is_i64() && actor["address"].as_str().is_some_and(|ip| ip.starts_with("127.")),
        "{actor}"
    );
    assert_eq!(entry["request_id"], created.header("x-request-id"));
    assert_eq!(entry["object"]["owner"], "octo");
    assert_eq!(entry["object"]["repository_id"], created.json()["id"]);
    assert_eq!((&entry["result"], &entry["after"]["private"]), (&json!("done"), &json!(true)));

    world.admin("patch", "/repos/octo/demo", json!({ "private": false, "name": "shown" }), 200).await;
    let [entry] = &audit(&world.farrier, "action=repository.visibility").await[..] else { panic!("one entry") };
    assert_eq!(entry["before"], json!({ "private": true, "name": "demo" }));
    assert_eq!(entry["after"], json!({ "private": false, "name": "shown" }));
    assert_eq!(entry["actor"]["uid"], json!(rustix::process::getuid().as_raw()));
    world.admin("patch", "/repos/octo/shown", json!({ "private": false }), 200).await;
    assert_eq!(audit(&world.farrier, "action=repository").await.len(), 2, "nothing changed");

    let id = entry["id"].to_string();
    let shown = world.farrier.admin(Method::GET, &format!("{AUDIT}/{id}"), Value::Null).await;
    assert_eq!(shown.json(), *entry);
    for missing in ["0", "999999", "x", "-1"] {
        let answer = world.farrier.admin(Method::GET, &format!("{AUDIT}/{missing}"), Value::Null).await;
        assert_eq!(answer.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn filters_and_pages_select_entries_and_refuse_invalid_values() {
    let world = World::new().await;
    world.user("octo").await;
    let octo = format!("token {}", world.token("octo", &["all"]).await);
    for name in ["a", "b", "c"] {
        assert_eq!(world.status(&octo, "post", "/user/repos", json!({ "name": name })).await, 201);
    }
    assert_eq!(world.status(&octo, "delete", "/repos/octo/b", Value::Null).await, 204);
    let farrier = &world.farrier;
    waits_for(farrier, "action=sign_in.accept", 1).await;
    let all = audit(farrier, "").await;
    let b = &all.iter().find(|entry| entry["object"]["name"] == "b").expect("an entry")["object"]["id"];
    for (query, expected) in [
        (
            "actor=OCTO&action=repository",
            "repository.delete b repository.create c repository.create b repository.create a",
        ),
        ("actor=octo&action=repository.delete", "repository.delete b"),
        ("actor=octo&action=repo", ""),
        ("actor=nobody", ""),
        ("object=user", "sign_in.accept octo user.create octo"),
        ("object=user:Octo&action=user", "user.create octo"),
        (&format!("object=repository:{b}"), "repository.delete b repository.create b"),
        (&format!("repository={b}"), "repository.delete b repository.create b"),
        ("repository=Octo/B", "repository.delete b repository.create b"),
        ("result=refused", ""),
        ("user=Octo&action=sign_in", "sign_in.accept octo"),
        ("user=octo&object=repository:b", "repository.delete b repository.create b"),
        ("user=nobody", ""),
        ("q=DELETE%20octo/b", "repository.delete b"),
        ("q=delete&actor=octo&user=octo&action=repository", "repository.delete b"),
        ("q=delete%20create", ""),
        ("q=%20%00", ""),
        ("since=2999-01-01T00:00:00Z", ""),
        ("until=2001-01-01T00:00:00Z", ""),
        ("action=repository&since=2001-01-01T00:00:00Z&until=2999-01-01T00:00:00Z&limit=1", "repository.delete b"),
    ] {
        let found = audit(farrier, query).await;
        let found: Vec<String> = shown(&found).iter().map(|(action, name)| format!("{action} {name}")).collect();
        // The first `limit` counts.
        let found = if query.ends_with("limit=1") { found[..1].to_vec() } else { found };
        assert_eq!(found.join(" "), expected, "{query}");
    }
    let hostile = "%00'%22%3B%2F..%2F%F0%9F%92%A9%FF";
    for name in ["actor", "action", "object", "repository", "request_id", "user", "q", "cursor"] {
        let found = farrier.admin(Method::GET, &format!("{AUDIT}?{name}={hostile}"), Value::Null).await;
        assert_eq!(found.status, 200, "{name}: {found:?}");
        let long = "x".repeat(5_000);
        let found = farrier.admin(Method::GET, &format!("{AUDIT}?{name}={long}"), Value::Null).await;
        assert_eq!(found.status, if name == "cursor" { 200 } else { 422 }, "{name}: {found:?}");
    }
    for bad in ["since=yesterday", "until=%00", "result=maybe", "result=done%00", "after=x", "after=-1"] {
        assert_eq!(farrier.admin(Method::GET, &format!("{AUDIT}?{bad}"), Value::Null).await.status, 422, "{bad}");
    }

    let (mut ids, mut path) = (Vec::new(), format!("{AUDIT}?limit=2"));
    loop {
        let page = farrier.admin(Method::GET, &path, Value::Null).await;
        if ids.is_empty() {
            assert_eq!(page.header("x-total-count"), all.len().to_string());
        }
        ids.extend(page.json().as_array().expect("a list").iter().map(|entry| entry["id"].clone()));
        let Some((_, next)) = page.header("link").split_once(AUDIT) else { break };
        path = format!("{AUDIT}{}", next.split('>').next().expect("an address"));
    }
    assert_eq!(ids, all.iter().map(|entry| entry["id"].clone()).collect::<Vec<_>>());
    for (after, count) in [("0", all.len()), (&ids[2].to_string(), 2), (&ids[0].to_string(), 0)] {
        assert_eq!(audit(farrier, &format!("after={after}")).await, all[..count], "{after}");
    }
}

#[tokio::test]
async fn a_search_reports_the_number_of_examined_entries_instead_of_a_total() {
    let world = World::new().await;
    world.user("octo").await;
    let octo = format!("token {}", world.token("octo", &["all"]).await);
    assert_eq!(world.status(&octo, "post", "/user/repos", json!({ "name": "a" })).await, 201);
    waits_for(&world.farrier, "action=sign_in.accept", 1).await;
    let all = audit(&world.farrier, "").await.len();
    let page = world.farrier.admin(Method::GET, &format!("{AUDIT}?q=repository.create"), Value::Null).await;
    assert_eq!(page.json().as_array().map(Vec::len), Some(1));
    assert_eq!((page.header("x-examined-count"), page.header("x-total-count")), (&*all.to_string(), ""));
    let headers = [("authorization", octo.as_str())];
    let own = send(&world.farrier.tcp(), Method::GET, "/api/farrier/v1/user/audit?q=REPOSITORY", &headers, "").await;
    assert_eq!((own.status, own.json().as_array().map(Vec::len)), (200, Some(1)), "{own:?}");
    assert_eq!(own.header("x-examined-count"), "2");
    let long = format!("/api/farrier/v1/user/audit?q={}", "x".repeat(513));
    assert_eq!(send(&world.farrier.tcp(), Method::GET, &long, &headers, "").await.status, 422);
}

#[tokio::test]
async fn only_administrators_read_the_log_and_users_read_their_own_entries() {
    let world = World::new().await;
    world.user("octo").await;
    let token = world.token("octo", &["all"]).await;
    let ask = async |path: &str, token: &str| -> Answer {
        let authorization = format!("token {token}");
        let headers = if token.is_empty() { vec![] } else { vec![("authorization", authorization.as_str())] };
        send(&world.farrier.tcp(), Method::GET, path, &headers, "").await
    };
    for path in [AUDIT.to_owned(), format!("{AUDIT}/1")] {
        assert_eq!([ask(&path, "").await.status, ask(&path, &token).await.status], [401, 403], "{path}");
    }
    let own = "/api/farrier/v1/user/audit";
    assert_eq!(ask(own, "").await.status, 401);
    assert_eq!(world.status(&format!("token {token}"), "post", "/user/repos", json!({ "name": "a" })).await, 201);
    let listed = ask(&format!("{own}?limit=1&since=2001-01-01T00:00:00Z"), &token).await;
    assert_eq!(listed.status, 200, "{listed:?}");
    eventually("the entries of the caller", async || {
        let listed = ask(own, &token).await.json();
        let mut actions: Vec<_> = listed.as_array().expect("a list").iter().map(|entry| &entry["action"]).collect();
        actions.sort_by_key(ToString::to_string);
        actions == ["repository.create", "sign_in.accept"]
    })
    .await;
    let limited = world.token("octo", &["all", "public-only"]).await;
    assert_eq!(ask(own, &limited).await.status, 403);
}

#[tokio::test]
async fn refused_sign_ins_are_counted_and_accepted_ones_recorded_once_a_day() {
    let world = World::with_clock(Clock::manual(1_767_323_045_000)).await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["read:user"]).await);
    for _ in 0..5 {
        assert_eq!(world.get(&basic("octo", "wrong one"), "/user").await.0, 401);
        assert_eq!(world.get("token 0123456789012345678901234567890123456789", "/user").await.0, 401);
        assert_eq!(world.get(&basic("wombat-secret-as-name", "wrong one"), "/user").await.0, 401);
        assert_eq!(world.get(&token, "/user").await.0, 200);
        assert_eq!(world.get(&basic("octo", PASSWORD), "/user").await.0, 200);
    }
    let farrier = &world.farrier;
    let accepted = waits_for(farrier, "action=sign_in.accept", 2).await;
    let mut with: Vec<_> = accepted.iter().map(|entry| entry["after"]["with"].as_str().expect("text")).collect();
    with.sort_unstable();
    assert_eq!(with, ["password", "token"]);
    assert_eq!(audit(farrier, "action=sign_in.refuse").await.len(), 0, "the minute is not over");
    farrier.clock.advance_ms(60_000);
    let refused = waits_for(farrier, "action=sign_in.refuse", 3).await;
    let mut counted: Vec<_> = refused
        .iter()
        .map(|entry| {
            assert_eq!((&entry["result"], &entry["actor"]["kind"]), (&json!("refused"), &json!("anonymous")));
            assert!(entry["actor"]["address"].as_str().is_some_and(|ip| ip.starts_with("127.")), "{entry}");
            let (reason, name) = (entry["reason"].as_str(), entry["object"]["name"].as_str());
            (reason.expect("text"), name.expect("text"), entry["count"].as_i64().expect("a number"))
        })
        .collect();
    counted.sort_unstable();
    assert_eq!(counted, [("wrong password", "", 5), ("wrong password", "octo", 5), ("wrong token", "", 5)]);
    assert!(!format!("{:?}", audit(farrier, "").await).contains("wombat"));
    farrier.clock.advance_ms(DAY_MS);
    assert_eq!(world.get(&token, "/user").await.0, 200);
    waits_for(farrier, "action=sign_in.accept", 3).await;
}

#[tokio::test]
async fn refused_sign_ins_are_recorded_before_the_daemon_stops() {
    let mut world = World::new().await;
    assert_eq!(world.get("token 0123456789012345678901234567890123456789", "/user").await.0, 401);
    world.farrier.restart().await;
    assert_eq!(audit(&world.farrier, "action=sign_in.refuse").await.len(), 1);
}

#[tokio::test]
async fn entries_expire_after_their_retention() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| config.audit.retention_days = 10).await;
    farrier.user("old").await;
    clock.advance_ms(6 * DAY_MS);
    farrier.user("young").await;
    clock.advance_ms(5 * DAY_MS);
    let kept = waits_for(&farrier, "action=user", 1).await;
    assert_eq!(shown(&kept), [("user.create", "young")]);
    // IDs are not used again.
    farrier.user("new").await;
    let entries = audit(&farrier, "action=user").await;
    assert!(entries[0]["id"].as_i64() > kept[0]["id"].as_i64(), "{entries:?}");
}

#[tokio::test]
async fn a_change_that_cannot_be_recorded_is_refused_if_that_is_required() {
    for required in [true, false] {
        let engine = MemoryEngine::new();
        let faults = engine.faults();
        let store = Store::open(Arc::new(engine)).await.expect("a store");
        let farrier = TestDaemon::over_store_with(store, |config| config.audit.required = required).await;
        let set =
            |filter: &'static str| farrier.admin(Method::PATCH, "/api/farrier/v1/log", json!({ "filter": filter }));
        faults.conflict(u32::MAX);
        let answer = set("warn").await;
        let created = farrier.admin(Method::POST, "/api/v1/orgs", json!({ "username": "acme" })).await;
        faults.conflict(0);
        assert_eq!(created.status, 503, "an entry is part of the transaction: {created:?}");
        let current = farrier.admin(Method::GET, "/api/farrier/v1/log", Value::Null).await.json()["filter"].clone();
        let expected = if required { (503, json!("info")) } else { (200, json!("warn")) };
        assert_eq!((answer.status, current), expected, "{answer:?}");
        assert_eq!(audit(&farrier, "").await.len(), 0);
        assert_eq!(set("error").await.status, 200);
        assert_eq!(shown(&audit(&farrier, "").await), [("settings.log_filter", "log.filter")]);
    }
}

#[tokio::test]
async fn an_import_and_its_cancellation_are_recorded() {
    let farrier = migrating::daemon().await;
    let source = Source::of(migrating::original(&farrier).await, true).await;
    let url = source.url("").replace("http://", "http://u:s3cret@");
    let body = json!({ "clone_addr": url, "repo_name": "copy" });
    let started = migrating::migrate(&farrier, &[("prefer", "respond-async")], body).await.json();
    let path = format!("/api/farrier/v1/tasks/{}/cancel", started["id"]);
    assert_eq!(farrier.admin(Method::POST, &path, Value::Null).await.status, 202);
    let entries = audit(&farrier, "repository=admin/copy").await;
    assert_eq!(shown(&entries), [("task.cancel", "migration"), ("repository.migrate", "copy")]);
    assert!(!format!("{entries:?}").contains("s3cret"), "{entries:?}");
}

#[tokio::test]
async fn a_recovery_of_failed_deliveries_is_recorded() {
    let farrier = TestDaemon::with(|config| {
        config.webhook.retry_schedule_secs = vec![];
        config.webhook.allowed_hosts = "loopback".into();
    })
    .await;
    let config = json!({
        "url": "http://127.0.0.1:1/t0ken-in-path", "content_type": "json", "secret": "s3cret",
        "is_system_webhook": "true",
    });
    let body = json!({ "type": "gitea", "active": true, "events": ["repository"], "config": config });
    let hook = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await.json()["id"].to_string();
    farrier.repository("demo").await;
    let failed = format!("/api/v1/admin/hooks/{hook}/deliveries?status=failure");
    eventually("the delivery failed", async || {
        farrier.admin(Method::GET, &failed, Value::Null).await.json().as_array().is_some_and(|all| all.len() == 1)
    })
    .await;
    let recovered = farrier.admin(Method::POST, &format!("/api/v1/admin/hooks/{hook}/recover"), json!({})).await;
    assert_eq!(recovered.status, 202, "{recovered:?}");
    let entries = audit(&farrier, "object=hook").await;
    assert_eq!(shown(&entries), [("delivery.recover", "gitea"), ("hook.create", "gitea")]);
    assert_eq!(
        (&entries[1]["after"]["url"], &entries[1]["after"]["secret"]),
        (&json!("http://127.0.0.1:1"), &json!("(set)"))
    );
    assert!(!format!("{entries:?}").contains("s3cret") && !format!("{entries:?}").contains("t0ken"), "{entries:?}");
}

#[tokio::test]
async fn artifacts_that_jobs_delete_and_artifacts_that_expire_are_recorded() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |_| {}).await;
    farrier.repository("demo").await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", b"x").await;
    farrier.upload(&job, "other", b"x").await;
    let body = json!({
        "workflow_run_backend_id": job.run_id.to_string(), "workflow_job_run_backend_id": job.job_id.to_string(),
        "name": "log",
    });
    let path = "/twirp/github.actions.results.api.v1.ArtifactService/DeleteArtifact";
    let headers = [("authorization", &*format!("Bearer {}", job.token)), ("content-type", "application/json")];
    let deleted = send(&farrier.tcp(), Method::POST, path, &headers, body.to_string()).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    let [entry] = &audit(&farrier, "action=artifact.delete").await[..] else { panic!("one entry") };
    assert_eq!((&entry["actor"]["kind"], &entry["object"]["name"]), (&json!("job"), &json!("log")));
    clock.advance_ms(100 * DAY_MS);
    let entries = waits_for(&farrier, "action=retention.delete", 1).await;
    assert_eq!((&entries[0]["actor"]["kind"], &entries[0]["count"]), (&json!("daemon"), &json!(2)), "{entries:?}");
}

#[tokio::test]
async fn a_password_change_is_recorded_with_each_revoked_token() {
    let world = World::new().await;
    world.user("octo").await;
    let kept = world.token("octo", &["all"]).await;
    for _ in 0..2 {
        world.token("octo", &["all"]).await;
    }
    let body = json!({ "old_password": PASSWORD, "new_password": "a new password", "revoke_tokens": true }).to_string();
    let headers = [("authorization", &*format!("token {kept}")), ("content-type", "application/json")];
    let path = "/api/farrier/v1/user/password";
    let changed = send(&world.farrier.tcp(), Method::PUT, path, &headers, body).await;
    assert_eq!(changed.status, 204, "{changed:?}");
    let request = changed.header("x-request-id");
    for (action, count) in [("user.password", 1), ("token.delete", 2)] {
        let entries = audit(&world.farrier, &format!("action={action}&request_id={request}")).await;
        assert_eq!(entries.len(), count, "{entries:?}");
        assert!(entries.iter().all(|entry| entry["actor"]["name"] == "octo"), "{entries:?}");
    }
}

#[tokio::test]
async fn the_deletion_of_expired_tokens_is_recorded_in_one_entry() {
    let world = World::with_clock(Clock::manual(1_767_323_045_000)).await;
    world.user("octo").await;
    for _ in 0..2 {
        let fields = json!({ "scopes": ["read:user"], "expires_at": "2026-01-03T03:04:05Z" });
        world.token_with("octo", fields).await;
    }
    world.farrier.clock.advance_ms(40 * DAY_MS);
    let [entry] = &waits_for(&world.farrier, "action=retention.delete", 1).await[..] else { panic!("one entry") };
    assert_eq!((&entry["actor"]["kind"], &entry["count"]), (&json!("daemon"), &json!(2)), "{entry}");
    assert_eq!(entry["before"]["token_ids"].as_array().map(Vec::len), Some(2), "{entry}");
}
