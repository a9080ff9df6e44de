//! Daemons on PostgreSQL and a bucket, and what the rows do with them.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    Result,
    farrier::Farrier,
    plan::Plan,
    rows::{
        git::{address, fetch_request, post},
        peak,
    },
    servers::{bucket::Bucket, postgres::Postgres},
    table::Table,
};

/// Size of the read buffer, bytes.
const ROOM: usize = 256 << 10;

/// A PostgreSQL server and a bucket.
pub(in crate::rows) struct Servers {
    pub(in crate::rows) postgres: Postgres,
    pub(in crate::rows) bucket: Bucket,
}

impl Servers {
    /// Starts both servers. If one is not installed, adds a row for `what` that says so, and returns `None`.
    pub(in crate::rows) async fn start(plan: &Plan, what: &str, table: &mut Table) -> Result<Option<Self>> {
        let name = what.replace(' ', "-");
        let missing = match Postgres::start(&plan.dir(&format!("{name}-postgres"))?).await? {
            None => "PostgreSQL",
            Some(postgres) => match Bucket::start(&plan.dir(&format!("{name}-bucket"))?).await? {
                None => "versitygw",
                Some(bucket) => return Ok(Some(Self { postgres, bucket })),
            },
        };
        table.missing(what, "–".into(), &format!("{missing} is not installed"));
        Ok(None)
    }
}

/// Daemons that share a database and a prefix of the bucket.
pub(in crate::rows) struct Cluster {
    name: String,
    dir: PathBuf,
    toml: String,
}

impl Cluster {
    /// Prepares daemons with an empty store. `name` is the name of the database and the prefix.
    pub(in crate::rows) fn new(plan: &Plan, servers: &Servers, name: &str, more: &str) -> Result<Self> {
        let dir = plan.dir(&format!("cluster-{name}"))?;
        servers.postgres.create(name)?;
        let store = servers.postgres.toml(name, &dir.join("secrets.key"));
        let toml = format!("{store}{}{more}", servers.bucket.toml(name));
        Ok(Self { name: name.to_owned(), dir, toml })
    }

    /// Starts the daemon with this number.
    pub(in crate::rows) async fn start(&self, number: usize) -> Result<Farrier> {
        let dir = self.dir_of(number);
        std::fs::create_dir_all(&dir)?;
        let toml = format!("[node]\nname = \"{}-{number}\"\n{}", self.name, self.toml);
        Farrier::configured(&dir, &toml).await
    }

    /// Removes all data of the stopped daemon with this number.
    pub(in crate::rows) fn wipe(&self, number: usize) -> Result<()> {
        match std::fs::remove_dir_all(self.dir_of(number).join("data")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            result => Ok(result?),
        }
    }

    fn dir_of(&self, number: usize) -> PathBuf {
        self.dir.join(format!("node-{number}"))
    }
}

/// Returns the URL of a repository with credentials. It is used only on the loopback interface.
pub(in crate::rows) fn url(farrier: &Farrier, token: &str, name: &str) -> Result<String> {
    Ok(format!("http://admin:{token}@{}/admin/{name}.git", address(&farrier.tcp)?))
}

/// Requests one commit, which a daemon can only answer with a current copy of the repository. Returns the duration.
pub(in crate::rows) async fn first_fetch(farrier: &Farrier, repository: &str, commit: &str) -> Result<Duration> {
    let request = post(&format!("/admin/{repository}.git/git-upload-pack"), &fetch_request(commit, &["deepen 1"]));
    let begun = Instant::now();
    let mut connection = farrier.tcp.connect().await?;
    connection.send(&request).await?;
    connection.discard_body(&mut vec![0; ROOM]).await?;
    Ok(begun.elapsed())
}

/// The first answer of a daemon that had no copy of a repository.
pub(in crate::rows) struct ColdCopy {
    pub(in crate::rows) farrier: Farrier,
    pub(in crate::rows) elapsed: Duration,
    /// Maximum of the additional resident memory, bytes.
    pub(in crate::rows) grown: u64,
}

/// Removes the data of the stopped daemon with this number, starts it, and requests one commit.
pub(in crate::rows) async fn cold_copy(
    cluster: &Cluster,
    number: usize,
    repository: &str,
    commit: &str,
) -> Result<ColdCopy> {
    cluster.wipe(number)?;
    let farrier = cluster.start(number).await?;
    let idle = farrier.watch().resident()?;
    let (elapsed, peak) = peak(farrier.watch(), first_fetch(&farrier, repository, commit)).await?;
    Ok(ColdCopy { farrier, elapsed, grown: peak.saturating_sub(idle) })
}

/// Returns the path of the only pack of a repository.
pub(in crate::rows) fn pack_of(bare: &Path) -> Result<PathBuf> {
    let files = std::fs::read_dir(bare.join("objects/pack"))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let mut packs = paths.filter(|path| path.extension().is_some_and(|end| end == "pack"));
    packs.next().ok_or_else(|| "the repository has no pack".into())
}
