//! git over SSH: clones beside HTTP and beside OpenSSH with git-shell, processor time of a sign-in, and `ls-remote`
//! beside OpenSSH.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    git::{
        fixture::{self, BRANCH, git, git_at},
        path,
    },
    settle,
};
use crate::{
    Result,
    child::{Child, installed, output_of},
    client::{Over, head},
    farrier::Farrier,
    figures::{median, millis, ratio, spread},
    plan::Plan,
    table::{Budget, Table},
};

/// Clones per round. The kernel counts processor time in steps of 10 ms.
const CLONES: u32 = 5;
/// Most processor time of a clone over SSH, as a multiple of that over HTTP.
const CLONE_MAX: f64 = 1.8;
/// Least clones per second over SSH, as a part of those over HTTP.
const CLONE_RATE_MIN: f64 = 0.9;
/// Sign-ins without a command per round.
const GREETINGS: u32 = 20;
/// Most processor time of a sign-in, milliseconds.
const GREETING_MAX: f64 = 10.0;
/// Most time of `ls-remote`, as a part of that with OpenSSH.
const LIST_MAX: f64 = 1.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("ssh")?;
    let bare = fixture::make(&dir, if plan.quick { 200 } else { 5_000 }).await?;
    // Each clone runs git, so that the protocols are compared and not the stored answers.
    let toml = "[ssh]\nlisten = [\"127.0.0.1:0\"]\n[git]\ncache_max_bytes = 0\n";
    let farrier = Farrier::configured(&plan.dir("ssh-farrier")?, toml).await?;
    farrier.repository("big").await?;
    let client = Client::new(&dir)?;
    farrier.admin("/api/v1/user/keys", &json!({ "title": "bench", "key": client.public()? })).await?;
    let (over_ssh, over_http) = (ssh_address(&farrier).await?, http_address(&farrier).await?);
    client.git(&["-C", path(&bare)?, "push", "--quiet", &over_ssh, &format!("{BRANCH}:{BRANCH}")]).await?;
    settle().await;
    let sshd = Sshd::start(&plan.dir("ssh-openssh")?, &client, &bare).await;
    let addresses = Addresses {
        ssh: over_ssh,
        http: over_http,
        openssh: match &sshd {
            Ok(Some(sshd)) => Ok(sshd.address.clone()),
            Ok(None) => Err("sshd or git-shell is not installed".to_owned()),
            Err(error) => Err(format!("sshd does not start: {error}")),
        },
    };
    cloning(plan, table, (&farrier, &client), &addresses, &dir).await?;
    greeting(plan, table, (&farrier, &client), &addresses.ssh).await?;
    listing(plan, table, &client, &addresses).await
}

/// The same repository over three ways.
struct Addresses {
    ssh: String,
    http: String,
    /// The server of OpenSSH, or why it does not run.
    openssh: std::result::Result<String, String>,
}

/// Measures the processor time of the daemon and its git processes, and the clones per second of the real git.
async fn cloning(
    plan: &Plan,
    table: &mut Table,
    (farrier, client): (&Farrier, &Client),
    addresses: &Addresses,
    dir: &Path,
) -> Result<()> {
    let ways = [Some(&addresses.ssh), Some(&addresses.http), addresses.openssh.as_ref().ok()];
    let (mut processor, mut rates) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
    for round in 0..plan.rounds {
        for (way, address) in ways.into_iter().enumerate() {
            let Some(address) = address else { continue };
            let begun = farrier.watch().processor_with_ended()?;
            let mut elapsed = Duration::ZERO;
            for number in 0..CLONES {
                let to = dir.join(format!("{way}-{round}-{number}.git"));
                let clone_begun = Instant::now();
                client.git(&["clone", "--quiet", "--bare", address, path(&to)?]).await?;
                elapsed += clone_begun.elapsed();
                std::fs::remove_dir_all(&to)?;
            }
            let spent = farrier.watch().processor_with_ended()?.saturating_sub(begun);
            processor[way].push(millis(spent) / f64::from(CLONES));
            rates[way].push(f64::from(CLONES) / elapsed.as_secs_f64());
        }
    }
    let [ssh, http, _] = processor;
    let what = "processor time of a clone over SSH; beside HTTP";
    table.beside(what, spread(&ssh, "ms"), spread(&http, "ms"), ratio(&ssh, &http), Budget::AtMost(CLONE_MAX));
    let [ssh, http, openssh] = rates;
    let what = "clones over SSH with the real git, one at a time; beside HTTP";
    let budget = Budget::AtLeast(CLONE_RATE_MIN);
    table.beside(what, spread(&ssh, "/s"), spread(&http, "/s"), ratio(&ssh, &http), budget);
    let what = "the same; beside OpenSSH + git-shell";
    match &addresses.openssh {
        Ok(_) => table.beside(what, spread(&ssh, "/s"), spread(&openssh, "/s"), ratio(&ssh, &openssh), Budget::None),
        Err(reason) => table.missing(what, spread(&ssh, "/s"), reason),
    }
    Ok(())
}

