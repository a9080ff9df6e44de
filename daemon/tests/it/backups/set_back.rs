//! A database that is set back to an earlier point, on another server, while the bucket stays as it is.

use std::collections::BTreeSet;

use super::*;
use crate::support::{Job, bucket::TestBucket, cluster::shared_config, git::noise, postgres::PostgresServer, send};

/// More than any setting lets become a row.
const LARGE: usize = 3 << 20;

/// Reads all rows of a database.
async fn rows(server: &PostgresServer, database: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = server.admin(database).await.query("SELECT k, v FROM farrier_kv", &[]).await.expect("rows");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Writes rows to a new database, as the tools of PostgreSQL put back a backup.
async fn put_back(server: &PostgresServer, database: &str, rows: &[(Vec<u8>, Vec<u8>)]) {
    let admin = server.admin(database).await;
    let create = "CREATE TABLE farrier_kv (k bytea PRIMARY KEY, v bytea NOT NULL); \
                  CREATE TABLE farrier_owner (single boolean PRIMARY KEY CHECK (single), id bytea NOT NULL, \
                  holder text NOT NULL, since timestamptz NOT NULL); \
                  ALTER TABLE farrier_kv OWNER TO farrier; ALTER TABLE farrier_owner OWNER TO farrier";
    admin.batch_execute(create).await.expect("a table");
    for (key, value) in rows {
        admin.execute("INSERT INTO farrier_kv VALUES ($1, $2)", &[key, value]).await.expect("a row");
    }
}

/// The position after the last event.
async fn last_event(farrier: &TestDaemon) -> u64 {
    let path = "/api/farrier/v1/events?last=1";
    let read = send(&farrier.unix(), Method::GET, path, &[("accept", "application/json")], "").await.json();
    read["next"].as_u64().or_else(|| read["next"].as_str()?.parse().ok()).expect("a number")
}

async fn artifacts(farrier: &TestDaemon, job: &Job) -> BTreeSet<String> {
    let listed = farrier.call(job, "ListArtifacts", json!({})).await.json();
    let listed = listed["artifacts"].as_array().expect("a list");
    listed.iter().filter_map(|artifact| artifact["name"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_set_back_serves_its_point_and_overwrites_nothing_in_the_bucket() {
    let (Some(server), Some(other), Some(bucket)) =
        (PostgresServer::start(), PostgresServer::start(), TestBucket::start().await)
    else {
        return;
    };
    let keys = tempfile::tempdir().expect("a directory");
    let key = keys.path().join("secrets.key");
    let (database, restored) = (server.database().await, other.database().await);
    let mut one = TestDaemon::program(&shared_config(&server, &database, &bucket, &key)).await;
    let token = one.token("admin", &["all"]).await;
    let (work, _) = pushed(&one, "demo", &token).await;
    let point = work.commit("large", noise(LARGE));
    let push = |farrier: &TestDaemon, to: &str| {
        work.done(&["push", "-q", &farrier.remote("admin/demo", &token), &format!("HEAD:{to}")])
    };
    push(&one, "main");
    let job = one.begin("demo", None).await;
    one.upload(&job, "before", &noise(50_000)).await;
    one.stop().await;
    let rows = rows(&server, &database).await;

    one.start_as_program(&shared_config(&server, &database, &bucket, &key)).await;
    // Git stores similar contents as small differences.
    let reversed: Vec<u8> = noise(LARGE).into_iter().rev().collect();
    let later = work.commit("large", reversed);
    push(&one, "main");
    push(&one, "later");
    one.upload(&job, "after", &noise(60_000)).await;
    one.repository("later").await;
    let event = last_event(&one).await;
    one.stop().await;
    let objects: BTreeSet<String> = bucket.names(false).await.into_iter().collect();

    put_back(&other, &restored, &rows).await;
    let config = shared_config(&other, &restored, &bucket, &key);
    // The directories of this machine have seen a later state. They are only copies.
    let refused = one.refused_start(&config).await;
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(4) && error.contains("is older than"), "{error}");
    for name in ["repositories", "artifacts"] {
        let path = one.data_dir().join(name);
        std::fs::rename(&path, path.with_extension("later")).expect("moved away");
    }
    one.start_as_program(&config).await;
    let mut two = TestDaemon::program(&config).await;
    let listed =
        |farrier: &TestDaemon| work.done(&["ls-remote", &farrier.remote("admin/demo", &token), "refs/heads/*"]);
    for farrier in [&one, &two] {
        assert_eq!(listed(farrier), format!("{point}\trefs/heads/main"));
        assert_eq!(artifacts(farrier, &job).await, BTreeSet::from(["before".to_owned()]));
        let clone = Client::at(farrier.scratch().join("clone"));
        clone.done(&["clone", "-q", "--mirror", &farrier.remote("admin/demo", &token), "."]);
        clone.done(&["fsck", "--full", "--strict"]);
    }
    // Work goes on, with numbers that were not used before.
    one.upload(&job, "again", &noise(70_000)).await;
    assert_eq!(work.done(&["rev-parse", "HEAD"]), later);
    push(&two, "main");
    assert_eq!(listed(&one), format!("{later}\trefs/heads/main"));
    assert!(last_event(&two).await > event, "the IDs of events go on upwards");
    let now: BTreeSet<String> = bucket.names(false).await.into_iter().collect();
    // The block of the lost artifact was set aside.
    let new: Vec<_> = now.difference(&objects).filter(|name| name.starts_with("ci/a/")).collect();
    assert_eq!(new.len(), 1, "the new block has a name of its own: {objects:?} {now:?}");
    one.stop().await;
    two.stop().await;
    let checked = one.command_with(&config, &["check-data", "--git", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}
