//! Lists of artifacts and runs across repositories: visibility, order and paging.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Job, TestDaemon, send};

const NOW: i64 = 1_764_000_000_000;
const OWN: &str = "/api/farrier/v1";

/// Creates a public and a private repository of `admin`, with a job in each.
async fn public_and_private() -> (TestDaemon, Job, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("open").await;
    let created = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "hidden", "private": true })).await;
    assert_eq!(created.status, 201);
    let (open, hidden) = (farrier.begin("open", None).await, farrier.begin("hidden", None).await);
    (farrier, open, hidden)
}

async fn ask(farrier: &TestDaemon, path: &str, token: &str) -> Answer {
    let authorization = format!("token {token}");
    send(&farrier.tcp(), Method::GET, path, &[("authorization", &authorization)], "").await
}

fn ids(list: &Answer) -> Vec<i64> {
    assert_eq!(list.status, 200, "{list:?}");
    list.json().as_array().expect("a list").iter().map(|one| one["id"].as_i64().expect("a number")).collect()
}

/// The ids on every page of a list, following the `Link` headers.
async fn pages(farrier: &TestDaemon, path: &str, token: &str) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let page = ask(farrier, &path, token).await;
        all.push(ids(&page));
        assert!(all.len() < 50, "the list does not end");
        next = page.headers.get("link").map(|link| {
            let link = link.to_str().expect("text");
            assert!(link.ends_with("; rel=\"next\""), "{link}");
            farrier.path_of(link.trim_start_matches('<').split_once('>').expect("an address").0)
        });
    }
    all
}

#[tokio::test]
async fn artifact_pages_hold_only_artifacts_that_the_caller_may_read() {
    let (farrier, open, hidden) = public_and_private().await;
    let mut all = Vec::new();
    for n in 0..6 {
        let job = if n % 2 == 0 { &open } else { &hidden };
        all.push(farrier.upload(job, &format!("n{n}"), b"x").await);
    }
    farrier.user("unrelated").await;
    let admin = farrier.token("admin", &["read:repository"]).await;
    let unrelated = farrier.token("unrelated", &["read:repository"]).await;
    let newest: Vec<i64> = all.iter().rev().copied().collect();
    let public: Vec<i64> =
        newest.iter().copied().filter(|id| all.iter().position(|one| one == id).unwrap() % 2 == 0).collect();
    let list = format!("{OWN}/artifacts");
    assert_eq!(ids(&ask(&farrier, &list, &admin).await), newest);
    assert_eq!(ids(&ask(&farrier, &list, &unrelated).await), public);
    let expected: Vec<Vec<i64>> = newest.chunks(4).map(<[i64]>::to_vec).collect();
    assert_eq!(pages(&farrier, &format!("{list}?limit=4"), &admin).await, expected);
    let expected: Vec<Vec<i64>> = public.chunks(2).map(<[i64]>::to_vec).collect();
    assert_eq!(pages(&farrier, &format!("{list}?limit=2"), &unrelated).await, expected);

    // An artifact added between two page requests does not shift the second page.
    let first = ask(&farrier, &format!("{list}?limit=4"), &admin).await;
    farrier.upload(&open, "later", b"x").await;
    let link = first.header("link").to_owned();
    let next = farrier.path_of(link.trim_start_matches('<').split_once('>').expect("an address").0);
    assert_eq!(ids(&ask(&farrier, &next, &admin).await), newest[4..]);

    let anonymous = send(&farrier.tcp(), Method::GET, &list, &[], "").await;
    assert_eq!(anonymous.status, 401);
    assert_eq!(ask(&farrier, &format!("{list}?repository=admin/hidden"), &unrelated).await.status, 404);
    for (path, expected) in [
        (format!("{list}?repository=admin/open&limit=2"), all[4]),
        (format!("{list}?run={}", hidden.run_id), all[5]),
        (format!("{list}?run={}&name=n3", hidden.run_id), all[3]),
        (format!("{list}?name=n2"), all[2]),
    ] {
        let found = ids(&ask(&farrier, &path, &admin).await);
        let first = found.iter().find(|id| **id != *all.last().unwrap() + 1).copied();
        assert_eq!(first, Some(expected), "{path} {found:?}");
    }
    assert_eq!(ids(&ask(&farrier, &format!("{list}?run={}", hidden.run_id), &unrelated).await), Vec::<i64>::new());
    for bad in ["cursor=x", "state=gone", "sort=size", "expires_before=soon", "run=x", "repository=x"] {
        assert_eq!(ask(&farrier, &format!("{list}?{bad}"), &admin).await.status, 422, "{bad}");
    }
}

