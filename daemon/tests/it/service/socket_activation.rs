//! Socket activation with `systemd-socket-activate`: it opens the sockets, waits for the first client and then executes
//! the daemon.

use http::Method;
use tokio::net::TcpStream;

use super::notifications::Manager;
use crate::support::{ServerAddress, eventually, free_address, in_time, process, send};

#[tokio::test]
async fn sockets_passed_by_systemd_are_served_and_readiness_is_notified() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let address = free_address().to_string();
    let socket = dir.path().join("farrier.sock");
    let mut activate = process::command("systemd-socket-activate");
    activate.arg("--listen").arg(&address).arg("--listen").arg(&socket).arg("--fdname=tcp:unix");
    activate.args(["-E", &format!("NOTIFY_SOCKET={}", dir.path().join("notify").display())]);
    activate.arg("-E").arg(format!("HOME={}", dir.path().display()));
    activate.arg(env!("CARGO_BIN_EXE_farrierd")).arg("--data-dir").arg(dir.path().join("data"));
    activate.args(["--ssh-listen", "127.0.0.1:0"]);
    let log = std::fs::File::create(dir.path().join("log")).expect("a file");
    let Ok(mut running) = activate.stdout(std::process::Stdio::null()).stderr(log).spawn() else {
        assert!(std::env::var_os("FARRIER_REQUIRE_SYSTEMD").is_none(), "there is no systemd-socket-activate");
        eprintln!("skipped: there is no systemd-socket-activate");
        return;
    };
    eventually("the socket is open", async || TcpStream::connect(&address).await.is_ok()).await;
    manager.expect_state("READY=1").await;
    for server in [ServerAddress::Tcp(address.clone()), ServerAddress::Unix(socket.clone())] {
        assert_eq!(send(&server, Method::GET, "/api/healthz", &[], "").await.status, 200);
    }
    let status =
        send(&ServerAddress::Unix(socket.clone()), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
    let listeners = status["listeners"].as_array().expect("a list").iter().filter(|one| one["kind"] != "ssh");
    let listeners: Vec<_> = listeners.map(|one| (&one["kind"], &one["address"])).collect();
    assert_eq!(listeners, [(&"tcp".into(), &address.into()), (&"unix".into(), &socket.display().to_string().into())]);

    let pid = running.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    manager.expect_state("STOPPING=1").await;
    assert!(in_time("the daemon ends", running.wait()).await.expect("a status").success());
    assert!(socket.exists(), "the daemon does not remove a socket that it did not open");
}
