//! `farrier ci exec`: runs a command as a job.
//!
//! The end of the job is reported however the command ends. The exit code is that of the command, even if the
//! job fails or cannot be reported.

use std::{ffi::OsString, path::Path, time::Duration};

use farrier_common::{
    api::{BeginRun, BegunJob, Conclusion},
    client::{Client, Endpoint},
};

use super::{begin, environment, job_request, lease};
use crate::{
    args::{Exec, Global},
    child::{self, Ended, Signals},
    endpoint,
    exit::{self, Failure},
    output::Output,
};

pub(super) async fn run(args: Exec, client: &Client, global: &Global, output: &Output) -> Result<u8, Failure> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::Usage("no command was given".into()));
    };
    // Before the job starts: from then on, a signal must not end this program.
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    let request = BeginRun { lease_secs: Some(lease::LEASE_SECS), ..job_request(&args.repo, &args.job)? };
    let job = tokio::select! {
        job = begin(client, &request) => job?,
        _ = signals.next() => return Err(Failure::Interrupted),
    };
    let cancelled = async {
        lease::keep(client, job.job_id).await;
        let text = format!("farrier: the daemon ended job {}; stopping the command", job.job_id);
        let _ = output.note(&text);
    };
    let grace = Duration::from_secs(args.grace.into());
    let variables = variables(&job, client.endpoint(), global);
    let ended = child::run(program, arguments, variables, &mut signals, grace, cancelled).await;
    let ended = ended.map_err(|source| Failure::io("waiting for the command", source));
    if let Ok(Ended::NotStarted(error)) = &ended {
        let _ = output.note(&format!("farrier: {}: {error}", program.display()));
    }
    let conclusion = ended.as_ref().map_or(Conclusion::Failure, conclusion);
    let time_limit = Duration::from_secs(args.report_timeout.into());
    lease::report_end(client, job.job_id, conclusion, time_limit, &mut signals, output).await;
    Ok(ended?.exit_code())
}

/// Signals that users and supervisors send to stop a command: HUP, INT, QUIT, KILL, TERM. Any other signal is a
/// crash.
const STOPPED_BY: [u8; 5] = [1, 2, 3, 9, 15];

fn conclusion(ended: &Ended) -> Conclusion {
    match ended {
        Ended::Code(exit::OK) => Conclusion::Success,
        // The exit code of a shell whose child was interrupted.
        Ended::Code(exit::INTERRUPTED) => Conclusion::Cancelled,
        Ended::Signal(signal) if STOPPED_BY.contains(signal) => Conclusion::Cancelled,
        Ended::Code(_) | Ended::Signal(_) | Ended::NotStarted(_) => Conclusion::Failure,
    }
}

/// Returns the environment of the command: the job's variables, a setting for git, and the address of the daemon for a
/// nested `farrier`. Hosts in the user's `NO_PROXY` stay exempt from the proxy.
fn variables(job: &BegunJob, endpoint: &Endpoint, global: &Global) -> Vec<(String, OsString)> {
    let mut all = environment(job);
    if let (Some(ours), Ok(theirs)) = (all.get_mut("NO_PROXY"), std::env::var("NO_PROXY")) {
        *ours = joined(&theirs, ours);
    }
    let mut all: Vec<(String, OsString)> = all.into_iter().map(|(name, value)| (name, value.into())).collect();
    let absolute = |path: &Path| std::path::absolute(path).ok().map(OsString::from);
    // An empty variable hides the inherited value.
    let (url, socket) = match endpoint {
        Endpoint::Unix(path) => (None, absolute(path)),
        Endpoint::Http(url) => (Some(OsString::from(url.as_str())), None),
    };
    let ca = endpoint::authorities(global).as_deref().and_then(absolute);
    let variables = [("FARRIER_URL", url), ("FARRIER_SOCKET", socket), ("FARRIER_CA", ca), ("FARRIER_CONTEXT", None)];
    for (name, value) in variables {
        all.push((name.to_owned(), value.unwrap_or_default()));
    }
    if global.context.is_some() {
        // The variable may belong to another daemon, and the command uses the daemon of the context.
        all.push(("FARRIER_TOKEN".to_owned(), OsString::new()));
    }
    all.extend(bundle_setting(|name| std::env::var(name).ok()));
    all
}

