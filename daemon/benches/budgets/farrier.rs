//! The measured daemon: its release build as a child process.

use std::{
    net::TcpListener,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Result,
    child::{Child, Watch},
    client::{Over, head, json},
    load::{self, Content, block_id},
    program,
};

/// Pause between two attempts to reach a starting daemon.
const TRY_AGAIN: Duration = Duration::from_micros(200);
/// Time limit of a start, including the check of a store of a gigabyte.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running farrierd.
pub(crate) struct Farrier {
    child: Child,
    dir: PathBuf,
    pub(crate) tcp: Over,
    pub(crate) unix: Over,
    /// Time from exec to the first response with status 200.
    pub(crate) ready: Duration,
}

/// Listening sockets that outlive daemons.
pub(crate) struct Sockets {
    tcp: TcpListener,
    unix: UnixListener,
    path: PathBuf,
}

impl Sockets {
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("farrier.sock");
        Ok(Self { tcp: TcpListener::bind("127.0.0.1:0")?, unix: UnixListener::bind(&path)?, path })
    }

    pub(crate) fn tcp(&self) -> Over {
        Over::Tcp(self.tcp.local_addr().map(|address| address.to_string()).unwrap_or_default())
    }

    pub(crate) fn unix(&self) -> Over {
        Over::Unix(self.path.clone())
    }
}

/// A job that uploads artifacts.
pub(crate) struct Job {
    run_id: i64,
    id: i64,
    /// The header with its runtime token.
    pub(crate) bearer: String,
}

/// Durations of an upload and its last steps.
pub(crate) struct Uploaded {
    pub(crate) total: Duration,
    pub(crate) list: Duration,
    pub(crate) finalize: Duration,
}

impl Farrier {
    /// Starts a daemon on the data in `dir`, which may be empty.
    pub(crate) async fn start(dir: &Path) -> Result<Self> {
        Self::configured(dir, "").await
    }

    /// Like [`Farrier::start`], with a configuration file.
    pub(crate) async fn configured(dir: &Path, toml: &str) -> Result<Self> {
        let config = dir.join("farrierd.toml");
        // Artifacts that a row deletes are removed at once, so that the rounds do not fill the disk.
        std::fs::write(&config, format!("{toml}\n[storage]\nset_aside_days = 0\n"))?;
        let socket = dir.join("farrier.sock");
        let data = dir.join("data");
        let program = program::farrierd()?;
        let path = |path: &Path| path.to_str().map(str::to_owned).ok_or("the directory is not UTF-8");
        let (config, data) = (path(&config)?, path(&data)?);
        let args = ["--config", &config, "--data-dir", &data, "--listen", "127.0.0.1:0", "--socket", &path(&socket)?];
        let unix = Over::Unix(socket);
        let begun = Instant::now();
        let mut child = Child::start(program, &args, &[("HOME", &path(dir)?)], dir)?;
        let ready = first_answer(&unix, begun).await?;
        let tcp = child.line()?;
        let tcp = tcp.strip_prefix("farrierd listens on tcp ").ok_or_else(|| format!("no address: {tcp}"))?;
        Ok(Self { tcp: Over::Tcp(tcp.to_owned()), unix, ready, dir: dir.to_owned(), child })
    }

    /// Starts a daemon on listening sockets that outlive it, as under a service manager.
    pub(crate) fn inheriting(dir: &Path, sockets: &Sockets) -> Result<Self> {
        let program = program::farrierd()?;
        let data = dir.join("data");
        let data = data.to_str().ok_or("the directory is not UTF-8")?;
        let (tcp, unix) = (sockets.tcp.try_clone()?, sockets.unix.try_clone()?);
        let begun = Instant::now();
        let mut child = Child::start_on(tcp.into(), unix.into(), program, &["--data-dir", data], dir)?;
        child.line()?; // printed when the daemon is ready
        let (tcp, unix) = (sockets.tcp(), sockets.unix());
        Ok(Self { tcp, unix, ready: begun.elapsed(), dir: dir.to_owned(), child })
    }

    /// Returns the path of the store below the directory of a daemon.
    pub(crate) fn store_file(dir: &Path) -> PathBuf {
        dir.join("data/farrier.redb")
    }

    pub(crate) fn watch(&self) -> Watch {
        self.child.watch()
    }

