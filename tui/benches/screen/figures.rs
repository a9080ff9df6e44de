//! Statistics of measurements, and the table of results.

use std::{fmt, time::Duration};

/// Measured values, sorted.
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    pub(crate) fn millis(times: &[Duration]) -> Self {
        Self::of(times.iter().map(|time| time.as_secs_f64() * 1_000.0).collect())
    }

    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Returns the value at this percentile.
    pub(crate) fn at(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn most(&self) -> f64 {
        self.at(100)
    }
}

/// The table of measurements and their budgets.
#[derive(Default)]
pub(crate) struct Table(Vec<[String; 4]>);

impl Table {
    /// Adds a row. `met` says whether the measurement is within its budget; `None` if it has no budget.
    pub(crate) fn row(&mut self, what: &str, measured: String, budget: &str, met: Option<bool>) {
        let met = match met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        eprintln!("{what}: {measured} ({budget}: {met})");
        self.0.push([what.to_owned(), measured, budget.to_owned(), met.to_owned()]);
    }

    /// Adds a row with an amount of memory and its budget, both in MiB.
    pub(crate) fn memory(&mut self, what: &str, mebibytes: f64, most: f64) {
        self.row(what, format!("{mebibytes:.1} MiB"), &format!("{most} MiB"), Some(mebibytes <= most));
    }

    /// Adds a row with the median and the 95th percentile in milliseconds, and a budget for each.
    pub(crate) fn times(&mut self, what: &str, times: &[Duration], [median, high]: [f64; 2]) {
        let figures = Figures::millis(times);
        let measured = format!("{:.2} ms, p95 {:.2} ms", figures.at(50), figures.at(95));
        let budget = if median.to_bits() == high.to_bits() {
            format!("{median} ms")
        } else {
            format!("{median} ms, p95 {high} ms")
        };
        self.row(what, measured, &budget, Some(figures.at(50) <= median && figures.at(95) <= high));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | measured | budget | met |\n|---|---|---|---|")?;
        self.0.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}
