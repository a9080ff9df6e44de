//! Limits the processor time of a daemon and its git processes, with a control group.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{Result, child::Watch};

/// Interval to which the limit applies, microseconds. With the default of the kernel, 100,000, a daemon would be
/// stopped for longer than a request takes.
const PERIOD: u32 = 10_000;
/// The place of control groups: of version 2, and the controller `cpu` of version 1.
const UNIFIED: &str = "/sys/fs/cgroup";
const CPU: &str = "/sys/fs/cgroup/cpu";

/// A control group. It is removed when this is dropped, after the processes in it have ended.
pub(crate) struct Share {
    group: PathBuf,
}

impl Share {
    /// Creates a group that gets `percent` of one processor. Returns the reason if this process may not.
    pub(crate) fn create(name: &str, percent: u32) -> std::result::Result<Self, String> {
        let name = format!("farrier-bench-{}-{name}", std::process::id());
        let quota = PERIOD / 100 * percent;
        let unified = Path::new(UNIFIED).join("cgroup.controllers").is_file();
        let root = Path::new(if unified { UNIFIED } else { CPU });
        let share = Self { group: root.join(name) };
        let limit = || -> std::io::Result<()> {
            if unified {
                fs::write(root.join("cgroup.subtree_control"), "+cpu")?;
                fs::create_dir(&share.group)?;
                return fs::write(share.group.join("cpu.max"), format!("{quota} {PERIOD}"));
            }
            fs::create_dir(&share.group)?;
            fs::write(share.group.join("cpu.cfs_period_us"), PERIOD.to_string())?;
            fs::write(share.group.join("cpu.cfs_quota_us"), quota.to_string())
        };
        limit().map_err(|error| format!("no control group can be created: {error}"))?;
        Ok(share)
    }

    /// Adds a process with its threads. Processes that it starts later belong to the group, too.
    pub(crate) fn add(&self, process: Watch) -> Result<()> {
        Ok(fs::write(self.group.join("cgroup.procs"), process.id().to_string())?)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // The last processes may still be ending.
        for _ in 0..50 {
            match fs::remove_dir(&self.group) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}
