//! Column charts of counts and durations over time, with axes and units.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{Block, Borders, Sparkline, Widget as _},
};

use super::{Role, text};
use crate::ui::words;

/// Width of the labels at the left, in cells.
const LABEL: u16 = 8;
/// Rows below the columns: the base line and its times.
pub(crate) const CHART_BELOW: u16 = 2;
/// Steps of a column in one cell.
const STEPS: u64 = 8;
/// A cell of failures, which also differs from the others without colors. A cell cannot show the ends of two columns.
const FAILED: &str = "▒";
/// Periods up to this length have rates per second, longer ones per minute.
const SECONDS_MAX: i64 = 120;

/// What the values of a chart are, which decides how several of them share a column and how the axis is labeled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Counts: a column has their sum, and the label is its rate.
    Rate,
    /// Durations in milliseconds: a column has the longest one.
    Millis,
}

/// A chart of values, one per step, the newest last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chart {
    pub(crate) measure: Measure,
    pub(crate) values: Vec<i64>,
    /// The part of each count that is drawn as an error; may be empty.
    pub(crate) failed: Vec<i64>,
    /// Length of a step, seconds.
    pub(crate) step_secs: i64,
    pub(crate) role: Role,
}

/// The units of rates with their lengths in seconds, the shortest first.
const UNITS: [(&str, i64); 4] = [("/s", 1), ("/min", 60), ("/h", 3_600), ("/d", 86_400)];

/// Formats the rate of `count` events in `secs` seconds, for a period of `period_secs`: `0.3/s`, `41/s`, `2.4k/min`. A
/// low rate has a longer unit, such as `3/h`, so that only a rate of zero is shown as zero.
pub(crate) fn rate(count: i64, secs: i64, period_secs: i64) -> String {
    match visible_unit(count, secs, period_secs) {
        Some(unit) => rate_in(unit, count, secs),
        None => "<0.1/d".to_owned(),
    }
}

/// Formats the rate of `highest` events in `secs` seconds in the unit of the average rate of all counts.
fn highest_rate(highest: i64, secs: i64, counts: &[i64], step_secs: i64) -> String {
    let period = step_secs.max(1).saturating_mul(i64::try_from(counts.len()).unwrap_or(i64::MAX));
    match visible_unit(counts.iter().sum(), period, period) {
        Some(unit) => rate_in(unit, highest, secs),
        None => rate(highest, secs, period),
    }
}

/// Returns ten times the rate of `count` events in `secs` seconds, in units of `per` seconds.
fn tenths(count: i64, secs: i64, per: i64) -> i128 {
    i128::from(count.max(0)) * 10 * i128::from(per) / i128::from(secs.max(1))
}

/// Returns the shortest unit in which a rate is not shown as zero; `None` if it is too low for all units.
fn visible_unit(count: i64, secs: i64, period_secs: i64) -> Option<(&'static str, i64)> {
    let units = if period_secs <= SECONDS_MAX { &UNITS[..] } else { &UNITS[1..] };
    units.iter().copied().find(|(_, per)| count <= 0 || tenths(count, secs, *per) > 0)
}

fn rate_in((name, per): (&str, i64), count: i64, secs: i64) -> String {
    let tenths = tenths(count, secs, per);
    match tenths {
        0..100 if tenths % 10 == 0 => format!("{}{name}", tenths / 10),
        0..100 => format!("{}.{}{name}", tenths / 10, tenths % 10),
        100..10_000 => format!("{}{name}", tenths / 10),
        10_000..100_000 => format!("{}.{}k{name}", tenths / 10_000, tenths / 1_000 % 10),
        _ => format!("{}k{name}", tenths / 10_000),
    }
}

/// Formats the length of a period: `60 s`, `30 min`, `24 h`.
fn period(secs: i64) -> String {
    match secs {
        ..=SECONDS_MAX => format!("{secs} s"),
        121..=7_200 => format!("{} min", secs / 60),
        _ => format!("{} h", secs / 3_600),
    }
}

/// Returns at most `cells` sums of successive counts, and how many counts each sum has. The oldest counts that do not
/// fill a sum are left out.
fn sums(counts: &[i64], cells: u16) -> (Vec<i64>, usize) {
    joined(counts, cells, |some| some.iter().sum())
}

/// Returns at most `cells` columns, each joined from as many successive values as the second result says.
fn joined(values: &[i64], cells: u16, join: impl Fn(&[i64]) -> i64) -> (Vec<i64>, usize) {
    let each = values.len().div_ceil(usize::from(cells.max(1))).max(1);
    let left_out = values.len() % each;
    (values[left_out..].chunks(each).map(join).collect(), each)
}