    /// Stops the daemon with SIGTERM.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.child.stop()
    }

    /// Kills the daemon with SIGKILL.
    pub(crate) fn kill(self) {
        drop(self.child);
    }

    /// Sends a request over the socket, as the administrator.
    pub(crate) async fn admin(&self, target: &str, body: &Value) -> Result<Value> {
        let mut connection = self.unix.connect().await?;
        connection.send(&json("POST", target, &[], body)).await?;
        Ok(serde_json::from_slice(&connection.expect(201).await?)?)
    }

    /// Creates the repository `admin/NAME`.
    pub(crate) async fn repository(&self, name: &str) -> Result<()> {
        self.admin("/api/v1/user/repos", &json!({ "name": name, "description": "what the benches read" })).await?;
        Ok(())
    }

    /// Creates a token of the administrator with all scopes.
    pub(crate) async fn token(&self) -> Result<String> {
        let created =
            self.admin("/api/v1/admin/users/admin/tokens", &json!({ "name": "bench", "scopes": ["all"] })).await?;
        Ok(created["sha1"].as_str().ok_or("no token")?.to_owned())
    }

    /// Starts a job in a new run of `admin/REPO`.
    pub(crate) async fn begin(&self, repo: &str) -> Result<Job> {
        let begun = self.admin("/api/farrier/v1/jobs", &json!({ "repo": format!("admin/{repo}") })).await?;
        let number = |key: &str| begun[key].as_i64().ok_or("no number");
        let token = begun["token"].as_str().ok_or("no token")?;
        Ok(Job { run_id: number("run_id")?, id: number("job_id")?, bearer: format!("authorization: Bearer {token}") })
    }

    /// Sends a Twirp request of `job` over TCP.
    async fn call(&self, job: &Job, method: &str, mut message: Value) -> Result<Value> {
        message["workflow_run_backend_id"] = job.run_id.to_string().into();
        message["workflow_job_run_backend_id"] = job.id.to_string().into();
        let target = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
        let mut connection = self.tcp.connect().await?;
        connection.send(&json("POST", &target, &[&job.bearer], &message)).await?;
        Ok(serde_json::from_slice(&connection.expect(200).await?)?)
    }

    /// Creates the artifact `name` and returns the target of its upload URL.
    pub(crate) async fn create(&self, job: &Job, name: &str) -> Result<String> {
        let created = self.call(job, "CreateArtifact", json!({ "name": name, "version": 4 })).await?;
        target(&created["signed_upload_url"])
    }

    /// Uploads the artifact `name` like the official client: create, blocks, block list, finalize.
    pub(crate) async fn upload(&self, job: &Job, name: &str, content: &Content, in_flight: usize) -> Result<Uploaded> {
        let begun = Instant::now();
        let target = self.create(job, name).await?;
        let of_block = target.clone();
        load::put_blocks(&self.tcp, content, in_flight, move |number| {
            format!("{of_block}&comp=block&blockid={}", block_id(number))
        })
        .await?;
        let body = content.block_list();
        let listed = Instant::now();
        let mut connection = self.tcp.connect().await?;
        connection.send(&head("PUT", &format!("{target}&comp=blocklist"), body.len() as u64, &[])).await?;
        connection.send(body.as_bytes()).await?;
        connection.expect(201).await?;
        let finalized = Instant::now();
        let claims = json!({ "name": name, "size": content.size().to_string(), "hash": content.hash.as_ref() });
        self.call(job, "FinalizeArtifact", claims).await?;
        Ok(Uploaded { total: begun.elapsed(), list: finalized - listed, finalize: finalized.elapsed() })
    }

    /// Returns the target of the download URL of the artifact `name` of `job`.
    pub(crate) async fn address(&self, job: &Job, name: &str) -> Result<String> {
        target(&self.call(job, "GetSignedArtifactURL", json!({ "name": name })).await?["signed_url"])
    }

    /// Deletes the artifact and waits until its files are removed, so that the removal does not slow down the
    /// next measurement.
    pub(crate) async fn delete(&self, job: &Job, name: &str) -> Result<()> {
        self.call(job, "DeleteArtifact", json!({ "name": name })).await?;
        let artifacts = self.dir.join("data/artifacts");
        let begun = Instant::now();
        while std::fs::read_dir(&artifacts)?.next().is_some() && begun.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

/// Waits for the first response and returns the time since `begun`.
async fn first_answer(over: &Over, begun: Instant) -> Result<Duration> {
    let request = head("GET", "/api/healthz", 0, &[]);
    loop {
        let exchange = async {
            let mut connection = over.connect().await?;
            connection.send(&request).await?;
            connection.expect(200).await
        };
        match exchange.await {
            Ok(_) => return Ok(begun.elapsed()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(TRY_AGAIN).await,
        }
    }
}

/// Returns the path and query of an absolute URL.
pub(crate) fn target(address: &Value) -> Result<String> {
    let address = address.as_str().ok_or("no address")?;
    let rest = address.strip_prefix("http://").and_then(|rest| rest.find('/').map(|at| rest[at..].to_owned()));
    rest.ok_or_else(|| format!("an odd address: {address}").into())
}
