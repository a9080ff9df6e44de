//! `check-data`: finds corrupted rows and files, and repairs those that can be repaired without data
//! loss.

mod adoption;
mod hooks;
mod packs;

use std::{path::Path, sync::Arc};

use farrier_proto::store::{Collaborator, Reference, Sequence};
use farrierd::{
    check::{self, CheckReport, Class, Finding, Options, RepairState},
    clock::Clock,
    config::Config,
    set_aside::SetAside,
    store::{
        Store, StoreError, Tx,
        engine::{RedbEngine, RedbOptions},
        ids::IdKind,
        keys, repositories, teams,
    },
};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, Job, TestDaemon, eventually, git::Client, run, send, ssh_key};

/// A corruption of the store.
type Change = Box<dyn Fn(&Tx) + Send + Sync>;

const CHECK: Options = Options { repair: false, git: true, content: true };
const REPAIR: Options = Options { repair: true, git: false, content: false };

/// A daemon with data of every kind: repositories 1 (`admin/demo`, with a push) and 2 (renamed), a user, an
/// organization, tokens, a collaborator, and an artifact of two blocks.
async fn world() -> (TestDaemon, Client, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    farrier.repository("second").await;
    farrier.user("octo").await;
    let token = farrier.token("admin", &["all"]).await;
    for (method, path, body) in [
        (Method::POST, "/api/v1/orgs", json!({ "username": "corp" })),
        (Method::POST, "/api/v1/orgs/corp/repos", json!({ "name": "tool", "auto_init": true })),
        (Method::POST, "/api/v1/orgs/corp/teams", json!({ "name": "devs", "units": ["repo.code"] })),
        (Method::PUT, "/api/v1/repos/corp/tool/teams/devs", Value::Null),
        (Method::PATCH, "/api/v1/repos/admin/second", json!({ "name": "renamed" })),
        (Method::PUT, "/api/v1/repos/admin/demo/collaborators/octo", json!({ "permission": "read" })),
        (Method::POST, "/api/v1/user/keys", json!({ "title": "laptop", "key": ssh_key("admin") })),
        (Method::POST, "/api/v1/repos/admin/demo/keys", json!({ "title": "ci", "key": ssh_key("ci") })),
        (Method::POST, "/api/v1/repos/admin/demo/branch_protections", json!({ "rule_name": "closed" })),
    ] {
        let done = farrier.admin(method, path, body).await;
        assert!(done.status < 300, "{path}: {done:?}");
    }
    let listed = farrier.admin(Method::GET, "/api/v1/orgs/corp/teams", Value::Null).await.json();
    let member = format!("/api/v1/teams/{}/members/octo", listed[1]["id"]);
    assert_eq!(farrier.admin(Method::PUT, &member, Value::Null).await.status, 204);
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["tag", "-a", "-m", "one", "v1"]);
    work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main", "main:other", "v1"]);
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", b"some bytes").await;
    (farrier, work, job)
}

async fn open(config: &Config) -> Store {
    let engine = RedbEngine::open(&config.data_dir.join("farrier.redb"), RedbOptions::default()).expect("the store");
    Store::open(Arc::new(engine)).await.expect("the store")
}

/// The ID of the team `corp/devs`.
async fn team_of(config: &Config) -> u64 {
    let store = open(config).await;
    let read = store.read().await.expect("a snapshot");
    teams::by_name(&read, 3, "devs").await.expect("rows").expect("a team").id
}

async fn corrupt(config: &Config, change: impl Fn(&Tx) + Send + Sync) {
    let (store, change) = (open(config).await, &change);
    let write = store.write(async |tx: Tx| {
        change(&tx);
        Ok::<_, StoreError>(())
    });
    write.await.expect("a write");
}

async fn run_check(config: &Config, options: Options) -> CheckReport {
    check::run(config, options).await.expect("checked")
}

#[track_caller]
fn finding<'a>(report: &'a CheckReport, class: Class, subject: &str, message: &str) -> &'a Finding {
    let is =
        |found: &&Finding| found.class == class && found.subject.contains(subject) && found.message.contains(message);
    report.findings.iter().find(is).unwrap_or_else(|| panic!("no {class:?} of {subject}: {message} in\n{report}"))
}

