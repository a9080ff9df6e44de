//! The systemd units: systemd accepts every line, and the sandbox is strict.

use std::path::Path;

use tempfile::TempDir;

use crate::support::process::{command, output};

/// Maximum exposure level according to `systemd-analyze security`. What remains is needed to serve TCP, to send to
/// hooks, and to identify local users.
const EXPOSURE_MAX: f64 = 1.2;

/// Copies the shipped units to a directory, with the path of the test's program.
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

/// Runs `systemd-analyze` in `dir`. Prints a note and returns `None` if it is not installed.
async fn analyze(dir: &TempDir, args: &[&str]) -> Option<std::process::Output> {
    let mut analyze = command("systemd-analyze");
    analyze.current_dir(dir.path()).args(args);
    let result = output(analyze).await;
    if result.is_none() {
        assert!(std::env::var_os("FARRIER_REQUIRE_SYSTEMD").is_none(), "there is no systemd-analyze");
        eprintln!("skipped: there is no systemd-analyze");
    }
    result
}

#[tokio::test]
async fn systemd_accepts_every_line_of_the_units() {
    let dir = units();
    for unit in ["./farrierd.service", "./farrierd.socket", "./farrierd-tcp.socket"] {
        let Some(checked) = analyze(&dir, &["verify", "--man=no", unit]).await else { return };
        let text = String::from_utf8_lossy(&checked.stderr).into_owned();
        // systemd only warns about lines that it ignores. It also reads units of the machine.
        assert!(checked.status.success() && !text.contains("farrierd"), "{unit}: {text}");
    }
}

#[tokio::test]
async fn the_exposure_of_the_service_is_limited() {
    let dir = units();
    let args = ["security", "--offline=true", "--no-pager", "./farrierd.service"];
    let Some(security) = analyze(&dir, &args).await else { return };
    let text = String::from_utf8_lossy(&security.stdout).into_owned();
    let level = text.lines().find_map(|line| line.split("Overall exposure level for farrierd.service: ").nth(1));
    let level: f64 = level.and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a level");
    assert!(level <= EXPOSURE_MAX, "{text}");
}