/// Formats a duration in at most eight cells: `9 000 ms`, `12.3 s`.
fn millis(duration: i64) -> String {
    match duration {
        ..10_000 => format!("{} ms", words::count(duration)),
        10_000..1_000_000 => format!("{}.{} s", duration / 1_000, duration / 100 % 10),
        _ => format!("{} s", duration / 1_000),
    }
}

impl Measure {
    fn columns(self, values: &[i64], cells: u16) -> (Vec<i64>, usize) {
        match self {
            Self::Rate => sums(values, cells),
            Self::Millis => joined(values, cells, |some| some.iter().copied().max().unwrap_or(0)),
        }
    }
}

/// Returns at most `cells` values for a sparkline of all counts.
pub(crate) fn resampled(counts: &[i64], cells: u16) -> Vec<i64> {
    sums(counts, cells).0
}

/// Formats the rate of the highest column of a sparkline with at most `cells` columns, such as `16/s`.
pub(crate) fn peak(counts: &[i64], step_secs: i64, cells: u16) -> String {
    let (all, each) = sums(counts, cells);
    let secs = step_secs.max(1) * i64::try_from(each).unwrap_or(1);
    highest_rate(all.into_iter().max().unwrap_or(0), secs, counts, step_secs)
}

/// Returns the time axis below a sparkline of `cells` columns: `60 s ago   now`. `None` if there is no room for it.
pub(crate) fn time_axis(counts: &[i64], step_secs: i64, cells: u16) -> Option<String> {
    let (all, each) = sums(counts, cells);
    let steps = i64::try_from(all.len() * each).unwrap_or(i64::MAX);
    let start = format!("{} ago", period(step_secs.max(1).saturating_mul(steps)));
    // The newest column is at the end of the cells.
    let blanks = usize::from(cells).saturating_sub(all.len());
    let room = all.len().checked_sub(start.len() + "now".len() + 1)?;
    Some(format!("{:blanks$}{start} {:room$}now", "", ""))
}

/// Scales a sum to a column of at most `steps`. A sum above zero stays above zero, so that it is visible.
fn scaled(sum: i64, most: i64, steps: u64) -> u64 {
    let (sum, most) = (u64::try_from(sum).unwrap_or(0), u64::try_from(most).unwrap_or(0).max(1));
    if sum > 0 { (sum.saturating_mul(steps) / most).clamp(1, steps) } else { 0 }
}

/// Columns of a chart.
struct Columns {
    values: Vec<i64>,
    /// Number of values in each column.
    each: usize,
    /// Width of a column, in cells. All columns have the same width.
    cells: u16,
    /// Width of all columns, in cells.
    wide: u16,
}

impl Columns {
    /// Returns the heights of the cells, in steps, if the value `most` has `steps`.
    fn heights(&self, values: &[i64], most: i64, steps: u64) -> Vec<u64> {
        let widened = |value: &i64| std::iter::repeat_n(scaled(*value, most, steps), usize::from(self.cells));
        values.iter().flat_map(widened).collect()
    }

    fn most(&self) -> i64 {
        self.values.iter().copied().max().unwrap_or(0).max(1)
    }
}

impl Chart {
    fn columns(&self, room: u16) -> Columns {
        let (values, each) = self.measure.columns(&self.values, room);
        let count = u16::try_from(values.len()).unwrap_or(u16::MAX);
        let cells = (room / count.max(1)).max(1);
        Columns { values, each, cells, wide: count * cells }
    }

    /// Draws the columns in one row, below those of a chart with as many values.
    pub(crate) fn draw_row(&self, label: &str, buf: &mut Buffer, area: Rect) {
        let area = area.intersection(buf.area);
        text(buf, area, label, Role::Text);
        let room = area.width.saturating_sub(LABEL + 2);
        if room == 0 || self.values.is_empty() || area.height == 0 {
            return;
        }
        let columns = self.columns(room);
        let heights = columns.heights(&columns.values, columns.most(), STEPS);
        let inner = Rect { x: area.x + LABEL + 2, width: columns.wide, height: 1, ..area };
        Sparkline::default().data(heights).max(STEPS).style(self.role.style()).render(inner, buf);
    }

