//! Renews the lease of a job and reports the end of the job.
//!
//! Because of the lease, a job is cancelled soon after this program was killed. Renewals are retried while the
//! daemon does not respond; a daemon that restarts extends the leases.

use std::time::{Duration, Instant};

use farrier_common::{
    api::Conclusion,
    client::{Client, ClientError},
};
use http::StatusCode;

use crate::{child::Signals, output::Output};

/// Length of a lease. The daemon waits for the same time again before it cancels the job.
pub(crate) const LEASE_SECS: u32 = 120;
const RENEW_EVERY: Duration = Duration::from_secs(30);
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Time limit of a request.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// Renews the lease of `job`. Returns when the daemon says that the job has ended.
pub(crate) async fn keep(client: &Client, job: i64) {
    let mut wait = RENEW_EVERY;
    loop {
        tokio::time::sleep(wait).await;
        wait = match tokio::time::timeout(ANSWER_MAX, client.renew_job(job)).await {
            Ok(Ok(_)) => RENEW_EVERY,
            Ok(Err(error)) if error.status() == Some(StatusCode::CONFLICT) => return,
            // The daemon is too old for leases, or the repository was deleted. The command continues.
            Ok(Err(error)) if error.status() == Some(StatusCode::NOT_FOUND) => std::future::pending().await,
            Ok(Err(_)) | Err(_) => RETRY_AFTER,
        };
    }
}

/// Reports the end of `job`. Temporary errors are retried for at most `patience` or until a signal arrives. A
/// failure is only printed to standard error, because the exit code is that of the command.
pub(crate) async fn report_end(
    client: &Client,
    job: i64,
    conclusion: Conclusion,
    time_limit: Duration,
    signals: &mut Signals,
    output: &Output,
) {
    let started = Instant::now();
    let mut pause = Duration::from_millis(200);
    let mut is_first = true;
    let error = loop {
        let ended = tokio::time::timeout(ANSWER_MAX, client.end_job(job, conclusion)).await;
        let error = match ended.unwrap_or(Err(ClientError::Silent { seconds: ANSWER_MAX.as_secs() })) {
            Ok(()) => return,
            Err(error) => error,
        };
        let next = jittered(pause);
        if !error.is_transient() || started.elapsed() + next > time_limit {
            break error;
        }
        if std::mem::take(&mut is_first) {
            let seconds = time_limit.as_secs();
            let text =
                format!("farrier: cannot report the end of job {job} yet: {error}; trying for up to {seconds} s");
            let _ = output.note(&text);
        }
        tokio::select! {
            () = tokio::time::sleep(next) => {}
            _ = signals.next() => break error,
        }
        pause = (pause * 2).min(RETRY_AFTER);
    };
    let word = conclusion.as_str();
    let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
    let _ = output.note(&format!("farrier: could not report the conclusion {word} of job {job}: {error}{cause}"));
}

/// Returns a random duration between 75 % and 125 % of `pause`, so that many agents do not retry at the same
/// time.
fn jittered(pause: Duration) -> Duration {
    let share = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
    pause.mul_f64(0.75 + share / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_a_jitter_of_25_percent() {
        for _ in 0..100 {
            let pause = jittered(Duration::from_secs(4));
            assert!((3_000..=5_000).contains(&pause.as_millis()), "{pause:?}");
        }
    }
}
