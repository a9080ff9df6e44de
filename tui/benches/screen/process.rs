//! Counters of a process, from `/proc`.

use std::fs::read_to_string;

pub(crate) struct Process(pub(crate) u32);

impl Process {
    fn file(&self, name: &str) -> String {
        read_to_string(format!("/proc/{}/{name}", self.0)).unwrap_or_default()
    }

    /// Returns the processor time of the thread that draws, nanoseconds.
    pub(crate) fn drawing(&self) -> u64 {
        first(&self.file("schedstat"))
    }

    /// Returns the processor time of all threads, nanoseconds.
    pub(crate) fn spent(&self) -> u64 {
        self.threads().map(|thread| first(&self.file(&format!("task/{thread}/schedstat")))).sum()
    }

    /// Returns the number of context switches of all threads.
    pub(crate) fn switches(&self) -> u64 {
        let of = |thread: String| field(&self.file(&format!("task/{thread}/status")), "ctxt_switches:");
        self.threads().map(of).sum()
    }

    /// Returns the number of write system calls.
    pub(crate) fn writes(&self) -> u64 {
        field(&self.file("io"), "syscw:")
    }

    /// Returns the resident memory, MiB.
    pub(crate) fn resident(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let kib = field(&self.file("status"), "VmRSS:") as f64;
        kib / 1_024.0
    }

    fn threads(&self) -> impl Iterator<Item = String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten();
        tasks.filter_map(|task| task.ok()?.file_name().into_string().ok())
    }
}

fn first(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Returns the sum of the values of all lines whose name ends with `name`.
fn field(text: &str, name: &str) -> u64 {
    text.lines().filter_map(|line| line.split_once(name).map(|(_, value)| first(value))).sum()
}
