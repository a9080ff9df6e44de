//! ID tokens of jobs (OpenID Connect), verified by stock libraries.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use farrierd::{clock::Clock, config::Config, model::id_token::Algorithm};
use http::Method;
use serde_json::{Value, json};

use crate::support::{
    Answer, Job, TestDaemon,
    client::{go, home, installed, python},
    process::{command, output},
    send,
};

const NOW: i64 = 1_764_000_000_000;
const HOUR_MS: i64 = 3_600_000;
const AUDIENCE: &str = "https://cloud.example?a=b&c";

/// A variable of the job's environment.
fn variable<'a>(job: &'a Job, name: &str) -> &'a str {
    let found = job.env.iter().find(|(known, _)| known == name);
    &found.unwrap_or_else(|| panic!("{name} is missing")).1
}

/// Requests an ID token as `job`, with more query parameters.
async fn request(farrier: &TestDaemon, job: &Job, query: &str) -> Answer {
    let path = farrier.path_of(variable(job, "ACTIONS_ID_TOKEN_REQUEST_URL"));
    let authorization = format!("Bearer {}", variable(job, "ACTIONS_ID_TOKEN_REQUEST_TOKEN"));
    send(&farrier.tcp(), Method::GET, &format!("{path}{query}"), &[("authorization", &authorization)], "").await
}

async fn id_token(farrier: &TestDaemon, job: &Job) -> String {
    let answer = request(farrier, job, "&audience=a").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["value"].as_str().expect("a token").to_owned()
}

/// Header and claims of a token, without verification.
fn decoded(token: &str) -> [Value; 2] {
    let parts: Vec<&str> = token.split('.').collect();
    let decode = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).expect("base64url");
        serde_json::from_slice(&bytes).expect("JSON")
    };
    [decode(parts[0]), decode(parts[1])]
}

