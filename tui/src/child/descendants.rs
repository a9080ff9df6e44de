//! Finds the processes that a command started, in `/proc`.

use std::collections::HashMap;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, pidfd_send_signal};

/// Selects processes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalScope {
    /// The processes in the process group of the command.
    Group,
    /// All descendants of the command, including those that left its process group.
    All,
}

/// A process that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    /// Start time in clock ticks since boot. Distinguishes the process from a later one with the same pid.
    started: u64,
}

/// Returns whether a process of `scope` still runs. `group` is the process group of the command.
pub(super) fn any_left(group: Pid, scope: SignalScope) -> bool {
    !members(group, scope).is_empty()
}

/// Sends `signal` to the processes of `scope`.
pub(super) fn send(group: Pid, scope: SignalScope, signal: Signal) {
    let is_in_group = |process: &Process| process.group == group.as_raw_nonzero().get();
    let (in_group, outside_group): (Vec<_>, Vec<_>) = members(group, scope).into_iter().partition(is_in_group);
    // The whole group is signalled at once, as by a terminal. An empty group is not signalled: its number may
    // have been reused by another group.
    if !in_group.is_empty() {
        let _ = kill_process_group(group, signal); // its last member may just have ended
    }
    for process in outside_group {
        send_to(process, signal);
    }
}

/// Sends `signal` to `process`, but not to a later process that has the same pid.
fn send_to(process: Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if read(process.pid).is_some_and(|now| now.started == process.started) {
        let _ = pidfd_send_signal(handle, signal); // it may just have ended, or belong to another user
    }
}

fn members(group: Pid, scope: SignalScope) -> Vec<Process> {
    let mut found = below(getpid().as_raw_nonzero().get(), &processes());
    if scope == SignalScope::Group {
        found.retain(|process| process.group == group.as_raw_nonzero().get());
    }
    found
}

/// Returns the descendants of the process `root`. This program is a subreaper, so a process whose parent has
/// ended becomes a child of this program.
fn below(root: i32, all: &[Process]) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        open.extend(below.iter().map(|process| process.pid));
        found.extend(below);
    }
    found
}

fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Returns the process with the pid `pid`, if it has not ended.
fn read(pid: i32) -> Option<Process> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `pid (name) state parent group …`; the name may contain anything. See proc(5).
fn parse(stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // A zombie has ended; its parent has not waited for it.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        pid: head.split_whitespace().next()?.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, group: 1, started: 0 }
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let all = [process(2, 1), process(3, 2), process(4, 3), process(5, 1), process(6, 9)];
        let mut found: Vec<i32> = below(2, &all).iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
        assert!(below(6, &all).is_empty());
    }

    #[test]
    fn proc_stat_lines_are_parsed() {
        let stat = "7 (a) b) S 3 5 5 34816 5 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 99";
        assert_eq!(parse(stat), Some(Process { pid: 7, parent: 3, group: 5, started: 4242 }));
        assert_eq!(parse(&stat.replace(") S", ") Z")), None);
        assert_eq!(parse(""), None);
        let own = getpid().as_raw_nonzero().get();
        assert_eq!(read(own).map(|process| process.pid), Some(own));
    }
}
