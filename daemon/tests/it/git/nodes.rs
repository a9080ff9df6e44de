//! Two daemons with one store and one bucket, each with its own directories: what one of them changes is what the other
//! one serves.

use std::{fs, time::SystemTime};

use farrierd::{blob::S3Blobs, copies::Copies, git::Git, tasks};
use http::Method;
use serde_json::{Value, json};

use super::{
    commands_of_push::pack_of,
    prune::{SlowPush, force_pushed},
    two_nodes::Nodes,
};
use crate::support::{TestDaemon, eventually, git::Client, send};

const DAY_MS: i64 = 86_400_000;
/// Pushes after which the packs of a repository are combined.
const PUSHES: usize = 21;
const HELLO: &str = "sha256:a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447";

#[tokio::test(flavor = "multi_thread")]
async fn each_push_is_served_by_the_other_node_at_once_also_thin_packs_and_changes_through_the_api() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    let changes = ["push", "push", "api", "push", "branch", "tag", "delete", "default", "push", "api"];
    for (number, change) in changes.into_iter().enumerate() {
        let (farrier, other) =
            if number % 2 == 0 { (&nodes.first, &nodes.second) } else { (&nodes.second, &nodes.first) };
        let remote = nodes.remote(farrier, "demo");
        let asks = async |method, path: &str, body: Value| {
            let answer = farrier.admin(method, &format!("/api/v1/repos/admin/demo{path}"), body).await;
            assert!(answer.status < 300, "{change}: {answer:?}");
        };
        match change {
            "push" => {
                // A line of a large file: the client sends it as a delta against what the other node has.
                let lines: Vec<String> = (0..2_000).map(|line| format!("{line} {}\n", line * 7919 % 1_000)).collect();
                work.commit("a", lines.concat() + &number.to_string());
                work.done(&["push", "-q", &remote, "HEAD:main"]);
            }
            "api" => {
                let file = json!({ "content": "YQo=", "message": "a file", "branch": "main" });
                asks(Method::POST, &format!("/contents/b{number}"), file).await;
                work.done(&["pull", "-q", "--ff-only", &nodes.remote(other, "demo"), "main"]);
            }
            "branch" => {
                asks(Method::POST, "/branches", json!({ "new_branch_name": "side", "old_ref_name": "main" })).await;
            }
            "tag" => work.done(&["push", "-q", &remote, "HEAD:refs/tags/v1"]).clear(),
            "delete" => work.done(&["push", "-q", &remote, ":refs/tags/v1"]).clear(),
            _ => asks(Method::PATCH, "", json!({ "default_branch": "side" })).await,
        }
        let tip = work.done(&["rev-parse", "HEAD"]);
        let listed = work.done(&["ls-remote", &nodes.remote(other, "demo"), "refs/heads/main"]);
        assert_eq!(listed, format!("{tip}\trefs/heads/main"), "{change}");
        assert_eq!(other.commit_status("demo", &tip).await, 200, "{change}");
    }
    let head = work.done(&["ls-remote", "--symref", &nodes.remote(&nodes.first, "demo"), "HEAD"]);
    assert!(head.starts_with("ref: refs/heads/side\t"), "{head}");
    nodes.verify(1, "demo", &work);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_six_pushes_to_one_ref_through_two_nodes_one_succeeds_and_six_refs_get_all() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &nodes.remote(&nodes.first, "demo"), "main"]);
    let push_all = async |branch: &(dyn Fn(usize) -> String + Sync)| {
        let mut pushes = Vec::new();
        for number in 0..6 {
            let farrier = nodes.both()[number % 2];
            let (remote, branch) = (nodes.remote(farrier, "demo"), branch(number));
            let pusher = Client::at(work.dir().with_file_name(format!("pusher-{number}-{branch}").replace('/', "-")));
            work.done(&["clone", "-q", &remote, &pusher.dir().display().to_string()]);
            pushes.push((pusher, remote, branch, number));
        }
        let pushes = pushes.into_iter().map(|(pusher, remote, branch, number)| {
            pusher.commit(&format!("file{number}"), &branch);
            tasks::blocking(move || pusher.run(&["push", "-q", &remote, &format!("HEAD:{branch}")]).ok)
        });
        futures_util::future::join_all(pushes).await.into_iter().filter(|ok| *ok).count()
    };
    assert_eq!(push_all(&|_| "refs/heads/main".to_owned()).await, 1);
    assert_eq!(push_all(&|number| format!("refs/heads/b{number}")).await, 6);
    nodes.verify(1, "demo", &work);
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_that_one_node_combines_are_replaced_on_the_other_one_and_never_recorded_again() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    let push = |farrier: &TestDaemon, content: usize| {
        work.commit("a", content.to_string());
        work.done(&["push", "-q", &nodes.remote(farrier, "demo"), "main"]);
    };
    push(&nodes.first, 0);
    nodes.verify(1, "demo", &work);
    let old = nodes.manifest(1).await;
    for number in 1..PUSHES {
        push(&nodes.first, number);
    }
    eventually("the packs are combined", async || nodes.manifest(1).await.len() < PUSHES / 2).await;
    // Their rows are forgotten, but the second node still has a file.
    nodes.first.clock.advance_ms(DAY_MS);
    let forgotten = async || {
        let read = nodes.store.read().await.expect("a snapshot");
        farrierd::store::dropped_packs::all(&read, 1).await.expect("rows").is_empty()
    };
    eventually("the replaced packs are removed", forgotten).await;
    let has = |end: &str| {
        old.iter().any(|name| nodes.second.bare(1).dir().join(format!("objects/pack/{name}.{end}")).exists())
    };
    assert!(has("idx"), "the second node was not used since");
    push(&nodes.second, PUSHES);
    assert!(!has("idx") && has("pack"), "hidden, and readable for processes that began before");
    let named = nodes.manifest(1).await;
    assert!(old.iter().all(|name| !named.contains(name)), "not recorded again: {named:?}");
    nodes.verify(1, "demo", &work);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_pruning_no_node_accepts_what_only_its_old_packs_have() {
    let Some(nodes) = Nodes::start().await else { return };
    let (first, second) = (&nodes.first, &nodes.second);
    let [_, lost, tip] = force_pushed(first, &nodes.token, "demo").await;
    assert_eq!(second.commit_status("demo", &lost).await, 200, "the second node has all packs");
    nodes.advance(DAY_MS).await;
    eventually("the unreachable objects are recorded", async || first.has_cruft_pack(1)).await;
    assert_eq!(second.commit_status("demo", &lost).await, 200);
    let work = Client::at(first.scratch().join("work-demo"));
    let tip_on = |base: &str, file: &str| {
        work.done(&["checkout", "-q", "-B", "new", base]);
        let tip = work.commit(file, file);
        let pack = pack_of(&work, &tip, Some(base));
        (tip, pack)
    };
    let (complete, complete_pack) = tip_on(&tip, "complete");
    let (incomplete, incomplete_pack) = tip_on(&lost, "incomplete");
    let [kept, refused] = ["refs/heads/kept", "refs/heads/refused"];
    let first_push = SlowPush::begin(second, &nodes.token, (kept, &complete), &complete_pack, 1).await;
    let second_push = SlowPush::begin(second, &nodes.token, (refused, &incomplete), &incomplete_pack, 2).await;
    nodes.advance(30 * DAY_MS + 1_000).await;
    eventually("the commit is removed on the first node", async || {
        nodes.epoch(1).await == 4 && !first.has_object(1, &lost)
    })
    .await;
    assert!(second.has_object(1, &lost), "the second node has its packs still");
    let report = second_push.finish().await;
    assert!(report.contains(&format!("ng {refused} ")), "{report}");
    let report = first_push.finish().await;
    assert!(report.contains("unpack ok\n") && report.contains(&format!("ok {kept}\n")), "{report}");
    assert!(!second.has_object(1, &lost) && !second.has_object(1, &incomplete));
    let body = json!({ "new_branch_name": "back", "old_ref_name": lost });
    let created = second.admin(Method::POST, "/api/v1/repos/admin/demo/branches", body).await;
    assert_eq!(created.status, 404, "{created:?}");
    assert_eq!(second.commit_status("demo", &lost).await, 404);
    nodes.verify(1, "demo", &work);
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_through_one_node_lose_nothing_while_another_one_prunes() {
    let Some(nodes) = Nodes::start().await else { return };
    force_pushed(&nodes.first, &nodes.token, "demo").await;
    let remotes = nodes.both().map(|farrier| nodes.remote(farrier, "demo"));
    let work = Client::init(nodes.first.scratch().join("pusher"));
    let of_pusher = Client::at(work.dir());
    let push_all = move || {
        let (work, mut tips) = (of_pusher, Vec::new());
        // A push may be refused if objects are pruned at the same time; then it is repeated.
        let push = |remote: &str, refs: &[&str]| {
            let args = [&["push", "-q", remote], refs].concat();
            assert!((0..5).any(|_| work.run(&args).ok), "{refs:?}");
        };
        for n in 0..36 {
            let remote = &remotes[usize::from(n % 3 != 0)];
            // The same files repeatedly: git finds some of the objects unreachable or in a cruft pack.
            work.done(&["checkout", "-q", "--orphan", &format!("local-{n}")]);
            let id = work.commit("file", format!("{}", n % 3));
            push(remote, &["HEAD:refs/heads/moved", &format!("HEAD:refs/heads/kept-{n}")]);
            push(remote, &[":moved"]);
            if n % 4 == 0 {
                tips.push(id);
            } else {
                push(remote, &[&format!(":kept-{n}")]);
            }
        }
        tips
    };
    let pruning = async {
        loop {
            nodes.advance(16 * DAY_MS).await;
        }
    };
    let tips = tokio::select! {
        tips = tasks::blocking(push_all) => tips,
        () = pruning => unreachable!("it does not end"),
    };
    eventually("the repository was pruned", async || {
        nodes.advance(16 * DAY_MS).await;
        nodes.epoch(1).await > 0
    })
    .await;
    for id in &tips {
        for farrier in nodes.both() {
            assert_eq!(farrier.commit_status("demo", id).await, 200, "{id}");
        }
    }
    nodes.verify(1, "demo", &work);
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_that_one_node_creates_are_served_by_the_other_one_and_can_be_deleted_by_it() {
    let Some(nodes) = Nodes::start().await else { return };
    let (first, second) = (&nodes.first, &nodes.second);
    first.repository("demo").await;
    let work = Client::init(first.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &nodes.remote(second, "demo"), "main"]);
    let asks = async |farrier: &TestDaemon, method, path: &str, body: Value| {
        let answer = farrier.admin(method, path, body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
    };
    asks(first, Method::POST, "/api/v1/orgs", json!({ "username": "corp" })).await;
    // The first node does not have the push yet.
    asks(first, Method::POST, "/api/v1/repos/admin/demo/forks", json!({ "organization": "corp" })).await;
    asks(second, Method::POST, "/api/v1/user/repos", json!({ "name": "new", "auto_init": true })).await;
    asks(second, Method::PATCH, "/api/v1/repos/admin/new", json!({ "template": true })).await;
    asks(
        first,
        Method::POST,
        "/api/v1/repos/admin/new/generate",
        json!({ "owner": "admin", "name": "generated", "git_content": true }),
    )
    .await;
    for (id, name) in [(1, "admin/demo"), (2, "corp/demo"), (3, "admin/new"), (4, "admin/generated")] {
        let listed = nodes.both().map(|farrier| work.done(&["ls-remote", &farrier.remote(name, &nodes.token)]));
        assert!(!listed[0].is_empty() && listed[0] == listed[1], "{name}: {listed:?}");
        for farrier in nodes.both() {
            farrier.bare(id).done(&["fsck", "--full", "--strict"]);
        }
    }
    asks(second, Method::PATCH, "/api/v1/repos/admin/demo", json!({ "name": "renamed" })).await;
    asks(first, Method::DELETE, "/api/v1/repos/admin/renamed", Value::Null).await;
    asks(second, Method::POST, "/api/farrier/v1/deleted/repositories/1/restore", json!({})).await;
    let remote = nodes.remote(first, "renamed");
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main"]);
    nodes.verify(1, "renamed", &work);
    asks(second, Method::DELETE, "/api/v1/repos/admin/renamed", Value::Null).await;
    asks(first, Method::DELETE, "/api/farrier/v1/deleted/repositories/1", Value::Null).await;
    for farrier in nodes.both() {
        asks(farrier, Method::POST, "/api/v1/admin/cron/sweep", Value::Null).await;
    }
    let is_gone = |farrier: &&TestDaemon| !farrier.data_dir().join("repositories/1.git").exists();
    eventually("one node removes the repository", async || nodes.both().iter().any(is_gone)).await;
    assert!(!nodes.bucket.names(false).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_an_upload_goes_through_another_node() {
    let Some(nodes) = Nodes::start().await else { return };
    let (first, second) = (&nodes.first, &nodes.second);
    first.repository("demo").await;
    let job = first.begin("demo", None).await;
    let address = second.create(&job, "x").await;
    let put = async |farrier: &TestDaemon, suffix: &str, body: &str| {
        let path = format!("{address}&{suffix}");
        let answer = send(&farrier.tcp(), Method::PUT, &path, &[], body.to_owned()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    };
    put(first, "comp=block&blockid=YQ==", "hel").await;
    put(first, "comp=block&blockid=Yg==", "replaced").await;
    put(second, "comp=block&blockid=Yw==", "orld\n").await;
    put(second, "comp=block&blockid=Yg==", "lo w").await;
    let list = ["YQ==", "Yg==", "Yw=="].map(|id| format!("<Latest>{id}</Latest>")).concat();
    put(second, "comp=blocklist", &format!("<BlockList>{list}</BlockList>")).await;
    let finalized = first.call(&job, "FinalizeArtifact", json!({ "name": "x", "size": "12", "hash": HELLO })).await;
    assert_eq!(finalized.status, 200, "{finalized:?}");
    let signed = second.call(&job, "GetSignedArtifactURL", json!({ "name": "x" })).await.json();
    let address = second.path_of(signed["signed_url"].as_str().expect("an address"));
    for farrier in nodes.both() {
        let answer = send(&farrier.tcp(), Method::GET, &address, &[], "").await;
        assert_eq!((answer.status, answer.text()), (200, "hello world\n".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_removes_only_old_directories_of_repositories_without_a_row() {
    let Some(mut nodes) = Nodes::start().await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    work.done(&["ls-remote", &nodes.remote(&nodes.second, "demo")]);
    let store = nodes.store.clone();
    let removed = nodes.second.halted(async |config| {
        let directory = |id: u64| config.data_dir.join(format!("repositories/{id}.git"));
        let (known, purged, new) = (directory(1), directory(98), directory(99));
        for path in [&purged, &new] {
            fs::create_dir_all(path.join("objects/pack")).expect("a directory");
        }
        for path in [&known, &purged] {
            for path in [path.clone(), path.join("objects/pack")] {
                fs::File::open(path).expect("a directory").set_modified(SystemTime::UNIX_EPOCH).expect("set");
            }
        }
        let git = Git::open(&config.data_dir, &config.git).expect("directories");
        let url = config.blobs.url.as_ref().expect("a bucket");
        let blobs = S3Blobs::without_directory(&config.blobs, url).await.expect("a bucket");
        Copies::new(store, git).with_packs(Some(blobs.packs())).remove_unused().await.expect("removed");
        [known, purged, new].map(|path| !path.exists())
    });
    assert_eq!(removed.await, [false, true, false]);
}
