//! git over HTTP: fetch, ls-remote and push.

pub(super) mod fixture;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use self::fixture::{BRANCH, git, git_at};
use super::settle;
use crate::{
    Result,
    child::Child,
    client::{Over, head},
    farrier::Farrier,
    figures::{mib, millis, plain, ratio, spread},
    plan::Plan,
    servers::nginx::Nginx,
    table::{Budget, Table},
};

/// Concurrent fetches when serving is measured.
const AT_ONCE: usize = 4;
/// Concurrent clones when memory is measured.
const CROWD: usize = 16;
/// Limit of the daemon's additional resident memory during concurrent clones, MiB. The git processes are not
/// included: their number is limited.
const CROWD_MAX: f64 = 64.0;
/// Size of the read buffer, bytes.
const ROOM: usize = 256 << 10;

/// The same repository on every server.
struct Setup {
    farrier: Farrier,
    token: String,
    nginx: Option<(Nginx, Child)>,
    /// A bare copy, for git without a server.
    bare: PathBuf,
    tip: String,
    dir: PathBuf,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let setup = Setup::create(plan).await?;
    serving(plan, table, &setup).await?;
    looking(plan, table, &setup).await?;
    pushing(plan, table, &setup).await?;
    crowd(table, &setup).await
}

impl Setup {
    async fn create(plan: &Plan) -> Result<Self> {
        let dir = plan.dir("git")?;
        let bare = fixture::make(&dir, if plan.quick { 200 } else { 5_000 }).await?;
        let tip = git_at(&bare, &["rev-parse", BRANCH]).await?;
        // The rows measure git. The row `fetch-cache` has answers without it.
        let farrier = Farrier::configured(&plan.dir("git-farrier")?, "[git]\ncache_max_bytes = 0\n").await?;
        farrier.repository("big").await?;
        let token = farrier.token().await?;
        let nginx_dir = plan.dir("git-nginx")?;
        let nginx = match (Nginx::start(&nginx_dir).await?, Nginx::serve_git(&nginx_dir)?) {
            (Some(nginx), Some(wrapper)) => Some((nginx, wrapper)),
            _ => None,
        };
        let setup = Self { farrier, token, nginx, bare, tip, dir };
        let spec = format!("{BRANCH}:{BRANCH}");
        git_at(&setup.bare, &["push", "--quiet", &setup.ours()?, &spec]).await?;
        let copy = nginx_dir.join("git/big.git");
        git(&["clone", "--quiet", "--mirror", path(&setup.bare)?, path(&copy)?]).await?;
        git_at(&copy, &["config", "http.receivepack", "true"]).await?;
        settle().await;
        Ok(setup)
    }

    /// The repository's URL with credentials. It is used only on the loopback interface.
    fn ours(&self) -> Result<String> {
        Ok(format!("http://admin:{}@{}/admin/big.git", self.token, address(&self.farrier.tcp)?))
    }

    fn theirs(&self) -> Option<Result<String>> {
        let (nginx, _) = self.nginx.as_ref()?;
        Some(address(&nginx.tcp).map(|address| format!("http://{address}/git/big.git")))
    }
}

/// Measures complete packs per second. The client discards them.
async fn serving(plan: &Plan, table: &mut Table, setup: &Setup) -> Result<()> {
    let want = fetch_request(&setup.tip, &[]);
    let (mut ours, mut direct, mut nginx) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let bare = setup.bare.clone();
        let body = want.clone();
        direct.push(per_second(plan.round, move || upload_pack(bare.clone(), body.clone())).await?);
        let request = post("/admin/big.git/git-upload-pack", &want);
        ours.push(fetches(plan.round, &setup.farrier.tcp, request).await?);
        if let Some((server, _)) = &setup.nginx {
            nginx.push(fetches(plan.round, &server.tcp, post("/git/big.git/git-upload-pack", &want)).await?);
        }
    }
    let what = format!("clone serving, {AT_ONCE} at a time; beside git upload-pack alone");
    table.beside(&what, spread(&ours, "/s"), spread(&direct, "/s"), ratio(&ours, &direct), Budget::AtLeast(0.85));
    let what = "the same; beside nginx + fcgiwrap";
    if nginx.is_empty() {
        table.missing(what, spread(&ours, "/s"), "nginx or fcgiwrap is not installed");
    } else {
        table.beside(what, spread(&ours, "/s"), spread(&nginx, "/s"), ratio(&ours, &nginx), Budget::None);
    }
    Ok(())
}

async fn looking(plan: &Plan, table: &mut Table, setup: &Setup) -> Result<()> {
    let what = "git ls-remote; beside nginx + fcgiwrap";
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds * 4 {
        ours.push(millis(timed(&["ls-remote", &setup.ours()?]).await?));
        if let Some(address) = setup.theirs() {
            theirs.push(millis(timed(&["ls-remote", &address?]).await?));
        }
    }
    if theirs.is_empty() {
        table.missing(what, spread(&ours, "ms"), "nginx or fcgiwrap is not installed");
    } else {
        table.beside(what, spread(&ours, "ms"), spread(&theirs, "ms"), ratio(&ours, &theirs), Budget::AtMost(0.6));
    }
    Ok(())
}

