//! Rules that protect branches and tags decide about pushes over SSH.

use http::Method;
use serde_json::json;

use super::{SshClient, add_deploy_key, demo};
use crate::support::{TestDaemon, git::noise};

async fn rule(farrier: &TestDaemon, fields: serde_json::Value) {
    let added = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/branch_protections", fields).await;
    assert_eq!(added.status, 201, "{}", added.text());
}

fn url(client: &SshClient) -> String {
    client.url("admin/demo")
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_pushes_over_ssh_name_the_reason_and_allowed_ones_arrive() {
    let (farrier, client) = demo().await;
    let work = client.work(&farrier, "work", "admin");
    work.commit("a", "1");
    work.done(&["push", "-q", &url(&client), "main"]);
    rule(&farrier, json!({ "rule_name": "main", "enable_push": true, "protected_file_patterns": "lock" })).await;
    rule(&farrier, json!({ "rule_name": "closed", "enable_push": false })).await;
    let refused = work.refused(&["push", &url(&client), "main:closed", "main:free"]);
    assert!(refused.contains("branch closed is protected: nobody may push to it"), "{refused}");
    assert!(refused.contains("another ref of this push was refused"), "{refused}");
    work.commit("large", noise(3 << 20));
    work.done(&["push", "-q", &url(&client), "main"]);
    work.commit("lock", "1");
    let refused = work.refused(&["push", &url(&client), "main", "main:free"]);
    assert!(refused.contains("branch main is protected: the file lock may not be changed"), "{refused}");
    assert!(refused.contains("another ref of this push was refused"), "{refused}");
    work.done(&["reset", "-q", "--hard", "HEAD~2"]);
    work.commit("b", "1");
    let refused = work.refused(&["push", "-f", &url(&client), "main"]);
    assert!(refused.contains("force pushes are not allowed"), "{refused}");
    work.done(&["push", "-q", &url(&client), "main:free"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_key_pushes_to_a_protected_branch_only_if_the_rule_lists_deploy_keys() {
    let (farrier, client) = demo().await;
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    add_deploy_key(&farrier, "demo", &key, false).await;
    // The account that added the key is listed. That does not make the key listed.
    let list = json!({
        "rule_name": "main", "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": ["admin"],
    });
    rule(&farrier, list).await;
    let work = client.work(&farrier, "work", "deploy");
    work.commit("a", "1");
    let refused = work.refused(&["push", &url(&client), "main"]);
    assert!(refused.contains("only listed users, teams and deploy keys"), "{refused}");
    let path = "/api/v1/repos/admin/demo/branch_protections/main";
    let edited = farrier.admin(Method::PATCH, path, json!({ "push_whitelist_deploy_keys": true })).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    work.done(&["push", "-q", &url(&client), "main"]);
}
