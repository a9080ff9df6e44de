//! The program `farrierd`: command line, signals, exit codes.

mod backup_command;
mod blobs_command;
mod store_command;

use std::{error::Error as StdError, fmt::Display, io::Write as _, path::Path, process::ExitCode};

use clap::Parser as _;
use farrierd::{
    RunError, Started,
    args::{self, Args, ArgsError, BlobsCommand, Command, StoreCommand},
    check::{self, CheckError, Decision, Options},
    clock::Clock,
    config::{Config, DefaultPaths},
    data_dir::{self, DataDirError},
    git, manager,
    reload::{self, ReloadError},
    serve::{self, Listener},
    service::audit::{self, Action, Entry, Object},
    store::{Store, engine::hide_guarded_panics, keyring::KeyId},
    telemetry::{self, Logs},
};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};
use tokio_util::sync::CancellationToken;

/// Exit code: an error occurred.
const FAILED: u8 = 1;
/// Exit code: the data is damaged.
const DAMAGED: u8 = 3;
/// Exit code: the store is damaged, does not belong to the data directory, or was taken by another daemon. A restart
/// does not help.
const BAD_DATA: u8 = 4;
/// Exit code: the configuration is not valid. A restart does not help.
const BAD_CONFIG: u8 = 78;

fn main() -> ExitCode {
    limit_arenas();
    hide_guarded_panics();
    raise_descriptor_limit();
    let args = Args::parse();
    if let Some(Command::CheckConfig { file_only }) = args.command {
        return check_config(&args, file_only);
    }
    let config = match args::configuration(&args, paths()) {
        Ok(config) => config,
        Err(error) => return bad_configuration(&error),
    };
    match &args.command {
        Some(Command::CheckData { json, adopt: true, .. }) => return decide(&config, Decision::Adopt, *json),
        Some(Command::CheckData { json, set_aside: true, .. }) => return decide(&config, Decision::SetAside, *json),
        Some(Command::CheckData { repair, git, content, json, .. }) => {
            return check_data(&config, Options { repair: *repair, git: *git, content: *content }, *json);
        }
        Some(Command::Backup { directory, verify: true, json, .. }) => {
            return backup_command::verify(&config, directory, *json);
        }
        Some(Command::Backup { directory, keep: None, without_caches, json: false, .. })
            if directory == Path::new("-") =>
        {
            return backup_command::stream(&config, *without_caches);
        }
        Some(Command::Backup { directory, .. }) if directory == Path::new("-") => {
            eprintln!("farrierd: --keep and --json cannot be used with a backup to standard output");
            return ExitCode::from(FAILED);
        }
        Some(Command::Backup { directory, keep, without_caches, json, .. }) => {
            return backup_command::create(&config, directory, *keep, *without_caches, *json);
        }
        Some(Command::Restore { source, from_tar, backup, dry_run }) => {
            return backup_command::restore(&config, source, *from_tar, backup.as_deref(), *dry_run);
        }
        Some(Command::Store { command: StoreCommand::Copy { to } }) => return store_command::copy(&config, *to),
        Some(Command::Store { command: StoreCommand::Upgrade }) => return store_command::upgrade(&config),
        Some(Command::Blobs { command: BlobsCommand::Copy { to } }) => return blobs_command::copy(&config, *to),
        Some(Command::RotateKey { discard_secrets }) => return rotate_key(&config, *discard_secrets),
        Some(Command::Reload { pid }) => return reload_daemon(*pid, &config),
        Some(Command::CheckConfig { .. }) | None => {}
    }
    let logs = match telemetry::init(&config.log) {
        Ok(guard) => guard,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(BAD_CONFIG);
        }
    };
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => match runtime.block_on(daemon(&args, config, &logs)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                print_error(error.as_ref());
                ExitCode::from(error.downcast_ref().map_or(FAILED, exit_code))
            }
        },
        Err(error) => failed(&error),
    }
}

fn exit_code(error: &RunError) -> u8 {
    match error {
        RunError::DataDir(error) => data_exit_code(error),
        RunError::StoreLost { .. } | RunError::StoreNewer { .. } => BAD_DATA,
        RunError::Git(_) => BAD_CONFIG,
        _ => FAILED,
    }
}

fn data_exit_code(error: &DataDirError) -> u8 {
    if error.is_bad_data() { BAD_DATA } else { FAILED }
}

