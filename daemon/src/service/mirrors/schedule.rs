//! Decides when mirrors run, and records the results of runs.

use farrier_proto::store::{Mirror, MirrorRemote, Repository};

use super::runs;
use crate::{
    clock::Millis,
    model::secret,
    service::{Context, Error, access, commit_outcome::run_until_known},
    store::{Tx, mirrors, repositories},
};

/// Attempts to record a result while the store is not available.
const TRIES: u32 = 5;
/// Longest pause after failures, unless the interval is longer.
const PAUSE_MAX_MS: Millis = 86_400_000;
/// Largest exponent of the pause after failures.
const DOUBLINGS_MAX: u32 = 20;
/// Part of an interval by which a run may be earlier or later, so that mirrors do not all run at the same time.
const JITTER_PARTS: Millis = 10;

/// Returns when a mirror runs next; 0 if no time is planned. `retry_ms`: the base of the pause after a failure of a
/// mirror without an interval; 0 if such a mirror is not tried again.
fn next_ms(now: Millis, interval_ms: Millis, failures: u32, retry_ms: Millis) -> Millis {
    let base = if interval_ms > 0 || failures == 0 { interval_ms } else { retry_ms };
    if base <= 0 {
        return 0;
    }
    let longest = PAUSE_MAX_MS.max(base);
    let pause = base.saturating_mul(1 << failures.min(DOUBLINGS_MAX)).min(longest);
    now.saturating_add(jittered(pause, u32::from_be_bytes(secret::random_bytes())))
}

/// Returns `pause` ± 10 %.
fn jittered(pause: Millis, random: u32) -> Millis {
    let width = pause / JITTER_PARTS * 2;
    let offset = Millis::try_from(i128::from(width) * i128::from(random) / i128::from(u32::MAX)).unwrap_or(0);
    pause - width / 2 + offset
}

/// Plans the first sync of a mirror that was imported.
pub(in crate::service) fn imported(row: &mut Repository, now: Millis) {
    if let Some(mirror) = row.mirror.as_mut().filter(|mirror| mirror.pull) {
        (mirror.updated_ms, mirror.synced_ms) = (now, now);
        mirror.next_ms = next_ms(now, mirror.interval_ms, 0, 0);
    }
}

/// Sets the interval of a pull mirror and plans its next sync. Other repositories are not changed.
pub(in crate::service) fn set_interval(row: &mut Repository, interval_ms: Millis, now: Millis) {
    if let Some(mirror) = row.mirror.as_mut().filter(|mirror| mirror.pull) {
        mirror.interval_ms = interval_ms;
        mirror.next_ms = next_ms(now, interval_ms, mirror.failures, 0);
    }
}

/// Returns the number of requests for a run of the mirror.
pub(super) async fn requests(context: &Context, repository: u64, name: &str) -> Result<u64, Error> {
    let snapshot = context.store.read().await?;
    if name.is_empty() {
        let row = repositories::get(&snapshot, repository).await?;
        return Ok(row.and_then(|row| row.mirror).map_or(0, |mirror| mirror.requests));
    }
    Ok(mirrors::remote(&snapshot, repository, name).await?.map_or(0, |row| row.requests))
}

/// Returns whether the mirror exists.
pub(super) async fn exists(context: &Context, repository: u64, name: &str) -> Result<bool, Error> {
    let snapshot = context.store.read().await?;
    let row = repositories::get(&snapshot, repository).await?.filter(|row| !row.deleted);
    Ok(match row {
        Some(row) if name.is_empty() => access::is_mirror(&row),
        Some(_) => mirrors::remote(&snapshot, repository, name).await?.is_some(),
        None => false,
    })
}

/// A request for a run of a push mirror.
#[derive(Debug)]
pub(super) struct RequestedRun {
    /// When the run before it ended.
    updated_ms: Millis,
}

/// Requests a run of a push mirror. `None`: it does not exist.
pub(super) async fn request(context: &Context, repository: u64, name: &str) -> Result<Option<RequestedRun>, Error> {
    let now = context.now_ms();
    let requested = context.store.write(async |tx: Tx| {
        let Some(before) = mirrors::remote(&tx, repository, name).await? else { return Ok(None) };
        let row = MirrorRemote { next_ms: now, requests: before.requests + 1, ..before.clone() };
        mirrors::put(&tx, repository, Some(&before), &row);
        Ok::<_, Error>(Some(RequestedRun { updated_ms: row.updated_ms }))
    });
    let requested = requested.await?;
    runs::wake(context);
    Ok(requested)
}

/// Returns the result of the run that a request caused. `None`: it has not ended.
pub(super) async fn result_of(
    context: &Context,
    repository: u64,
    name: &str,
    requested: &RequestedRun,
) -> Result<Option<Result<(), String>>, Error> {
    let Some(row) = mirrors::remote(&context.store.read().await?, repository, name).await? else {
        return Ok(Some(Ok(())));
    };
    // A run that began before the request leaves the mirror due.
    let is_due = row.next_ms != 0 && row.next_ms <= context.now_ms();
    if is_due || row.updated_ms == requested.updated_ms {
        return Ok(None);
    }
    Ok(Some(if row.last_error.is_empty() { Ok(()) } else { Err(row.last_error) }))
}

