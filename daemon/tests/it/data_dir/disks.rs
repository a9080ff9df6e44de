//! Starts on a full and on a read-only file system. The tests mount these for one process only, which needs the
//! right to mount.

use super::*;

/// `$1`: the data directory, `$2`: a copy of it, `$3`: directory for the lists, `$4`: the program. Lists the
/// checksums of all files except the store before and after the start.
const LIST: &str = r#"list() { (cd "$1" && find . -type f ! -name 'farrier.redb' ! -name farrier.lock ! -name fill | sort | xargs -r sha256sum) > "$3/$5"; }
list "$1" "$2" "$3" "$4" before
"$4" --data-dir "$1" --listen 127.0.0.1:0 --socket "$3/refused.sock"
code=$?
list "$1" "$2" "$3" "$4" after
exit $code
"#;

/// Runs `script` in its own mount namespace. Returns `None` if this machine does not allow that.
async fn start_in_mount(world: &World, prepare: &str) -> Option<ProgramOutput> {
    let mut probe = command("unshare");
    probe.args(["--mount", "true"]);
    if !output(probe).await.is_some_and(|output| output.status.success()) {
        eprintln!("SKIPPED: mounting is not possible here, so starts on full and read-only disks are not tested");
        return None;
    }
    let copy = world.copy("copy");
    let mut unshare = command("unshare");
    unshare.args(["--mount", "sh", "-c", &format!("set -e\n{prepare}\nset +e\n{LIST}"), "sh"]);
    unshare.args([&world.data(), &copy, &world.farrier.scratch(), Path::new(env!("CARGO_BIN_EXE_farrierd"))]);
    let outcome: ProgramOutput = output(unshare).await.expect("unshare").into();
    let list = |name: &str| std::fs::read_to_string(world.farrier.scratch().join(name)).expect("a list");
    assert!(list("before").lines().count() > 5, "{outcome:?}");
    assert_eq!(list("before"), list("after"), "{outcome:?}");
    Some(outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_full_disk_is_refused_and_works_later() {
    let mut world = World::stopped().await;
    // Limit the inodes as well: redb may free pages of the store when it opens it.
    let prepare = r#"mount -t tmpfs -o size=16m,nr_inodes=$(( $(find "$2" | wc -l) + 1 )) tmpfs "$1"; cp -a "$2/." "$1"
dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || true"#;
    let Some(outcome) = start_in_mount(&world, prepare).await else { return };
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("is full; no data was lost"), "{outcome:?}");
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_on_a_full_disk_is_refused() {
    let world = World::stopped().await;
    let prepare = r#"mount -t tmpfs -o size=16m tmpfs "$1"; mkdir "$1/artifacts"; cp -a "$2/repositories" "$1/x"
dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || true"#;
    let Some(outcome) = start_in_mount(&world, prepare).await else { return };
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("is full; no data was lost"), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_fails_when_the_disk_becomes_read_only() {
    let world = World::stopped().await;
    let mut probe = command("unshare");
    probe.args(["--mount", "true"]);
    if !output(probe).await.is_some_and(|output| output.status.success()) {
        eprintln!("SKIPPED: mounting is not possible here, so health on a read-only disk is not tested");
        return;
    }
    // `$1`: the data directory, `$2`: the socket, `$3`: the program. A file system with open files cannot be made
    // read-only, so another mount replaces the directory of artifacts.
    let script = r#"set -e
"$3" --data-dir "$1" --listen 127.0.0.1:0 --socket "$2" >/dev/null 2>&1 &
health() { curl -s --unix-socket "$2" -w '%{http_code}\n' http://x/api/healthz; }
until health "$@" >/dev/null; do sleep 0.05; done
health "$@"
mount --bind "$1/artifacts" "$1/artifacts"
mount -o remount,bind,ro "$1/artifacts"
health "$@"
kill %1
wait || true"#;
    let mut unshare = command("unshare");
    let socket = world.farrier.scratch().join("health.sock");
    unshare.args(["--mount", "bash", "-c", script, "bash"]);
    unshare.args([&world.data(), &socket, Path::new(env!("CARGO_BIN_EXE_farrierd"))]);
    let outcome: ProgramOutput = output(unshare).await.expect("unshare").into();
    let codes: Vec<&str> = outcome.out.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(codes, ["200", "503"], "{outcome:?}");
    assert!(outcome.out.contains("the disk is read-only"), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_read_only_disk_is_refused_and_works_later() {
    let mut world = World::stopped().await;
    let prepare = r#"mount --bind "$1" "$1"; mount -o remount,bind,ro "$1""#;
    let Some(outcome) = start_in_mount(&world, prepare).await else { return };
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("is not writable; no data was lost"), "{outcome:?}");
    world.assert_starts().await;
}
