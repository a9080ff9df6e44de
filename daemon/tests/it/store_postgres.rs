//! A daemon whose store is a PostgreSQL database.

use std::{collections::BTreeSet, process::Output};

use http::Method;
use serde_json::{Value, json};

use crate::support::{
    Binary, Job, ReceivedRequest, Receiver, TestDaemon, eventually,
    git::Client,
    postgres::{PASSWORD, PostgresServer},
    process::{command, output},
    send,
};

/// Allows deliveries to receivers on this machine.
const HOOKS: &str = "[webhook]\nallowed_hosts = \"loopback\"\n";

/// Returns a configuration file with the engine `engine` and the address of `database`.
fn config(server: &PostgresServer, database: &str, engine: &str) -> String {
    let (url, password) = (server.socket_url(database), server.password_file());
    let store = format!("url = \"{url}\"\npassword_file = \"{}\"\nmax_connections = 2\n", password.display());
    format!("{HOOKS}[artifacts]\nreserve_bytes = 0\n[store]\nengine = \"{engine}\"\n{store}")
}

/// A daemon with the repository `admin/demo`, one push, a hook and one artifact.
struct World {
    farrier: TestDaemon,
    receiver: Receiver,
    work: Client,
    token: String,
    job: Job,
}

impl World {
    async fn start(config: &str) -> Self {
        let farrier = TestDaemon::program(config).await;
        let receiver = Receiver::start().await;
        farrier.repository("demo").await;
        let hook = json!({ "type": "gitea", "active": true, "events": ["push"],
            "config": { "url": receiver.url, "content_type": "json" } });
        let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", hook).await;
        assert_eq!(created.status, 201, "{created:?}");
        let token = farrier.token("admin", &["all"]).await;
        let work = Client::init(farrier.scratch().join("work"));
        let job = farrier.begin("demo", None).await;
        farrier.upload(&job, "log", b"some bytes").await;
        let world = Self { farrier, receiver, work, token, job };
        world.push("first");
        world.receiver.wait(1).await;
        world
    }

    fn push(&self, content: &str) {
        self.work.commit("a", content);
        self.work.done(&["push", "-q", &self.farrier.remote("admin/demo", &self.token), "main"]);
    }

    /// Checks that everything that was acknowledged is there.
    async fn check(&self) {
        let tip = self.work.done(&["rev-parse", "main"]);
        let listed = self.work.done(&["ls-remote", &self.farrier.remote("admin/demo", &self.token), "refs/heads/main"]);
        assert!(listed.starts_with(tip.trim()), "{listed}");
        let branch = self.farrier.admin(Method::GET, "/api/v1/repos/admin/demo/branches/main", Value::Null).await;
        assert_eq!(branch.json()["commit"]["id"], tip.trim(), "{branch:?}");
        let artifacts = self.farrier.call(&self.job, "ListArtifacts", json!({})).await;
        assert_eq!(artifacts.json()["artifacts"].as_array().map(Vec::len), Some(1), "{artifacts:?}");
    }

