//! Secrets in the store are encrypted. Without their key nothing starts, and nothing is lost.

use farrier_proto::store::{Hook, SigningKey};
use farrierd::store::{
    StoreError, Tx,
    engine::{Engine as _, Key, Range, Scan},
    hooks,
    keyring::{Keyring, StoreKey},
    keys,
};
use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::support::{Binary, Random, eventually, send, store_keys};

/// Number of hooks in the tests that kill the program: several transactions of the rewrite.
const HOOKS: u64 = 1_000;
const KILLS: usize = 6;

fn key_file(data: &Path) -> PathBuf {
    data.join("secrets.key")
}

/// Opens the store with the keys beside it.
async fn open_with_keys(data: &Path) -> Store {
    let store = open(&data.join("farrier.redb")).await;
    let keys = store_keys(data);
    store.set_keyring(Keyring::new(&keys[0], &keys[1..]));
    store
}

/// The files below `data` that contain `text`.
fn files_with(data: &Path, text: &str) -> Vec<PathBuf> {
    let mut files = contents(data);
    files.insert("farrier.redb".into(), std::fs::read(data.join("farrier.redb")).expect("the store"));
    let contains = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    files.into_iter().filter(|(_, bytes)| contains(bytes)).map(|(path, _)| path).collect()
}

async fn create_hook(farrier: &TestDaemon, kind: &str, config: Value, header: &str) -> u64 {
    let body = json!({ "type": kind, "config": config, "authorization_header": header, "active": false });
    let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_u64().expect("an id")
}

