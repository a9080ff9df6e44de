//! The pane beside the groups: results and durations over time.

use farrier_common::api::{DeliveryGroup, DeliveryResults};
use ratatui::{buffer::Buffer, layout::Rect};

use super::rows as group_rows;
use crate::ui::{
    net::ResultsSpan,
    view::{self, CHART_BELOW, Chart, Measure, Role, below, text, wrapped},
    words,
};

/// Limits of the height of a single chart: less shows nothing, more leaves no room for the group.
const ONE_CHART: std::ops::RangeInclusive<u16> = 2..=8;
/// Limits of the height of each of two charts.
const TWO_CHARTS: std::ops::RangeInclusive<u16> = 5..=14;
/// Rows beside the charts: the title, the share of successes, and the durations.
const TEXT_ROWS: u16 = 3;
/// Rows below the charts: a blank one and those about the group.
const GROUP_ROWS: u16 = 4;

/// Returns the heights of the charts of results and of durations. Without room for both, the durations have one row.
fn heights(area: u16) -> (u16, Option<u16>) {
    let both = area.saturating_sub(TEXT_ROWS + GROUP_ROWS + 2 * CHART_BELOW) / 2;
    if both >= *TWO_CHARTS.start() {
        let both = both.min(*TWO_CHARTS.end());
        return (both, Some(both));
    }
    let one = area.saturating_sub(TEXT_ROWS + 1 + CHART_BELOW);
    (one.min(*ONE_CHART.end()), None)
}

/// Returns the share of the deliveries whose last attempt succeeded.
fn successes(results: &DeliveryResults) -> (Role, String) {
    let (all, failed) = (results.attempted.iter().sum::<i64>(), results.failed.iter().sum::<i64>());
    let more = if results.truncated { " (older ones are not counted)" } else { "" };
    match (all, failed) {
        (0, _) => (Role::Muted, "no attempts".to_owned()),
        (all, 0) => (Role::Ok, format!("ok 100 % of {}{more}", words::count(all))),
        (all, failed) => {
            let share = words::percent(all - failed, all);
            (Role::Warn, format!("ok {share} % of {}, {} failed{more}", words::count(all), words::count(failed)))
        }
    }
}

/// Returns the durations: those of the newest step with deliveries, and the longest of all.
fn durations(results: &DeliveryResults) -> Option<String> {
    let last = results.attempted.iter().rposition(|count| *count > 0)?;
    let millis = |values: &[i64]| values.get(last).map_or_else(|| "-".to_owned(), |value| words::count(*value));
    let longest = results.max_millis.iter().copied().max().unwrap_or(0);
    let (p50, p95) = (millis(&results.p50_millis), millis(&results.p95_millis));
    Some(format!("newest p50 {p50} ms  p95 {p95} ms   longest {} ms", words::count(longest)))
}

/// Draws the results of `hook`, or of all hooks. `results` is `None` while they are loaded.
pub(super) fn draw(
    hook: Option<u64>,
    span: ResultsSpan,
    results: Option<&Result<DeliveryResults, String>>,
    area: Rect,
    buf: &mut Buffer,
) -> u16 {
    let row = |y: u16| below(area, y);
    let whose = hook.map_or_else(|| "all hooks".to_owned(), |hook| format!("hook {hook}"));
    text(buf, row(0), &format!("{whose}   last {}", span.name()), Role::Title);
    let results = match results {
        None => {
            text(buf, row(1), "loading …", Role::Muted);
            return 2;
        }
        Some(Err(why)) => {
            let lines = wrapped(why, area.width);
            let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1);
            view::lines(buf, row(1), lines.into_iter().map(|line| (Role::Error, line)));
            return used;
        }
        Some(Ok(results)) => results,
    };
    let (role, share) = successes(results);
    text(buf, row(1), &share, role);
    let (rows, duration_rows) = heights(area.height);
    let mut y = 2;
    let (measure, values, failed) = (Measure::Rate, results.attempted.clone(), results.failed.clone());
    let attempts = Chart { measure, values, failed, step_secs: results.step_secs, role: Role::Accent };
    if rows >= *ONE_CHART.start() {
        attempts.draw(buf, row(y), rows);
        y += rows + CHART_BELOW;
    }
    let Some(durations) = durations(results) else { return y };
    text(buf, row(y), &durations, Role::Text);
    let (measure, values) = (Measure::Millis, results.p95_millis.clone());
    let slowest = Chart { measure, values, failed: Vec::new(), ..attempts };
    if let Some(rows) = duration_rows {
        slowest.draw(buf, row(y + 1), rows);
        y + 1 + rows + CHART_BELOW
    } else {
        slowest.draw_row("  p95 ms", buf, row(y + 1));
        y + 2
    }
}

/// Returns the lines about a group that the list does not show.
pub(super) fn about(group: &DeliveryGroup) -> Vec<(Role, String)> {
    let named: Vec<String> = group.hooks.iter().map(ToString::to_string).collect();
    let others = group.hook_count - i64::try_from(named.len()).unwrap_or(i64::MAX);
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    vec![
        (Role::Title, group_rows::name(group)),
        (Role::Text, format!("hooks    {}{others}", named.join(", "))),
        (Role::Text, format!("example  {}", group.example)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_durations_are_those_of_attempted_deliveries() {
        let results = DeliveryResults {
            attempted: vec![0, 40, 10, 0],
            failed: vec![0, 1, 0, 0],
            p50_millis: vec![0, 30, 20, 0],
            p95_millis: vec![0, 90, 70, 0],
            max_millis: vec![0, 1_200, 80, 0],
            ..DeliveryResults::default()
        };
        assert_eq!(successes(&results).1, "ok 98 % of 50, 1 failed");
        assert_eq!(durations(&results).as_deref(), Some("newest p50 20 ms  p95 70 ms   longest 1 200 ms"));
        let truncated = DeliveryResults { truncated: true, failed: Vec::new(), ..results };
        assert_eq!(successes(&truncated).1, "ok 100 % of 50 (older ones are not counted)");
        let none = DeliveryResults::default();
        assert_eq!((successes(&none).1.as_str(), durations(&none)), ("no attempts", None));
    }

    #[test]
    fn charts_have_the_rows_that_the_texts_leave() {
        assert_eq!((heights(0), heights(8)), ((0, None), (2, None)));
        assert_eq!(heights(20), (8, None));
        assert_eq!((heights(21), heights(36), heights(56)), ((5, Some(5)), (12, Some(12)), (14, Some(14))));
    }
}
