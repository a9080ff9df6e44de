//! A bundle never has what its repository does not have any more, and no client gets a bundle of a hidden repository.

use http::Method;
use serde_json::{Value, json};

use super::{daemon, prepared, stored};
use crate::support::{eventually, git::Client};

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_a_private_repository_is_refused_to_everyone_who_may_not_read_it() {
    let (farrier, _) = daemon().await;
    let public = prepared(&farrier, "").await;
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": true })).await;
    assert_eq!(private.status, 200, "{private:?}");
    let owner = farrier.token("admin", &["read:repository"]).await;
    assert_eq!(farrier.bundle_at("", &public).await.status, 401);
    assert_eq!(farrier.bundle_at(&owner, &public).await.status, 404, "the change dropped it");
    eventually("the file is removed", async || farrier.bundle_files().is_empty()).await;

    let address = prepared(&farrier, &owner).await;
    assert_eq!(farrier.bundle_at(&owner, &address).await.status, 200);
    farrier.user("eve").await;
    let eve = farrier.token("eve", &["read:repository"]).await;
    let without_scope = farrier.token("admin", &["read:user"]).await;
    let missing = address.replace("demo", "absent");
    for (token, status) in [("", 401), (eve.as_str(), 404), (without_scope.as_str(), 403)] {
        let refused = farrier.bundle_at(token, &address).await;
        assert_eq!(refused.status, status, "{refused:?}");
        assert_eq!(refused.text(), farrier.bundle_at(token, &missing).await.text(), "as for a missing repository");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_a_deleted_branch_is_in_no_bundle_afterwards() {
    let (farrier, work) = daemon().await;
    work.done(&["checkout", "-q", "-b", "side"]);
    let secret = work.commit("secret", "password");
    work.done(&["push", "-q", "origin", "side"]);
    let address = prepared(&farrier, "").await;
    let copies = Client::at(farrier.scratch().join("copies"));
    let before = stored(&farrier, "before.bundle", &farrier.bundle_at("", &address).await);
    copies.done(&["clone", "-q", "-b", "main", &before, "before"]);
    copies.below("before").done(&["cat-file", "-e", &secret]);

    work.done(&["push", "-q", "origin", ":side"]);
    assert!(farrier.bundles("").await.is_empty());
    assert_eq!(farrier.bundle_at("", &address).await.status, 404);
    assert!(farrier.bundle_files().is_empty(), "{:?}", farrier.bundle_files());
    let address = prepared(&farrier, "").await;
    let after = stored(&farrier, "after.bundle", &farrier.bundle_at("", &address).await);
    copies.done(&["clone", "-q", "-b", "main", &after, "after"]);
    copies.below("after").refused(&["cat-file", "-e", &secret]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_of_a_ref_or_commit_drops_the_bundles() {
    let (farrier, work) = daemon().await;
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    work.done(&["push", "-q", "origin", "HEAD:refs/heads/a", "HEAD:refs/heads/b", "HEAD:refs/tags/v2"]);
    work.done(&["push", "-q", "origin", "HEAD:refs/tags/v3"]);
    for step in ["forced push", "deleted tag", "moved tag", "API", "git in the directory"] {
        let lost = work.commit("a", step);
        work.done(&["push", "-q", "origin", "main"]);
        let address = prepared(&farrier, "").await;
        // A push that loses nothing keeps the bundles.
        work.commit("a", format!("{step}, next"));
        work.done(&["push", "-q", "origin", "main"]);
        assert_eq!(farrier.bundle_at("", &address).await.status, 200, "{step}");
        match step {
            "forced push" => {
                work.done(&["reset", "-q", "--hard", &format!("{lost}~1")]);
                work.commit("a", "other");
                work.done(&["push", "-q", "-f", "origin", "main"]);
            }
            "deleted tag" => drop(work.done(&["push", "-q", "origin", ":refs/tags/v1"])),
            "moved tag" => drop(work.done(&["push", "-q", "-f", "origin", "HEAD:refs/tags/v2"])),
            "API" => {
                let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo/branches/a", Value::Null).await;
                assert_eq!(deleted.status, 204, "{deleted:?}");
            }
            _ => drop(bare.done(&["update-ref", "-d", "refs/heads/b"])),
        }
        // The greeting reads no refs, so the first client that asks for the list finds it empty.
        assert!(farrier.bundles("").await.is_empty(), "{step}");
        assert_eq!(farrier.bundle_at("", &address).await.status, 404, "{step}");
        eventually("the file is removed", async || farrier.bundle_files().is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_or_deleted_repository_and_a_restart_have_no_bundles() {
    let (mut farrier, _) = daemon().await;
    let address = prepared(&farrier, "").await;
    let renamed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "name": "other" })).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    assert_eq!(farrier.bundle_at("", &address).await.status, 307);
    let moved = address.replace("demo", "other");
    assert_eq!(farrier.bundle_at("", &moved).await.status, 404);
    eventually("the file is removed", async || farrier.bundle_files().is_empty()).await;
    let renamed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/other", json!({ "name": "demo" })).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");

    let address = prepared(&farrier, "").await;
    farrier.restart().await;
    assert!(farrier.bundle_files().is_empty() && farrier.bundles("").await.is_empty());
    assert_eq!(farrier.bundle_at("", &address).await.status, 404);

    let address = prepared(&farrier, "").await;
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(farrier.bundle_at("", &address).await.status, 401);
    eventually("the file is removed", async || farrier.bundle_files().is_empty()).await;
}