async fn create_native(farrier: &TestDaemon, secret: &str) -> u64 {
    let config = json!({ "url": "https://ci.example.org/x", "content_type": "json", "secret": secret });
    create_hook(farrier, "gitea", config, "Bearer planted-header").await
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_encrypted_in_the_store_and_used_after_a_restart() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let hook = create_native(&farrier, "planted-first").await;
    let path = format!("/api/v1/repos/admin/demo/hooks/{hook}");
    let edit = json!({ "config": { "secret": "planted-second" } });
    assert_eq!(farrier.admin(Method::PATCH, &path, edit).await.status, 200);
    let url = |name: &str| format!("https://hooks.example.org/planted-{name}");
    let json = "json";
    for (kind, config) in [
        ("slack", json!({ "url": url("slack"), "content_type": json, "channel": "#x" })),
        ("discord", json!({ "url": url("discord"), "content_type": json })),
        (
            "telegram",
            json!({ "url": "https://t.example.org", "content_type": json, "bot_token": "1:planted-bot", "chat_id": "7" }),
        ),
        (
            "matrix",
            json!({ "url": "https://m.example.org", "content_type": json, "room_id": "!a:b",
                "homeserver_url": "https://m.example.org", "access_token": "planted-matrix" }),
        ),
    ] {
        create_hook(&farrier, kind, config, "").await;
    }
    farrier.stop().await;
    assert_eq!(files_with(&farrier.data_dir(), "planted"), Vec::<PathBuf>::new());
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(key_file(&farrier.data_dir())).expect("it").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);

    let store = open_with_keys(&farrier.data_dir()).await;
    let row = hooks::get(&store.read().await.expect("a snapshot"), hook).await.expect("readable").expect("a hook");
    let secrets = (row.secret.as_str(), row.old_secret.as_str(), row.authorization.as_str());
    assert_eq!(secrets, ("planted-second", "planted-first", "Bearer planted-header"));
    drop(store);
    let key = std::fs::read(key_file(&farrier.data_dir())).expect("a key file");
    farrier.restart().await;
    assert_eq!(std::fs::read(key_file(&farrier.data_dir())).expect("a key file"), key, "the same key");
    let shown = farrier.admin(Method::GET, &path, Value::Null).await;
    assert_eq!((shown.status, shown.json()["config"]["url"].as_str()), (200, Some("https://ci.example.org/x")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_wrong_key_is_refused_until_the_key_is_back() {
    let mut world = World::stopped().await;
    let kept = std::fs::read(key_file(&world.data())).expect("a key file");
    let id = store_keys(&world.data())[0].id().to_string();
    std::fs::remove_file(key_file(&world.data())).expect("a removal");
    let error = world.refused(BAD_DATA).await;
    for part in [&*id, "secrets.key", "nothing was changed", "Restore the key file", "--discard-secrets"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    std::fs::write(key_file(&world.data()), format!("{}\n", "00".repeat(32))).expect("a write");
    assert!(world.refused(BAD_DATA).await.contains(&id), "another key");
    std::fs::write(key_file(&world.data()), "planted\n").expect("a write");
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("line 1 does not have 64 hexadecimal digits") && !error.contains("planted"), "{error}");
    assert_eq!(world.run(&["rotate-key"]).await.code, Some(BAD_DATA));
    let checked = world.run(&["check-data"]).await;
    assert!(checked.code == Some(3) && checked.out.contains("secrets"), "{checked:?}");

    // A backup of the store alone needs the key as well.
    let copy = world.copy("backup");
    let restored = world.run(&["restore", copy.join("farrier.redb").to_str().expect("text")]).await;
    assert_eq!(restored.code, Some(BAD_DATA), "{restored:?}");
    std::fs::write(key_file(&world.data()), &kept).expect("a write");
    let restored = world.run(&["restore", copy.join("farrier.redb").to_str().expect("text")]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_can_be_a_credential_of_the_service_manager() {
    let mut farrier = Binary::new("");
    farrier.start().await;
    let file = key_file(&farrier.data_dir());
    farrier.kill().await;
    // The key moves to a credential; the values are encrypted again with a new key.
    let credentials = tempfile::tempdir().expect("a directory");
    let new = StoreKey::random();
    std::fs::write(credentials.path().join("farrier-store-key"), new.to_hex().as_str()).expect("a write");
    farrier.env("CREDENTIALS_DIRECTORY", credentials.path());
    farrier.start().await;
    farrier.kill().await;
    std::fs::remove_file(&file).expect("a removal");
    farrier.start().await;
    assert!(!file.exists(), "no second key was created");
    farrier.kill().await;
    let mut rotate = farrier.program(&["rotate-key"]);
    rotate.env("CREDENTIALS_DIRECTORY", credentials.path());
    let refused: ProgramOutput = output(rotate).await.expect("the program").into();
    assert!(refused.code == Some(1) && refused.err.contains("is the credential"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_value_that_was_moved_to_another_row_is_not_decrypted() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let (own, foreign) = (create_native(&farrier, "secret-one").await, create_native(&farrier, "secret-two").await);
    farrier.stop().await;
    let engine = RedbEngine::open(&farrier.data_dir().join("farrier.redb"), RedbOptions::default()).expect("the store");
    let transaction = engine.begin().await.expect("a transaction");
    let moved = transaction.get(&keys::hook(foreign)).await.expect("readable");
    transaction.commit([(keys::hook(own), moved)].into()).await.expect("a commit");
    drop(engine);

    let checked = farrier.check_data(&[]).await;
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(3), "{text}");
    assert!(text.contains(&format!("key h/{own}")) && text.contains("belongs to another row"), "{text}");
    farrier.restart().await;
    let get = async |id: u64| {
        farrier.admin(Method::GET, &format!("/api/v1/repos/admin/demo/hooks/{id}"), Value::Null).await.status
    };
    assert_eq!((get(own).await, get(foreign).await), (500, 200));
}

/// Writes `HOOKS` hooks with secrets that are not encrypted, as releases without encryption did.
async fn write_plain_hooks(data: &Path) {
    let store = open(&data.join("farrier.redb")).await;
    for ids in (1..=HOOKS).collect::<Vec<_>>().chunks(200) {
        let put = async |tx: Tx| {
            for id in ids {
                let events = vec!["push".to_owned()];
                let (secret, url) = (format!("planted-{id}"), "https://ci.example.org/x".to_owned());
                let row = Hook { id: *id, scope: 1, r#type: "gitea".into(), url, secret, events, ..Hook::default() };
                tx.put(keys::hook(*id), &row);
            }
            tx.delete(keys::sealing());
            tx.put(
                keys::signing_key(1),
                &SigningKey { secret: b"planted-key".to_vec(), created_ms: 1, ..SigningKey::default() },
            );
            Ok::<_, StoreError>(())
        };
        store.write(put).await.expect("a write");
    }
}

/// Checks that every secret can be read, and that all of them are encrypted with the first key.
async fn assert_encrypted(data: &Path) {
    let store = open_with_keys(data).await;
    let snapshot = store.read().await.expect("a snapshot");
    for id in 1..=HOOKS {
        let row = hooks::get(&snapshot, id).await.expect("readable").expect("a hook");
        assert_eq!(row.secret, format!("planted-{id}"));
    }
    drop((snapshot, store));
    let engine = RedbEngine::open(&data.join("farrier.redb"), RedbOptions::default()).expect("the store");
    let scan = Scan::of(Range::prefix(keys::hooks()), usize::MAX);
    let rows: Vec<(Key, _)> = engine.snapshot().await.expect("a view").scan(&scan).await.expect("rows");
    let id = store_keys(data)[0].id().to_bytes();
    for (_, bytes) in &rows {
        let is_current = bytes.windows(id.len()).any(|window| window == id);
        assert!(is_current && !bytes.windows(7).any(|window| window == b"planted"), "{bytes:?}");
    }
    assert_eq!(rows.len() as u64, HOOKS);
}

/// Starts the program and kills it during its start, at a random moment.
async fn kill_during_start(farrier: &mut Binary, random: &mut Random) {
    let _output = farrier.spawn();
    tokio::time::sleep(std::time::Duration::from_millis(5 + random.below(150) as u64)).await;
    farrier.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_an_existing_store_are_encrypted_at_the_start_despite_kills() {
    let mut farrier = Binary::new("");
    farrier.start().await;
    farrier.kill().await;
    write_plain_hooks(&farrier.data_dir()).await;
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed}");
    let mut random = Random::new(seed);
    for _ in 0..KILLS {
        kill_during_start(&mut farrier, &mut random).await;
    }
    farrier.start().await;
    farrier.kill().await;
    assert_encrypted(&farrier.data_dir()).await;
    farrier.start().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_is_killed_at_any_moment_continues() {
    let mut farrier = Binary::new("");
    farrier.start().await;
    farrier.kill().await;
    write_plain_hooks(&farrier.data_dir()).await;
    farrier.start().await;
    farrier.kill().await;
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed}");
    let mut random = Random::new(seed);
    let before = store_keys(&farrier.data_dir())[0].id();
    for _ in 0..KILLS {
        let mut rotating = farrier.program(&["rotate-key"]).kill_on_drop(true).spawn().expect("the program");
        tokio::time::sleep(std::time::Duration::from_millis(5 + random.below(150) as u64)).await;
        // An error: it has ended already.
        _ = rotating.kill().await;
        if random.one_in(3) {
            kill_during_start(&mut farrier, &mut random).await;
        }
    }
    let rotated: ProgramOutput = output(farrier.program(&["rotate-key"])).await.expect("the program").into();
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    let keys = store_keys(&farrier.data_dir());
    assert!(
        keys.len() == 1 && keys[0].id() != before && rotated.out.contains(&keys[0].id().to_string()),
        "{rotated:?}"
    );
    assert_encrypted(&farrier.data_dir()).await;
    farrier.start().await;
    eventually("the daemon answers", async || {
        send(&farrier.unix(), Method::GET, "/api/v1/version", &[], "").await.status == 200
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_key_stays_while_a_row_cannot_be_decrypted() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let (own, foreign) = (create_native(&farrier, "secret-one").await, create_native(&farrier, "secret-two").await);
    farrier.stop().await;
    let store = farrier.data_dir().join("farrier.redb");
    let replace = async |from: Option<u64>, bytes: Option<bytes::Bytes>| {
        let engine = RedbEngine::open(&store, RedbOptions::default()).expect("the store");
        let transaction = engine.begin().await.expect("a transaction");
        let before = transaction.get(&keys::hook(own)).await.expect("readable");
        let bytes = match from {
            Some(other) => transaction.get(&keys::hook(other)).await.expect("readable"),
            None => bytes,
        };
        transaction.commit([(keys::hook(own), bytes)].into()).await.expect("a commit");
        before
    };
    let original = replace(Some(foreign), None).await;
    let previous = store_keys(&farrier.data_dir())[0].id();
    for rotations in 1..=2 {
        let rotated: ProgramOutput = farrier.command_output(&["rotate-key"]).await.into();
        assert!(
            rotated.code == Some(3) && rotated.out.contains("not be decrypted and were not changed: 1"),
            "{rotated:?}"
        );
        let ids: Vec<_> = store_keys(&farrier.data_dir()).iter().map(StoreKey::id).collect();
        assert!(ids.len() == rotations + 1 && ids.last() == Some(&previous), "{ids:?}");
    }
    // The daemon starts, and only the damaged row is unreadable.
    farrier.restart().await;
    let get = async |farrier: &TestDaemon, id: u64| {
        farrier.admin(Method::GET, &format!("/api/v1/repos/admin/demo/hooks/{id}"), Value::Null).await.status
    };
    assert_eq!((get(&farrier, own).await, get(&farrier, foreign).await), (500, 200));
    farrier.stop().await;

    replace(None, original).await;
    let rotated: ProgramOutput = farrier.command_output(&["rotate-key"]).await.into();
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    assert_eq!(store_keys(&farrier.data_dir()).len(), 1);
    farrier.restart().await;
    assert_eq!((get(&farrier, own).await, get(&farrier, foreign).await), (200, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn discarding_lost_secrets_deactivates_their_hooks_and_keeps_everything_else() {
    let mut world = World::stopped().await;
    world.farrier.restart().await;
    let hook = create_native(&world.farrier, "lost").await;
    world.farrier.stop().await;
    std::fs::remove_file(key_file(&world.data())).expect("a removal");
    world.refused(BAD_DATA).await;
    let rotated = world.run(&["rotate-key", "--discard-secrets"]).await;
    assert!(rotated.code == Some(0) && rotated.out.contains("secrets of 2 rows were removed"), "{rotated:?}");
    world.farrier.restart().await;
    world.assert_pushed("admin/demo");
    let artifacts = world.farrier.admin(Method::GET, "/api/v1/repos/admin/demo/actions/artifacts", Value::Null).await;
    assert_eq!(artifacts.json()["total_count"], 1, "{artifacts:?}");
    let path = format!("/api/v1/repos/admin/demo/hooks/{hook}");
    let shown = world.farrier.admin(Method::GET, &path, Value::Null).await.json();
    assert_eq!((&shown["active"], &shown["events"]), (&json!(false), &json!(["push"])), "{shown}");
    let edit = json!({ "config": { "url": "https://ci.example.org/new", "secret": "new" }, "active": true });
    assert_eq!(world.farrier.admin(Method::PATCH, &path, edit).await.status, 200);
}