/// Measures pushes of one commit that changes one file.
async fn pushing(plan: &Plan, table: &mut Table, setup: &Setup) -> Result<()> {
    let work = setup.dir.join("work");
    git(&["clone", "--quiet", "--depth", "1", &format!("file://{}", path(&setup.bare)?), path(&work)?]).await?;
    let file = format!("file://{}", path(&setup.bare)?);
    let mut targets = vec![("file://", file), ("farrier", setup.ours()?)];
    if let Some(address) = setup.theirs() {
        targets.push(("nginx", address?));
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); targets.len()];
    for number in 0..plan.rounds * 4 {
        fixture::commit(&work, number).await?;
        for ((name, target), times) in targets.iter().zip(&mut times) {
            let begun = Instant::now();
            git_at(&work, &["push", "--quiet", target, &format!("HEAD:refs/heads/bench-{name}").replace("://", "")])
                .await?;
            times.push(millis(begun.elapsed()));
        }
    }
    let (file, ours) = (&times[0], &times[1]);
    let what = "push of one file; beside file://";
    table.beside(what, spread(ours, "ms"), spread(file, "ms"), ratio(ours, file), Budget::AtMost(1.3));
    if let Some(nginx) = times.get(2) {
        let what = "the same; beside nginx + fcgiwrap";
        table.beside(what, spread(ours, "ms"), spread(nginx, "ms"), ratio(ours, nginx), Budget::None);
    }
    Ok(())
}

/// Measures memory while many real clients clone at the same time.
async fn crowd(table: &mut Table, setup: &Setup) -> Result<()> {
    let watch = setup.farrier.watch();
    let idle = watch.resident()?;
    let mut clones = JoinSet::new();
    for number in 0..CROWD {
        let (from, to) = (setup.ours()?, setup.dir.join(format!("clone-{number}.git")));
        clones.spawn(async move { git(&["clone", "--quiet", "--bare", &from, path(&to)?]).await });
    }
    let mut peak = idle;
    loop {
        tokio::select! {
            ended = clones.join_next() => match ended {
                Some(ended) => drop(ended??),
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(10)) => peak = peak.max(watch.resident()?),
        }
    }
    let grown = mib(peak.saturating_sub(idle));
    let text = format!("{} MiB, idle {} MiB: + {}", plain(mib(peak)), plain(mib(idle)), plain(grown));
    table.alone(&format!("memory while {CROWD} clone at once"), text, "+ ≤ 64 MiB", grown <= CROWD_MAX);
    Ok(())
}

/// Returns the duration of git with `args`.
pub(super) async fn timed(args: &[&str]) -> Result<Duration> {
    let begun = Instant::now();
    git(args).await?;
    Ok(begun.elapsed())
}

/// Returns how often `work` is done per second, with [`AT_ONCE`] in parallel.
async fn per_second<F, Fut>(round: Duration, work: F) -> Result<f64>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<()>> + Send,
{
    let begun = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let work = work.clone();
        workers.spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < round {
                work().await?;
                done += 1;
            }
            Result::Ok(done)
        });
    }
    let mut done = 0;
    while let Some(ended) = workers.join_next().await {
        done += ended??;
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}

pub(super) async fn fetches(round: Duration, over: &Over, request: Vec<u8>) -> Result<f64> {
    let over = over.clone();
    let work = move || {
        let (over, request) = (over.clone(), request.clone());
        async move {
            let mut connection = over.connect().await?;
            connection.send(&request).await?;
            connection.discard_body(&mut vec![0; ROOM]).await.map(drop)
        }
    };
    per_second(round, work).await
}

/// Returns the second request of a clone in protocol version 2, with more arguments in `more`.
pub(super) fn fetch_request(tip: &str, more: &[&str]) -> Vec<u8> {
    let line = |text: &str| format!("{:04x}{text}\n", text.len() + 5);
    let more: String = more.iter().map(|argument| line(argument)).collect();
    let want = line(&format!("want {tip}"));
    let lines = [line("command=fetch"), "0001".into(), line("ofs-delta"), more, want, line("done")];
    (lines.concat() + "0000").into_bytes()
}

pub(super) fn post(target: &str, body: &[u8]) -> Vec<u8> {
    let headers = ["content-type: application/x-git-upload-pack-request", "git-protocol: version=2"];
    [head("POST", target, body.len() as u64, &headers), body.to_vec()].concat()
}

/// Runs the minimum that a server must do: the process and its pipe.
pub(super) async fn upload_pack(bare: PathBuf, request: Vec<u8>) -> Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut command = fixture::command(&["upload-pack", "--stateless-rpc", path(&bare)?]);
    command.env("GIT_PROTOCOL", "version=2");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut process = command.spawn()?;
    let (mut input, mut output) = (process.stdin.take().ok_or("no input")?, process.stdout.take().ok_or("no output")?);
    input.write_all(&request).await?;
    drop(input);
    let mut room = vec![0; ROOM];
    while output.read(&mut room).await? > 0 {}
    if process.wait().await?.success() { Ok(()) } else { Err("git upload-pack failed".into()) }
}

pub(super) fn address(over: &Over) -> Result<&str> {
    match over {
        Over::Tcp(address) => Ok(address),
        Over::Unix(_) => Err("git does not support HTTP over a Unix socket".into()),
    }
}

pub(super) fn path(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| "the directory is not UTF-8".into())
}