fn check_config(args: &Args, file_only: bool) -> ExitCode {
    match args::check(args, paths(), file_only) {
        Ok(warnings) => {
            for warning in warnings {
                eprintln!("warning: {warning}");
            }
            if !file_only && let Err(error) = block_on(git::check_installed()) {
                print_error(&error);
                return ExitCode::from(BAD_CONFIG);
            }
            println!("the configuration is valid");
            ExitCode::SUCCESS
        }
        Err(error) => bad_configuration(&error),
    }
}

fn failed(error: &dyn StdError) -> ExitCode {
    print_error(error);
    ExitCode::from(FAILED)
}

/// Checks the data and prints a report.
fn check_data(config: &Config, options: Options, json: bool) -> ExitCode {
    let report = match block_on(check::run(config, options)) {
        Ok(report) => report,
        Err(error) => return check_failed(&error),
    };
    match print(&report, json) {
        _ if report.mismatch.is_some() => ExitCode::from(BAD_DATA),
        ExitCode::SUCCESS if report.damage_left > 0 => ExitCode::from(DAMAGED),
        code => code,
    }
}

/// Pairs the store with the data directory, and prints a report.
fn decide(config: &Config, decision: Decision, json: bool) -> ExitCode {
    match block_on(check::decide(config, decision, Clock::system())) {
        Ok(decided) => print(&decided, json),
        Err(error) => check_failed(&error),
    }
}

/// Replaces the key of the store, and prints the result.
fn rotate_key(config: &Config, discard_secrets: bool) -> ExitCode {
    let now = Clock::system().now_ms();
    let record = async |store: &Store, key: KeyId| {
        let entry = Entry::new(Action::DataRotateKey, Object::new("key", 0, &key.to_string()));
        audit::record_offline(store, "rotate-key", entry.set("discard_secrets", discard_secrets), now).await
    };
    let rotated = match block_on(data_dir::rotate_key(config, discard_secrets, now, record)) {
        Ok(rotated) => rotated,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(data_exit_code(&error));
        }
    };
    let (file, rows) = (rotated.file.display(), rotated.rows);
    let mut lines = vec![
        format!("{rows} rows are encrypted with the new key {} in {file}", rotated.key),
        format!("Back up {file} now. An older backup of the store needs the key file of that backup"),
    ];
    if discard_secrets {
        lines.insert(1, format!("the secrets of {} rows were removed", rotated.discarded));
    }
    if rotated.unreadable > 0 {
        lines.push(format!(
            "Rows that could not be decrypted and were not changed: {}. The previous keys stay in {file}. Run `farrierd \
             check-data` to list the rows, and `farrierd rotate-key` again when they are repaired",
            rotated.unreadable
        ));
    }
    // A closed standard output is not an error.
    drop(writeln!(std::io::stdout().lock(), "{}", lines.join("\n")));
    if rotated.unreadable > 0 { ExitCode::from(DAMAGED) } else { ExitCode::SUCCESS }
}

/// Runs `work` on a new runtime, without starting the daemon.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started").block_on(work)
}

/// Prints a report. A closed standard output is not an error.
fn print(report: &(impl Display + Serialize), json: bool) -> ExitCode {
    let text = if json { serde_json::to_string(report).map(|text| text + "\n") } else { Ok(report.to_string()) };
    match text {
        Ok(text) => drop(write!(std::io::stdout().lock(), "{text}")),
        Err(error) => return failed(&error),
    }
    ExitCode::SUCCESS
}

fn check_failed(error: &CheckError) -> ExitCode {
    print_error(error);
    ExitCode::from(if let CheckError::Open(error) = error { data_exit_code(error) } else { FAILED })
}

