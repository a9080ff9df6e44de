//! Draws a column chart of the last minute above a base line.

/// Width of the labels at the left, in cells.
const LABEL: usize = 6;
/// Rows below the columns: the base line and its times.
pub(super) const BELOW: u16 = 2;

/// Returns lines of at most `cells` cells: `rows` of columns, the base line, and its labels. There is one value per
/// second, the newest last. The highest column fills the height of the chart and is labelled with its value.
pub(super) fn lines(values: &[i64], cells: usize, rows: usize) -> Vec<String> {
    const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let wide = cells.saturating_sub(LABEL + 2).min(values.len().max(1));
    let shown = &values[values.len().saturating_sub(wide)..];
    let most = shown.iter().copied().max().unwrap_or(0).max(1);
    let steps = i64::try_from(rows * 8).unwrap_or(i64::MAX);
    // A value that is not zero is seen, however small it is.
    let height = |value: i64| if value > 0 { (value.saturating_mul(steps) / most).max(1) } else { 0 };
    let mut lines: Vec<String> = (0..rows)
        .rev()
        .map(|row| {
            let below = i64::try_from(row * 8).unwrap_or(i64::MAX);
            let step = |value: &i64| STEPS[usize::try_from((height(*value) - below).clamp(0, 8)).unwrap_or(0)];
            let label = if row + 1 == rows { format!("{most}/s") } else { String::new() };
            format!("{label:>LABEL$} │{}", shown.iter().map(step).collect::<String>())
        })
        .collect();
    lines.push(format!("{:>LABEL$} └{}", "0", "─".repeat(wide)));
    let ago = format!("{} s ago", shown.len());
    lines.push(format!("{:>LABEL$}  {ago}{:>2$}", "", "now", wide.saturating_sub(ago.len())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_on_a_base_line_with_units() {
        let expected = [
            "  16/s │              █ ",
            "       │ ▁▄█          █ ",
            "     0 └────────────────",
            "        16 s ago     now",
        ];
        assert_eq!(lines(&[0, 1, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0], 40, 2), expected);
        for (cells, rows) in [(0, 0), (1, 1), (9, 3), (200, 12)] {
            let lines = lines(&[5; 60], cells, rows);
            assert_eq!(lines.len(), rows + usize::from(BELOW));
        }
    }
}
