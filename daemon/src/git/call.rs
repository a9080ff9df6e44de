//! Builds and runs one git command: arguments, environment, configuration, input, and limits on output and
//! time.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, process::Stdio, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Git, GitError, GitProcess, Purpose, environment, process::GitExit};
use crate::shares::{Holder, RequestMemory, Share};

/// Default limit of the standard output that [`GitCommand::run`] collects, bytes.
const OUTPUT_MAX_BYTES: usize = 8 << 20;
/// Size of one read from standard output, bytes.
const READ_BYTES: usize = 64 * 1024;
/// Memory of collected output and of the values parsed from it, as a multiple of its size.
const PARSED_FACTOR: usize = 2;

/// A git command that has not been started. Start it with [`GitCommand::run`] or [`GitCommand::stream`].
#[derive(Debug)]
#[must_use]
pub struct GitCommand {
    git: Git,
    repository: u64,
    args: Vec<OsString>,
    environment: Vec<(String, OsString)>,
    config: Vec<(String, OsString)>,
    stdin: Bytes,
    output_max_bytes: usize,
    timeout: Duration,
    memory: Option<Arc<RequestMemory>>,
    caller: Option<Holder>,
}

/// The output of a git command that exited with status 0.
#[derive(Clone, Debug)]
pub struct GitOutput {
    /// Standard output.
    pub stdout: Bytes,
    /// Standard error as one line without control characters.
    pub stderr: String,
}

impl GitCommand {
    pub(super) fn new(git: Git, repository: u64, args: Vec<OsString>) -> Self {
        let timeout = git.timeout();
        Self {
            git,
            repository,
            args,
            environment: Vec::new(),
            config: Vec::new(),
            stdin: Bytes::new(),
            output_max_bytes: OUTPUT_MAX_BYTES,
            timeout,
            memory: None,
            caller: None,
        }
    }

    /// Adds arguments that the daemon chose itself. For values from outside use [`GitCommand::operands`] or
    /// [`GitCommand::paths`].
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds `--end-of-options` and then values from outside, so that git reads none of them as an option.
    pub fn operands<A: Into<OsString>>(self, operands: impl IntoIterator<Item = A>) -> Self {
        self.args(["--end-of-options"]).args(operands)
    }

    /// Adds `--` and then paths inside the repository's trees.
    pub fn paths<A: Into<OsString>>(self, paths: impl IntoIterator<Item = A>) -> Self {
        self.args(["--"]).args(paths)
    }

    /// Sets a configuration key for this command only.
    pub fn config(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.config.push((key.to_owned(), value.into()));
        self
    }

    /// Sets an environment variable for this command only.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the standard input. Only [`GitCommand::run`] uses it.
    pub fn stdin(mut self, stdin: impl Into<Bytes>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Limits the standard output. The command fails with [`GitError::TooMuch`] if it writes more.
    pub fn output_max_bytes(mut self, limit: usize) -> Self {
        self.output_max_bytes = limit;
        self
    }

    /// Limits the running time. Only [`GitCommand::run`] uses it.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Counts collected output to `memory`. Only [`GitCommand::run`] uses it.
    pub fn memory(mut self, memory: Option<Arc<RequestMemory>>) -> Self {
        self.memory = memory;
        self
    }

    /// Counts the process to the share of a caller. Only [`GitCommand::run`] uses it. `None`: a command of the daemon.
    pub fn caller(mut self, holder: Option<Holder>) -> Self {
        self.caller = holder;
        self
    }

    /// Runs the command until it exits. An exit status other than 0 is an error.
    pub async fn run(self) -> Result<GitOutput, GitError> {
        let (stdout, exit) = self.run_to_exit().await?;
        exit.success().map(|stderr| GitOutput { stdout, stderr })
    }

    /// Runs the command until it exits. Returns its standard output and its exit status.
    pub(super) async fn run_to_exit(mut self) -> Result<(Bytes, GitExit), GitError> {
        let (stdin, limit, timeout) = (std::mem::take(&mut self.stdin), self.output_max_bytes, self.timeout);
        let memory = self.memory.take();
        let purpose = self.caller.map_or(Purpose::Own, Purpose::Read);
        let mut process = self.start(purpose).await?;
        let command = process.command().to_owned();
        let output = async {
            let mut input = process.stdin();
            let write = async {
                if let Some(input) = &mut input {
                    // Git may exit before it has read everything. Its exit status is checked below.
                    let _ = input.write_all(&stdin).await;
                    let _ = input.shutdown().await;
                }
                drop(input);
            };
            let ((), read) = tokio::join!(write, collect(&mut process, limit, memory.as_deref()));
            let stdout = read?;
            Ok((stdout, process.wait().await?))
        };
        tokio::time::timeout(timeout, output).await.map_err(|_| GitError::Timeout { command, limit: timeout })?
    }

    /// Starts the command and returns the running process, which counts to the share of `holder`. The caller bounds
    /// its time; dropping the process kills it.
    pub async fn stream(self, holder: Holder) -> Result<GitProcess, GitError> {
        self.start(Purpose::Stream(holder)).await
    }

    /// Like [`GitCommand::stream`], for a caller that has its share already.
    pub async fn stream_with(self, share: Share) -> Result<GitProcess, GitError> {
        self.start(Purpose::StreamWith(share)).await
    }

    /// Like [`GitCommand::stream`], for a command of the daemon itself.
    pub(super) async fn stream_own(self) -> Result<GitProcess, GitError> {
        self.start(Purpose::Own).await
    }

    async fn start(self, purpose: Purpose) -> Result<GitProcess, GitError> {
        let name = self.args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default();
        if self.args.iter().any(|arg| arg.as_bytes().iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'))) {
            return Err(GitError::Argument { command: name });
        }
        let slot = self.git.slot(purpose).await?;
        let in_use = self.git.begin_use(self.repository);
        let directory = self.git.directory(self.repository);
        let mut config = environment::config(directory.clone());
        config.extend(self.config);
        let shared = &self.git.0;
        #[expect(clippy::disallowed_methods, reason = "the only caller that starts processes")]
        let mut command = tokio::process::Command::new(&shared.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(environment::fixed(&shared.path, &shared.home))
            .envs(environment::config_variables(&config))
            .env("GIT_DIR", &directory)
            .envs(self.environment)
            .current_dir(&shared.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn().map_err(|source| GitError::Start { command: name.clone(), source })?;
        self.git.0.started.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(GitProcess::new((self.git.clone(), self.repository), name, child, (slot, in_use)))
    }
}

/// Reads standard output until it ends.
async fn collect(process: &mut GitProcess, limit: usize, memory: Option<&RequestMemory>) -> Result<Bytes, GitError> {
    let mut all = BytesMut::new();
    loop {
        all.reserve(READ_BYTES.min(limit + 1));
        let read = process.read_buf(&mut all).await.map_err(GitError::io("reading its output"))?;
        if read == 0 {
            return Ok(all.freeze());
        }
        if let Some(memory) = memory {
            memory.grow(read * PARSED_FACTOR)?;
        }
        if all.len() > limit {
            return Err(GitError::TooMuch { command: process.command().to_owned(), limit });
        }
    }
}

impl GitExit {
    /// Returns standard error if the exit status is 0.
    pub(super) fn success(self) -> Result<String, GitError> {
        match self.status {
            Some(0) => Ok(self.stderr),
            status => Err(GitError::Failed { command: self.command, status, stderr: self.stderr }),
        }
    }
}
