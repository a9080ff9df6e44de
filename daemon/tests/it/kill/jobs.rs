//! Kills `farrierd` while an agent begins and ends jobs. A job and the status of its commit always agree.
//!
//! `FARRIER_KILLS` sets the number of kills (default 6). `FARRIER_SEED` repeats the random choices of a run.

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use serde_json::{Value, json};

use super::assert_no_errors;
use crate::support::{Binary, Random, ServerAddress, send, try_send};

/// Maximum delay before a kill, during which jobs begin and end.
const JITTER_MAX_MICROS: usize = 80_000;
/// Most runs between two kills. A commit has a limited number of contexts.
const RUNS_MAX: usize = 20;

/// Begins runs of two jobs and ends them, until the daemon is gone. Records the ids of jobs whose end was answered,
/// with the conclusion.
async fn work(server: &ServerAddress, sha: &str, names: &mut usize, ended: &mut BTreeMap<i64, &str>) -> Option<()> {
    let post = async |path: &str, body: Value| try_send(server, Method::POST, path, &[], body.to_string()).await.ok();
    for _ in 0..RUNS_MAX {
        let mut run = Value::Null;
        let mut jobs = Vec::new();
        for _ in 0..2 {
            *names += 1;
            let body =
                json!({ "repo": "admin/tool", "workflow": "w", "sha": sha, "job": format!("j{names}"), "run_id": run });
            let begun = post("/api/farrier/v1/jobs", body).await?;
            assert_eq!(begun.status, 201, "{begun:?}");
            run = begun.json()["run_id"].clone();
            jobs.push(begun.json()["job_id"].as_i64().expect("a number"));
        }
        let conclusion = if names.is_multiple_of(4) { "failure" } else { "success" };
        let answer =
            post(&format!("/api/farrier/v1/jobs/{}/end", jobs[0]), json!({ "conclusion": conclusion })).await?;
        assert_eq!(answer.status, 200, "{answer:?}");
        ended.insert(jobs[0], conclusion);
        let answer = post(&format!("/api/farrier/v1/runs/{run}/cancel"), json!({})).await?;
        assert_eq!(answer.status, 200, "{answer:?}");
        ended.insert(jobs[1], "cancelled");
    }
    Some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_and_the_status_of_its_commit_agree_after_a_kill() {
    let kills: u64 = std::env::var("FARRIER_KILLS").map_or(6, |text| text.parse().expect("a number")).min(20);
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_KILLS={kills}");
    let mut random = Random::new(seed);
    let mut farrier = Binary::new("");
    farrier.start().await;
    let body = json!({ "name": "tool", "auto_init": true }).to_string();
    assert_eq!(send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], body).await.status, 201);
    let branch = send(&farrier.unix(), Method::GET, "/api/v1/repos/admin/tool/branches/main", &[], "").await.json();
    let sha = branch["commit"]["id"].as_str().expect("an id").to_owned();
    let (mut names, mut ended) = (0, BTreeMap::new());
    for _ in 0..kills {
        let server = farrier.unix();
        let jitter = Duration::from_micros(random.below(JITTER_MAX_MICROS) as u64);
        let kill = async {
            tokio::time::sleep(jitter).await;
            farrier.kill().await;
        };
        tokio::join!(work(&server, &sha, &mut names, &mut ended), kill);
        let checked = farrier.check_data(&[]).await;
        assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
        farrier.start().await;
        check(&farrier.unix(), &sha, &ended).await;
    }
    farrier.terminate();
    assert!(farrier.ended().await.success());
    assert_no_errors(&farrier.log());
    println!("kills {kills}, jobs {names}, ended {}, lost 0", ended.len());
}

/// Compares all jobs with the last statuses of the commit, and the jobs whose end was answered with their conclusions.
async fn check(server: &ServerAddress, sha: &str, ended: &BTreeMap<i64, &str>) {
    let get = async |path: String| {
        let answer = send(server, Method::GET, &path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    };
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut states = BTreeMap::new();
    for page in 1.. {
        let combined = get(format!("/api/v1/repos/admin/tool/commits/{sha}/status?limit=50&page={page}")).await;
        let rows = combined["statuses"].as_array().expect("a list");
        if rows.is_empty() {
            break;
        }
        states.extend(rows.iter().map(|row| (text(&row["context"]), text(&row["status"]))));
    }
    let (mut jobs, mut conclusions) = (BTreeMap::new(), BTreeMap::new());
    for page in 1.. {
        let listed = get(format!("/api/v1/repos/admin/tool/actions/runs?limit=50&page={page}")).await;
        let runs = listed["workflow_runs"].as_array().expect("a list");
        if runs.is_empty() {
            break;
        }
        for run in runs {
            let listed = get(format!("/api/v1/repos/admin/tool/actions/runs/{}/jobs", run["id"])).await;
            for job in listed["jobs"].as_array().expect("a list") {
                let conclusion = job["conclusion"].as_str().unwrap_or_default();
                let state = match conclusion {
                    "" => "pending",
                    "cancelled" => "error",
                    other => other,
                };
                jobs.insert(format!("w / {}", text(&job["name"])), state.to_owned());
                conclusions.insert(job["id"].as_i64().expect("a number"), conclusion.to_owned());
            }
        }
    }
    assert_eq!(jobs, states);
    for (job, conclusion) in ended {
        assert_eq!(conclusions.get(job).map(String::as_str), Some(*conclusion), "job {job}");
    }
}
