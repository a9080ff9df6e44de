//! `farrier ci exec`: a command as a job.
//!
//! Whatever happens to the command, the job is ended; whatever happens to the job, the command's own
//! exit status is kept when it is worth more than ours.

use std::ffi::OsString;

use farrier_common::{
    api::{BegunJob, Conclusion},
    client::{Client, Endpoint},
};

use super::{begin, end, environment, wanted};
use crate::{
    args::Exec,
    child::{self, Ended, Signals},
    exit::{self, Failure},
    output::Output,
};

pub(super) async fn run(args: Exec, client: &Client, output: &Output) -> Result<u8, Failure> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::Usage("no command".into()));
    };
    // Before the job begins: afterwards a signal must not end this program.
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    let asked = wanted(&args.repo, &args.job);
    let job = tokio::select! {
        job = begin(client, &asked) => job?,
        _ = signals.next() => return Err(Failure::Interrupted),
    };
    let ended = child::run(program, arguments, variables(&job, client.endpoint()), &mut signals).await;
    let ended = ended.map_err(|source| Failure::io("waiting for the command", source));
    if let Ok(Ended::NotStarted(error)) = &ended {
        let _ = output.note(&format!("farrier: {}: {error}", program.display()));
    }
    let conclusion = ended.as_ref().map_or(Conclusion::Failure, conclusion);
    let closed = end(client, job.job_id, conclusion).await;
    let code = ended?.exit_code();
    match closed {
        Ok(()) => Ok(code),
        Err(failure) if code == exit::OK => Err(failure),
        Err(failure) => {
            let _ = output.error(&failure);
            Ok(code)
        }
    }
}

/// Signals that somebody sends to stop a command: HUP, INT, QUIT, KILL, TERM. Any other is a crash.
const STOPPED_BY: [u8; 5] = [1, 2, 3, 9, 15];

fn conclusion(ended: &Ended) -> Conclusion {
    match ended {
        Ended::Code(exit::OK) => Conclusion::Success,
        // A shell reports its interrupted child that way.
        Ended::Code(exit::INTERRUPTED) => Conclusion::Cancelled,
        Ended::Signal(signal) if STOPPED_BY.contains(signal) => Conclusion::Cancelled,
        Ended::Code(_) | Ended::Signal(_) | Ended::NotStarted(_) => Conclusion::Failure,
    }
}

/// The job's environment. Exceptions from a proxy that the user has made stay, and a `farrier` below
/// finds the daemon where this one did.
fn variables(job: &BegunJob, endpoint: &Endpoint) -> Vec<(String, OsString)> {
    let mut all = environment(job);
    if let (Some(ours), Ok(theirs)) = (all.get_mut("NO_PROXY"), std::env::var("NO_PROXY")) {
        *ours = joined(&theirs, ours);
    }
    let mut all: Vec<(String, OsString)> = all.into_iter().map(|(name, value)| (name, value.into())).collect();
    if let Endpoint::Unix(path) = endpoint
        && let Ok(path) = std::path::absolute(path)
    {
        all.push(("FARRIER_SOCKET".to_owned(), path.into()));
    }
    all
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
    fn a_job_ends_as_its_command_did() {
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
    fn exceptions_from_a_proxy_add_up() {
        assert_eq!(joined("a,b", "127.0.0.1,b"), "a,b,127.0.0.1");
        assert_eq!(joined("", "x"), "x");
    }
}
