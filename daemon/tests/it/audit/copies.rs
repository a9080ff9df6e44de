//! Copies of audit entries: the file, the journal, and what happens if they cannot be written.

use std::{collections::BTreeSet, fs, os::unix::net::UnixDatagram, path::Path};

use farrier_proto::store::AuditEntry;
use farrierd::store::{StoreError, Tx, audit as rows};
use tokio::sync::Notify;

use super::*;
use crate::support::{Binary, WAIT_LIMIT, process};

/// The IDs and actions in the complete lines of a file; none if it does not exist.
fn lines(file: &Path) -> Vec<(i64, String)> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The daemon may be writing the last line.
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    let parsed = complete.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON object"));
    parsed
        .map(|entry| (entry["id"].as_i64().expect("a number"), entry["action"].as_str().expect("text").to_owned()))
        .collect()
}

/// Returns the IDs of all entries in the store, oldest first.
async fn stored(farrier: &TestDaemon) -> Vec<i64> {
    let (mut ids, mut path) = (Vec::new(), format!("{AUDIT}?limit=50"));
    loop {
        let page = farrier.admin(Method::GET, &path, Value::Null).await;
        ids.extend(page.json().as_array().expect("a list").iter().map(|entry| entry["id"].as_i64().expect("a number")));
        let Some((_, next)) = page.header("link").split_once(AUDIT) else { break };
        path = format!("{AUDIT}{}", next.split('>').next().expect("an address"));
    }
    ids.reverse();
    ids
}

fn ids(lines: &[(i64, String)]) -> Vec<i64> {
    lines.iter().map(|(id, _)| *id).collect()
}

async fn problems(farrier: &TestDaemon) -> Vec<String> {
    let status = farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    let problems = status["problems"].as_array().expect("a list").iter();
    problems.map(|problem| problem.as_str().expect("text").to_owned()).collect()
}

