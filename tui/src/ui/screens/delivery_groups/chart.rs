//! The pane beside the groups: results and durations over time.

use farrier_common::api::{DeliveryGroup, DeliveryResults};
use ratatui::{buffer::Buffer, layout::Rect};

use super::rows as group_rows;
use crate::ui::{
    net::ResultsSpan,
    view::{self, CHART_BELOW, Chart, LinePart, Role, below, parts, text, wrapped},
    words,
};

/// Limits of the height of a chart: less shows nothing, more shows no additional detail.
const CHART_ROWS: std::ops::RangeInclusive<u16> = 2..=8;
/// Rows above and below the chart: the title, the share of successes, and the durations.
const OTHER_ROWS: u16 = 5;

/// Returns at most `cells` values, each the largest of some successive steps.
fn peaks(values: &[i64], cells: u16) -> Vec<i64> {
    let each = values.len().div_ceil(usize::from(cells.max(1))).max(1);
    values.chunks(each).map(|some| some.iter().copied().max().unwrap_or(0)).collect()
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
    let rows = area.height.saturating_sub(OTHER_ROWS + CHART_BELOW).min(*CHART_ROWS.end());
    let mut y = 2;
    if rows >= *CHART_ROWS.start() {
        let (counts, failed) = (results.attempted.clone(), results.failed.clone());
        let chart = Chart { counts, failed, step_secs: results.step_secs, role: Role::Accent };
        chart.draw(buf, row(y), rows);
        y += rows + CHART_BELOW;
    }
    if let Some(durations) = durations(results) {
        text(buf, row(y), &durations, Role::Text);
        let cells = area.width.saturating_sub(8);
        let values = peaks(&results.p95_millis, cells);
        parts(buf, row(y + 1), &[LinePart::plain("p95 ms  "), LinePart::Sparkline { values, cells }]);
        y += 2;
    }
    y
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
    fn a_sparkline_of_durations_keeps_the_peaks() {
        assert_eq!(peaks(&[1, 9, 2, 3, 4], 3), [9, 3, 4]);
        assert_eq!(peaks(&[1, 2], 8), [1, 2]);
        assert_eq!(peaks(&[], 0), [0; 0]);
    }
}
