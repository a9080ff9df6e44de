//! Medians, ratios, and formatting of values.

use std::time::Duration;

/// Returns the median of `values`; 0 if there are none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// Returns the median of the ratios of each round. Disturbances that affect both sides of a round cancel out.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// Formats the median, the minimum and the maximum.
pub(crate) fn spread(values: &[f64], unit: &str) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} ({}–{}) {unit}", plain(median(values)), plain(least), plain(greatest))
}

/// Formats a value with three significant digits and thousands separators.
pub(crate) fn plain(value: f64) -> String {
    if value.abs() >= 1_000.0 {
        #[expect(clippy::cast_possible_truncation, reason = "far from the limits")]
        let integer = value.round() as i64;
        return format!("{},{:03}", integer / 1_000, integer.abs() % 1_000);
    }
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[expect(clippy::cast_precision_loss, reason = "figures are for reading")]
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns 10^6 bytes per second, the usual unit for disks and networks.
#[expect(clippy::cast_precision_loss, reason = "figures are for reading")]
pub(crate) fn megabytes_per_second(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 / 1e6 / elapsed.as_secs_f64()
}

pub(crate) fn millis(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e3
}

pub(crate) fn micros(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e6
}