async fn daemon(args: &Args, config: Config, logs: &Logs) -> Result<(), Box<dyn StdError>> {
    // Before everything else: a signal without a handler ends the process.
    let hangups = signal(SignalKind::hangup())?;
    let mut stops = StopSignals::register()?;
    let listeners = listen(&config)?;
    let stop = CancellationToken::new();
    let (started, ready) = oneshot::channel();
    let data_dir = config.data_dir.clone();
    let running = farrierd::run(config, listeners, Clock::system(), stop.clone(), started);
    tokio::pin!(running);
    let started = tokio::select! {
        ended = &mut running => return Ok(ended?),
        // No request was acknowledged yet, and a start can be interrupted at any time.
        () = stops.next() => return Ok(()),
        started = ready => started?,
    };
    announce(&started, &data_dir);
    let read = || args::configuration(args, paths());
    tokio::select! {
        ended = &mut running => return Ok(ended?),
        () = stops.next() => {}
        () = manager::run_watchdog(started.control.clone()) => {}
        () = reload::serve(hangups, read, started.control, &data_dir) => {}
        () = logs.follow(started.log_filter) => {}
    }
    tracing::info!("stopping: waiting for running requests");
    manager::stopping();
    stop.cancel();
    tokio::select! {
        ended = &mut running => Ok(ended?),
        () = stops.next() => Err("stopped by a second signal without waiting for running requests".into()),
    }
}

/// Limits the number of heaps of the C library. By default glibc creates one for almost every blocking thread, and each
/// heap keeps the memory of its largest buffers.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn limit_arenas() {
    const ARENAS: libc::c_int = 2;
    // SAFETY: the call only sets a number, and no other thread runs yet.
    #[expect(unsafe_code, reason = "mallopt has no safe wrapper")]
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn limit_arenas() {}

/// Raises the soft limit of file descriptors to the hard limit. The usual soft limit of 1,024 exists for programs that
/// use `select`.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Not an error: the soft limit may be enough.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Returns the listeners: the inherited sockets and, for each kind (TCP, Unix) without one, the configured addresses.
fn listen(config: &Config) -> Result<Vec<Listener>, Box<dyn StdError>> {
    let mut listeners = serve::inherited()?;
    let inherited = |kind| listeners.iter().any(|listener: &Listener| listener.kind() == kind);
    let (tcp, unix) = (inherited("tcp"), inherited("unix"));
    for address in config.server.listen.iter().filter(|_| !tcp) {
        let listener = serve::bind_tcp(*address).map_err(|error| format!("listening on {address} failed: {error}"))?;
        listeners.push(Listener::tcp(listener)?);
    }
    if !unix {
        listeners.push(serve::bind_unix(&config.socket.path, config.socket.group.as_deref())?);
    }
    Ok(listeners)
}

/// The signals that stop the daemon: SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Catches the signals from now on. A signal that arrives before [`StopSignals::next`] is called is kept.
    fn register() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Prints the addresses, the data directory and the next step. A closed standard output is not an error.
fn announce(started: &Started, data_dir: &Path) {
    let mut lines: Vec<String> =
        started.listeners.iter().map(|(kind, address)| format!("farrierd listens on {kind} {address}")).collect();
    lines.push(format!("data directory: {}", data_dir.display()));
    lines.push(format!("API: {}/api/v1", started.root_url));
    if std::env::var_os("JOURNAL_STREAM").is_none() {
        lines.extend(next_step(started));
    }
    let _ = writeln!(std::io::stdout().lock(), "{}", lines.join("\n"));
    manager::ready("ready");
    tracing::info!(root_url = started.root_url, "ready");
}

/// Returns a hint for users that started the daemon in a terminal.
fn next_step(started: &Started) -> [String; 3] {
    let socket = started.listeners.iter().find(|(kind, _)| *kind == "unix").map(|(_, path)| path);
    let option = match socket {
        // The client uses this path by default.
        Some(path) if Path::new(path) == paths().socket => String::new(),
        Some(path) => format!("--socket {path} "),
        None => format!("--url {} ", started.root_url),
    };
    let command = format!("  cargo run --release -p farrier -- {option}status");
    [String::new(), "next: show its status from another terminal".to_owned(), command]
}

fn paths() -> DefaultPaths {
    DefaultPaths::from_env(|name| std::env::var(name))
}

fn reload_daemon(pid: Option<i32>, config: &Config) -> ExitCode {
    match reload::request(pid, &config.data_dir) {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_error(&error);
            ExitCode::from(if matches!(error, ReloadError::Refused(_)) { BAD_CONFIG } else { FAILED })
        }
    }
}

fn bad_configuration(error: &ArgsError) -> ExitCode {
    print_error(error);
    if let ArgsError::Problems(problems) = error {
        for problem in problems {
            eprintln!("  {problem}");
        }
    }
    ExitCode::from(BAD_CONFIG)
}

/// Prints an error with its causes, one per line.
fn print_error(error: &dyn StdError) {
    eprintln!("farrierd: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
}
