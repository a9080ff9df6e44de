//! A private PostgreSQL server for tests. The unit tests of the engine use this file, too.
//!
//! The server has a directory and a port of its own and ends with the test process: its supervisor, a shell, reads
//! commands from a pipe and stops the server when the pipe is closed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::chown, process::CommandExt as _},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use nix::unistd::User;
use tokio_postgres::{Client, NoTls};

/// If it is set, a missing server fails the tests instead of skipping them.
const REQUIRED: &str = "FARRIER_REQUIRE_CLIENTS";

/// The password of all roles.
pub(crate) const PASSWORD: &str = "pl4nted-password";

/// Starts the server, executes commands, and removes the directory at the end. Writes a line after each command. With
/// the directory and the port of another server, the server is a standby of it.
const SUPERVISOR: &str = r#"
bin=$1 dir=$2 port=$3 primary=$4 primary_port=$5
run() {
    while :; do
        "$bin/postgres" -D "$dir/data" -k "$dir" -p "$port" -h 127.0.0.1 -F -c max_connections=200 -c ssl=on \
            -c ssl_cert_file="$dir/server.crt" -c ssl_key_file="$dir/server.key" \
            -c wal_retrieve_retry_interval=200ms >>"$dir/log" 2>&1 &
        pid=$!
        while kill -0 $pid 2>/dev/null; do
            "$bin/pg_isready" -q -h "$dir" -p "$port" && return
            sleep 0.1
        done
        sleep 0.1
    done
}
export PGPASSWORD=$(cat "$dir/password")
if [ -n "$primary" ]; then
    "$bin/pg_basebackup" -D "$dir/data" -R -X stream -c fast --no-sync \
        -h "$primary" -p "$primary_port" -U postgres >>"$dir/log" 2>&1 || exit 1
    run
else
    "$bin/initdb" -D "$dir/data" -U postgres -A scram-sha-256 --pwfile="$dir/password" --no-sync -E UTF8 --locale=C \
        >>"$dir/log" 2>&1 || exit 1
    run
    "$bin/psql" -q -h "$dir" -p "$port" -U postgres \
        -c "CREATE ROLE farrier LOGIN PASSWORD '$PGPASSWORD'" >>"$dir/log" 2>&1 || exit 1
fi
echo ready
while read -r command; do
    case $command in
        start) run ;;
        kill) kill -KILL $pid $(ps -o pid= --ppid $pid); wait $pid 2>/dev/null ;;
        restart) kill -INT $pid; wait $pid; run ;;
        freeze) kill -STOP $pid $(ps -o pid= --ppid $pid) ;;
        thaw) kill -CONT $pid $(ps -o pid= --ppid $pid) ;;
        promote) "$bin/pg_ctl" promote -s -D "$dir/data" >>"$dir/log" 2>&1 ;;
    esac
    echo done
done
kill -CONT $pid 2>/dev/null; kill -QUIT $pid 2>/dev/null; wait $pid
rm -rf "$dir"
"#;

/// A running server.
pub(crate) struct PostgresServer {
    dir: PathBuf,
    port: u16,
    supervisor: Mutex<Supervisor>,
    databases: AtomicU32,
}

struct Supervisor {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl PostgresServer {
    /// Returns the server that the tests of this process share; `None` if PostgreSQL is not installed.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    /// Starts a server for one test; `None` if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// Starts a standby of this server, which confirms each commit from now on. Blocks the thread.
    #[allow(dead_code, reason = "only the tests of several daemons use it")]
    pub(crate) async fn start_standby(&self) -> Self {
        // Its copy of the configuration does not have the following setting, so that it waits for nobody when it has
        // become the primary.
        let standby = tokio::task::block_in_place(|| Self::start_with(Some(self))).expect("PostgreSQL is installed");
        let admin = self.admin("postgres").await;
        admin.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'").await.expect("set");
        admin.batch_execute("SELECT pg_reload_conf()").await.expect("reloaded");
        let is_synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
        while admin.query_one(is_synchronous, &[]).await.expect("a count").get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        standby
    }

