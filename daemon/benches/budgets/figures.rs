//! Medians, ratios, and figures as people read them.

use std::time::Duration;

/// The middle of `values`; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// The middle of the ratios of rounds that stood beside each other: what slows both cancels out.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// Median, least and greatest.
pub(crate) fn spread(values: &[f64], unit: &str) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} ({}–{}) {unit}", plain(median(values)), plain(least), plain(greatest))
}

/// Three digits that count, and groups of thousands.
pub(crate) fn plain(value: f64) -> String {
    if value.abs() >= 1_000.0 {
        #[expect(clippy::cast_possible_truncation, reason = "far from the limits")]
        let whole = value.round() as i64;
        return format!("{},{:03}", whole / 1_000, whole.abs() % 1_000);
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

/// 10^6 bytes a second, as disks and networks are sold.
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