    /// Draws the chart with `rows` rows of columns, the axes and their labels. Draws nothing if `area` is too small.
    pub(crate) fn draw(&self, buf: &mut Buffer, area: Rect, rows: u16) {
        let area = area.intersection(buf.area);
        let room = area.width.saturating_sub(LABEL + 2);
        if rows == 0 || room == 0 || self.values.is_empty() || area.height < rows + CHART_BELOW {
            return;
        }
        let columns = self.columns(room);
        let (wide, most) = (columns.wide, columns.most());
        let steps = u64::from(rows) * STEPS;
        let frame = Rect { x: area.x + LABEL + 1, width: wide + 1, height: rows + 1, ..area };
        let axes = Block::new().borders(Borders::LEFT | Borders::BOTTOM).border_style(Role::Muted.style());
        let inner = axes.inner(frame);
        axes.render(frame, buf);
        let heights = columns.heights(&columns.values, most, steps);
        Sparkline::default().data(heights).max(steps).style(self.role.style()).render(inner, buf);
        if self.failed.iter().any(|failed| *failed > 0) {
            draw_failures(buf, inner, &columns.heights(&sums(&self.failed, room).0, most, steps));
        }
        let secs = self.step_secs.max(1) * i64::try_from(columns.each).unwrap_or(1);
        let shown = secs * i64::try_from(columns.values.len()).unwrap_or(1);
        let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
        let labeled = |y: u16, label: &str, buf: &mut Buffer| {
            text(buf, row(y), &format!("{label:>0$}", usize::from(LABEL)), Role::Muted);
        };
        let highest = match self.measure {
            Measure::Rate => highest_rate(most, secs, &self.values, self.step_secs),
            Measure::Millis => millis(most),
        };
        labeled(0, &highest, buf);
        labeled(rows, "0", buf);
        let (start, middle) = (format!("{} ago", period(shown)), format!("{} ago", period(shown / 2)));
        let below = Rect { x: inner.x, width: area.right() - inner.x, ..row(rows + 1) };
        text(buf, below, &start, Role::Muted);
        let at = |x: u16| Rect { x: below.x + x.min(below.width), width: below.width.saturating_sub(x), ..below };
        // The middle is left out if its label would touch the others.
        if wide >= 40 {
            text(buf, at((wide / 2).saturating_sub(4)), &middle, Role::Muted);
        }
        text(buf, at(wide.saturating_sub(3)), "now", Role::Muted);
    }
}