/// Checks that the finding is reported as repairable, that a repair reports it as repaired, and that no damage
/// is left afterwards.
async fn assert_repaired(config: &Config, class: Class, subject: &str, message: &str) {
    assert_eq!(finding(&run_check(config, CHECK).await, class, subject, message).repair, RepairState::Possible);
    assert_eq!(finding(&run_check(config, REPAIR).await, class, subject, message).repair, RepairState::Done);
    let after = run_check(config, CHECK).await;
    assert_eq!((after.damage, after.damage_left), (0, 0), "after {message}:\n{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_written_by_the_daemon_has_no_findings() {
    let (mut farrier, ..) = world().await;
    let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
    assert_eq!(report.findings, [], "{report}");
    assert_eq!((report.repositories, report.artifacts), (3, 1));
    assert!(report.keys > 60, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_surplus_index_entries_are_found_and_repaired() {
    let (mut farrier, ..) = world().await;
    farrier
        .halted(async |config| {
            let to = |id| Reference { id };
            let team = team_of(config).await;
            let cases: [(&str, &str, Change); 17] = [
                ("rn", "is missing", Box::new(|tx| tx.delete(keys::repository_name(1, "demo")))),
                ("rg", "is missing", Box::new(|tx| tx.delete(keys::trigram(*b"dem", 1)))),
                ("ow", "is missing", Box::new(|tx| tx.delete(keys::owner_name("corp")))),
                ("tu", "is missing", Box::new(|tx| tx.delete(keys::user_token(1, 1)))),
                ("an", "no row needs", Box::new(move |tx| tx.put(keys::artifact_name(1, 1, "ghost"), &to(9)))),
                ("ax", "no row needs", Box::new(move |tx| tx.put(keys::artifact_expiry(5, 1), &to(1)))),
                ("rn", "another value", Box::new(move |tx| tx.put(keys::repository_name(1, "renamed"), &to(1)))),
                ("ji", "is missing", Box::new(|tx| tx.delete(keys::job_run(1)))),
                ("cu", "no row needs", Box::new(|tx| tx.put(keys::collaboration(2, 2), &Collaborator::default()))),
                ("ou", "is missing", Box::new(|tx| tx.delete(keys::user_org(1, 3)))),
                ("yb", "is missing", Box::new(move |tx| tx.delete(keys::team_name(3, "devs")))),
                ("yu", "is missing", Box::new(move |tx| tx.delete(keys::user_team(2, 3, team)))),
                ("yx", "is missing", Box::new(move |tx| tx.delete(keys::repository_team(3, team)))),
                ("yu", "no row needs", Box::new(move |tx| tx.put(keys::user_team(1, 3, team), &to(team)))),
                ("ka", "is missing", Box::new(|tx| tx.delete(keys::ssh_key_of_account(1, 1)))),
                ("kf", "no row needs", Box::new(move |tx| tx.put(keys::ssh_key_of_hash(&[7; 32]), &to(1)))),
                ("ke", "is missing", Box::new(|tx| tx.delete(keys::deploy_key_of_content(2, 1)))),
            ];
            for (subject, message, change) in cases {
                corrupt(config, &change).await;
                assert_repaired(config, Class::Damage, &format!("key {subject}/"), message).await;
            }
            corrupt(config, |tx| tx.put(keys::sequence(IdKind::Repository), &Sequence { next: 1 })).await;
            assert_repaired(config, Class::Damage, "ids of kind repository", "below 64, which is in use").await;
            // A redirect without a target is waste, not damage.
            corrupt(config, |tx| tx.put(keys::repository_redirect(1, "lost"), &to(99))).await;
            assert_repaired(config, Class::Waste, "key rr", "does not exist").await;
            // Entries that could belong to real data are reported but not deleted.
            let branch = farrierd::store::refs::Ref { tip: "1".repeat(40), peeled: None };
            corrupt(config, move |tx| farrierd::store::refs::set(tx, 99, "refs/heads/x", Some(&branch))).await;
            let report = run_check(config, REPAIR).await;
            assert_eq!(finding(&report, Class::Damage, "key g", "does not exist").repair, RepairState::None);
            assert_eq!((report.damage, report.damage_left), (1, 1));
            corrupt(config, |tx| farrierd::store::refs::set(tx, 99, "refs/heads/x", None)).await;
            // An unreadable row does not stop the check.
            corrupt(config, |tx| tx.put(keys::repository(2), &Reference { id: u64::MAX })).await;
            assert!(run_check(config, CHECK).await.damage_left > 0);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_between_repositories_and_their_directories_are_found_and_repaired() {
    let (mut farrier, work, _) = world().await;
    let root = farrier.data_dir().join("repositories");
    let tip = work.done(&["rev-parse", "main"]);
    farrier
        .halted(async |config| {
            let git = |args: &[&str]| Client::at(root.join("1.git")).done(args);
            // A ref that is missing in the directory is restored.
            git(&["update-ref", "-d", "refs/heads/other"]);
            let differ = "files of refs differ from their rows, which decide: refs/heads/other";
            assert_repaired(config, Class::Unfinished, "repository 1 (demo)", differ).await;
            assert_eq!(git(&["rev-parse", "other"]), tip);
            // A ref whose object is missing cannot be restored.
            let void = farrierd::store::refs::Ref { tip: "1".repeat(40), peeled: None };
            corrupt(config, move |tx| farrierd::store::refs::set(tx, 1, "refs/heads/void", Some(&void))).await;
            let report = run_check(config, REPAIR).await;
            let lost = finding(&report, Class::Damage, "repository 1", "refs/heads/void was recorded at");
            assert_eq!(lost.repair, RepairState::None);
            // The files may name objects that exist.
            let kept = finding(&report, Class::Unfinished, "repository 1", "not written while objects are missing");
            assert_eq!(kept.repair, RepairState::None);
            corrupt(config, |tx| farrierd::store::refs::set(tx, 1, "refs/heads/void", None)).await;
            run_check(config, REPAIR).await;
            assert!(!Client::at(root.join("1.git")).run(&["rev-parse", "-q", "--verify", "refs/heads/void"]).ok);
            // `HEAD` must name the default branch.
            git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
            assert_repaired(config, Class::Damage, "repository 1", "HEAD does not name the default branch main").await;
            std::fs::write(root.join("1.git/HEAD"), "nonsense\n").expect("a write");
            assert_repaired(config, Class::Damage, "repository 1", "HEAD does not name").await;
            // A directory without a row is set aside.
            std::fs::create_dir(root.join("77.git")).expect("made");
            assert_repaired(config, Class::Waste, "repositories/77.git", "no row refers to it").await;
            assert!(set_aside_today(config).join("repositories/77.git").is_dir() && !root.join("77.git").exists());
            // Unfinished work that the daemon completes at its next start is not damage.
            std::fs::create_dir(root.join("new-9-aa")).expect("made");
            let report = run_check(config, REPAIR).await;
            finding(&report, Class::Unfinished, "new-9-aa", "was interrupted");
            assert_eq!(report.damage, 0, "{report}");
            // A ref that was made without the daemon is removed.
            git(&["update-ref", "refs/heads/new", &tip]);
            let differ = "files of refs differ from their rows, which decide: refs/heads/new";
            assert_repaired(config, Class::Unfinished, "repository 1", differ).await;
        })
        .await;
    assert!(!root.join("new-9-aa").exists(), "the start removes unfinished repositories");
    let branch = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/branches/new", Value::Null).await;
    assert_eq!(branch.status, 404, "{branch:?}");
    let report = farrier
        .halted(async |config| {
            let report = run_check(config, CHECK).await;
            std::fs::rename(root.join("2.git"), config.data_dir.join("away")).expect("moved");
            let missing = run_check(config, REPAIR).await;
            assert_eq!(
                finding(&missing, Class::Damage, "repository 2", "directory is missing").repair,
                RepairState::None
            );
            std::fs::rename(config.data_dir.join("away"), root.join("2.git")).expect("moved");
            report
        })
        .await;
    assert_eq!(report.findings, [], "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn git_objects_are_checked_on_request() {
    let (mut farrier, work, _) = world().await;
    let tree = work.done(&["rev-parse", "main^{tree}"]);
    let objects = farrier.data_dir().join("repositories/1.git/objects");
    let object = objects.join(&tree[..2]).join(&tree[2..]);
    farrier
        .halted(async |config| {
            // An object of its own beside the packs, whose content is damaged.
            std::fs::create_dir_all(object.parent().expect("a parent")).expect("made");
            std::fs::write(&object, "damaged").expect("written");
            assert_eq!(run_check(config, REPAIR).await.damage, 0);
            finding(&run_check(config, CHECK).await, Class::Damage, "repository 1", "git fsck reports");
            std::fs::remove_file(&object).expect("removed");
            // Without its pack, the object is missing.
            let packs = config.data_dir.join("packs");
            std::fs::rename(objects.join("pack"), &packs).expect("moved");
            std::fs::create_dir(objects.join("pack")).expect("made");
            let pack = files(&packs).into_iter().find(|path| path.extension().is_some_and(|end| end == "pack"));
            let pack = std::fs::read(pack.expect("a pack")).expect("readable");
            run(objects.parent().expect("a repository"), &["unpack-objects", "-q"], &pack);
            std::fs::remove_file(&object).expect("a loose object");
            finding(&run_check(config, REPAIR).await, Class::Damage, "repository 1", "packs are missing");
            finding(&run_check(config, CHECK).await, Class::Damage, "repository 1", "git fsck reports");
        })
        .await;
}

/// The directory for data that is set aside today.
fn set_aside_today(config: &Config) -> std::path::PathBuf {
    let aside = SetAside::new(&config.data_dir, Clock::system());
    aside.root().join(aside.today())
}

/// All files below `root`.
fn files(root: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(root).expect("a directory").map(|entry| entry.expect("an entry").path());
    let entries = entries.filter(|path| !path.ends_with(farrierd::data_dir::FILE));
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_between_artifacts_and_their_files_are_found_and_repaired() {
    let (mut farrier, _, job) = world().await;
    // An unfinished upload is not a fault.
    let address = farrier.create(&job, "open").await;
    let put = send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=block&blockid=YQ"), &[], "block").await;
    assert_eq!(put.status, 201, "{put:?}");
    let root = farrier.data_dir().join("artifacts");
    farrier
        .halted(async |config| {
            assert_eq!(run_check(config, CHECK).await.findings, []);
            let all = files(&root);
            assert_eq!(all.len(), 2, "{all:?}");
            let log = all.iter().find(|path| path.starts_with(root.join("1"))).expect("a block of the first artifact");
            std::fs::write(log, b"short").expect("a write");
            let report = run_check(config, REPAIR).await;
            assert_eq!(
                finding(&report, Class::Damage, "artifact 1 (log)", "5 bytes and should have 10").repair,
                RepairState::None
            );
            std::fs::remove_file(log).expect("removed");
            finding(&run_check(config, CHECK).await, Class::Damage, "artifact 1 (log)", "is missing");
            std::fs::write(log, b"some bytes").expect("a write");
            assert_eq!(run_check(config, CHECK).await.findings, []);
            // Files that no row names are set aside.
            let stray = log.with_file_name("60");
            std::fs::write(&stray, b"stray").expect("a write");
            std::fs::create_dir_all(root.join("50/1")).expect("made");
            std::fs::write(root.join("50/1/61"), b"stray").expect("a write");
            assert_repaired(config, Class::Waste, "artifact 1 (log)", "1 files are not in its block list").await;
            assert_eq!(std::fs::read(set_aside_today(config).join("artifacts/50/1/61")).expect("kept"), b"stray");
            assert_eq!(run_check(config, CHECK).await.waste, 0);
            // A file number at or above the sequence would be assigned again.
            std::fs::write(log.with_file_name("900"), b"").expect("a write");
            assert_repaired(config, Class::Damage, "ids of kind block-file", "below 900").await;
        })
        .await;
    eventually("the stray files are removed", || async { files(&root).len() == 2 }).await;
    let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
    assert_eq!(report.findings, [], "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_of_check_data_reports_the_result() {
    let mut farrier = Binary::new("");
    let none = farrier.check_data(&[]).await;
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stderr).contains("there is no store in"), "{none:?}");
    assert!(!farrier.data_dir().exists(), "a check creates nothing");

    farrier.start().await;
    let created = send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], r#"{"name":"demo"}"#).await;
    assert_eq!(created.status, 201, "{created:?}");
    let running = farrier.check_data(&["--json"]).await;
    assert_eq!((running.status.code(), running.stdout.as_slice()), (Some(1), &b""[..]), "{running:?}");
    assert!(String::from_utf8_lossy(&running.stderr).contains("another farrierd uses the data directory"));
    farrier.terminate();
    farrier.ended().await;

    let fine = farrier.check_data(&[]).await;
    let stdout = String::from_utf8_lossy(&fine.stdout).into_owned();
    assert!(fine.status.code() == Some(0) && stdout.contains("damage 0 (left 0)"), "{fine:?}");
    let head = farrier.data_dir().join("repositories/1.git/HEAD");
    std::fs::write(&head, "ref: refs/heads/void\n").expect("a write");
    let found = farrier.check_data(&["--json"]).await;
    let json: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    assert_eq!(found.status.code(), Some(3), "{found:?}");
    assert_eq!((&json["damage"], &json["damage_left"]), (&json!(1), &json!(1)));
    assert_eq!(
        json["findings"],
        json!([{ "class": "damage", "subject": "repository 1 (demo)", "mending": "possible",
            "message": "HEAD does not name the default branch main" }])
    );
    let repaired = farrier.check_data(&["--repair"]).await;
    let stdout = String::from_utf8_lossy(&repaired.stdout).into_owned();
    assert!(repaired.status.code() == Some(0) && stdout.contains("(repaired)"), "{repaired:?}");
    assert_eq!(std::fs::read_to_string(&head).expect("a file"), "ref: refs/heads/main\n");
}
