//! What is known about a synchronous standby. `pg_receivewal` acts as one.

use std::process::{Child, Command, Stdio};

use super::{
    options,
    server::{PASSWORD, PostgresServer},
    *,
};

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A process that receives and confirms all commits.
struct Receiver(Child);

impl Receiver {
    fn start(server: &PostgresServer, directory: &std::path::Path) -> Self {
        // Debian does not add the programs to the path.
        let script = "PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1); exec pg_receivewal \"$@\"";
        #[expect(clippy::disallowed_methods, reason = "tests own their processes")]
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh", "--synchronous", "-h", "127.0.0.1", "-U", "postgres", "-D"]).arg(directory);
        command.arg("-p").arg(server.port().to_string()).env("PGPASSWORD", PASSWORD);
        Self(command.stderr(Stdio::null()).spawn().expect("a shell"))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Waits until the engine reports `expected`.
async fn reported(engine: &PostgresEngine, expected: Option<bool>) {
    let reported = async {
        loop {
            let server = engine.health().await.expect("it can be used").server.expect("a server");
            if server.has_synchronous_standby == expected {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reported).await.unwrap_or_else(|_| panic!("{expected:?}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_reports_whether_a_standby_confirms_commits_if_its_user_may_see_that() {
    let Some(server) = PostgresServer::start() else { return };
    let database = server.database().await;
    let engine =
        PostgresEngine::open(options(&server.socket_url(&database), &server)).await.expect("an empty database");
    let info = engine.health().await.expect("it can be used").server.expect("a server");
    assert_eq!((info.has_synchronous_standby, info.connections, info.max_connections), (Some(false), 0, 12));
    assert!(info.address.ends_with(&format!(":{}", server.port())), "{info:?}");
    let admin = server.admin(&database).await;
    let set_standby = async |name: &str| {
        admin.batch_execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'")).await.expect("set");
        admin.batch_execute("SELECT pg_reload_conf()").await.expect("reloaded");
    };
    let directory = tempfile::tempdir().expect("a directory");
    let receiver = Receiver::start(&server, directory.path());
    let connected = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    while admin.query_one(connected, &[]).await.expect("a count").get::<_, i64>(0) == 0 {
        tokio::time::sleep(PAUSE).await;
    }
    set_standby("pg_receivewal").await;
    reported(&engine, None).await;
    admin.batch_execute("GRANT pg_monitor TO farrier").await.expect("granted");
    reported(&engine, Some(true)).await;
    drop(receiver);
    reported(&engine, Some(false)).await;
    set_standby("").await;
}
