//! The results and durations of deliveries over time.

use farrier_proto::store::Delivery;

use super::{groups::EXAMINED_MAX, search_share};
use crate::{
    clock::Millis,
    model::delivery_failure,
    service::{Context, Error},
    shares::Holder,
    store::deliveries::{self, DeliveryFilter, DeliverySelection},
};

/// The period of the results up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultsSpan {
    /// 60 steps of a minute.
    Hour,
    /// 96 steps of fifteen minutes.
    Day,
    /// 84 steps of two hours.
    Week,
}

impl ResultsSpan {
    /// Returns the length of a step and the number of steps.
    fn steps(self) -> (Millis, usize) {
        match self {
            Self::Hour => (60_000, 60),
            Self::Day => (15 * 60_000, 96),
            Self::Week => (2 * 3_600_000, 84),
        }
    }
}

/// The deliveries that were created in a step and attempted at least once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepResults {
    /// Number of deliveries.
    pub count: u64,
    /// Number of deliveries whose last attempt failed.
    pub failed: u64,
    /// Durations of the last attempts, milliseconds: the median, the 95th percentile and the maximum. 0 without
    /// deliveries.
    pub p50_ms: u32,
    /// See `p50_ms`.
    pub p95_ms: u32,
    /// See `p50_ms`.
    pub max_ms: u32,
}

/// Results over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSeries {
    /// Length of a step.
    pub step_ms: Millis,
    /// Start of the first step.
    pub start_ms: Millis,
    /// The steps, oldest first.
    pub steps: Vec<StepResults>,
    /// Number of examined deliveries, at most [`EXAMINED_MAX`].
    pub examined: u64,
    /// Whether older deliveries were not examined, so that the first steps are incomplete.
    pub truncated: bool,
}

/// Returns the results of the deliveries of a hook, or of all hooks. Examines the newest deliveries, at most
/// [`EXAMINED_MAX`]. The search counts to `holder`.
pub async fn results(
    context: &Context,
    holder: Holder,
    hook: Option<u64>,
    span: ResultsSpan,
) -> Result<ResultSeries, Error> {
    let _share = search_share(context, holder).await?;
    let read = &context.store.read().await?;
    let mut steps = Steps::new(span, context.now_ms());
    let filter = DeliveryFilter { since_ms: Some(steps.start_ms), ..DeliveryFilter::default() };
    let selection = DeliverySelection { hook, filter, ..DeliverySelection::default() };
    let walked = deliveries::walk(read, &selection, EXAMINED_MAX, |row| steps.add(row)).await?;
    Ok(ResultSeries {
        step_ms: steps.step_ms,
        start_ms: steps.start_ms,
        steps: steps.all.into_iter().map(Step::results).collect(),
        examined: walked.examined,
        truncated: walked.truncated,
    })
}

struct Steps {
    step_ms: Millis,
    start_ms: Millis,
    all: Vec<Step>,
}

#[derive(Clone, Default)]
struct Step {
    failed: u64,
    durations_ms: Vec<u32>,
}

impl Steps {
    /// Returns empty steps. They begin at multiples of their length, so that the same delivery stays in the same step,
    /// and the last one contains `now_ms`.
    fn new(span: ResultsSpan, now_ms: Millis) -> Self {
        let (step_ms, count) = span.steps();
        let end_ms = (now_ms.div_euclid(step_ms) + 1) * step_ms;
        let start_ms = end_ms - step_ms * Millis::try_from(count).unwrap_or(0);
        Self { step_ms, start_ms, all: vec![Step::default(); count] }
    }

    /// Adds a delivery. If it was created after the last step, because the clock was set back, it is in the last step.
    fn add(&mut self, row: &Delivery) {
        let last = self.all.len() - 1;
        let Ok(at) = usize::try_from((row.created_ms - self.start_ms).div_euclid(self.step_ms)) else { return };
        if row.attempts > 0 {
            let step = &mut self.all[at.min(last)];
            step.failed += u64::from(delivery_failure::has_failed_attempt(row));
            step.durations_ms.push(row.duration_ms);
        }
    }
}

impl Step {
    fn results(mut self) -> StepResults {
        self.durations_ms.sort_unstable();
        let sorted = &self.durations_ms;
        // The nearest rank: the smallest duration that at least `percent` of the deliveries do not exceed.
        let percentile = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100);
            rank.checked_sub(1).and_then(|at| sorted.get(at)).copied().unwrap_or(0)
        };
        StepResults {
            count: sorted.len() as u64,
            failed: self.failed,
            p50_ms: percentile(50),
            p95_ms: percentile(95),
            max_ms: percentile(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(created_ms: Millis, attempts: u32, class: &str, duration_ms: u32) -> Delivery {
        Delivery { created_ms, attempts, error_class: class.into(), duration_ms, ..Delivery::default() }
    }

    #[test]
    fn deliveries_are_counted_in_the_step_of_their_creation() {
        let now = 1_767_323_045_000;
        let mut steps = Steps::new(ResultsSpan::Hour, now);
        assert!(steps.start_ms % 60_000 == 0 && (steps.start_ms + 59 * 60_000..).contains(&now));
        for row in [
            row(now, 1, "", 30),
            row(now + 600_000, 2, "http", 10),
            row(now, 0, "", 0),
            row(steps.start_ms, 1, "timeout", 10_000),
            row(steps.start_ms - 1, 1, "", 1),
        ] {
            steps.add(&row);
        }
        let all: Vec<StepResults> = steps.all.into_iter().map(Step::results).collect();
        assert_eq!(all.len(), 60);
        assert_eq!(all[59], StepResults { count: 2, failed: 1, p50_ms: 10, p95_ms: 30, max_ms: 30 });
        assert_eq!(all[0], StepResults { count: 1, failed: 1, p50_ms: 10_000, p95_ms: 10_000, max_ms: 10_000 });
        assert_eq!(all.iter().map(|step| step.count).sum::<u64>(), 3);
    }

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let step = Step { failed: 0, durations_ms: (1..=100).rev().collect() };
        let results = step.results();
        assert_eq!((results.p50_ms, results.p95_ms, results.max_ms), (50, 95, 100));
        assert_eq!(Step::default().results(), StepResults::default());
    }
}