#[tokio::test]
async fn an_artifact_shows_its_repository_run_and_job() {
    let (farrier, _, _) = public_and_private().await;
    let body = json!({ "repo": "admin/open", "sha": "c0ffee", "branch": "main", "job": "build", "workflow": "ci" });
    let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await.json();
    let number = |name: &str| started[name].as_i64().expect("a number");
    let token = started["token"].as_str().expect("text").to_owned();
    let job = Job { run_id: number("run_id"), job_id: number("job_id"), token, env: Vec::new() };
    let id = farrier.upload(&job, "x", b"hello world\n").await;
    let in_repository = format!("/api/v1/repos/admin/open/actions/artifacts/{id}");
    let mut expected = farrier.admin(Method::GET, &in_repository, Value::Null).await.json();
    expected["repository"] = json!("admin/open");
    expected["job"] = json!({ "id": job.job_id, "name": "build" });
    expected["state"] = json!("ready");
    expected["mime_type"] = json!("application/zip");
    expected["version"] = json!(4);
    let one = format!("{OWN}/artifacts/{id}");
    assert_eq!(farrier.admin(Method::GET, &one, Value::Null).await.json(), expected);
    let listed = farrier.admin(Method::GET, &format!("{OWN}/artifacts"), Value::Null).await.json();
    assert_eq!(listed, json!([expected]));

    let runs = farrier.admin(Method::GET, &format!("{OWN}/runs"), Value::Null).await.json();
    let run = &runs[0];
    assert_eq!(
        (run["id"].as_i64(), &run["repository"], &run["head_sha"]),
        (Some(job.run_id), &json!("admin/open"), &json!("c0ffee"))
    );
    assert_eq!(
        run["jobs"],
        json!([{
            "id": job.job_id, "name": "build", "status": "in_progress",
            "started_at": "2025-11-24T16:00:00Z", "completed_at": "0001-01-01T00:00:00Z"
        }])
    );
}

#[tokio::test]
async fn artifacts_are_filtered_by_state_and_sorted_by_expiry() {
    let (farrier, open, hidden) = public_and_private().await;
    let admin = farrier.token("admin", &["all"]).await;
    let late = farrier.upload(&open, "late", b"x").await;
    let soon = farrier.upload(&hidden, "soon", b"x").await;
    let past = farrier.upload(&open, "over", b"x").await;
    for (id, days) in [(soon, 2), (past, 1)] {
        let kept = farrier.admin(Method::PATCH, &format!("{OWN}/artifacts/{id}"), json!({ "days": days })).await;
        assert_eq!(kept.status, 200, "{kept:?}");
    }
    farrier.create(&open, "coming").await;
    let list = async |query: &str| ids(&ask(&farrier, &format!("{OWN}/artifacts?{query}"), &admin).await);
    assert_eq!(list("sort=expiry").await, [past, soon, late]);
    assert_eq!(list("sort=expiry&repository=admin/open").await, [past, late]);
    assert_eq!(list("expires_before=2025-11-26T16:00:00Z").await, [past]);
    assert_eq!(list("expires_before=2025-11-26T16:00:01Z").await, [past, soon]);
    assert_eq!(
        pages(&farrier, &format!("{OWN}/artifacts?sort=expiry&limit=1"), &admin).await,
        [[past], [soon], [late]]
    );
    let coming = ask(&farrier, &format!("{OWN}/artifacts?state=uploading"), &admin).await.json();
    assert_eq!(
        (&coming[0]["name"], &coming[0]["state"], &coming[0]["digest"]),
        (&json!("coming"), &json!("uploading"), &json!(""))
    );
    assert_eq!(coming.as_array().map(Vec::len), Some(1));

    farrier.clock.advance_ms(86_400_000);
    assert_eq!(list("state=expired").await, [past]);
    assert_eq!(list("state=ready").await, [soon, late]);
    assert_eq!(list("").await, [past, soon, late]);
    assert_eq!(list("sort=expiry&state=ready").await, [soon, late]);
}

