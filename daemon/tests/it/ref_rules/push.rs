//! Pushes over HTTP with the real git.

use std::path::PathBuf;

use serde_json::json;

use super::Scene;
use crate::support::{
    git::noise,
    process::{command, output},
};

#[tokio::test(flavor = "multi_thread")]
async fn only_listed_users_push_to_a_protected_branch_and_each_ref_gets_its_reason() {
    let scene = Scene::new().await;
    let list = json!({ "enable_push_whitelist": true, "push_whitelist_usernames": ["bob"] });
    scene.branch_rule("main", list).await;
    let (ann, bob) = (scene.clone(&scene.ann, "ann"), scene.clone(&scene.bob, "bob"));
    bob.commit("a", "1");
    bob.done(&["push", "-q", "origin", "main"]);
    ann.done(&["pull", "-q"]);
    ann.commit("a", "2");
    let before = scene.refs();
    let refused = ann.refused(&["push", "origin", "main", "main:refs/heads/free", "main:refs/tags/v1"]);
    assert!(refused.contains("branch main is protected: only listed users"), "{refused}");
    assert_eq!(refused.matches("another ref of this push was refused").count(), 2, "{refused}");
    assert_eq!(scene.refs(), before, "nothing has changed");
    ann.done(&["push", "-q", "origin", "main:refs/heads/free"]);
    let boss = scene.clone(&scene.boss, "boss");
    boss.commit("b", "1");
    assert!(boss.refused(&["push", "origin", "main"]).contains("only listed users"), "administrators obey rules");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_without_push_is_closed_for_everybody() {
    let scene = Scene::new().await;
    let fields = json!({ "enable_push": false, "push_whitelist_usernames": ["ann"], "enable_push_whitelist": true });
    scene.branch_rule("rel/**", fields).await;
    let ann = scene.clone(&scene.ann, "ann");
    ann.commit("a", "1");
    let refused = ann.refused(&["push", "origin", "main:rel/1/x"]);
    assert!(refused.contains("branch rel/1/x is protected: nobody may push to it"), "{refused}");
    ann.done(&["push", "-q", "origin", "main:rel"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_push_needs_the_right_to_force_and_loses_no_commits_without_it() {
    let scene = Scene::new().await;
    scene.branch_rule("main", json!({})).await;
    let bob = scene.clone(&scene.bob, "bob");
    bob.commit("a", "1");
    bob.done(&["push", "-q", "origin", "main"]);
    bob.done(&["commit", "-q", "--amend", "-m", "other"]);
    let before = scene.refs();
    for options in [&["-f"][..], &["--force-with-lease"], &["-f", "--atomic"]] {
        let refused = bob.refused(&[&["push"], options, &["origin", "main"]].concat());
        assert!(refused.contains("branch main is protected: force pushes are not allowed"), "{refused}");
    }
    let refused = bob.refused(&["push", "-f", "origin", "main", "main:free"]);
    assert!(refused.contains("another ref of this push was refused"), "{refused}");
    assert_eq!(scene.refs(), before);
    let path = format!("{}/main", super::BRANCHES);
    scene.ann("patch", &path, json!({ "enable_force_push": true, "enable_force_push_allowlist": true }), 200).await;
    assert!(bob.refused(&["push", "-f", "origin", "main"]).contains("force pushes"), "the list is empty");
    scene.ann("patch", &path, json!({ "force_push_allowlist_usernames": ["bob"] }), 200).await;
    bob.done(&["push", "-q", "-f", "origin", "main"]);
    assert!(bob.refused(&["push", "origin", ":main"]).contains("main"), "deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_branch_cannot_be_deleted_even_by_those_who_may_force() {
    let scene = Scene::new().await;
    let ann = scene.clone(&scene.ann, "ann");
    ann.done(&["push", "-q", "origin", "main:keep", "main:free"]);
    scene.branch_rule("keep", json!({ "enable_force_push": true })).await;
    let refused = ann.refused(&["push", "origin", ":keep", ":free"]);
    assert!(refused.contains("branch keep is protected: it cannot be deleted"), "{refused}");
    assert!(scene.refs().contains("refs/heads/free"), "the whole push is refused");
    ann.done(&["push", "-q", "origin", ":free"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_changes_a_protected_file_is_refused_with_its_name() {
    let scene = Scene::new().await;
    let files = json!({ "protected_file_patterns": "*.lock;ci/**", "unprotected_file_patterns": "ci/docs/**" });
    scene.branch_rule("**", files).await;
    let bob = scene.clone(&scene.bob, "bob");
    std::fs::create_dir_all(bob.dir().join("ci/docs")).expect("directories");
    bob.commit("ci/docs/a", "free");
    bob.commit("sub.txt", "free");
    bob.done(&["push", "-q", "origin", "main"]);
    let before = scene.refs();
    bob.commit("Cargo.LOCK", "1");
    bob.commit("other", "1");
    let refused = bob.refused(&["push", "origin", "main"]);
    assert!(refused.contains("branch main is protected: the file Cargo.LOCK may not be changed"), "{refused}");
    let refused = bob.refused(&["push", "origin", "main:new"]);
    assert!(refused.contains("branch new is protected: the file Cargo.LOCK"), "a new branch: {refused}");
    assert_eq!(scene.refs(), before);
    // No object of a refused push is in the repository.
    let tip = bob.done(&["rev-parse", "HEAD"]);
    let path = format!("/repos/ann/demo/git/commits/{tip}");
    scene.ann("get", &path, json!(null), 404).await;
    bob.done(&["push", "-q", "origin", "HEAD~2:refs/heads/new"]);
    bob.done(&["reset", "-q", "--hard", "HEAD~2"]);
    bob.commit("large", noise(3 << 20));
    bob.done(&["push", "-q", "origin", "main"]);
    let copy = scene.clone(&scene.eve, "copy");
    copy.done(&["fsck", "--strict"]);
    assert_eq!(copy.done(&["rev-parse", "HEAD"]), bob.done(&["rev-parse", "HEAD"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rule_with_the_lowest_priority_decides() {
    let scene = Scene::new().await;
    let closed = scene.branch_rule("*", json!({ "enable_push": false })).await;
    let open = scene.branch_rule("main", json!({})).await;
    assert_eq!((&closed["priority"], &open["priority"]), (&json!(1), &json!(2)));
    let bob = scene.clone(&scene.bob, "bob");
    bob.commit("a", "1");
    assert!(bob.refused(&["push", "origin", "main"]).contains("nobody may push"));
    let order = json!({ "ids": [open["id"], closed["id"]] });
    scene.ann("post", &format!("{}/priority", super::BRANCHES), order, 204).await;
    bob.done(&["push", "-q", "origin", "main"]);
    assert!(bob.refused(&["push", "origin", "main:other"]).contains("nobody may push"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_requires_signed_commits_accepts_only_verified_ones() {
    let scene = Scene::new().await;
    let rule = scene.branch_rule("main", json!({ "require_signed_commits": true })).await;
    assert!(rule["warning"].as_str().expect("a warning").contains("does not sign"), "{rule}");
    let bob = scene.clone(&scene.bob, "bob");
    let before = scene.refs();
    let tip = bob.commit("a", "1");
    let refused = bob.refused(&["push", "origin", "main"]);
    assert!(refused.contains(&format!("must be signed, and commit {} is not", &tip[..12])), "{refused}");
    bob.done(&["push", "-q", "origin", "main:free"]);
    let Some(key) = signing_key(&scene, "key").await else { return };
    let sign = |args: &[&str]| {
        let key = format!("user.signingkey={}", key.display());
        bob.done(&[&["-c", "gpg.format=ssh", "-c", key.as_str()], args].concat())
    };
    sign(&["commit", "-q", "-S", "--amend", "--no-edit"]);
    let refused = bob.refused(&["push", "origin", "main"]);
    assert!(refused.contains("must be signed with a key of the account"), "nobody has the key: {refused}");
    assert_eq!(scene.refs().lines().filter(|line| !line.contains("free")).collect::<Vec<_>>().join("\n"), before);

    // The committer of these commits.
    scene.world.user_with("signer", json!({ "email": "a@example.com" })).await;
    let signer = scene.world.token("signer", &["all"]).await;
    let text = std::fs::read_to_string(key.with_extension("pub")).expect("a public key");
    scene.expect(&signer, "post", "/user/keys", json!({ "title": "laptop", "key": text }), 201).await;
    bob.done(&["push", "-q", "origin", "main"]);
    sign(&["commit", "-q", "-S", "--allow-empty", "-m", "first"]);
    let unsigned = bob.commit("b", "1");
    sign(&["commit", "-q", "-S", "--allow-empty", "-m", "last"]);
    let refused = bob.refused(&["push", "origin", "main"]);
    assert!(refused.contains(&format!("commit {} is not", &unsigned[..12])), "one in the middle: {refused}");
    let file = json!({ "content": "", "message": "by the server" });
    let refused = scene.expect(&scene.bob, "post", "/repos/ann/demo/contents/c", file, 403).await;
    assert!(refused["message"].as_str().expect("text").contains("must be signed"), "{refused}");
}

/// Makes an SSH key. `None` if ssh-keygen is not installed.
async fn signing_key(scene: &Scene, name: &str) -> Option<PathBuf> {
    let file = scene.world.farrier.scratch().join(name);
    let mut program = command("ssh-keygen");
    program.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file.to_str().expect("a path")]);
    output(program).await.map(|_| file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_tag_is_created_moved_and_deleted_only_by_listed_users() {
    let scene = Scene::new().await;
    scene.tag_rule("v*", json!(["ann"])).await;
    scene.tag_rule("/^[0-9]+$/", json!(["bob"])).await;
    let (ann, bob) = (scene.clone(&scene.ann, "ann"), scene.clone(&scene.bob, "bob"));
    let refused = bob.refused(&["push", "origin", "main:refs/tags/v1/rc", "main:refs/tags/7"]);
    assert!(refused.contains("tag v1/rc is protected by the rule v*"), "{refused}");
    bob.done(&["push", "-q", "origin", "main:refs/tags/7", "main:refs/tags/free"]);
    ann.done(&["push", "-q", "origin", "main:refs/tags/v1"]);
    bob.commit("a", "1");
    for push in [&["-f", "origin", "main:refs/tags/v1"][..], &["origin", ":refs/tags/v1"]] {
        assert!(bob.refused(&[&["push"], push].concat()).contains("tag v1 is protected"));
    }
    ann.done(&["push", "-q", "origin", ":refs/tags/v1"]);
    let ids = scene.ann("get", super::TAGS, json!(null), 200).await;
    let path = format!("{}/{}", super::TAGS, ids[0]["id"]);
    scene.ann("patch", &path, json!({ "whitelist_usernames": [] }), 200).await;
    assert!(ann.refused(&["push", "origin", "main:refs/tags/v2"]).contains("tag v2 is protected"), "nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_push_to_a_checked_branch_is_recorded() {
    let scene = Scene::new().await;
    scene.branch_rule("main", json!({ "protected_file_patterns": "x" })).await;
    let bob = scene.clone(&scene.bob, "bob");
    bob.commit("a", "1");
    bob.done(&["push", "-q", "-o", "a=b", "origin", "main"]);
    let tip = bob.done(&["rev-parse", "HEAD"]);
    let branch = scene.ann("get", "/repos/ann/demo/branches/main", json!(null), 200).await;
    assert_eq!(branch["commit"]["id"], tip);
    // A push without new objects.
    bob.done(&["push", "-q", "origin", "main:copy"]);
    bob.done(&["push", "-q", "origin", "main~1:refs/heads/back"]);
    bob.done(&["push", "-q", "origin", "main:back"]);
}
