//! The unit files: that systemd understands every line, and how far the daemon is shut in.

use std::path::Path;

use tempfile::TempDir;

use crate::support::process::{command, output};

/// Worse than this and the daemon may do something that it does not need. 1.2 is what is left to one
/// that serves TCP, sends to hooks, and is asked by users whom it must tell apart.
const EXPOSURE_MAX: f64 = 1.2;

/// The shipped units in a directory of their own, with a program that is there.
fn units() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd");
    for name in ["farrierd.service", "farrierd.socket", "farrierd-tcp.socket"] {
        let text = std::fs::read_to_string(shipped.join(name)).expect("a unit");
        let text = text.replace("/usr/bin/farrierd", env!("CARGO_BIN_EXE_farrierd"));
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

/// Runs `systemd-analyze` in `dir`; says so where there is none.
async fn analyze(dir: &TempDir, args: &[&str]) -> Option<std::process::Output> {
    let mut analyze = command("systemd-analyze");
    analyze.current_dir(dir.path()).args(args);
    let done = output(analyze).await;
    if done.is_none() {
        assert!(std::env::var_os("FARRIER_REQUIRE_SYSTEMD").is_none(), "there is no systemd-analyze");
        eprintln!("skipped: there is no systemd-analyze");
    }
    done
}

#[tokio::test]
async fn systemd_understands_every_line() {
    let dir = units();
    for unit in ["./farrierd.service", "./farrierd.socket", "./farrierd-tcp.socket"] {
        let Some(checked) = analyze(&dir, &["verify", "--man=no", unit]).await else { return };
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        // What systemd ignores it only complains about. It also reads units of the machine.
        assert!(checked.status.success() && !said.contains("farrierd"), "{unit}: {said}");
    }
}

#[tokio::test]
async fn the_service_may_do_little() {
    let dir = units();
    let args = ["security", "--offline=true", "--no-pager", "./farrierd.service"];
    let Some(judged) = analyze(&dir, &args).await else { return };
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    let level = said.lines().find_map(|line| line.split("Overall exposure level for farrierd.service: ").nth(1));
    let level: f64 = level.and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a level");
    assert!(level <= EXPOSURE_MAX, "{said}");
}
