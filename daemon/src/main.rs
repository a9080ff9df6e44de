//! The daemon's program: arguments and signals in, exit codes out.

use std::{error::Error as StdError, fmt::Display, io::Write as _, path::Path, process::ExitCode};

use clap::Parser as _;
use farrierd::{
    RunError, Started,
    args::{self, Args, ArgsError, Command},
    check::{self, CheckError, Decision, Options},
    clock::Clock,
    config::{Config, DefaultPaths},
    data_dir, git, manager,
    reload::{self, ReloadError},
    serve::{self, Listener},
    store::engine::hide_guarded_panics,
    telemetry::{self, Logs},
};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};
use tokio_util::sync::CancellationToken;

/// Something failed while running.
const FAILED: u8 = 1;
/// The data is damaged.
const DAMAGED: u8 = 3;
/// The store is damaged or does not belong to the data beside it; starting again does not help.
const BAD_DATA: u8 = 4;
/// The configuration cannot be used; starting again does not help.
const BAD_CONFIG: u8 = 78;

fn main() -> ExitCode {
    bound_arenas();
    hide_guarded_panics();
    raise_descriptors();
    let args = Args::parse();
    if let Some(Command::CheckConfig { file_only }) = args.command {
        return check_config(&args, file_only);
    }
    let config = match args::configuration(&args, paths()) {
        Ok(config) => config,
        Err(error) => return refuse(&error),
    };
    match &args.command {
        Some(Command::CheckData { json, adopt: true, .. }) => return decide(&config, Decision::Adopt, *json),
        Some(Command::CheckData { json, set_aside: true, .. }) => return decide(&config, Decision::SetAside, *json),
        Some(Command::CheckData { repair, git, json, .. }) => {
            return check_data(&config, Options { repair: *repair, git: *git }, *json);
        }
        Some(Command::Restore { store_file, dry_run }) => return restore(&config, store_file, *dry_run),
        Some(Command::Reload { pid }) => return ask_to_reload(*pid, &config),
        Some(Command::CheckConfig { .. }) | None => {}
    }
    let logs = match telemetry::init(&config.log) {
        Ok(guard) => guard,
        Err(error) => {
            complain(&error);
            return ExitCode::from(BAD_CONFIG);
        }
    };
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => match runtime.block_on(daemon(&args, config, &logs)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(error.as_ref());
                ExitCode::from(error.downcast_ref().map_or(FAILED, exit_code))
            }
        },
        Err(error) => failed(&error),
    }
}

fn exit_code(error: &RunError) -> u8 {
    match error {
        RunError::Mismatch(_) | RunError::Damaged { .. } => BAD_DATA,
        RunError::Git(_) => BAD_CONFIG,
        _ => FAILED,
    }
}

fn check_config(args: &Args, file_only: bool) -> ExitCode {
    match args::check(args, paths(), file_only) {
        Ok(()) => {
            if !file_only && let Err(error) = alone(git::check_installed()) {
                complain(&error);
                return ExitCode::from(BAD_CONFIG);
            }
            println!("the configuration is valid");
            ExitCode::SUCCESS
        }
        Err(error) => refuse(&error),
    }
}

fn failed(error: &dyn StdError) -> ExitCode {
    complain(error);
    ExitCode::from(FAILED)
}

/// Prints what disagrees in the data.
fn check_data(config: &Config, options: Options, json: bool) -> ExitCode {
    let report = match alone(check::run(config, options)) {
        Ok(report) => report,
        Err(error) => return check_failed(&error),
    };
    match print(&report, json) {
        _ if report.mismatch.is_some() => ExitCode::from(BAD_DATA),
        ExitCode::SUCCESS if report.damage_left > 0 => ExitCode::from(DAMAGED),
        code => code,
    }
}

/// Pairs store and data anew, and prints what was done.
fn decide(config: &Config, decision: Decision, json: bool) -> ExitCode {
    match alone(check::decide(config, decision, Clock::system())) {
        Ok(decided) => print(&decided, json),
        Err(error) => check_failed(&error),
    }
}

/// Puts a copy of the store in its place, and prints what was done.
fn restore(config: &Config, from: &Path, dry_run: bool) -> ExitCode {
    let restored = match alone(data_dir::restore(config, from, dry_run, Clock::system())) {
        Ok(restored) => restored,
        Err(error) => {
            complain(&error);
            return ExitCode::from(exit_code(&error));
        }
    };
    let (from, store) = (from.display(), restored.store.display());
    let mut lines = vec![if dry_run {
        format!("{from} is whole and belongs to the data; it would become {store}. Nothing was changed")
    } else {
        format!("{store} is a copy of {from} now")
    }];
    if let Some(to) = restored.set_aside {
        lines.push(format!("the store that was there is {} now", to.display()));
    }
    // A closed standard output is no reason to fail.
    drop(writeln!(std::io::stdout().lock(), "{}", lines.join("\n")));
    ExitCode::SUCCESS
}

/// Runs `work` without a daemon.
fn alone<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started").block_on(work)
}

/// Prints a report. A closed standard output is no reason to fail.
fn print(report: &(impl Display + Serialize), json: bool) -> ExitCode {
    let text = if json { serde_json::to_string(report).map(|text| text + "\n") } else { Ok(report.to_string()) };
    match text {
        Ok(text) => drop(write!(std::io::stdout().lock(), "{text}")),
        Err(error) => return failed(&error),
    }
    ExitCode::SUCCESS
}

