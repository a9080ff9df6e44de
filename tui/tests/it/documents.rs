//! The commands of README.md and docs/operations.md, run as a reader pastes them: in order, in one terminal, in a fresh
//! home directory.
//!
//! Every block of the language `sh` is run unless a comment `<!-- not run: REASON -->` precedes it. A block after
//! `<!-- runs until stopped -->` is started in the background, and the next block waits for the daemon's socket.

use std::{
    fmt::Write as _,
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Command, Stdio},
};

const DOCUMENTS: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../README.md")),
    ("docs/operations.md", include_str!("../../../docs/operations.md")),
];

/// Languages of blocks that are not shell commands.
const DATA: [&str; 5] = ["json", "nginx", "text", "toml", "yaml"];

#[derive(Debug, PartialEq, Eq)]
enum RunMode {
    Foreground,
    UntilStopped,
    Skipped,
}

#[derive(Debug, PartialEq, Eq)]
struct CodeBlock {
    /// Line number of the opening fence, counted from 1.
    line: usize,
    run: RunMode,
    text: String,
}

/// The `sh` blocks of a document. The error names a block that is marked incorrectly.
fn blocks(document: &str) -> Result<Vec<CodeBlock>, String> {
    let mut found = Vec::new();
    let mut comment = "";
    let mut lines = document.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            comment = if line.is_empty() { comment } else { line };
            continue;
        };
        let text: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let text = text.join("\n");
        let line = at + 1;
        if language == "sh" {
            let reason = comment.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
            let run = match (comment, reason) {
                ("<!-- runs until stopped -->", _) => RunMode::UntilStopped,
                (_, Some(reason)) if !reason.trim().is_empty() => RunMode::Skipped,
                (comment, _) if comment.starts_with("<!--") => {
                    return Err(format!("line {line}: {comment} is unknown"));
                }
                _ => RunMode::Foreground,
            };
            found.push(CodeBlock { line, run, text });
        } else if !DATA.contains(&language) {
            return Err(format!("line {line}: the language {language:?} is neither sh nor one of {DATA:?}"));
        }
        comment = "";
    }
    Ok(found)
}

/// One script for all documents. The default port may be in use here, so it is replaced by `address`.
fn script(address: SocketAddr) -> String {
    let mut script = String::from("set -eEu -o pipefail\ntrap 'echo \"failed: $block\" >&2' ERR\n");
    for (name, document) in DOCUMENTS {
        for block in blocks(document).unwrap_or_else(|error| panic!("{name}: {error}")) {
            let text = block.text.replace("127.0.0.1:3000", &address.to_string());
            let _ = writeln!(script, "block={name}:{}", block.line);
            let _ = match block.run {
                RunMode::Skipped => Ok(()),
                RunMode::Foreground => writeln!(script, "echo \"== $block\"\n{text}"),
                RunMode::UntilStopped => writeln!(
                    script,
                    "echo \"== $block\"\n(\n{text}\n) >~/daemon.log 2>&1 </dev/null &\n\
                     for _ in $(seq 600); do test -S ~/.local/share/farrier/farrier.sock && break; sleep 0.1; done"
                ),
            };
        }
    }
    script
}

/// A script that replaces cargo: the programs are already built.
fn cargo(programs: &Path, address: SocketAddr) -> String {
    let programs = programs.display();
    format!(
        "#!/bin/sh\ncase \"$*\" in\n\
         'build --release --workspace') mkdir -p target/release && ln -sf {programs}/farrier {programs}/farrierd target/release/ ;;\n\
         'run --release') exec target/release/farrierd --listen {address} ;;\n\
         *) echo \"unexpected command: cargo $*\" >&2; exit 1 ;;\nesac\n"
    )
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they test")]
fn every_command_in_the_documents_works_when_pasted() {
    let programs = Path::new(crate::session::FARRIER).parent().unwrap();
    if !programs.join("farrierd").exists() {
        assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "no farrierd beside farrier");
        eprintln!("skipped: no farrierd beside farrier; cargo test --workspace builds both");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::create_dir_all(path("farrier")).unwrap();
    fs::create_dir_all(path("bin")).unwrap();
    // git needs a user name and an e-mail address.
    fs::write(path(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n").unwrap();
    // Outgoing connections come from 127.0.0.1, so they do not take this port before the daemon listens on it.
    let address = TcpListener::bind("127.42.0.1:0").unwrap().local_addr().unwrap();
    fs::write(path("bin/cargo"), cargo(programs, address)).unwrap();
    fs::set_permissions(path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(path("script"), script(address)).unwrap();

    let search = format!("{}:{}", path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("timeout");
    command.args(["240", "bash"]).arg(path("script")).current_dir(path("farrier"));
    command.env_clear().env("HOME", home.path()).env("PATH", search).env("LANG", "C.UTF-8").process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let group = rustix::process::Pid::from_child(&child);
    let output = child.wait_with_output().unwrap();
    // The daemon still runs. A reader would stop it with Ctrl-C.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let daemon = fs::read_to_string(path("daemon.log")).unwrap_or_default();
    assert!(output.status.success(), "{out}\n{err}\nthe daemon: {daemon}");
    assert!(out.contains("hello.txt"), "the artifact was listed: {out}");
    assert_eq!(fs::read_to_string(path("farrier/downloads/hello.txt")).unwrap(), "hello\n");
}

#[test]
fn blocks_are_run_unless_marked_with_a_reason() {
    let text = "```sh\na\n```\n<!-- not run: needs root -->\n```sh\nb\n```\n\n<!-- runs until stopped -->\n\n```sh\nc\n```\n```toml\nx = 1\n```\n";
    let found = blocks(text).unwrap();
    let runs: Vec<_> = found.iter().map(|block| (block.line, &block.run, block.text.as_str())).collect();
    assert_eq!(runs, [(1, &RunMode::Foreground, "a"), (5, &RunMode::Skipped, "b"), (11, &RunMode::UntilStopped, "c")]);
    for error in ["```\na\n```", "```bash\na\n```", "<!-- not run: -->\n```sh\na\n```", "<!-- skip -->\n```sh\n```"] {
        blocks(error).expect_err(error);
    }
}
