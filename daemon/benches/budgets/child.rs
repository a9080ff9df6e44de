//! Servers as child processes: starts them, waits for them, reads `/proc`, and kills them when they are
//! dropped.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child as Process, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Result, client::Over};

/// Time limit of a start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A user of this machine.
#[derive(Clone, Copy)]
pub(crate) struct User {
    pub(crate) id: u32,
    pub(crate) group: u32,
}

/// A running server.
pub(crate) struct Child {
    process: Process,
    /// Kept open, because a server that writes to a closed pipe fails.
    stdout: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Child {
    /// Starts `program`. Its standard error is written to a file in `dir`.
    pub(crate) fn start(program: &Path, args: &[&str], env: &[(&str, &str)], dir: &Path) -> Result<Self> {
        let log = dir.join("stderr.log");
        let channels = (Stdio::null(), File::create(&log)?.into());
        Self::start_with(channels, program, args, env, None, dir, log)
    }

    /// Like [`Child::start`], as another user, if this process is root.
    pub(crate) fn start_as(user: Option<User>, program: &Path, args: &[&str], dir: &Path) -> Result<Self> {
        let log = dir.join("stderr.log");
        let channels = (Stdio::null(), File::create(&log)?.into());
        Self::start_with(channels, program, args, &[], user, dir, log)
    }

    /// Starts `program` through a shell, with the sockets `tcp` and `unix` as descriptors 3 and 4, as a service
    /// manager does.
    pub(crate) fn start_on(tcp: OwnedFd, unix: OwnedFd, program: &Path, args: &[&str], dir: &Path) -> Result<Self> {
        let log = dir.join("stderr.log");
        let path = |path: &Path| path.to_str().map(str::to_owned).ok_or("the directory is not UTF-8");
        let (log_path, program) = (path(&log)?, path(program)?);
        // The shell gets the sockets as standard input and standard error. Only the shell knows the pid that
        // the server will have.
        let script = "exec 3<&0 4<&2 0</dev/null 2>>\"$0\"; \
                      LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=tcp:unix exec \"$@\"";
        let args = [&["-c", script, &log_path, &program], args].concat();
        Self::start_with((tcp.into(), unix.into()), Path::new("sh"), &args, &[("HOME", &path(dir)?)], None, dir, log)
    }

    fn start_with(
        (stdin, stderr): (Stdio, Stdio),
        program: &Path,
        args: &[&str],
        env: &[(&str, &str)],
        user: Option<User>,
        dir: &Path,
        log: PathBuf,
    ) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "servers to measure are processes of their own")]
        let mut command = Command::new(program);
        command.args(args).envs(env.iter().copied()).current_dir(dir);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(stderr);
        if let Some(user) = user {
            command.uid(user.id).gid(user.group);
        }
        let mut process = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let stdout = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        Ok(Self { process, stdout, log })
    }

    /// Returns the next line of standard output. Blocking.
    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            return Err(format!("the server ended early: {log}").into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits until the server accepts connections at `over`.
    pub(crate) async fn answers(&mut self, over: &Over) -> Result<()> {
        let begun = Instant::now();
        while over.connect().await.is_err() {
            if self.process.try_wait()?.is_some() || begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(format!("no server listens at {over:?}: {log}").into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Returns a handle for reading the process's statistics.
    pub(crate) fn watch(&self) -> Watch {
        Watch { id: self.process.id() }
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.stop_with(Signal::TERM)
    }

    /// Sends `signal` and waits for the end.
    pub(crate) fn stop_with(&mut self, signal: Signal) -> Result<()> {
        if let Some(id) = Pid::from_raw(self.process.id().cast_signed()) {
            kill_process(id, signal)?;
        }
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // When the master of nginx is killed, its workers continue.
        let workers = self.watch().children();
        // These calls fail if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        for worker in workers {
            let _ = kill_process(worker, Signal::KILL);
        }
    }
}

/// Reads statistics of a process from `/proc`.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    id: u32,
}

impl Watch {
    /// Returns the process ID.
    pub(crate) fn id(self) -> u32 {
        self.id
    }

    fn status(self, field: &str) -> Result<u64> {
        status(Path::new(&format!("/proc/{}/status", self.id)), field)
    }

    /// Returns the resident memory, bytes.
    pub(crate) fn resident(self) -> Result<u64> {
        Ok(self.status("VmRSS:")? * 1024)
    }

    /// Returns for each thread how often it has gone to sleep, which is one more than its wake-ups.
    pub(crate) fn sleeps(self) -> Result<HashMap<OsString, u64>> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.id))?;
        threads
            .map(|thread| {
                let thread = thread?;
                let file = thread.path().join("status");
                Ok((thread.file_name(), status(&file, "voluntary_ctxt_switches:")?))
            })
            .collect()
    }

    /// Returns the child processes.
    fn children(self) -> Vec<Pid> {
        let listed = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.id)).unwrap_or_default();
        listed.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
    }

    /// Returns whether the process has children. The kernel lists them for each thread that started some.
    pub(crate) fn has_children(self) -> bool {
        let mut threads = fs::read_dir(format!("/proc/{}/task", self.id)).into_iter().flatten().flatten();
        threads.any(|thread| fs::read_to_string(thread.path().join("children")).is_ok_and(|ids| !ids.trim().is_empty()))
    }

    /// Returns the processor time of the process and of all its children that have ended.
    pub(crate) fn processor_with_ended(self) -> Result<Duration> {
        let [user, system, ended_user, ended_system] = times(self.id)?;
        Ok(duration(user + system + ended_user + ended_system))
    }

    /// Returns the processor time of the children of this process that have ended.
    pub(crate) fn processor_of_own_children() -> Result<Duration> {
        let [_, _, ended_user, ended_system] = times(std::process::id())?;
        Ok(duration(ended_user + ended_system))
    }

    /// Returns the processor time of the process and its children (the workers of nginx).
    pub(crate) fn processor(self) -> Result<Duration> {
        let mut ticks = ticks(self.id)?;
        for child in self.children() {
            ticks += self::ticks(child.as_raw_nonzero().get().cast_unsigned())?;
        }
        Ok(duration(ticks))
    }
}

