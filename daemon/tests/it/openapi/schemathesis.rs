//! schemathesis, unmodified, asks every operation what its description allows, and what it does not
//! allow: the daemon never fails, and never answers anything that is not described.

use serde_json::json;

use crate::{
    accounts::world::World,
    support::{
        client::{home, python},
        process::{LONG, command, output_within},
    },
};

/// What must hold of every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,response_headers_conformance,unsupported_method";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_as_described() {
    let Some(programs) = python().await else { return };
    let world = world().await;
    let token = world.token("admin", &["all"]).await;
    let mut asking = command(programs.join("schemathesis"));
    asking.arg("--config-file").arg(home().join("schemathesis.toml"));
    asking.arg("run").arg(format!("{}/openapi.json", world.farrier.url));
    asking.args(["--header", &format!("Authorization: token {token}"), "--checks", CHECKS]);
    asking.args(["--phases", "coverage,fuzzing", "--mode", "all", "--max-examples", "3", "--seed", "1"]);
    asking.args(["--generation-database", "none", "--continue-on-failure", "--no-color", "--warnings", "off"]);
    // This one ends the token that the others are asked with.
    asking.args(["--exclude-operation-id", "userDeleteCurrentToken"]);
    // A stream does not end.
    asking.args(["--exclude-operation-id", "farrierListEvents"]);
    asking.current_dir(world.farrier.scratch());
    let done = output_within(LONG, asking).await.expect("it is installed");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("Tested: "), "nothing was asked: {said}");
}

/// A daemon with the things that `schemathesis.toml` names.
async fn world() -> World {
    let world = World::new().await;
    for name in ["octo", "helper"] {
        world.user(name).await;
    }
    for name in ["acme", "workshop"] {
        let made = world.admin("post", "/admin/users/octo/orgs", json!({ "username": name }), 201).await;
        assert!(name != "acme" || made["id"] == 4, "the team's number is another one: {made}");
    }
    for name in ["demo", "scratch"] {
        let body = json!({ "name": name, "auto_init": true, "gitignores": "Rust", "license": "MIT" });
        world.admin("post", "/admin/users/octo/repos", body, 201).await;
    }
    world.admin("post", "/repos/octo/demo/branches", json!({ "new_branch_name": "side" }), 201).await;
    for body in [json!({ "tag_name": "v1" }), json!({ "tag_name": "v2", "message": "two" })] {
        world.admin("post", "/repos/octo/demo/tags", body, 201).await;
    }
    let begun = world.farrier.admin(http::Method::POST, "/api/farrier/v1/jobs", json!({ "repo": "octo/demo" })).await;
    let begun = begun.json();
    assert_eq!((&begun["run_id"], &begun["job_id"]), (&json!(1), &json!(1)));
    let job = crate::support::Job {
        run_id: 1,
        job_id: 1,
        token: begun["token"].as_str().expect("text").to_owned(),
        env: Vec::new(),
    };
    assert_eq!(world.farrier.upload(&job, "log", b"x").await, 1);
    world
}