/// Draws columns of failures over others, in whole cells: at least one, so that a failure is visible.
fn draw_failures(buf: &mut Buffer, inner: Rect, columns: &[u64]) {
    for (column, x) in columns.iter().zip(inner.x..inner.right()) {
        let cells = if *column > 0 { (column + STEPS / 2).div_euclid(STEPS).max(1) } else { 0 };
        let cells = usize::try_from(cells).unwrap_or(usize::MAX);
        for y in (inner.y..inner.bottom()).rev().take(cells) {
            buf[(x, y)].set_symbol(FAILED).set_style(Role::Error.style());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(chart: &Chart, width: u16, rows: u16) -> Vec<String> {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, rows + CHART_BELOW));
        let area = buf.area;
        chart.draw(&mut buf, area, rows);
        let rows = buf.content.chunks(usize::from(width));
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect()).collect()
    }

    fn chart(counts: &[i64], step_secs: i64) -> Chart {
        let (measure, values) = (Measure::Rate, counts.to_vec());
        Chart { measure, values, failed: Vec::new(), step_secs, role: Role::Accent }
    }

    #[test]
    fn a_chart_of_durations_keeps_the_longest_ones_and_has_their_unit() {
        let values = [0, 90, 10, 4_000, 20, 2_000];
        let durations = Chart { measure: Measure::Millis, ..chart(&values, 1) };
        let expected = ["4 000 ms │ █ ", "         │▁██", "       0 └───", "          now"];
        assert_eq!(drawn(&durations, 13, 2), expected);
        let mut buf = Buffer::empty(Rect::new(0, 0, 13, 1));
        let area = buf.area;
        durations.draw_row("p95 ms", &mut buf, area);
        let row: String = buf.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(row, "p95 ms    ▁█▄");
        assert_eq!((millis(12_345), millis(1_234_567)), ("12.3 s".into(), "1234 s".into()));
    }

    #[test]
    fn a_chart_has_a_base_line_and_labels_with_units() {
        let counts = [0, 1, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0];
        let expected = [
            "    16/s │              █ ",
            "         │ ▁▄█          █ ",
            "       0 └────────────────",
            "          16 s ago     now",
        ];
        assert_eq!(drawn(&chart(&counts, 1), 26, 2), expected);
    }

    #[test]
    fn a_chart_shows_the_whole_period_at_every_width() {
        let hour = chart(&[60; 60], 60);
        let narrow = drawn(&hour, 30, 1);
        assert_eq!(narrow[0].trim_start(), "60/min │████████████████████");
        assert!(narrow[2].contains("60 min ago") && narrow[2].ends_with("now"), "{narrow:?}");
        let wide = drawn(&hour, 134, 1);
        assert_eq!(wide[0].matches('█').count(), 120, "each minute has two cells");
        assert!(wide[2].contains("30 min"), "{wide:?}");
        let day = drawn(&chart(&[5; 288], 300), 154, 1);
        assert!(day[0].contains("1/min") && day[2].contains("24 h ago"), "{day:?}");
    }

    #[test]
    fn a_sparkline_has_the_rate_of_its_highest_column_and_a_time_axis() {
        let counts: Vec<i64> = (0..60).map(|second| i64::from(second / 10 == 3) * 8).collect();
        assert_eq!((peak(&counts, 1, 60), peak(&counts, 1, 12)), ("8/s".into(), "8/s".into()));
        // Columns of 20 seconds: the highest one has 10 seconds with 8 requests each.
        assert_eq!((peak(&counts, 1, 3), peak(&[], 1, 3)), ("4/s".into(), "0/s".into()));
        assert_eq!(time_axis(&counts, 1, 20).as_deref(), Some("60 s ago         now"));
        assert_eq!(time_axis(&counts, 60, 22).as_deref(), Some("  60 min ago       now"));
        assert_eq!(time_axis(&counts, 1, 10), None);
    }

    #[test]
    fn failures_are_drawn_in_front() {
        let failing = Chart { failed: vec![0, 8], ..chart(&[16, 16], 1) };
        let mut buf = Buffer::empty(Rect::new(0, 0, 12, 4));
        let area = buf.area;
        failing.draw(&mut buf, area, 2);
        assert_eq!(buf[(11, 1)].style().fg, Role::Error.style().fg);
        assert_eq!(buf[(11, 0)].style().fg, Role::Accent.style().fg);
        assert_eq!(buf[(10, 1)].style().fg, Role::Accent.style().fg);
        assert_eq!((buf[(11, 1)].symbol(), buf[(10, 1)].symbol()), ("▒", "█"));
    }

    #[test]
    fn failures_fill_whole_cells_without_a_hole_above() {
        let failing = Chart { failed: vec![0, 1, 11, 13], ..chart(&[16, 16, 16, 16], 1) };
        assert_eq!(drawn(&failing, 14, 2)[..2], ["    16/s │███▒", "         │█▒▒▒"]);
    }

    #[test]
    fn the_highest_rate_has_the_unit_of_the_average() {
        let mut day = [0; 288];
        day[100] = 1;
        day[200] = 2;
        assert_eq!((rate(3, 86_400, 86_400), peak(&day, 300, 288)), ("0.1/h".into(), "24/h".into()));
        assert!(drawn(&chart(&day, 300), 298, 2)[0].starts_with("    24/h │"));
        assert_eq!(peak(&[60; 60], 60, 60), "60/min");
    }

    #[test]
    fn rates_have_at_most_eight_cells() {
        assert_eq!((rate(18, 60, 60), rate(0, 60, 60)), ("0.3/s".into(), "0/s".into()));
        assert_eq!((rate(2_460, 60, 60), rate(41, 1, 60)), ("41/s".into(), "41/s".into()));
        assert_eq!((rate(1_234, 60, 3_600), rate(12_345, 60, 3_600)), ("1.2k/min".into(), "12k/min".into()));
        assert_eq!(rate(999_999, 60, 3_600), "999k/min");
    }

    #[test]
    fn a_low_rate_has_a_longer_unit_instead_of_being_zero() {
        assert_eq!((rate(1, 60, 60), rate(0, 60, 60)), ("1/min".into(), "0/s".into()));
        assert_eq!((rate(3, 3_600, 3_600), rate(0, 3_600, 3_600)), ("3/h".into(), "0/min".into()));
        assert_eq!((rate(1, 300, 86_400), rate(1, 21_600, 86_400)), ("0.2/min".into(), "0.1/h".into()));
        assert_eq!((rate(1, 604_800, 604_800), rate(1, 10_000_000, 604_800)), ("0.1/d".into(), "<0.1/d".into()));
    }

    #[test]
    fn a_chart_that_does_not_fit_is_not_drawn() {
        for (width, height, rows) in [(0, 0, 0), (1, 1, 1), (9, 3, 3), (200, 14, 12), (5, 20, 2), (12, 5, 2)] {
            let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
            let area = buf.area;
            chart(&[5; 60], 1).draw(&mut buf, area, rows);
        }
    }
}