/// Measures the processor time of the daemon for a sign-in without a command.
async fn greeting(
    plan: &Plan,
    table: &mut Table,
    (farrier, client): (&Farrier, &Client),
    over_ssh: &str,
) -> Result<()> {
    let host = over_ssh.strip_suffix("/admin/big.git").ok_or("another address")?;
    let mut greetings = Vec::new();
    for _ in 0..plan.rounds {
        let begun = farrier.watch().processor_with_ended()?;
        for _ in 0..GREETINGS {
            client.greet(host).await?;
        }
        let spent = farrier.watch().processor_with_ended()?.saturating_sub(begun);
        greetings.push(millis(spent) / f64::from(GREETINGS));
    }
    let what = "processor time of a sign-in over SSH without a command";
    table.alone(what, spread(&greetings, "ms"), "≤ 10 ms", median(&greetings) <= GREETING_MAX);
    Ok(())
}

async fn listing(plan: &Plan, table: &mut Table, client: &Client, addresses: &Addresses) -> Result<()> {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds * 4 {
        for (address, times) in [(Some(&addresses.ssh), &mut own), (addresses.openssh.as_ref().ok(), &mut other)] {
            let Some(address) = address else { continue };
            let begun = Instant::now();
            client.git(&["ls-remote", address]).await?;
            times.push(millis(begun.elapsed()));
        }
    }
    let what = "ls-remote over SSH; beside OpenSSH + git-shell";
    match &addresses.openssh {
        Ok(_) => {
            table.beside(what, spread(&own, "ms"), spread(&other, "ms"), ratio(&own, &other), Budget::AtMost(LIST_MAX));
        }
        Err(reason) => table.missing(what, spread(&own, "ms"), reason),
    }
    Ok(())
}

/// The real ssh with a key of its own.
struct Client {
    key: PathBuf,
}

impl Client {
    fn new(dir: &Path) -> Result<Self> {
        let key = dir.join("id_ed25519");
        make_key(&key)?;
        Ok(Self { key })
    }

    fn public(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.key.with_extension("pub"))?.trim().to_owned())
    }

    /// Runs git with this key. Host keys are not checked: the servers are on the loopback interface.
    async fn git(&self, args: &[&str]) -> Result<()> {
        let mut command = fixture::command(args);
        command.env("GIT_SSH_COMMAND", format!("ssh {}", self.options()?)).stdout(Stdio::null());
        let output = command.output().await?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Signs in without a command.
    async fn greet(&self, host: &str) -> Result<()> {
        #[expect(clippy::disallowed_methods, reason = "the client that is measured")]
        let mut command = tokio::process::Command::new("ssh");
        command.args(self.options()?.split(' ')).args(["-T", host]).stdin(Stdio::null());
        let output = command.output().await?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("ssh {host}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    fn options(&self) -> Result<String> {
        Ok(format!(
            "-F none -i {} -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \
             -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            path(&self.key)?
        ))
    }
}

fn make_key(file: &Path) -> Result<()> {
    let keygen = installed("ssh-keygen").ok_or("ssh-keygen is not installed")?;
    output_of(&keygen, &["-q", "-t", "ed25519", "-N", "", "-f", path(file)?])?;
    if file.is_file() { Ok(()) } else { Err("ssh-keygen made no key".into()) }
}

async fn ssh_address(farrier: &Farrier) -> Result<String> {
    let mut connection = farrier.unix.connect().await?;
    connection.send(&head("GET", "/api/farrier/v1/ssh", 0, &[])).await?;
    let service: Value = serde_json::from_slice(&connection.expect(200).await?)?;
    let port = service["port"].as_u64().ok_or("no port")?;
    Ok(format!("ssh://git@127.0.0.1:{port}/admin/big.git"))
}

async fn http_address(farrier: &Farrier) -> Result<String> {
    let Over::Tcp(address) = &farrier.tcp else { return Err("no TCP address".into()) };
    Ok(format!("http://admin:{}@{address}/admin/big.git", farrier.token().await?))
}

/// The server of OpenSSH, with git-shell for every login.
struct Sshd {
    #[expect(dead_code, reason = "ends the server when it is dropped")]
    child: Child,
    address: String,
}

impl Sshd {
    /// Starts the server with a copy of `bare`. `None`: it is not installed.
    async fn start(dir: &Path, client: &Client, bare: &Path) -> Result<Option<Self>> {
        let (Some(sshd), Some(shell)) = (installed("sshd"), installed("git-shell")) else { return Ok(None) };
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
        make_key(&dir.join("host"))?;
        let copy = dir.join("big.git");
        git(&["clone", "--quiet", "--mirror", path(bare)?, path(&copy)?]).await?;
        git_at(&copy, &["pack-refs", "--all"]).await?;
        std::fs::write(dir.join("authorized_keys"), client.public()? + "\n")?;
        // The port is free for a moment, and nothing else uses ports here.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (at, shell) = (path(dir)?, path(&shell)?);
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized_keys\n\
             StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n\
             AcceptEnv GIT_PROTOCOL\nForceCommand {shell} -c \"$SSH_ORIGINAL_COMMAND\"\n"
        );
        std::fs::write(dir.join("sshd_config"), config)?;
        // A server that runs as root wants this directory.
        let _ = std::fs::create_dir_all("/run/sshd");
        let config = dir.join("sshd_config");
        let mut child = Child::start(&sshd, &["-D", "-e", "-f", path(&config)?], &[], dir)?;
        let over = Over::Tcp(format!("127.0.0.1:{port}"));
        tokio::time::timeout(Duration::from_secs(10), child.answers(&over)).await??;
        let sshd = Self { child, address: format!("ssh://{user}@127.0.0.1:{port}{}", path(&copy)?) };
        client.git(&["ls-remote", &sshd.address]).await?;
        Ok(Some(sshd))
    }
}
