//! Progress of background tasks: percentages, transfer rates and remaining time.

use farrier_common::api::BackgroundTask;

/// The speed of a phase is unknown until the phase has lasted this long.
const SURE_AFTER_MILLIS: i64 = 2_000;
/// The phases of a fetch that transfer or process all of its data, as named by git. In earlier phases the
/// source only prepares the data; their duration says nothing about the rest of the fetch.
const MEASURED: [&str; 3] = ["Receiving objects", "Unpacking objects", "Resolving deltas"];

/// Returns whether the speed of the current phase is known.
fn is_measured(task: &BackgroundTask) -> bool {
    task.phase_millis >= SURE_AFTER_MILLIS && MEASURED.contains(&task.phase.as_str()) && task.total > 0
}

/// Returns the progress of the current phase in percent; `None` if git reports no total.
pub(crate) fn percent(task: &BackgroundTask) -> Option<i64> {
    (task.total > 0).then(|| task.done.clamp(0, task.total).saturating_mul(100) / task.total)
}

/// Returns the transfer rate in bytes per second while objects are received.
pub(crate) fn rate(task: &BackgroundTask) -> Option<i64> {
    (is_measured(task) && task.phase.ends_with("objects") && task.bytes > 0)
        .then(|| task.bytes.saturating_mul(1_000) / task.phase_millis)
}

/// Returns the estimated number of seconds until the current phase ends; `None` if its speed is unknown or less
/// than a second remains.
pub(crate) fn seconds_left(task: &BackgroundTask) -> Option<i64> {
    let is_known = is_measured(task) && task.done > 0 && task.total > task.done;
    let left = is_known.then(|| task.phase_millis.saturating_mul(task.total - task.done) / task.done / 1_000);
    left.filter(|seconds| *seconds > 0)
}

/// Formats a remaining time: `ETA 01:10`.
pub(crate) fn eta(seconds: i64) -> String {
    format!("ETA {:02}:{:02}", seconds / 60, seconds % 60)
}

/// Formats a duration: `0.4 s`, `1 min 5 s`.
pub(crate) fn took(millis: i64) -> String {
    match millis.max(0) {
        short @ ..60_000 => format!("{}.{} s", short / 1_000, short % 1_000 / 100),
        long => format!("{} min {} s", long / 60_000, long % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_estimated_once_the_speed_is_known() {
        let mut task = BackgroundTask {
            phase: "Receiving objects".into(),
            done: 25,
            total: 100,
            bytes: 6 << 20,
            phase_millis: 1_000,
            ..BackgroundTask::default()
        };
        assert_eq!((percent(&task), rate(&task), seconds_left(&task)), (Some(25), None, None));
        task.phase_millis = 3_000;
        assert_eq!((rate(&task), seconds_left(&task)), (Some(2 << 20), Some(9)));
        task.done = 99;
        assert_eq!(seconds_left(&task), None, "an estimate below one second is not shown");
        for phase in ["Counting objects", "Compressing objects"] {
            (task.phase, task.done) = (phase.into(), 25);
            assert_eq!((percent(&task), rate(&task), seconds_left(&task)), (Some(25), None, None), "{phase}");
        }
        (task.phase, task.done, task.total) = ("connecting".into(), 0, 0);
        assert_eq!((percent(&task), rate(&task), seconds_left(&task)), (None, None, None));
        assert_eq!((eta(70), took(420), took(65_000)), ("ETA 01:10".into(), "0.4 s".into(), "1 min 5 s".into()));
    }
}