async fn public_keys(farrier: &TestDaemon) -> Value {
    let answer = send(&farrier.tcp(), Method::GET, "/.well-known/jwks", &[], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Runs a client and returns its results.
async fn results(mut client: tokio::process::Command) -> Value {
    client.current_dir(home());
    let output = output(client).await.expect("the client is installed");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, results)) = stdout.rsplit_once("RESULT ") else {
        panic!("the client failed: {stdout}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    serde_json::from_str(results).expect("JSON")
}

/// Runs `id-tokens.mjs` with the environment of `job`.
async fn javascript(job: &Job, input: Value) -> Value {
    let mut node = command("node");
    node.arg("id-tokens.mjs").arg(input.to_string()).envs(job.env.iter().map(|(name, value)| (name, value)));
    results(node).await
}

#[tokio::test]
async fn stock_libraries_verify_id_tokens_of_both_algorithms() {
    if !installed().await {
        return;
    }
    let Some(python) = python().await else { return };
    for algorithm in Algorithm::ALL {
        let farrier = TestDaemon::with(|config: &mut Config| config.ci.id_token_algorithm = algorithm).await;
        farrier.repository("r").await;
        let job = farrier.begin("r", None).await;
        // The action's own library, jose, and jsonwebtoken with jwks-rsa.
        let input = json!({ "call": "live", "issuer": farrier.url, "audience": AUDIENCE });
        let seen = javascript(&job, input).await;
        assert_eq!((&seen["header"]["alg"], &seen["same"]), (&json!(algorithm.name()), &json!(true)));
        assert_eq!(seen["configuration"]["issuer"], farrier.url);
        let payload = &seen["payload"];
        assert_eq!((&payload["aud"], &payload["iss"]), (&json!(AUDIENCE), &json!(farrier.url)));
        let supported = seen["configuration"]["claims_supported"].as_array().expect("a list");
        let named = payload.as_object().expect("claims").keys();
        assert!(named.clone().all(|name| supported.contains(&json!(name))), "{payload}");

        let token = id_token(&farrier, &job).await;
        let mut script = command(python.join("python"));
        script.args(["id_tokens.py", &farrier.url, "a", &token]);
        let seen = results(script).await;
        assert_eq!(seen["claims"]["sub"], "repo:admin/r:ref:refs/heads/main");
        assert_eq!(seen["refused"], json!(["InvalidAudienceError", "InvalidIssuerError"]));
    }
}

#[tokio::test]
async fn the_library_of_go_verifies_id_tokens_of_both_algorithms() {
    let Some(go) = go().await else { return };
    for algorithm in Algorithm::ALL {
        let farrier = TestDaemon::with(|config: &mut Config| config.ci.id_token_algorithm = algorithm).await;
        farrier.repository("r").await;
        let job = farrier.begin("r", None).await;
        let token = id_token(&farrier, &job).await;
        let verify = |audience: &str, token: &str| json!({ "call": "verify", "issuer": farrier.url, "audience": audience, "token": token });
        let operations = json!([verify("a", &token), verify("b", &token), verify("a", &format!("{token}x"))]);
        let mut client = command(&go);
        client.arg(operations.to_string());
        let seen = results(client).await;
        assert_eq!(seen[0]["ok"], "repo:admin/r:ref:refs/heads/main", "{seen}");
        assert!(seen[1]["error"].is_object() && seen[2]["error"].is_object(), "{seen}");
    }
}

#[tokio::test]
async fn a_key_rotation_invalidates_no_token() {
    if !installed().await {
        return;
    }
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.ci.id_token_key_days = 4;
        config.ci.job_timeout = std::time::Duration::from_secs(1_000 * 86_400);
    });
    let farrier = farrier.await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let mut samples = Vec::new();
    for step in 0..30 {
        let at = NOW / 1_000 + step * 8 * 3_600;
        // Either of the two requests may change the keys.
        let (token, keys) = if step % 2 == 0 {
            let token = id_token(&farrier, &job).await;
            (token, public_keys(&farrier).await)
        } else {
            let keys = public_keys(&farrier).await;
            (id_token(&farrier, &job).await, keys)
        };
        let count = keys["keys"].as_array().expect("a list").len();
        assert!((2..=4).contains(&count), "{keys}");
        samples.push(json!({ "at": at, "token": token, "keys": keys }));
        farrier.clock.advance_ms(8 * HOUR_MS);
    }
    let input = json!({
        "call": "rotation", "issuer": farrier.url, "audience": "a", "samples": samples,
        "window_secs": 16 * 3_600,
    });
    let seen = javascript(&job, input).await;
    assert_eq!(seen, json!({ "keys": 3, "verified": 30 * 5 - 6 }));
}

