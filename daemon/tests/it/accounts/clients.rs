//! Account management with unmodified third-party clients.

use serde_json::{Value, json};
use tokio::process::Command;

use super::world::World;
use crate::support::{
    client::{home, installed, python},
    process::{command, output},
};

/// The client is gitea-js.
#[tokio::test]
async fn gitea_js_manages_users_organizations_and_tokens() {
    if !installed().await {
        return;
    }
    let mut node = command("node");
    node.arg("accounts.mjs").current_dir(home());
    let (world, results) = run(node).await;
    assert_eq!((&results["me"], &results["user"]["login"]), (&"boss".into(), &"js-user".into()));
    assert_eq!((&results["edited"], &results["found"]), (&"J. S.".into(), &json!(["js-user"])));
    assert_eq!((&results["org"]["visibility"], &results["orgs"]), (&"private".into(), &json!(["js-org"])));
    assert_eq!(
        (&results["members"], &results["isMember"], &results["taken"]),
        (&json!(["js-user"]), &json!(204), &json!(422))
    );
    assert_eq!(results["token"]["sha1"].as_str().expect("text").len(), 40);
    assert_eq!((&results["tokens"], &results["untoken"]), (&json!(["ci"]), &json!(204)));
    assert_eq!((&results["key"], &results["keys"]), (&json!(["js", "user", "boss", true]), &json!(["js"])));
    assert_eq!((&results["unkey"], &results["untheirs"]), (&json!(204), &json!(204)));
    assert_eq!((&results["deploy"], &results["deploys"]), (&json!(["ci", true]), &json!(["js-repo"])));
    assert_eq!(results["undeploy"], 204);
    assert_eq!((&results["renamed"], &results["moved"]), (&json!(204), &"js-two".into()));
    assert_eq!((&results["unorg"], &results["deleted"], &results["gone"]), (&json!(204), &json!(204), &json!(404)));
    assert!(results["licenses"].as_array().expect("a list").contains(&"MIT".into()));
    assert_eq!(world.get("", "/users/js-user").await.0, 404);
}

/// The client is pyforgejo, which validates every response against its types.
#[tokio::test]
async fn pyforgejo_manages_users_organizations_and_tokens() {
    let Some(python) = python().await else { return };
    let mut script = command(python.join("python"));
    script.arg("accounts.py").current_dir(home());
    let (_world, results) = run(script).await;
    assert_eq!(results["user"], json!({ "login": "py-user", "created": true, "active": true }));
    assert_eq!((&results["edited"], &results["found"]), (&json!(["P. Y.", "limited"]), &json!(["py-user"])));
    assert_eq!(results["org"], json!({ "name": "py-org", "visibility": "public", "description": "a" }));
    assert_eq!((&results["edited_org"], &results["orgs"]), (&"a".into(), &json!(["py-org"])));
    assert_eq!(
        (&results["teams"], &results["permissions"], &results["taken"]),
        (&json!(["Owners"]), &json!(true), &json!(422))
    );
    assert_eq!(results["token"], json!({ "length": 40, "scopes": ["write:repository", "read:user"] }));
    assert_eq!((&results["tokens"], &results["untoken"]), (&json!([["ci", ""]]), &json!(0)));
    assert_eq!((&results["key"], &results["keys"]), (&json!(["py", "user", "boss", true]), &json!(["py"])));
    assert_eq!((&results["deploy"], &results["deploys"]), (&json!(["ci", true]), &json!(["py-repo"])));
    assert_eq!((&results["unkey"], &results["undeploy"]), (&json!(0), &json!(0)));
    assert_eq!((&results["renamed"], &results["moved"]), (&json!(0), &"py-two".into()));
    assert_eq!((&results["unorg"], &results["deleted"], &results["gone"]), (&json!(0), &json!(0), &json!(404)));
    assert_eq!(results["templates"], true);
}

/// Runs `client` against a new daemon. Its arguments are the daemon's address and an administrator's token.
async fn run(mut client: Command) -> (World, Value) {
    let world = World::new().await;
    world.user_with("boss", json!({ "admin": true })).await;
    let token = world.token("boss", &["all"]).await;
    let output = output({
        client.arg(&world.farrier.url).arg(token);
        client
    });
    let output = output.await.expect("the client is installed");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, result)) = stdout.rsplit_once("RESULT ") else {
        panic!("the client broke: {stdout}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    (world, serde_json::from_str(result).expect("JSON"))
}