#[tokio::test]
async fn run_pages_hold_only_runs_that_the_caller_may_read() {
    let (farrier, open, hidden) = public_and_private().await;
    let mut runs = vec![open.run_id, hidden.run_id];
    for n in 0..5 {
        runs.push(farrier.begin(if n % 2 == 0 { "open" } else { "hidden" }, None).await.run_id);
    }
    runs.reverse();
    farrier.user("unrelated").await;
    let admin = farrier.token("admin", &["read:repository"]).await;
    let unrelated = farrier.token("unrelated", &["read:repository"]).await;
    let expected: Vec<Vec<i64>> = runs.chunks(3).map(<[i64]>::to_vec).collect();
    assert_eq!(pages(&farrier, &format!("{OWN}/runs?limit=3"), &admin).await, expected);
    let public: Vec<i64> = runs
        .iter()
        .copied()
        .filter(|run| *run != hidden.run_id)
        .enumerate()
        .filter(|(at, _)| at % 2 == 0 || *at == 5)
        .map(|(_, run)| run)
        .collect();
    assert_eq!(pages(&farrier, &format!("{OWN}/runs"), &unrelated).await, [public]);
    let of_hidden = pages(&farrier, &format!("{OWN}/runs?repository=admin/hidden&limit=2"), &admin).await;
    assert_eq!(of_hidden, [vec![runs[1], runs[3]], vec![hidden.run_id]]);
    assert_eq!(ask(&farrier, &format!("{OWN}/runs?repository=admin/hidden"), &unrelated).await.status, 404);
}

#[tokio::test]
async fn deleting_several_artifacts_reports_a_result_for_each() {
    let (farrier, open, hidden) = public_and_private().await;
    farrier.user("unrelated").await;
    let unrelated = farrier.token("unrelated", &["all"]).await;
    let one = farrier.upload(&open, "one", b"x").await;
    let two = farrier.upload(&hidden, "two", b"x").await;
    let kept = farrier.upload(&open, "kept", b"x").await;
    let deletions = format!("{OWN}/artifacts/deletions");
    let authorization = format!("token {unrelated}");
    let headers = [("authorization", authorization.as_str())];
    let body = json!({ "ids": [one, two] }).to_string();
    let refused = send(&farrier.tcp(), Method::POST, &deletions, &headers, body).await.json();
    let errors: Vec<&str> =
        refused["results"].as_array().unwrap().iter().map(|one| one["error"].as_str().unwrap()).collect();
    assert_eq!(errors, ["the caller has no right to do this with the repository", "the artifact does not exist"]);

    let done = farrier.admin(Method::POST, &deletions, json!({ "ids": [two, 999, one, one, -1] })).await.json();
    let deleted = |id: i64| json!({ "id": id, "deleted": true });
    let missing = |id: i64| json!({ "id": id, "deleted": false, "error": "the artifact does not exist" });
    assert_eq!(done["results"], json!([deleted(two), missing(999), deleted(one), missing(one), missing(-1)]));
    let left = farrier.admin(Method::GET, &format!("{OWN}/artifacts"), Value::Null).await;
    assert_eq!(ids(&left), [kept]);
    assert_eq!(super::bytes_on_disk(&farrier), 3, "deleted artifacts can be restored");
    for id in [one, two] {
        let purged = farrier.admin(Method::DELETE, &format!("{OWN}/deleted/artifacts/{id}"), Value::Null).await;
        assert_eq!(purged.status, 204, "{purged:?}");
    }
    crate::support::eventually("the bytes have left the disk", async || super::bytes_on_disk(&farrier) == 1).await;
    for bad in [json!([]), json!(vec![1; 1_001]), json!("x")] {
        assert_eq!(farrier.admin(Method::POST, &deletions, json!({ "ids": bad })).await.status, 422);
    }
}
