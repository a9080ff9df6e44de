//! The metrics and charts of requests, git, delivery attempts and uploads.

use std::fmt::Write as _;

use farrier_common::api::{MetricsSeries, Status};

use super::parts::Figure;
use crate::{
    output::human_bytes,
    ui::{
        view::{CHART_BELOW, Chart, LinePart, Measure, Role, peak, rate, resampled, time_axis},
        words,
    },
};

/// A delivery that has waited longer than this is reported as late.
const OVERDUE_SECS: i64 = 60;
/// Limits of the height of a chart: less shows nothing, more shows no additional detail.
const CHART_ROWS: std::ops::RangeInclusive<u16> = 2..=10;
/// Number of figures with a chart.
const CHARTS: u16 = 4;
/// Width from which sparklines have the rate of their highest column.
const AXIS_FROM: u16 = 60;
/// Cells of that rate.
const PEAK_WIDTH: usize = 7;
/// Lines without a chart: the queue and the clients.
const LINES: u16 = 2;

fn millis(micros: i64) -> String {
    match micros {
        0 => "-".to_owned(),
        1..1_000 => "<1 ms".to_owned(),
        micros => format!("{} ms", words::count(micros.div_euclid(1_000))),
    }
}

/// Formats the average rate of all steps.
fn average(counts: &[i64], step_secs: i64) -> String {
    let period = step_secs.max(1) * i64::try_from(counts.len()).unwrap_or(i64::MAX);
    rate(counts.iter().sum(), period, period)
}

/// Returns one figure per kind of work: with a chart below it if each gets enough of `height` rows, or with a sparkline
/// beside it. A brief list has as few rows as possible.
pub(super) fn figures(
    status: &Status,
    series: Option<&MetricsSeries>,
    width: u16,
    height: u16,
    is_brief: bool,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Some(series) = series {
        // Each chart has a line with its figures above it.
        let rows = (height.saturating_sub(LINES) / CHARTS).saturating_sub(1 + CHART_BELOW).min(*CHART_ROWS.end());
        let has_charts = rows >= *CHART_ROWS.start();
        let has_axis = width >= AXIS_FROM;
        let cells = width.saturating_sub(if has_axis { 64 } else { 56 }).clamp(10, 60);
        // An older daemon sends no steps, because they always have a second.
        let step_secs = series.step_secs.max(1);
        let mut rated = |name: &'static str, counts: &[i64], failed: &[i64], details: LinePart| {
            if counts.is_empty() {
                return;
            }
            let mut line = vec![LinePart::plain(format!("{:>9}  ", average(counts, step_secs)))];
            if !has_charts {
                line.push(LinePart::Sparkline { values: resampled(counts, cells), cells });
                if has_axis {
                    let peak = format!(" max {:<PEAK_WIDTH$}", peak(counts, step_secs, cells));
                    line.push(LinePart::Text(Role::Muted, peak));
                }
                line.push(LinePart::plain("  "));
            }
            line.push(details);
            figures.push(Figure::Line(name, line));
            if has_charts {
                let (counts, failed) = (counts.to_vec(), failed.to_vec());
                let (measure, values) = (Measure::Rate, counts);
                figures.push(Figure::Chart(Chart { measure, values, failed, step_secs, role: Role::Accent }, rows));
            }
        };
        let times = format!("p50 {}  p99 {}", millis(series.p50_micros), millis(series.p99_micros));
        rated("requests", &series.requests, &[], LinePart::plain(times));
        let git = words::counted(series.git.iter().sum(), "request");
        rated("git", &series.git, &[], LinePart::plain(git));
        let all: Vec<i64> = series.delivered.iter().zip(&series.failed).map(|(good, bad)| good + bad).collect();
        let (total, bad) = (all.iter().sum::<i64>(), series.failed.iter().sum::<i64>());
        let share = match (total, bad) {
            (0, _) => "none".to_owned(),
            (_, 0) => "ok 100 %".to_owned(),
            _ => format!("ok {} %, {} failed", words::percent(total - bad, total), words::count(bad)),
        };
        let role = if bad > 0 { Role::Warn } else { Role::Text };
        rated("attempts", &all, &series.failed, LinePart::Text(role, share));
        let blocks = words::counted(series.uploaded.iter().sum(), "block");
        let uploads = format!("{blocks}, {} now", words::count(series.uploads));
        rated("uploads", &series.uploaded, &[], LinePart::plain(uploads));
        // The heading names the period where rows are scarce.
        let axis = time_axis(&series.requests, step_secs, cells).filter(|_| has_axis && !has_charts && !is_brief);
        if let Some(axis) = axis {
            // Below the averages of the lines above.
            figures.push(Figure::Line("", vec![LinePart::Text(Role::Muted, format!("{:>11}{axis}", ""))]));
        }
        let mut queue = vec![LinePart::plain(format!("{:>9} waiting", words::count(series.waiting)))];
        if series.oldest_due_secs > 0 {
            let role = if series.oldest_due_secs >= OVERDUE_SECS { Role::Warn } else { Role::Text };
            queue.push(LinePart::Text(role, format!("   oldest due for {}", words::span(series.oldest_due_secs))));
        }
        figures.push(Figure::Line("queue", queue));
    }
    let clients = words::count(status.connections);
    match figures.last_mut() {
        Some(Figure::Line("queue", queue)) if is_brief => {
            queue.push(LinePart::plain(format!("   {clients} clients connected")));
        }
        _ => figures.push(Figure::Line("clients", vec![LinePart::plain(format!("{clients:>9} connected"))])),
    }
    figures.extend(limits(status));
    figures
}

/// Returns the limits that callers reach: those for which callers are refused or wait.
fn limits(status: &Status) -> impl Iterator<Item = Figure> {
    let reached = status.limits.iter().filter(|limit| limit.waiting > 0 || limit.refused > 0);
    reached.map(|limit| {
        let used = match limit.unit.as_str() {
            "bytes" => format!("{}/{}", human_bytes(limit.running), human_bytes(limit.max)),
            _ => format!("{}/{}", limit.running, limit.max),
        };
        let mut text = format!("{used:>9} {}", limit.kind);
        for (count, word) in [(limit.waiting, "waiting"), (limit.refused, "refused")] {
            if count > 0 {
                let _ = write!(text, "   {count} {word}");
            }
        }
        let role = if limit.waiting > 0 { Role::Warn } else { Role::Text };
        Figure::Line("limit", vec![LinePart::Text(role, text)])
    })
}
