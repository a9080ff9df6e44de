//! What a git process sees: nothing of the daemon's own environment, no configuration of the
//! system or of a user, and of the repository's only what farrier wrote there itself.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
};

use super::ref_name::HIDDEN;

/// Directories that are searched after git's own.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Threads that one process packs with, at most.
const PACK_THREADS_MAX: usize = 4;

/// `PATH` of git processes: the directory of `program` and the system's.
pub(super) fn search_path(program: &Path) -> String {
    match program.parent().and_then(Path::to_str) {
        Some(dir) => format!("{dir}:{SEARCH}"),
        None => SEARCH.to_owned(),
    }
}

/// The fixed part of the environment.
pub(super) fn fixed(search_path: &str, home: &Path) -> Vec<(&'static str, OsString)> {
    vec![
        ("PATH", search_path.into()),
        ("HOME", home.into()),
        ("LC_ALL", "C".into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_ATTR_NOSYSTEM", "1".into()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
        ("GIT_NO_REPLACE_OBJECTS", "1".into()),
        ("GIT_NO_LAZY_FETCH", "1".into()),
        ("GIT_ADVICE", "0".into()),
        // A word that is no transport: no process goes out to the network or into other directories.
        ("GIT_ALLOW_PROTOCOL", "none".into()),
    ]
}

/// Configuration of every process that works on `directory`; it wins over the repository's file.
pub(super) fn config(directory: PathBuf) -> Vec<(String, OsString)> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(PACK_THREADS_MAX);
    let mut config: Vec<(String, OsString)> = [
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("core.askPass", ""),
        ("core.quotePath", "false"),
        // Acknowledged pushes survive a power cut: objects and refs are synced.
        ("core.fsync", "committed"),
        ("core.fsyncMethod", "batch"),
        ("core.bigFileThreshold", "64m"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("pack.windowMemory", "64m"),
        ("receive.autogc", "false"),
        ("receive.fsckObjects", "true"),
        ("receive.advertisePushOptions", "true"),
        ("receive.denyDeleteCurrent", "refuse"),
        // A push unpacks beside the repository, which it borrows from; what is asked of the lender
        // is known already, as it is the same repository.
        ("core.alternateRefsCommand", "true"),
        ("transfer.hideRefs", HIDDEN),
        ("uploadpack.allowFilter", "true"),
        // Protocol version 2 serves every object by its id; with this the older ones do, too.
        ("uploadpack.allowAnySHA1InWant", "true"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.into()))
    .collect();
    config.push(("safe.directory".into(), directory.into()));
    config.push(("pack.threads".into(), threads.to_string().into()));
    config
}

/// Configuration as the environment variables that carry it.
pub(super) fn config_variables(config: &[(String, OsString)]) -> Vec<(String, OsString)> {
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), config.len().to_string().into())];
    for (n, (key, value)) in config.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{n}"), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{n}"), value.clone()));
    }
    variables
}
