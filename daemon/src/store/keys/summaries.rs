//! Keys of the summaries of steps.

use super::{Builder, due};
use crate::store::engine::{Key, Range};

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepKey {
    /// The run.
    pub run: u64,
    /// The job.
    pub job: u64,
    /// The number of the step.
    pub step: u64,
}

impl StepKey {
    fn append(self, builder: Builder) -> Builder {
        builder.id(self.run).id(self.job).id(self.step)
    }
}

/// `js/<run>/<job>/<step>`
pub fn summary(key: StepKey) -> Key {
    key.append(Builder::new("js")).build()
}

/// Prefix of `js/<run>/`.
pub fn summaries_of_run(run: u64) -> Key {
    Builder::new("js").id(run).build()
}

/// Prefix of `js/<run>/<job>/`.
pub fn summaries_of_job(run: u64, job: u64) -> Key {
    Builder::new("js").id(run).id(job).build()
}

/// `jp/<run>/<job>/<step>/<part>`
pub fn summary_part(key: StepKey, part: u32) -> Key {
    key.append(Builder::new("jp")).id(part.into()).build()
}

/// `jt/<updated>/<run>/<job>/<step>`: summaries by the time of their last update.
pub fn summary_age(updated_ms: i64, key: StepKey) -> Key {
    key.append(Builder::new("jt").time(updated_ms)).build()
}

/// The range of `jt` up to and including `until_ms`.
pub fn summary_ages(until_ms: i64) -> Range {
    due("jt", until_ms)
}

/// Returns the step at the end of a key of `js` or `jt`.
pub fn trailing_step(key: &[u8]) -> Option<StepKey> {
    step(key.last_chunk()?)
}

/// Returns the step of a key of `jp`.
pub fn step_of_part(key: &[u8]) -> Option<StepKey> {
    let (ids, _) = key.last_chunk::<32>()?.split_first_chunk::<24>()?;
    step(ids)
}

fn step(ids: &[u8; 24]) -> Option<StepKey> {
    let mut ids = ids.chunks_exact(8).filter_map(|id| Some(u64::from_be_bytes(id.try_into().ok()?)));
    Some(StepKey { run: ids.next()?, job: ids.next()?, step: ids.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_step() {
        let key = StepKey { run: 1, job: u64::MAX, step: 3 };
        assert_eq!(trailing_step(&summary(key)), Some(key));
        assert_eq!(trailing_step(&summary_age(-5, key)), Some(key));
        assert_eq!(step_of_part(&summary_part(key, 7)), Some(key));
        assert_eq!(trailing_step(b"js"), None);
    }
}
