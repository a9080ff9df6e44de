//! Jobs that unmodified runners run: the runner of Gitea with farrier as its cache server, and act.

use farrierd::{config::Config, model::secret::SharedSecret};
use serde_json::{Value, json};

use crate::support::{
    TestDaemon,
    client::go,
    runner::{LIMITED, act, client_step, runner},
};

const SECRET: &str = "secret of the runners";

async fn farrier() -> TestDaemon {
    let farrier = TestDaemon::with(|config: &mut Config| {
        config.ci.cache_secret = SharedSecret::new(SECRET.into());
    })
    .await;
    farrier.repository("r").await;
    farrier
}

/// The section of the runner's configuration, as docs/runners.md describes it.
fn cache_server(farrier: &TestDaemon, secret: &str) -> Value {
    json!({ "external_server": format!("{}/", farrier.url), "external_secret": secret })
}

/// The step that creates a file which does not compress.
fn create() -> Value {
    json!({ "run": "mkdir data && head -c 300000 /dev/urandom > data/noise && sha256sum data/noise" })
}

/// The step that uses the newest cache client.
fn cache(operations: &Value) -> Value {
    client_step("cache.mjs", "cache-6", operations)
}

#[tokio::test]
async fn a_second_runner_of_gitea_restores_what_the_first_saved() {
    let farrier = farrier().await;
    let Some(first) = runner(&farrier, "first", cache_server(&farrier, SECRET)).await else { return };
    let job = farrier.begin_on("r", "main").await;
    let save = json!([{ "call": "available" }, { "call": "save", "paths": ["data"], "key": "npm-1" }]);
    let saved = first.run(&farrier, &job, &[create(), cache(&save)]).await;
    assert_eq!(saved.result, "success", "{:?}", saved.log);
    let results = saved.results(0);
    assert_eq!(results[0]["ok"], true, "{results:?}");
    assert!(results[1]["ok"].as_i64().is_some_and(|id| id > 0), "{:?}", saved.log);
    assert!(!saved.log.iter().any(|row| row.contains("::warning::")), "{:?}", saved.log);
    farrier.end(&job).await;

    let second = runner(&farrier, "second", cache_server(&farrier, SECRET)).await.expect("it is built");
    let job = farrier.begin_on("r", "main").await;
    let restore = json!([{ "call": "restore", "paths": ["data"], "key": "npm-2", "restoreKeys": ["npm-"] }]);
    let read = json!({ "run": "sha256sum data/noise" });
    let restored = second.run(&farrier, &job, &[cache(&restore), read]).await;
    assert_eq!(restored.result, "success", "{:?}", restored.log);
    assert_eq!(restored.results(0)[0]["ok"], "npm-1", "{:?}", restored.log);
    assert_eq!(restored.digest_of("data/noise"), saved.digest_of("data/noise"));
}

#[tokio::test]
async fn the_client_of_buildkit_in_a_second_runner_of_gitea_sees_what_the_first_saved() {
    let Some(go) = go().await else { return };
    let farrier = farrier().await;
    // Each run sees the value that the run before it saved.
    for (name, former) in [("first", ""), ("second", "first")] {
        let Some(runner) = runner(&farrier, name, cache_server(&farrier, SECRET)).await else { return };
        let job = farrier.begin_on("r", "main").await;
        let operations = json!([{ "call": "version" }, { "call": "saveMutable", "key": "index", "text": name }]);
        let command = format!("{LIMITED} '{}' \"$INPUT\"", go.display());
        let step = json!({ "run": command, "env": { "INPUT": operations.to_string() } });
        let done = runner.run(&farrier, &job, &[step]).await;
        assert_eq!(done.results(0), [json!({ "ok": false }), json!({ "ok": former })], "{:?}", done.log);
        farrier.end(&job).await;
    }
}

#[tokio::test]
async fn a_job_of_a_runner_of_gitea_uploads_an_artifact_and_downloads_it_unchanged() {
    let farrier = farrier().await;
    let Some(runner) = runner(&farrier, "runner", cache_server(&farrier, SECRET)).await else { return };
    let job = farrier.begin_on("r", "main").await;
    let operations = json!([
        { "call": "uploadFiles", "name": "build", "files": ["data/noise"], "root": "data" },
        { "call": "downloadFiles", "name": "build", "path": "downloaded" },
    ]);
    let compare = json!({ "run": "cmp data/noise downloaded/noise" });
    let done =
        runner.run(&farrier, &job, &[create(), client_step("client.mjs", "artifact-1", &operations), compare]).await;
    assert_eq!(done.result, "success", "{:?}", done.log);
    assert_eq!(done.results(0)[0]["ok"]["failedItems"], json!([]), "{:?}", done.log);
}

#[tokio::test]
async fn a_runner_of_gitea_with_a_wrong_secret_warns_and_its_jobs_reach_the_cache() {
    let farrier = farrier().await;
    let Some(runner) = runner(&farrier, "runner", cache_server(&farrier, "wrong")).await else { return };
    let job = farrier.begin_on("r", "main").await;
    let operations = json!([{ "call": "save", "paths": ["data"], "key": "npm-1" }]);
    let done = runner.run(&farrier, &job, &[create(), cache(&operations)]).await;
    assert_eq!(done.result, "success", "{:?}", done.log);
    let warned = |row: &String| row.contains("external_server register failed") && row.contains("status 401");
    assert!(done.log.iter().any(warned), "{:?}", done.log);
    // The token of the job decides what the job may do, not the registration.
    assert!(done.results(0)[0]["ok"].as_i64().is_some_and(|id| id > 0), "{:?}", done.log);
}

#[tokio::test]
async fn a_second_run_of_act_restores_what_the_first_saved_and_artifacts_are_unchanged() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let Some(first) = act(&farrier, "first").await else { return };
    let job = farrier.begin_on("r", "main").await;
    let save = json!([{ "call": "available" }, { "call": "save", "paths": ["data"], "key": "npm-1" }]);
    let upload = json!([
        { "call": "uploadArtifact", "name": "build", "files": ["data/noise"], "root": "data", "options": {} },
        { "call": "downloadArtifact", "id": { "of": 0 }, "options": { "path": "downloaded" } },
    ]);
    let compare = json!({ "run": "cmp data/noise downloaded/noise" });
    let steps = [create(), cache(&save), client_step("client.mjs", "artifact-6", &upload), compare];
    let saved = first.run(&job, &steps).await;
    let results = saved.results(0);
    assert_eq!(results[0]["ok"], true, "{results:?}");
    assert!(results[1]["ok"].as_i64().is_some_and(|id| id > 0), "{:?}", saved.log);
    farrier.end(&job).await;

    let second = act(&farrier, "second").await.expect("it is built");
    let job = farrier.begin_on("r", "main").await;
    let restore = json!([{ "call": "restore", "paths": ["data"], "key": "npm-2", "restoreKeys": ["npm-"] }]);
    let restored = second.run(&job, &[cache(&restore), json!({ "run": "sha256sum data/noise" })]).await;
    assert_eq!(restored.results(0)[0]["ok"], "npm-1", "{:?}", restored.log);
    assert_eq!(restored.digest_of("data/noise"), saved.digest_of("data/noise"));
}