    async fn engine(&self) -> String {
        let status = self.farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await;
        status.json()["store"]["engine"].as_str().expect("text").to_owned()
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_changes_survive_kills_of_the_daemon_and_of_the_server() {
    let Some(server) = PostgresServer::start() else { return };
    let config = config(&server, &server.database().await, "postgres");
    let mut world = World::start(&config).await;
    assert_eq!(world.engine().await, "postgres");
    for round in 0..3 {
        world.push(&format!("before the kill of the daemon {round}"));
        world.farrier.kill_and_start().await;
        world.check().await;
        world.push(&format!("before the kill of the server {round}"));
        tokio::task::block_in_place(|| server.command("kill"));
        let away = world.farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await;
        assert_eq!(away.status, 503, "{away:?}");
        tokio::task::block_in_place(|| server.command("start"));
        eventually("the daemon uses the server again", || async {
            world.farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.status == 200
        })
        .await;
        world.check().await;
    }
    // A delivery whose result was not recorded before a kill is sent again.
    let delivered = || world.receiver.requests().iter().map(ReceivedRequest::id).collect::<BTreeSet<_>>().len();
    eventually("every push was delivered", || async { delivered() >= 7 }).await;
    assert_eq!(delivered(), 7, "one delivery for each push");
    world.farrier.stop().await;
    assert!(!world.farrier.log().contains(PASSWORD));
    let checked = world.farrier.command_with(&config, &["check-data"]).await;
    assert!(checked.status.success(), "{}", text(&checked));
}

/// As far as the daemon knows, every older transaction could still record an event.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_transaction_holds_up_the_event_stream_and_not_deliveries() {
    let Some(server) = PostgresServer::start() else { return };
    let world = World::start(&config(&server, &server.database().await, "postgres")).await;
    let events = async |query: String| {
        let path = format!("/api/farrier/v1/events?{query}");
        send(&world.farrier.unix(), Method::GET, &path, &[("accept", "application/json")], "").await.json()
    };
    let status = async || world.farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    let shown = status().await["store"]["server"].clone();
    assert_eq!((&shown["synchronous_standby"], &shown["max_connections"]), (&json!(false), &json!(2)), "{shown}");
    let last = events("last=1".to_owned()).await["next"].clone();
    let other = server.admin(&server.database().await).await;
    other.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.expect("begun");
    world.push("second");
    world.receiver.wait(2).await;
    assert_eq!(events(format!("after={last}")).await["events"], json!([]));
    eventually("the status names the transaction", || async {
        status().await["store"]["events_wait_for"].as_str().is_some_and(|text| text.starts_with("process "))
    })
    .await;
    assert_eq!(status().await["status"], "warn");
    other.batch_execute("ROLLBACK").await.expect("ended");
    eventually("the event can be read", || async {
        let read = events(format!("after={last}")).await;
        read["events"].as_array().is_some_and(|events| events.len() == 1 && events[0]["kind"] == "push")
    })
    .await;
    eventually("the warning ends", || async { status().await["status"] == "pass" }).await;
}

/// A request that waits for a second connection while it holds one could wait for requests that do the same.
#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_requests_need_one_connection_each() {
    let Some(server) = PostgresServer::shared() else { return };
    let farrier = TestDaemon::program(&config(server, &server.database().await, "postgres")).await;
    let body = json!({ "name": "demo", "auto_init": true });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", body).await.status, 201);
    let releases = "/api/v1/repos/admin/demo/releases";
    let created = farrier.admin(Method::POST, releases, json!({ "tag_name": "v1" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let one = format!("{releases}/{}", created.json()["id"]);
    let (latest, by_tag) = (format!("{releases}/latest"), format!("{releases}/tags/v1"));
    let files = format!("{one}/assets");
    let paths = [
        releases,
        &one,
        &latest,
        &by_tag,
        &files,
        "/api/v1/users/admin/starred",
        "/api/v1/users/admin/subscriptions",
        "/api/v1/users/admin/repos",
        "/api/v1/repos/admin/demo/commits",
        "/api/v1/repos/admin/demo/actions/artifacts",
        "/api/farrier/v1/runs",
        "/api/v1/repos/admin/demo/hooks",
    ];
    for path in paths {
        let requests = (0..12).map(|_| farrier.admin(Method::GET, path, Value::Null));
        for answer in futures_util::future::join_all(requests).await {
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_on_the_same_database_is_refused() {
    let Some(server) = PostgresServer::shared() else { return };
    let config = config(server, &server.database().await, "postgres");
    let first = TestDaemon::program(&config).await;
    let second = TestDaemon::program("").await;
    let other = second.command_with(&config, &["check-data"]).await;
    let message = text(&other);
    assert!(!other.status.success() && message.contains("the store is in use by farrierd on "), "{message}");
    assert!(message.contains(&format!("(process {})", first.child().id())), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_a_store_is_not_changed_if_there_is_data() {
    let Some(server) = PostgresServer::shared() else { return };
    let mut farrier = TestDaemon::program(&config(server, &server.database().await, "postgres")).await;
    farrier.repository("demo").await;
    farrier.stop().await;
    let empty = server.database().await;
    let other = config(server, &empty, "postgres");
    let checked = farrier.command_with(&other, &["check-data"]).await;
    for refused in [farrier.refused_start(&other).await, checked] {
        let message = text(&refused);
        assert!(refused.status.code() == Some(4) && message.contains("does not exist"), "{message}");
        assert!(message.contains(&empty) && !message.contains("farrier.redb"), "{message}");
    }
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let tables = server.admin(&empty).await.query_one(tables, &[]).await.expect("a count");
    assert_eq!(tables.get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_whose_store_was_taken_ends_and_is_not_restarted() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let mut farrier = Binary::new(&config(server, &database, "postgres"));
    farrier.start().await;
    // As another daemon does after a failure of the network that only the server has noticed.
    let take = "UPDATE farrier_owner SET id = 'x', holder = 'farrierd on other (process 1)';
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name LIKE 'farrierd lock%' AND datname = current_database()";
    server.admin(&database).await.batch_execute(take).await.expect("taken");
    assert_eq!(farrier.ended().await.code(), Some(4));
    let unit = include_str!("../../../systemd/farrierd.service");
    assert!(unit.contains("RestartPreventExitStatus=4 78"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_copied_to_postgresql_and_back() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let (redb, postgres) = (config(server, &database, "redb"), config(server, &database, "postgres"));
    let mut world = World::start(&redb).await;
    let to_postgres = ["store", "copy", "--to", "postgres"];
    let running = world.farrier.command_with(&redb, &to_postgres).await;
    assert!(text(&running).contains("another farrierd uses the data directory"), "{}", text(&running));
    world.farrier.stop().await;
    let file = world.farrier.data_dir().join("farrier.redb");
    let before = std::fs::read(&file).expect("the store");
    let copied = world.farrier.command_with(&redb, &to_postgres).await;
    assert!(copied.status.success() && text(&copied).contains("is now a copy of"), "{}", text(&copied));
    assert!(before == std::fs::read(&file).expect("the store"), "the source is not changed");
    let again = world.farrier.command_with(&redb, &to_postgres).await;
    assert!(text(&again).contains("the target is not empty; nothing was changed"), "{}", text(&again));

    world.farrier.start_as_program(&postgres).await;
    assert_eq!(world.engine().await, "postgres");
    world.check().await;
    world.push("second");
    world.receiver.wait(2).await;
    world.farrier.stop().await;
    let old = world.farrier.refused_start(&redb).await;
    assert!(old.status.code() == Some(4) && text(&old).contains("is older than"), "{}", text(&old));

    std::fs::rename(&file, file.with_extension("old")).expect("moved away");
    let back = world.farrier.command_with(&postgres, &["store", "copy", "--to", "redb"]).await;
    assert!(back.status.success(), "{}", text(&back));
    world.farrier.start_as_program(&redb).await;
    assert_eq!(world.engine().await, "redb");
    world.check().await;
    world.push("third");
    world.receiver.wait(3).await;
    world.farrier.stop().await;
    let copied = world.farrier.command_with(&redb, &to_postgres).await;
    assert!(text(&copied).contains("the target is not empty; nothing was changed"), "{}", text(&copied));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_settings_of_the_database_are_reported_without_secrets() {
    let farrier = TestDaemon::program("").await;
    for (store, problem) in [
        ("engine = \"postgres\"", "needs store.url"),
        ("engine = \"mysql\"", "expected \"redb\" or \"postgres\""),
        ("url = \"postgresql://u:s3cret@db/f\"", "must not have a password; use store.password_file"),
        ("url = \"postgresql://u@db/f\"\npassword_file = \"/absent/s3cret\"", "cannot be read"),
        ("password_file = \"s3cret\"", "the service manager provides none"),
    ] {
        let checked = farrier.command_with(&format!("[store]\n{store}\n"), &["check-config"]).await;
        let message = text(&checked);
        assert!(checked.status.code() == Some(78) && message.contains(problem), "{store}: {message}");
        assert!(!message.replace("/absent/s3cret", "").contains("s3cret"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_in_place_of_a_credential_name_is_not_printed() {
    let farrier = TestDaemon::program("").await;
    let credentials = farrier.scratch().join("credentials");
    std::fs::create_dir_all(&credentials).expect("a directory");
    let file = farrier.scratch().join("farrierd.toml");
    for (config, key) in [
        ("[store]\nurl = \"postgresql://u@db/f\"\npassword_file = \"s3cret\"\n", "store.password_file"),
        ("[webhook]\nproxy_url = \"http://proxy:3128\"\nproxy_auth_file = \"s3cret\"\n", "webhook.proxy_auth_file"),
    ] {
        std::fs::write(&file, config).expect("a file");
        let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
        command.env("CREDENTIALS_DIRECTORY", &credentials).arg("--config").arg(&file).arg("check-config");
        let checked = output(command).await.expect("the program");
        let message = text(&checked);
        assert!(checked.status.code() == Some(78) && message.contains(key), "{message}");
        assert!(message.contains("the credential with this name cannot be read"), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
}