/// The setting that makes git begin a clone with the prepared bundles of a repository. Older versions of git ignore it.
const BUNDLE_SETTING: &str = "transfer.bundleURI";

/// Returns the variables that turn on [`BUNDLE_SETTING`], after the settings that the environment already has for git.
/// None if one of these is the same setting, or if git will refuse them because their number is invalid.
fn bundle_setting(inherited: impl Fn(&str) -> Option<String>) -> Vec<(String, OsString)> {
    const SETTINGS_MAX: u32 = 10_000;
    let count = match inherited("GIT_CONFIG_COUNT").as_deref() {
        None | Some("") => 0,
        Some(text) => match text.parse::<u32>() {
            Ok(count) if count < SETTINGS_MAX => count,
            _ => return Vec::new(),
        },
    };
    let is_same =
        |n| inherited(&format!("GIT_CONFIG_KEY_{n}")).is_some_and(|key| key.eq_ignore_ascii_case(BUNDLE_SETTING));
    if (0..count).any(is_same) {
        return Vec::new();
    }
    vec![
        ("GIT_CONFIG_COUNT".to_owned(), (count + 1).to_string().into()),
        (format!("GIT_CONFIG_KEY_{count}"), BUNDLE_SETTING.into()),
        (format!("GIT_CONFIG_VALUE_{count}"), "true".into()),
    ]
}

fn joined(theirs: &str, ours: &str) -> String {
    let known: Vec<&str> = theirs.split(',').map(str::trim).collect();
    let new = ours.split(',').filter(|host| !known.contains(host));
    theirs.split(',').chain(new).filter(|host| !host.is_empty()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_follows_the_exit_status() {
        let cases = [
            (Ended::Code(0), Conclusion::Success),
            (Ended::Code(1), Conclusion::Failure),
            (Ended::Code(130), Conclusion::Cancelled),
            (Ended::Signal(15), Conclusion::Cancelled),
            (Ended::Signal(11), Conclusion::Failure),
            (Ended::NotStarted(std::io::ErrorKind::NotFound.into()), Conclusion::Failure),
        ];
        for (ended, expected) in cases {
            assert_eq!(conclusion(&ended), expected, "{ended:?}");
        }
    }

    #[test]
    fn jobs_use_bundles_in_addition_to_the_settings_of_the_environment() {
        let of = |inherited: &[(&str, &str)]| -> Vec<String> {
            let get = |name: &str| inherited.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
            let set = bundle_setting(get).into_iter();
            set.map(|(name, value)| format!("{name}={}", value.to_string_lossy())).collect()
        };
        let first = ["GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=transfer.bundleURI", "GIT_CONFIG_VALUE_0=true"];
        assert_eq!(of(&[]), first);
        assert_eq!(of(&[("GIT_CONFIG_COUNT", "")]), first);
        let others = [("GIT_CONFIG_COUNT", "2"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_KEY_1", "c.d")];
        let third = ["GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_2=transfer.bundleURI", "GIT_CONFIG_VALUE_2=true"];
        assert_eq!(of(&others), third);
        // The caller has decided, or git will report the problem.
        assert!(of(&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "Transfer.BundleUri")]).is_empty());
        for invalid in ["x", "-1", "4294967295", "99999999999"] {
            assert!(of(&[("GIT_CONFIG_COUNT", invalid)]).is_empty(), "{invalid}");
        }
    }

    #[test]
    fn no_proxy_lists_are_merged() {
        assert_eq!(joined("a,b", "127.0.0.1,b"), "a,b,127.0.0.1");
        assert_eq!(joined("", "x"), "x");
    }
}
