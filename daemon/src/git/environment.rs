//! The environment and configuration of git processes. A process sees nothing of the daemon's environment and
//! no system or user configuration. Settings that the daemon passes override the repository's own
//! configuration.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
};

use super::ref_name::HIDDEN;

/// Directories appended to `PATH` after git's own directory.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// A program that does nothing and fails.
const NO_PROGRAM: &str = "/bin/false";
/// Limit of `pack.threads`.
const PACK_THREADS_MAX: usize = 4;

/// Returns the `PATH` of git processes: the directory of `program`, then the system directories.
pub(super) fn search_path(program: &Path) -> String {
    match program.parent().and_then(Path::to_str) {
        Some(dir) => format!("{dir}:{SEARCH}"),
        None => SEARCH.to_owned(),
    }
}

/// Returns the environment variables that are the same for every process.
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
        // `none` is no transport: by default a process cannot reach the network or other directories.
        ("GIT_ALLOW_PROTOCOL", "none".into()),
    ]
}

/// Returns the configuration of every process that works on `directory`. It overrides the repository's config
/// file.
pub(super) fn config(directory: PathBuf) -> Vec<(String, OsString)> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(PACK_THREADS_MAX);
    let mut config: Vec<(String, OsString)> = [
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("core.askPass", ""),
        // No foreign program is started to verify a signature.
        ("gpg.program", NO_PROGRAM),
        ("gpg.openpgp.program", NO_PROGRAM),
        ("gpg.x509.program", NO_PROGRAM),
        ("gpg.ssh.program", NO_PROGRAM),
        ("core.quotePath", "false"),
        // Objects and refs are fsynced so that acknowledged pushes survive a power failure.
        ("core.fsync", "committed"),
        ("core.fsyncMethod", "batch"),
        ("core.bigFileThreshold", "64m"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("pack.windowMemory", "64m"),
        ("receive.advertisePushOptions", "true"),
        // Workspaces have the repository as their alternate. Listing the refs of the alternate is useless, because it
        // is the same repository.
        ("core.alternateRefsCommand", "true"),
        ("transfer.hideRefs", HIDDEN),
        ("uploadpack.allowFilter", "true"),
        // Protocol version 2 serves every object by its id; this makes the older versions do the same.
        ("uploadpack.allowAnySHA1InWant", "true"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.into()))
    .collect();
    config.push(("safe.directory".into(), directory.into()));
    config.push(("pack.threads".into(), threads.to_string().into()));
    config
}

/// Encodes configuration as `GIT_CONFIG_*` environment variables.
pub(super) fn config_variables(config: &[(String, OsString)]) -> Vec<(String, OsString)> {
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), config.len().to_string().into())];
    for (n, (key, value)) in config.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{n}"), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{n}"), value.clone()));
    }
    variables
}