#[tokio::test]
async fn claims_describe_the_job_under_the_names_of_github() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let body = json!({
        "repo": "admin/r", "branch": "refs/tags/v1", "sha": "0123456789abcdef0123456789abcdef01234567",
        "workflow": "release.yml",
    });
    let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await.json();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let env = started["env"].as_object().expect("an environment");
    let job = Job {
        run_id: started["run_id"].as_i64().expect("an integer"),
        job_id: started["job_id"].as_i64().expect("an integer"),
        token: text(&started["token"]),
        env: env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
    };
    let answer = request(&farrier, &job, "").await;
    assert_eq!((answer.status, answer.header("cache-control"), answer.header("etag")), (200, "no-store", ""));
    let [header, mut claims] = decoded(answer.json()["value"].as_str().expect("a token"));
    let keys = public_keys(&farrier).await;
    let ids: Vec<&Value> = keys["keys"].as_array().expect("a list").iter().map(|key| &key["kid"]).collect();
    assert!(header["alg"] == "RS256" && header["typ"] == "JWT" && ids.contains(&&header["kid"]), "{header}");
    assert_eq!(claims["jti"].as_str().map(str::len), Some(36));
    for name in ["jti", "repository_id", "repository_owner_id", "actor_id", "run_id", "check_run_id"] {
        let value = claims.as_object_mut().expect("claims").remove(name).expect(name);
        assert!(value.is_string(), "{name}: {value}");
    }
    let at = NOW / 1_000;
    let workflow = "admin/r/release.yml@refs/tags/v1";
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let expected = json!({
        "iss": farrier.url, "aud": format!("{}/admin", farrier.url), "sub": "repo:admin/r:ref:refs/tags/v1",
        "iat": at, "nbf": at - 600, "exp": at + 300, "ref": "refs/tags/v1", "ref_type": "tag", "ref_protected": "false",
        "sha": sha, "repository": "admin/r", "repository_owner": "admin", "repository_visibility": "public",
        "actor": "admin", "workflow": "release.yml", "workflow_ref": workflow, "workflow_sha": sha,
        "job_workflow_ref": workflow, "job_workflow_sha": sha, "event_name": "workflow_dispatch", "head_ref": "",
        "base_ref": "", "run_number": "1", "run_attempt": "1", "runner_environment": "self-hosted",
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn id_tokens_say_whether_a_rule_protects_the_branch() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let is_protected = async |branch: &str| {
        let job = farrier.begin_on("r", branch).await;
        let answer = request(&farrier, &job, "").await;
        let [_, claims] = decoded(answer.json()["value"].as_str().expect("a token"));
        claims["ref_protected"].as_str().expect("text").to_owned()
    };
    assert_eq!(is_protected("main").await, "false");
    let rules = "/api/v1/repos/admin/r/branch_protections";
    for name in ["main", "release/*"] {
        assert_eq!(farrier.admin(Method::POST, rules, json!({ "rule_name": name })).await.status, 201);
    }
    let tag = json!({ "name_pattern": "*", "whitelist_usernames": ["admin"] });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/repos/admin/r/tag_protections", tag).await.status, 201);
    for (branch, expected) in [
        ("", "true"),
        ("main", "true"),
        ("refs/heads/main", "true"),
        ("release/1", "true"),
        ("feature", "false"),
        ("release", "false"),
        ("refs/tags/main", "false"),
        ("refs/notes/main", "false"),
    ] {
        assert_eq!(is_protected(branch).await, expected, "{branch}");
    }
    assert_eq!(farrier.admin(Method::DELETE, &format!("{rules}/main"), Value::Null).await.status, 204);
    assert_eq!(is_protected("main").await, "false");
}

#[tokio::test]
async fn only_the_token_of_a_job_in_progress_gets_an_id_token() {
    let farrier = TestDaemon::with(|config| config.auth.require_sign_in = true).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let other = farrier.begin("r", None).await;
    let path = farrier.path_of(variable(&job, "ACTIONS_ID_TOKEN_REQUEST_URL"));
    let status = async |authorization: &str| {
        send(&farrier.tcp(), Method::GET, &path, &[("authorization", authorization)], "").await.status
    };
    assert_eq!(status(&format!("Bearer {}", job.token)).await, 200);
    assert_eq!(status(&format!("Bearer {}", other.token)).await, 403);
    for bad in [String::new(), "Bearer x".into(), format!("Bearer {}x", job.token)] {
        assert_eq!(status(&bad).await, 401, "{bad}");
    }
    for audience in ["%00", &"a".repeat(1_025)] {
        assert_eq!(request(&farrier, &job, &format!("&audience={audience}")).await.status, 422);
    }
    farrier.end(&job).await;
    assert_eq!(status(&format!("Bearer {}", job.token)).await, 401);
    // Services verify tokens without credentials.
    for path in ["/.well-known/openid-configuration", "/.well-known/jwks"] {
        assert_eq!(send(&farrier.tcp(), Method::GET, path, &[], "").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn simultaneous_first_requests_create_one_key_of_each_algorithm() {
    let farrier = TestDaemon::start().await;
    let all = futures_util::future::join_all((0..8).map(|_| public_keys(&farrier))).await;
    assert_eq!(all[0]["keys"].as_array().map(Vec::len), Some(2));
    assert!(all.iter().all(|keys| *keys == all[0]), "{all:?}");
    for key in all[0]["keys"].as_array().expect("a list") {
        let mut names: Vec<&String> = key.as_object().expect("a key").keys().collect();
        names.sort();
        let expected: &[&str] = if key["kty"] == "RSA" {
            &["alg", "e", "kid", "kty", "n", "use"]
        } else {
            &["alg", "crv", "kid", "kty", "use", "x", "y"]
        };
        assert_eq!(names, expected);
    }
}