    /// Starts a server; with `primary`, a standby of that one.
    fn start_with(primary: Option<&Self>) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os(REQUIRED).is_none(), "PostgreSQL is not installed");
            eprintln!("SKIPPED: PostgreSQL is not installed, so the engine for it is not tested");
            return None;
        };
        let dir = tempfile::tempdir().expect("a directory").keep();
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("a free port").port();
        let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        for (name, text) in [
            ("password", PASSWORD.to_owned()),
            ("server.crt", certificate.cert.pem()),
            ("server.key", certificate.signing_key.serialize_pem()),
        ] {
            fs::write(dir.join(name), text).expect("a file");
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(dir.join("server.key"), mode).expect("the mode");
        #[expect(clippy::disallowed_methods, reason = "tests own their processes")]
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SUPERVISOR, "sh"]).args([&programs, &dir]).arg(port.to_string()).current_dir(&dir);
        if let Some(primary) = primary {
            command.arg(&primary.dir).arg(primary.port.to_string());
        }
        // The server does not run as root.
        if nix::unistd::geteuid().is_root() {
            let user = ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
            let user = user.expect("a user for the server");
            for path in ["", "password", "server.crt", "server.key"] {
                chown(dir.join(path), Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("the owner");
            }
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let mut output = BufReader::new(process.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n", "{}", fs::read_to_string(dir.join("log")).unwrap_or_default());
        let supervisor = Mutex::new(Supervisor { process, output });
        Some(Self { dir, port, supervisor, databases: AtomicU32::new(0) })
    }

    /// Creates an empty database, and returns its name.
    pub(crate) async fn database(&self) -> String {
        let name = format!("farrier{}", self.databases.fetch_add(1, Ordering::SeqCst));
        let create = format!("CREATE DATABASE {name} OWNER farrier TEMPLATE template0");
        self.admin("postgres").await.batch_execute(&create).await.expect("a database");
        name
    }

    /// Connects to `database` as the administrator of the server.
    pub(crate) async fn admin(&self, database: &str) -> Client {
        let mut config = tokio_postgres::Config::new();
        config.host_path(&self.dir).port(self.port).user("postgres").password(PASSWORD).dbname(database);
        let (client, connection) = config.connect(NoTls).await.expect("a connection");
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        tokio::spawn(connection);
        client
    }

    /// Returns the URL of `database` on the Unix socket.
    pub(crate) fn socket_url(&self, database: &str) -> String {
        format!("postgresql://farrier@/{database}?host={}&port={}", self.dir.display(), self.port)
    }

    /// Returns the TCP port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the file with the password.
    pub(crate) fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    /// Returns the certificate of the server, which is valid for `localhost`.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.dir.join("server.crt")
    }

    /// Returns the log of the server.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).expect("text")
    }

    /// Executes a command: `kill` (SIGKILL of all processes of the server), `start`, `restart`, `freeze`, `thaw` or
    /// `promote`, which makes a standby the primary. Blocks until the server accepts connections again, if it runs.
    pub(crate) fn command(&self, command: &str) {
        let mut supervisor = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner);
        let mut input = supervisor.process.stdin.as_ref().expect("piped");
        input.write_all(format!("{command}\n").as_bytes()).expect("the supervisor reads");
        let mut line = String::new();
        supervisor.output.read_line(&mut line).expect("text");
        assert_eq!(line, "done\n");
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let supervisor = self.supervisor.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(supervisor.process.stdin.take());
        _ = supervisor.process.wait();
    }
}

/// Returns the directory of the programs of PostgreSQL. Debian does not add it to the path.
fn programs() -> Option<PathBuf> {
    let has_server = |directory: &PathBuf| directory.join("initdb").exists() && directory.join("postgres").exists();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).filter(has_server).collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian.pop().or_else(|| std::env::split_paths(&path).find(has_server))
}
