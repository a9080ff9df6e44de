//! Entries of commands that run while the daemon is stopped.

use farrierd::store::{StoreError, Tx, keys};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_change_the_data_record_the_local_user() {
    let mut farrier = TestDaemon::start().await;
    farrier.user("octo").await;
    farrier
        .with_store(async |store| {
            let damage = async |tx: Tx| {
                tx.delete(keys::owner_name("octo"));
                Ok::<_, StoreError>(())
            };
            store.write(damage).await.expect("written");
        })
        .await;
    farrier.stop().await;
    for arguments in [
        &["check-data", "--repair"][..],
        // Nothing is left to repair.
        &["check-data", "--repair"],
        &["check-data"],
        &["rotate-key"],
        &["check-data", "--adopt"],
        &["check-data", "--set-aside"],
    ] {
        farrier.command(arguments).await;
    }
    farrier.start_in_process(Clock::system()).await;
    let entries = audit(&farrier, "action=data").await;
    let data = "data directory";
    let key = entries[2]["object"]["name"].as_str().expect("text");
    let expected = [("data.set_aside", data), ("data.adopt", data), ("data.rotate_key", key), ("data.repair", data)];
    assert_eq!(shown(&entries), expected);
    let uid = rustix::process::getuid().as_raw();
    let actors: Vec<_> = entries.iter().map(|entry| entry["actor"].clone()).collect();
    let commands = ["check-data --set-aside", "check-data --adopt", "rotate-key", "check-data --repair"];
    for (actor, command) in actors.iter().zip(commands) {
        assert_eq!(actor, &json!({ "kind": "command", "id": 0, "name": format!("farrierd {command}"), "uid": uid }));
    }
    let repaired = entries[3]["after"]["repaired"][0].as_str().expect("text");
    assert!(repaired.contains("key ow/"), "{repaired}");
    assert_eq!(entries[2]["after"]["discard_secrets"], false);
    assert_eq!(key, crate::support::store_keys(&farrier.data_dir())[0].id().to_string());
    farrier.user("later").await;
    let later = audit(&farrier, "action=user").await;
    assert!(later[0]["id"].as_i64() > entries[0]["id"].as_i64(), "{later:?}");
}