#[tokio::test]
async fn entries_are_appended_to_a_file_that_can_be_renamed() {
    let dir = tempfile::tempdir().expect("a directory");
    let (file, renamed) = (dir.path().join("audit.jsonl"), dir.path().join("audit.jsonl.1"));
    let mut farrier = TestDaemon::with(|config| config.audit.file = Some(file.clone())).await;
    for name in ["one", "two"] {
        farrier.user(name).await;
    }
    eventually("the file has the entries", async || lines(&file).len() == 2).await;
    fs::rename(&file, &renamed).expect("renamed");
    farrier.user("three").await;
    eventually("there is a new file", async || lines(&file).len() == 1).await;
    farrier.restart().await;
    farrier.user("four").await;
    eventually("the copy continues after a restart", async || lines(&file).len() == 2).await;
    assert_eq!(ids(&[lines(&renamed), lines(&file)].concat()), stored(&farrier).await, "each entry once");
    let first = fs::read_to_string(&renamed).expect("text");
    let line: Value = serde_json::from_str(first.lines().next().expect("a line")).expect("JSON");
    let path = format!("{AUDIT}/{}", line["id"]);
    assert_eq!(line, farrier.admin(Method::GET, &path, Value::Null).await.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_entry_is_missing_in_the_file_after_a_kill() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("audit.jsonl");
    let mut farrier = TestDaemon::program(&format!("[audit]\nfile = \"{}\"\n", file.display())).await;
    for kill in 0..4 {
        for number in 0..kill + 2 {
            farrier.user(&format!("u{kill}-{number}")).await;
        }
        // In the second half of the kills, some entries are in the file and some are not.
        if kill >= 2 {
            let before = lines(&file).len();
            farrier.user(&format!("last{kill}")).await;
            eventually("the file grows", async || lines(&file).len() > before).await;
        }
        farrier.kill_and_start().await;
    }
    let all: BTreeSet<i64> = stored(&farrier).await.into_iter().collect();
    assert_eq!(all.len(), 16);
    eventually("all entries are in the file", async || {
        ids(&lines(&file)).into_iter().collect::<BTreeSet<_>>().is_superset(&all)
    })
    .await;
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_reported_and_gets_the_entries_later() {
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    let file = missing.join("audit.jsonl");
    let farrier = TestDaemon::with(|config| config.audit.file = Some(file.clone())).await;
    assert_eq!(problems(&farrier).await, [""; 0]);
    farrier.user("octo").await;
    let problem = "audit entries cannot be written to audit.file: they stay in the store";
    eventually("the failure is reported", async || problems(&farrier).await == [problem]).await;
    let health = send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await;
    assert_eq!((health.status, &health.json()["checks"]["audit"][0]["status"]), (200, &json!("warn")));
    farrier.user("second").await;
    fs::create_dir(&missing).expect("a directory");
    eventually("the file has all entries", async || lines(&file).len() == 2).await;
    eventually("nothing is reported", async || problems(&farrier).await.is_empty()).await;
    assert_eq!(ids(&lines(&file)), stored(&farrier).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_sets_the_file() {
    let mut farrier = Binary::new("");
    let file = farrier.scratch().join("audit.jsonl");
    farrier.start().await;
    farrier.configure(&format!("[audit]\nfile = \"{}\"\n", file.display()));
    let reloaded = process::output(farrier.reload_command()).await.expect("the program");
    assert!(reloaded.status.success(), "{reloaded:?}");
    eventually("the file has the entry of the reload", async || {
        lines(&file).iter().any(|(_, action)| action == "settings.reload")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_gets_the_entries_after_it_was_switched_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("journal");
    let mut farrier = TestDaemon::start().await;
    farrier.user("before").await;
    farrier.stop().await;
    farrier.configure(|config| config.audit.journal = Some(socket.clone()));
    farrier.start_in_process(Clock::system()).await;
    // Returns the first entry with `text`, and checks that no entry is older than the setting.
    let receive = |journal: &UnixDatagram, text: &str| loop {
        journal.set_read_timeout(Some(WAIT_LIMIT)).expect("a time limit");
        let mut bytes = vec![0; 1 << 16];
        let length = match tokio::task::block_in_place(|| journal.recv(&mut bytes)) {
            // A signal: a child process of another test has ended.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            received => received.expect("an entry"),
        };
        let entry = String::from_utf8_lossy(&bytes[..length]).into_owned();
        assert!(!entry.contains("before"), "{entry}");
        if entry.contains(text) {
            break entry;
        }
    };

    farrier.user("missed").await;
    let problem = "audit entries cannot be sent to the journal: they stay in the store";
    eventually("the failure is reported", async || problems(&farrier).await == [problem]).await;
    // The journal is started again.
    let journal = UnixDatagram::bind(&socket).expect("a socket");
    let entry = receive(&journal, "FARRIER_OBJECT=missed\n");
    drop(journal);
    for field in [
        "MESSAGE=user.create user missed by admin: done\n",
        "FARRIER_ACTION=user.create\n",
        &format!("FARRIER_UID={}\n", rustix::process::getuid().as_raw()),
    ] {
        assert!(entry.contains(field), "{field}: {entry}");
    }
    fs::remove_file(&socket).expect("removed");
    let journal = UnixDatagram::bind(&socket).expect("a socket");
    farrier.user("later").await;
    receive(&journal, "FARRIER_OBJECT=later\n");
    eventually("nothing is reported", async || problems(&farrier).await.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_wait_for_entries_of_transactions_that_have_not_ended() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("audit.jsonl");
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let farrier = TestDaemon::over_store_with(store.clone(), |config| config.audit.file = Some(file.clone())).await;
    farrier.user("one").await;
    eventually("the first entry is copied", async || lines(&file).len() == 1).await;
    // An entry with a larger ID is committed while the transaction of an earlier one is still running.
    let (begun, end) = (&Notify::new(), &Notify::new());
    let earlier = store.write(async |tx: Tx| {
        let row = AuditEntry { id: rows::next_id(&tx).await?, action: "held.up".into(), ..AuditEntry::default() };
        begun.notify_one();
        end.notified().await;
        rows::insert(&tx, &row);
        Ok::<_, StoreError>(())
    });
    let later = async {
        begun.notified().await;
        farrier.user("two").await;
        assert_eq!(audit(&farrier, "").await.len(), 2, "a list without `after` has all entries");
        assert_eq!(audit(&farrier, "after=0").await.len(), 1, "a reader that continues would miss an entry");
        assert_eq!(lines(&file).len(), 1);
        end.notify_one();
    };
    let (earlier, ()) = tokio::join!(earlier, later);
    earlier.expect("written");
    // Nothing else wakes the copier.
    eventually("both entries are copied", async || lines(&file).len() == 3).await;
    let actions: Vec<String> = lines(&file).into_iter().map(|(_, action)| action).collect();
    assert_eq!(actions, ["user.create", "held.up", "user.create"]);
    assert_eq!(ids(&lines(&file)), stored(&farrier).await);
    assert_eq!(audit(&farrier, "after=0").await.len(), 3);
}
