//! Rules with unmodified third-party clients.

use serde_json::{Value, json};
use tokio::process::Command;

use super::Scene;
use crate::support::{
    client::{home, installed, python},
    process::{command, output},
};

/// Runs a script with the base URL and a token of `ann`. Returns the results that it prints.
async fn run(scene: &Scene, mut program: Command) -> Value {
    program.args([&scene.world.farrier.url, &scene.ann]);
    let done = output(program).await.expect("the program runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let line = text.lines().find_map(|line| line.strip_prefix("RESULT ")).expect("a result");
    serde_json::from_str(line).expect("JSON")
}

fn expected() -> Value {
    json!({
        "created": ["release/*", true, ["bob"]], "listed": ["release/*"], "found": "release/*",
        "edited": [[], true], "again": 403, "deleted": 204, "gone": 404,
        "tag": ["v*", ["ann"]], "tags": ["v*"], "tagEdited": [], "untag": 204,
    })
}

#[tokio::test]
async fn gitea_js_manages_rules() {
    if !installed().await {
        return;
    }
    let scene = Scene::new().await;
    let mut node = command("node");
    node.arg("rules.mjs").current_dir(home());
    assert_eq!(run(&scene, node).await, expected());
}

/// The client validates every response against its types.
#[tokio::test]
async fn pyforgejo_manages_rules() {
    let Some(python) = python().await else { return };
    let scene = Scene::new().await;
    let mut script = command(python.join("python"));
    script.arg("rules.py").current_dir(home());
    assert_eq!(run(&scene, script).await, expected());
}
