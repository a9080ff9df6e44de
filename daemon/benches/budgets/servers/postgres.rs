//! PostgreSQL: a server of its own for one run, with the settings of Debian's package. It syncs each commit.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::{
    Result,
    child::{Child, User, run_as},
};

/// The administrator of the server and the owner of all databases.
const ROLE: &str = "bench";
/// The server listens on the loopback interface and ends with the run.
const PASSWORD: &str = "nothing-but-measuring";
/// Time limit of a start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running PostgreSQL.
pub(crate) struct Postgres {
    child: Child,
    programs: PathBuf,
    port: String,
    password: PathBuf,
    dir: PathBuf,
}

impl Postgres {
    /// Starts PostgreSQL on an empty directory; `None` if it is not installed.
    pub(crate) async fn start(dir: &Path) -> Result<Option<Self>> {
        let Some(programs) = programs() else { return Ok(None) };
        let (user, data, password) = (user()?, dir.join("data"), dir.join("password"));
        fs::write(&password, PASSWORD)?;
        if let Some(user) = user {
            // The user of the server must reach its directory.
            let parent = dir.parent().ok_or("a directory without a parent")?;
            fs::set_permissions(parent, fs::Permissions::from_mode(0o711))?;
            for path in [dir, &password] {
                chown(path, Some(user.id), Some(user.group))?;
            }
        }
        let text = |path: &Path| path.to_str().map(str::to_owned).ok_or("the directory is not UTF-8");
        let (data, file, socket) = (text(&data)?, format!("--pwfile={}", text(&password)?), text(dir)?);
        let args = ["-D", &data, "-U", ROLE, "-A", "scram-sha-256", &file, "-E", "UTF8", "--locale=C", "--no-sync"];
        run_as(user, &programs.join("initdb"), &args, &[], dir)?;
        // PostgreSQL cannot report which port the kernel chose, so the benchmark chooses a free port.
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let args = ["-D", &data, "-h", "127.0.0.1", "-p", &port, "-k", &socket, "-c", "max_connections=200"];
        let child = Child::start_as(user, &programs.join("postgres"), &args, dir)?;
        let server = Self { child, programs, port, password, dir: dir.to_owned() };
        let begun = Instant::now();
        while let Err(error) = server.run("pg_isready", &[]) {
            if begun.elapsed() > PATIENCE {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Some(server))
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        let args = [&["-h", "127.0.0.1", "-p", &self.port, "-U", ROLE], args].concat();
        run_as(None, &self.programs.join(program), &args, &[("PGPASSWORD", PASSWORD)], &self.dir)
    }

    /// Creates an empty database.
    pub(crate) fn create(&self, database: &str) -> Result<()> {
        self.run("createdb", &[database])
    }

    /// Returns the section of a configuration file for daemons that share `database` and the key file `key`.
    pub(crate) fn toml(&self, database: &str, key: &Path) -> String {
        format!(
            "[store]\nengine = \"postgres\"\nurl = \"postgresql://{ROLE}@127.0.0.1:{}/{database}\"\n\
             password_file = \"{}\"\nkey_file = \"{}\"\n",
            self.port,
            self.password.display(),
            key.display()
        )
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Ends all connections. If only the first process were killed, the others would end later.
        let _ = self.child.stop_with(Signal::INT);
    }
}

/// Returns the directory of the programs. Debian does not add it to the path.
fn programs() -> Option<PathBuf> {
    let has_server = |directory: &PathBuf| directory.join("initdb").exists() && directory.join("postgres").exists();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).filter(has_server).collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian.pop().or_else(|| std::env::split_paths(&path).find(has_server))
}

/// Returns the user of the server, if this process is root; PostgreSQL does not run as root.
fn user() -> Result<Option<User>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let found = ["postgres", "nobody"].iter().find_map(|name| {
        let fields: Vec<&str> = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':').collect();
        Some(User { id: fields.get(2)?.parse().ok()?, group: fields.get(3)?.parse().ok()? })
    });
    found.map(Some).ok_or_else(|| "there is no user for PostgreSQL".into())
}
