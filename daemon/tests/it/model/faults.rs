//! Faults between requests: restarts, kills, clock jumps, and mistakes of operators.

use std::{fs, path::Path, time::Duration};

use farrierd::clock::Clock;

use super::{
    acknowledged::{DAY_MS, SET_ASIDE_MS},
    operations::Outcome,
    sequence::{CONFIG, Sequence, StoreCopy},
};

/// Maximum delay between the start of an operation and the kill.
const JITTER_MAX_MICROS: usize = 40_000;
/// Exit code of a daemon whose store and data directories do not match.
const MISMATCH: i32 = 4;

impl Sequence<'_> {
    /// Stops the daemon and starts it again, as a program or in the test process.
    pub(super) async fn restart(&mut self) {
        self.counts.restarts += 1;
        self.daemon.stop().await;
        self.start().await;
    }

    /// Starts the stopped daemon, as a program or in the test process.
    async fn start(&mut self) {
        self.is_program = self.random.one_in(2);
        self.note(format!("start {}", if self.is_program { "the program" } else { "in process" }));
        if self.is_program {
            self.daemon.start_as_program(CONFIG).await;
        } else {
            // A clock that was ahead may be set back to the present.
            let present = Clock::system().now_ms();
            let now = if self.random.one_in(2) { self.latest_ms.max(present) } else { present };
            self.daemon.start_in_process(Clock::manual(now)).await;
        }
        self.now_ms();
    }

    /// Kills the program while an operation runs, starts it again, and finds out whether the operation took effect.
    pub(super) async fn kill_during_an_operation(&mut self) {
        if !self.is_program {
            self.daemon.stop().await;
            self.is_program = true;
            self.daemon.start_as_program(CONFIG).await;
        }
        let Some(operation) = self.choose() else { return };
        self.note(format!("kill during {operation:?}"));
        self.counts.kills += 1;
        let (target, pause) = (self.target(&operation), self.random.below(JITTER_MAX_MICROS) as u64);
        let daemon = &mut self.daemon;
        let kill = async move {
            tokio::time::sleep(Duration::from_micros(pause)).await;
            daemon.kill().await;
        };
        let (outcome, ()) = tokio::join!(operation.perform(target), kill);
        let at_ms = self.now_ms();
        self.start().await;
        match outcome {
            Outcome::Acknowledged(answer) => self.record(&operation, &answer, at_ms),
            Outcome::Unanswered => self.resolve(&operation, at_ms).await,
        }
    }

    /// Advances the clock by an hour, some days, or more than the retention of deleted objects.
    pub(super) async fn jump(&mut self) {
        self.counts.clock_jumps += 1;
        if self.is_program {
            self.daemon.stop().await;
            self.is_program = false;
            self.daemon.start_in_process(Clock::manual(self.latest_ms)).await;
        }
        let by = self.random.of(&[DAY_MS / 24, 3 * DAY_MS, SET_ASIDE_MS + DAY_MS]);
        self.note(format!("clock + {} h", by * 24 / DAY_MS));
        self.daemon.clock.advance_ms(by);
        self.now_ms();
    }

    /// Copies the store while the daemon is stopped, like a backup.
    pub(super) async fn copy_store(&mut self) {
        self.note("copy the store".into());
        self.daemon.stop().await;
        let file = self.daemon.scratch().join("copy.redb");
        fs::copy(self.store(), &file).expect("a copy");
        self.copy = Some(StoreCopy { file, model: self.model.clone(), latest_ms: self.latest_ms });
        self.start().await;
    }

    /// Replaces the store by the older copy. The daemon must refuse to start until a command resolves the mismatch.
    pub(super) async fn replace_store_by_the_copy(&mut self) {
        let Some(copy) = self.copy.take() else { return };
        self.daemon.stop().await;
        let kept = self.daemon.scratch().join("kept.redb");
        fs::rename(self.store(), &kept).expect("the store");
        let is_missing = self.random.one_in(3);
        if !is_missing {
            fs::copy(&copy.file, self.store()).expect("a copy");
        }
        self.note(format!("replace the store by {}", if is_missing { "nothing" } else { "the older copy" }));
        self.counts.older_stores += 1;
        self.refuse().await;
        // Only a complete copy can be adopted: retention may have removed data since the copy was made.
        let is_complete = self.latest_ms < copy.latest_ms + SET_ASIDE_MS;
        let decision = if is_missing || !is_complete { 0 } else { self.random.below(4) };
        match decision {
            0 => {
                self.note("put the store back".into());
                fs::rename(&kept, self.store()).expect("the store");
            }
            1 => {
                self.note("restore the store by command".into());
                self.daemon.command(&["restore", kept.to_str().expect("text")]).await;
            }
            decision => {
                let option = if decision == 2 { "--adopt" } else { "--set-aside" };
                self.note(format!("check-data {option}"));
                self.daemon.command(&["check-data", option]).await;
                self.model = self.model.with_older_store(&copy.model);
            }
        }
        self.start().await;
    }

    /// Moves a directory away, like an operator by mistake, and moves it back. The daemon must refuse to start in
    /// between.
    pub(super) async fn remove_a_directory(&mut self) {
        if self.model.repositories.is_empty() {
            return;
        }
        let name = self.random.of(&["repositories", "artifacts"]);
        let mut left = self.model.clone();
        left.retire(self.latest_ms);
        // The daemon may start without a directory from which retention has removed everything.
        if !left.requires(name) {
            return;
        }
        self.note(format!("remove the directory {name}"));
        self.counts.removed_directories += 1;
        self.daemon.stop().await;
        let (original, away) = (self.daemon.data_dir().join(name), self.daemon.scratch().join("away"));
        fs::rename(&original, &away).expect("a directory");
        self.refuse().await;
        assert!(!original.exists() || is_empty(&original), "nothing is written into {}", original.display());
        let _ = fs::remove_dir(&original);
        fs::rename(&away, &original).expect("a directory");
        self.start().await;
    }

    /// Starts the program, which must refuse, name the commands that resolve the mismatch, and change no file.
    async fn refuse(&self) {
        let before = files(&self.daemon.data_dir());
        let refused = self.daemon.refused_start(CONFIG).await;
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(MISMATCH), "{text}");
        for command in ["check-data --adopt", "check-data --set-aside", "restore STORE_FILE"] {
            assert!(text.contains(command), "{text}");
        }
        assert_eq!(before, files(&self.daemon.data_dir()), "a refused start changes nothing");
    }

    fn store(&self) -> std::path::PathBuf {
        self.daemon.data_dir().join("farrier.redb")
    }
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// All files below `directory` with their sizes.
fn files(directory: &Path) -> std::collections::BTreeMap<std::path::PathBuf, u64> {
    let mut found = std::collections::BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => found.extend(files(&path)),
            // The pid file and sockets of a refused start do not matter.
            Ok(metadata) if metadata.is_file() && path.extension().is_none_or(|is| is != "lock" && is != "pid") => {
                // The engine may change its file when it opens it. The rows are compared later.
                let size = if path.extension().is_some_and(|is| is == "redb") { 0 } else { metadata.len() };
                found.insert(path, size);
            }
            _ => {}
        }
    }
    found
}
