//! Leases of jobs: an agent that renews its lease counts as alive.
//!
//! A job is not cancelled when its lease first ends; its agent gets the same time once more. The daemon may have been
//! stopped, the machine suspended or the clock changed while the agent could not renew.

use farrier_common::api;
use farrier_proto::store::{Job, RunStatus};

use super::end::{already_ended, require_write};
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{Context, Error},
    store::{Tx, runs},
};

/// Allowed length of a lease, in seconds.
const SECONDS: std::ops::RangeInclusive<u32> = 10..=3_600;

/// Returns the requested lease in milliseconds, or 0.
pub(super) fn requested(input: &api::BeginRun) -> Result<i64, Error> {
    match input.lease_secs {
        None => Ok(0),
        Some(seconds) if SECONDS.contains(&seconds) => Ok(i64::from(seconds) * 1_000),
        Some(seconds) => {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            Err(Error::invalid("lease_secs", format!("is {seconds}; expected {least} to {most}")))
        }
    }
}

/// Returns `job` with a lease that begins or is renewed at `now`.
pub(super) fn renewed(job: &Job, now: Millis) -> Job {
    let deadline_ms = now.saturating_add(job.lease_ms).min(job.limit_ms);
    Job { deadline_ms, lapsed: false, ..job.clone() }
}

/// What to do with a job whose deadline may have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// Nothing: the deadline was moved meanwhile.
    NotYet,
    /// Extend: the lease ended for the first time, and the job continues until this deadline.
    Lapse {
        /// The next deadline.
        deadline_ms: Millis,
    },
    /// Cancel the job.
    Cancel,
}

pub(super) fn at_deadline(job: &Job, now: Millis) -> Overdue {
    if job.deadline_ms > now {
        return Overdue::NotYet;
    }
    let has_lease = job.lease_ms > 0 && now < job.limit_ms;
    if has_lease && !job.lapsed {
        return Overdue::Lapse { deadline_ms: now.saturating_add(job.lease_ms).min(job.limit_ms) };
    }
    Overdue::Cancel
}

/// Renews the lease of a job and returns the job. A job without a lease is returned unchanged.
///
/// A job that has ended is refused with [`Error::Exists`].
pub async fn renew(context: &Context, identity: &Identity, job: u64) -> Result<Job, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let now = context.now_ms();
    let job = context
        .store
        .write(async |tx: Tx| {
            let row = runs::job_by_id(&tx, job).await?.ok_or(Error::NotFound { what: "the job" })?;
            require_write(&tx, identity, &row).await?;
            if row.status() == RunStatus::Completed {
                return Err(already_ended(&row));
            }
            if row.lease_ms == 0 {
                return Ok(row);
            }
            let renewed = renewed(&row, now);
            runs::move_deadline(&tx, &renewed, row.deadline_ms);
            Ok(renewed)
        })
        .await?;
    context.sweep.due_at(job.deadline_ms);
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(lease_ms: i64) -> Job {
        Job { lease_ms, deadline_ms: 1_000, limit_ms: 10_000, ..Job::default() }
    }

    #[test]
    fn the_first_end_of_a_lease_extends_the_deadline_once() {
        let first = job(1_000);
        assert_eq!(at_deadline(&first, 999), Overdue::NotYet);
        assert_eq!(at_deadline(&first, 5_000), Overdue::Lapse { deadline_ms: 6_000 });
        let lapsed = Job { lapsed: true, deadline_ms: 6_000, ..first };
        assert_eq!(at_deadline(&lapsed, 5_999), Overdue::NotYet);
        assert_eq!(at_deadline(&lapsed, 6_000), Overdue::Cancel);
        assert_eq!(renewed(&lapsed, 5_500), Job { deadline_ms: 6_500, ..job(1_000) });
    }

    #[test]
    fn a_lease_never_exceeds_the_time_limit_of_the_job() {
        assert_eq!(renewed(&job(1_000), 9_500).deadline_ms, 10_000);
        assert_eq!(at_deadline(&job(1_000), 9_900), Overdue::Lapse { deadline_ms: 10_000 });
        assert_eq!(at_deadline(&job(1_000), 10_000), Overdue::Cancel);
        assert_eq!(at_deadline(&job(0), 1_000), Overdue::Cancel);
    }
}