fn status(file: &Path, field: &str) -> Result<u64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|rest| rest.split_whitespace().next()).ok_or("/proc/…/status has other fields")?;
    Ok(number.parse()?)
}

fn duration(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
}

/// Returns user and system time in clock ticks.
fn ticks(id: u32) -> Result<u64> {
    let [user, system, ..] = times(id)?;
    Ok(user + system)
}

/// Returns user and system time in clock ticks, of the process and of its children that have ended.
fn times(id: u32) -> Result<[u64; 4]> {
    let text = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name in parentheses may contain any characters; the other fields follow it.
    let rest = text.rsplit_once(')').ok_or("/proc/…/stat has another form")?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |at: usize| fields.get(at).ok_or("/proc/…/stat has fewer fields");
    Ok([field(11)?.parse()?, field(12)?.parse()?, field(13)?.parse()?, field(14)?.parse()?])
}

/// Returns the path of `program`; `None` if it is not installed.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Servers are often installed in directories that are only in root's `PATH`.
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    directories.map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// Runs `program` in `dir`, as another user if this process is root. It must succeed.
pub(crate) fn run_as(
    user: Option<User>,
    program: &Path,
    args: &[&str],
    env: &[(&str, &str)],
    dir: &Path,
) -> Result<()> {
    #[expect(clippy::disallowed_methods, reason = "prepares a server to measure")]
    let mut command = Command::new(program);
    command.args(args).envs(env.iter().copied()).current_dir(dir);
    if let Some(user) = user {
        command.uid(user.id).gid(user.group);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(())
}

/// Runs `program` and returns its standard output and standard error.
pub(crate) fn output_of(program: &Path, args: &[&str]) -> Result<String> {
    #[expect(clippy::disallowed_methods, reason = "asks what a server to measure can do")]
    let output = Command::new(program).args(args).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}