/// Records the end of a run and plans the next one. A request that came after the run had begun (`requests`: their
/// number at its beginning) keeps its own time. `failed`: the error. Returns whether the mirror exists.
pub(super) async fn finish(
    context: &Context,
    repository: u64,
    name: &str,
    requests: u64,
    failed: Option<&String>,
) -> Result<bool, Error> {
    let now = context.now_ms();
    let error = failed.cloned().unwrap_or_default();
    let min_ms = Millis::try_from(context.config.mirror.min_interval.as_millis()).unwrap_or(PAUSE_MAX_MS);
    let written = run_until_known(context, TRIES, async |tx: Tx| {
        if name.is_empty() {
            let Some(before) = repositories::get(&tx, repository).await? else { return Ok(false) };
            let mut row = before.clone();
            let is_mirror = access::is_mirror(&row);
            if let Some(mirror) = row.mirror.as_mut().filter(|_| is_mirror) {
                ended(mirror, now, requests, &error);
                repositories::put(&tx, Some(&before), &row);
            }
            return Ok(true);
        }
        let Some(before) = mirrors::remote(&tx, repository, name).await? else { return Ok(false) };
        let failures = if error.is_empty() { 0 } else { before.failures.saturating_add(1) };
        let failing_since_ms = failing_since_ms(before.failing_since_ms, before.failures, &error, now);
        let mut row =
            MirrorRemote { updated_ms: now, last_error: error.clone(), failures, failing_since_ms, ..before.clone() };
        if row.requests == requests {
            let retry_ms = if row.sync_on_commit { min_ms } else { 0 };
            row.next_ms = next_ms(now, row.interval_ms, failures, retry_ms);
            row.depth = 0;
        }
        mirrors::put(&tx, repository, Some(&before), &row);
        Ok(true)
    });
    let written = written.await.result();
    runs::wake(context);
    written
}

/// Returns since when the runs fail, after a run that ended `now`; 0 if it succeeded, or if it is not known because an
/// earlier release recorded the first failure. `known_ms` and `failures`: the values before the run.
fn failing_since_ms(known_ms: Millis, failures: u32, error: &str, now: Millis) -> Millis {
    match (error.is_empty(), failures) {
        (true, _) => 0,
        (false, 0) => now,
        (false, _) => known_ms,
    }
}

fn ended(mirror: &mut Mirror, now: Millis, requests: u64, error: &str) {
    mirror.failing_since_ms = failing_since_ms(mirror.failing_since_ms, mirror.failures, error, now);
    mirror.updated_ms = now;
    error.clone_into(&mut mirror.last_error);
    if error.is_empty() {
        mirror.synced_ms = now;
        mirror.failures = 0;
    } else {
        mirror.failures = mirror.failures.saturating_add(1);
    }
    if mirror.requests == requests {
        mirror.next_ms = next_ms(now, mirror.interval_ms, mirror.failures, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_vary_by_a_tenth() {
        assert_eq!([jittered(1_000, 0), jittered(1_000, u32::MAX), jittered(1_000, u32::MAX / 2)], [900, 1_100, 999]);
    }

    #[test]
    fn pauses_double_after_failures_up_to_a_day_or_the_interval() {
        assert_eq!([next_ms(5, 0, 0, 9), next_ms(5, 0, 3, 0)], [0, 0], "only by request");
        for (interval, failures, retry, base) in [
            (600_000, 0, 0, 600_000),
            (600_000, 1, 0, 1_200_000),
            (600_000, 3, 0, 4_800_000),
            (600_000, 99, 0, PAUSE_MAX_MS),
            (2 * PAUSE_MAX_MS, 5, 0, 2 * PAUSE_MAX_MS),
            (0, 1, 600_000, 1_200_000),
        ] {
            let next = next_ms(0, interval, failures, retry);
            assert!((base / 10 * 9..=base / 10 * 11).contains(&next), "{interval} {failures}: {next}");
        }
    }

    #[test]
    fn a_request_during_a_run_is_not_lost() {
        let mut mirror = Mirror { interval_ms: 600_000, next_ms: 7, requests: 2, ..Mirror::default() };
        ended(&mut mirror, 9, 1, "");
        assert_eq!((mirror.next_ms, mirror.synced_ms), (7, 9));
        ended(&mut mirror, 9, 2, "gone");
        assert!(mirror.next_ms > 9 && mirror.failures == 1 && mirror.last_error == "gone");
    }

    #[test]
    fn failures_begin_with_the_first_one_after_a_success() {
        let mut mirror = Mirror::default();
        let since_ms = [(5, "gone"), (6, "gone"), (7, ""), (8, "refused")].map(|(now, error)| {
            ended(&mut mirror, now, 0, error);
            mirror.failing_since_ms
        });
        assert_eq!(since_ms, [5, 5, 0, 8]);
        let mut of_earlier_release = Mirror { failures: 2, ..Mirror::default() };
        ended(&mut of_earlier_release, 9, 0, "gone");
        assert_eq!(of_earlier_release.failing_since_ms, 0);
    }
}
