//! The metrics of one scrape, in the text format of Prometheus.

use prometheus::{
    IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, TextEncoder, core::Collector, proto::MetricFamily,
};

use super::VALID;

/// The media type of [`Exposition::text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of one scrape.
#[derive(Debug)]
pub struct Exposition {
    families: Vec<MetricFamily>,
}

impl Exposition {
    pub(super) fn new(families: Vec<MetricFamily>) -> Self {
        Self { families }
    }

    /// Adds a value that increases and decreases.
    pub fn add_gauge(&mut self, name: &str, help: &str, value: u64) {
        self.gauge(Opts::new(name, help), value);
    }

    /// Adds a value that is always 1, with information in a label.
    pub fn add_info(&mut self, name: &str, help: &str, (label, text): (&str, &str)) {
        self.gauge(Opts::new(name, help).const_label(label, text), 1);
    }

    /// Adds a value that only increases, from zero at the start of the daemon.
    pub fn add_counter(&mut self, name: &str, help: &str, value: u64) {
        let counter = IntCounter::new(name, help).expect(VALID);
        counter.inc_by(value);
        self.families.extend(counter.collect());
    }

    /// Adds values that increase and decrease, and that differ in `labels`.
    pub fn add_gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], u64)>,
    ) {
        let gauges = IntGaugeVec::new(Opts::new(name, help), &labels).expect(VALID);
        for (labels, value) in values {
            gauges.with_label_values(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        self.families.extend(gauges.collect());
    }

    /// Adds values that only increase, and that differ in `labels`.
    pub fn add_counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], u64)>,
    ) {
        let counters = IntCounterVec::new(Opts::new(name, help), &labels).expect(VALID);
        for (labels, value) in values {
            counters.with_label_values(&labels).inc_by(value);
        }
        self.families.extend(counters.collect());
    }

    /// Returns the text that Prometheus reads.
    pub fn text(&self) -> String {
        TextEncoder::new().encode_to_string(&self.families).expect("every metric has a value")
    }

    fn gauge(&mut self, options: Opts, value: u64) {
        let gauge = IntGauge::with_opts(options).expect(VALID);
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        self.families.extend(gauge.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_in_the_prometheus_text_format() {
        let mut exposition = Exposition::new(Vec::new());
        exposition.add_gauge("a_bytes", "A.", 7);
        exposition.add_counter("b_total", "B.", 12_345_678_901_234);
        exposition.add_info("c_info", "C.", ("version", "a\"b\\c\nd"));
        let expected = "# HELP a_bytes A.\n# TYPE a_bytes gauge\na_bytes 7\n\
                        # HELP b_total B.\n# TYPE b_total counter\nb_total 12345678901234\n\
                        # HELP c_info C.\n# TYPE c_info gauge\nc_info{version=\"a\\\"b\\\\c\\nd\"} 1\n";
        assert_eq!(exposition.text(), expected);
    }
}
