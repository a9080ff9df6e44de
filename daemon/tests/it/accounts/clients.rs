//! Clients of the family, unmodified, manage people.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use super::world::World;
use crate::support::{
    client::{home, installed, required},
    process::{command, output},
};

/// gitea-js.
#[tokio::test]
async fn gitea_js_manages_people() {
    if !installed().await {
        return;
    }
    let mut node = command("node");
    node.arg("accounts.mjs").current_dir(home());
    let (world, seen) = run(node).await;
    assert_eq!((&seen["me"], &seen["user"]["login"]), (&"boss".into(), &"js-user".into()));
    assert_eq!((&seen["edited"], &seen["found"]), (&"J. S.".into(), &json!(["js-user"])));
    assert_eq!((&seen["org"]["visibility"], &seen["orgs"]), (&"private".into(), &json!(["js-org"])));
    assert_eq!((&seen["members"], &seen["isMember"], &seen["taken"]), (&json!(["js-user"]), &json!(204), &json!(422)));
    assert_eq!(seen["token"]["sha1"].as_str().expect("text").len(), 40);
    assert_eq!((&seen["tokens"], &seen["untoken"]), (&json!(["ci"]), &json!(204)));
    assert_eq!((&seen["renamed"], &seen["moved"]), (&json!(204), &"js-two".into()));
    assert_eq!((&seen["unorg"], &seen["deleted"], &seen["gone"]), (&json!(204), &json!(204), &json!(404)));
    assert!(seen["licenses"].as_array().expect("a list").contains(&"MIT".into()));
    assert_eq!(world.get("", "/users/js-user").await.0, 404);
}

/// pyforgejo, which checks every answer against its types.
#[tokio::test]
async fn pyforgejo_manages_people() {
    let python = match python().await {
        Ok(python) => python,
        Err(reason) => return assert!(!required(&reason), "{reason}"),
    };
    let mut script = command(python);
    script.arg("accounts.py").current_dir(home());
    let (_world, seen) = run(script).await;
    assert_eq!(seen["user"], json!({ "login": "py-user", "created": true, "active": true }));
    assert_eq!((&seen["edited"], &seen["found"]), (&json!(["P. Y.", "limited"]), &json!(["py-user"])));
    assert_eq!(seen["org"], json!({ "name": "py-org", "visibility": "public", "description": "a" }));
    assert_eq!((&seen["edited_org"], &seen["orgs"]), (&"a".into(), &json!(["py-org"])));
    assert_eq!((&seen["teams"], &seen["permissions"], &seen["taken"]), (&json!(["Owners"]), &json!(true), &json!(422)));
    assert_eq!(seen["token"], json!({ "length": 40, "scopes": ["write:repository", "read:user"] }));
    assert_eq!((&seen["tokens"], &seen["untoken"]), (&json!([["ci", ""]]), &json!(0)));
    assert_eq!((&seen["renamed"], &seen["moved"]), (&json!(0), &"py-two".into()));
    assert_eq!((&seen["unorg"], &seen["deleted"], &seen["gone"]), (&json!(0), &json!(0), &json!(404)));
    assert_eq!(seen["templates"], true);
}

/// Runs `client` against a new daemon, with its address and an administrator's token.
async fn run(mut client: Command) -> (World, Value) {
    let world = World::new().await;
    world.user_with("boss", json!({ "admin": true })).await;
    let token = world.token("boss", &["all"]).await;
    let done = output({
        client.arg(&world.farrier.url).arg(token);
        client
    });
    let done = done.await.expect("it was there before");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let Some((_, result)) = said.rsplit_once("RESULT ") else {
        panic!("the client broke: {said}\n{}", String::from_utf8_lossy(&done.stderr))
    };
    (world, serde_json::from_str(result).expect("JSON"))
}

/// A Python with the pinned packages, made once.
async fn python() -> Result<PathBuf, String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let (program, stamp) = (place.join("bin/python"), place.join("requirements.txt"));
    let wanted = std::fs::read(home().join("requirements.txt")).expect("a file");
    if std::fs::read(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(program);
    }
    let mut venv = command("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&place);
    step(venv, "there is no python3 with venv").await?;
    let mut pip = command(&program);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"]);
    pip.current_dir(home());
    step(pip, "the Python client cannot be installed").await?;
    std::fs::write(&stamp, wanted).expect("a file");
    Ok(program)
}

async fn step(command: Command, failed: &str) -> Result<(), String> {
    match output(command).await {
        Some(done) if done.status.success() => Ok(()),
        Some(done) => Err(format!("{failed}: {}", String::from_utf8_lossy(&done.stderr))),
        None => Err(failed.to_owned()),
    }
}
