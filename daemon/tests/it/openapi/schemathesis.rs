//! The API is tested with schemathesis, which sends requests that the description allows and others that it does not
//! allow. The description must allow every response.

use serde_json::json;

use crate::{
    accounts::world::World,
    support::{
        client::{home, python},
        process::{LONG, command, output_within},
    },
};

/// Checks for every response.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,response_headers_conformance,unsupported_method";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_matches_the_description() {
    let Some(programs) = python().await else { return };
    let world = world().await;
    let token = world.token("admin", &["all"]).await;
    let mut schemathesis = command(programs.join("schemathesis"));
    schemathesis.arg("--config-file").arg(home().join("schemathesis.toml"));
    schemathesis.arg("run").arg(format!("{}/openapi.json", world.farrier.url));
    schemathesis.args(["--header", &format!("Authorization: token {token}"), "--checks", CHECKS]);
    schemathesis.args(["--phases", "coverage,fuzzing", "--mode", "all", "--max-examples", "3", "--seed", "1"]);
    schemathesis.args(["--generation-database", "none", "--continue-on-failure", "--no-color", "--warnings", "off"]);
    // This operation would delete the token that the other requests use.
    schemathesis.args(["--exclude-operation-id", "userDeleteCurrentToken"]);
    // This response is a stream that does not end.
    schemathesis.args(["--exclude-operation-id", "farrierListEvents"]);
    schemathesis.current_dir(world.farrier.scratch());
    let output = output_within(LONG, schemathesis).await.expect("schemathesis is installed");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("Tested: "), "no request was sent: {stdout}");
}

/// A daemon with the objects that `schemathesis.toml` refers to.
async fn world() -> World {
    let world = World::new().await;
    for name in ["octo", "helper"] {
        world.user(name).await;
    }
    for name in ["acme", "workshop"] {
        let created = world.admin("post", "/admin/users/octo/orgs", json!({ "username": name }), 201).await;
        assert!(name != "acme" || created["id"] == 4, "the id of the organization differs: {created}");
    }
    for name in ["demo", "scratch"] {
        let body = json!({ "name": name, "auto_init": true, "gitignores": "Rust", "license": "MIT" });
        world.admin("post", "/admin/users/octo/repos", body, 201).await;
    }
    world.admin("post", "/repos/octo/demo/branches", json!({ "new_branch_name": "side" }), 201).await;
    for body in [json!({ "tag_name": "v1" }), json!({ "tag_name": "v2", "message": "two" })] {
        world.admin("post", "/repos/octo/demo/tags", body, 201).await;
    }
    let started = world.farrier.admin(http::Method::POST, "/api/farrier/v1/jobs", json!({ "repo": "octo/demo" })).await;
    let started = started.json();
    assert_eq!((&started["run_id"], &started["job_id"]), (&json!(1), &json!(1)));
    let job = crate::support::Job {
        run_id: 1,
        job_id: 1,
        token: started["token"].as_str().expect("text").to_owned(),
        env: Vec::new(),
    };
    assert_eq!(world.farrier.upload(&job, "log", b"x").await, 1);
    world
}