fn check_failed(error: &CheckError) -> ExitCode {
    complain(error);
    ExitCode::from(if let CheckError::Open(error) = error { exit_code(error) } else { FAILED })
}

async fn daemon(args: &Args, config: Config, logs: &Logs) -> Result<(), Box<dyn StdError>> {
    // Registered first: a signal without a handler ends the process.
    let hangups = signal(SignalKind::hangup())?;
    let mut stops = StopSignals::register()?;
    let listeners = listen(&config)?;
    let stop = CancellationToken::new();
    let (started, answering) = oneshot::channel();
    let data_dir = config.data_dir.clone();
    let running = farrierd::run(config, listeners, Clock::system(), stop.clone(), started);
    tokio::pin!(running);
    let about = tokio::select! {
        ended = &mut running => return Ok(ended?),
        // Nothing was acknowledged yet, and a start may be cut off at any moment.
        () = stops.next() => return Ok(()),
        about = answering => about?,
    };
    announce(&about, &data_dir);
    let read = || args::configuration(args, paths());
    tokio::select! {
        ended = &mut running => return Ok(ended?),
        () = stops.next() => {}
        () = manager::prove_life(about.control.clone()) => {}
        () = reload::serve(hangups, read, about.control, &data_dir) => {}
        () = logs.follow(about.log_filter) => {}
    }
    tracing::info!("stopping: running requests may end");
    manager::stopping();
    stop.cancel();
    tokio::select! {
        ended = &mut running => Ok(ended?),
        () = stops.next() => Err("a second signal asked for a stop: running requests were not awaited".into()),
    }
}

/// Heaps that the C library may keep. By default it makes one for almost every thread that blocks,
/// and each keeps the largest buffers that it has ever held.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn bound_arenas() {
    const ARENAS: libc::c_int = 2;
    // SAFETY: it only sets a number, and no other thread runs yet.
    #[expect(unsafe_code, reason = "mallopt has no safe wrapper")]
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn bound_arenas() {}

/// Shells and managers allow 1,024 descriptors, for programs that cannot count further, and as many as
/// somebody really wants behind that.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What is allowed without it may be enough.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Sockets of the service manager, and of each kind that it opened none of what is configured.
fn listen(config: &Config) -> Result<Vec<Listener>, Box<dyn StdError>> {
    let mut listeners = serve::inherited()?;
    let opened = |kind| listeners.iter().any(|listener: &Listener| listener.kind() == kind);
    let (tcp, unix) = (opened("tcp"), opened("unix"));
    for address in config.server.listen.iter().filter(|_| !tcp) {
        let listener = serve::bind_tcp(*address).map_err(|error| format!("listening on {address} failed: {error}"))?;
        listeners.push(Listener::tcp(listener)?);
    }
    if !unix {
        listeners.push(serve::bind_unix(&config.socket.path, config.socket.group.as_deref())?);
    }
    Ok(listeners)
}

/// The signals that ask the daemon to stop: SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Catches the signals from now on. One that arrives before [`StopSignals::next`] is called is kept.
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

/// Says where the daemon is and what to do next. A closed standard output is no reason to fail.
fn announce(about: &Started, data_dir: &Path) {
    let mut lines: Vec<String> =
        about.listeners.iter().map(|(kind, address)| format!("farrierd listens on {kind} {address}")).collect();
    lines.push(format!("data lies in {}, the API under {}/api/v1", data_dir.display(), about.root_url));
    if std::env::var_os("JOURNAL_STREAM").is_none() {
        lines.extend(next_step(about));
    }
    let _ = writeln!(std::io::stdout().lock(), "{}", lines.join("\n"));
    manager::ready("ready");
    tracing::info!(root_url = about.root_url, "ready");
}

/// For who has started it in a terminal.
fn next_step(about: &Started) -> [String; 3] {
    let socket = about.listeners.iter().find(|(kind, _)| *kind == "unix").map(|(_, path)| path);
    let option = match socket {
        // The client looks at this user's place by itself.
        Some(path) if Path::new(path) == paths().socket => String::new(),
        Some(path) => format!("--socket {path} "),
        None => format!("--url {} ", about.root_url),
    };
    let command = format!("  cargo run --release -p farrier -- {option}status");
    [String::new(), "next: look at it from another terminal".to_owned(), command]
}

fn paths() -> DefaultPaths {
    DefaultPaths::from_env(|name| std::env::var(name))
}

fn ask_to_reload(pid: Option<i32>, config: &Config) -> ExitCode {
    match reload::ask(pid, &config.data_dir) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&error);
            ExitCode::from(if matches!(error, ReloadError::Refused(_)) { BAD_CONFIG } else { FAILED })
        }
    }
}

fn refuse(error: &ArgsError) -> ExitCode {
    complain(error);
    if let ArgsError::Problems(problems) = error {
        for problem in problems {
            eprintln!("  {problem}");
        }
    }
    ExitCode::from(BAD_CONFIG)
}

/// An error with its causes, one a line.
fn complain(error: &dyn StdError) {
    eprintln!("farrierd: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
}
