//! The table of results, for a terminal and as Markdown.

use std::fmt::Write as _;

use crate::{
    child::{installed, output_of},
    plan::Plan,
};

const TITLES: [&str; 6] = ["what", "farrier", "reference", "ratio", "budget", "met"];

/// The rows, in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<[String; 6]>,
}

impl Table {
    /// Adds a value with a reference. `budget` limits the ratio.
    pub(crate) fn beside(&mut self, what: &str, ours: String, theirs: String, ratio: f64, budget: Budget) {
        let (text, met) = match budget {
            Budget::AtLeast(bound) => (format!("≥ {bound}"), yes(ratio >= bound)),
            Budget::AtMost(bound) => (format!("≤ {bound}"), yes(ratio <= bound)),
            Budget::None => ("–".into(), "–"),
        };
        self.rows.push([what.into(), ours, theirs, format!("{ratio:.2}"), text, met.into()]);
    }

    /// Adds a value with its own limit.
    pub(crate) fn alone(&mut self, what: &str, ours: String, budget: &str, met: bool) {
        self.rows.push([what.into(), ours, "–".into(), "–".into(), budget.into(), yes(met).into()]);
    }

    /// Adds a value without a budget.
    pub(crate) fn value(&mut self, what: &str, ours: String) {
        self.rows.push([what.into(), ours, "–".into(), "–".into(), "–".into(), "–".into()]);
    }

    /// Adds a value whose reference could not be measured.
    pub(crate) fn missing(&mut self, what: &str, ours: String, why: &str) {
        self.rows.push([what.into(), ours, format!("not measured ({why})"), "–".into(), "–".into(), "–".into()]);
    }

    pub(crate) fn text(&self, plan: &Plan) -> String {
        let widths: Vec<usize> =
            (0..6).map(|at| self.lines().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
        let mut text = format!("{}\n\n", machine(plan));
        for line in self.lines() {
            for (cell, width) in line.iter().zip(&widths) {
                let _ = write!(text, "{cell:width$}  ");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    pub(crate) fn markdown(&self, plan: &Plan) -> String {
        let mut text = format!("{}\n\n", machine(plan));
        for (at, line) in self.lines().enumerate() {
            let _ = writeln!(text, "| {} |", line.join(" | "));
            if at == 0 {
                let _ = writeln!(text, "|{}", "---|".repeat(line.len()));
            }
        }
        text
    }

    fn lines(&self) -> impl Iterator<Item = Vec<&str>> {
        let titles = std::iter::once(TITLES.to_vec());
        titles.chain(self.rows.iter().map(|row| row.iter().map(String::as_str).collect()))
    }
}

/// The limit of a ratio.
#[derive(Clone, Copy)]
pub(crate) enum Budget {
    AtLeast(f64),
    AtMost(f64),
    None,
}

fn yes(met: bool) -> &'static str {
    if met { "yes" } else { "**no**" }
}

/// Describes the machine and its load in one paragraph.
fn machine(plan: &Plan) -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let after = |file: &str, field: &str| {
        let found = read(file).lines().find_map(|line| line.strip_prefix(field).map(str::to_owned));
        found.unwrap_or_default().trim_start_matches([' ', '\t', ':']).to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let versions: Vec<String> = [("nginx", "-v"), ("node", "--version")]
        .into_iter()
        .filter_map(|(program, flag)| {
            Some(format!("{program} {}", output_of(&installed(program)?, &[flag]).ok()?.trim().rsplit('/').next()?))
        })
        .collect();
    format!(
        "{cores} × {}, {} of memory, Linux {}; {}; load at the end {}{}.",
        after("/proc/cpuinfo", "model name"),
        after("/proc/meminfo", "MemTotal"),
        kernel.trim(),
        versions.join(", "),
        load.split_whitespace().next().unwrap_or_default(),
        if plan.quick { "; quick sizes, which say nothing about farrier" } else { "" },
    )
}
