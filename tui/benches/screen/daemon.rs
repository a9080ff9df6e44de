//! A fake daemon whose responses are in memory.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
};

const PAGE: usize = 50;

struct Pages {
    rows: usize,
    texts: Vec<String>,
}

/// Starts the daemon in `directory` and returns its socket. It runs until the process ends.
#[expect(clippy::disallowed_methods, reason = "the daemon needs threads beside the measurement")]
pub(crate) fn start(directory: &Path, rows: usize) -> PathBuf {
    let socket = directory.join("farrier.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let page = |rows: &[String]| format!(r#"{{"ok":true,"data":[{}]}}"#, rows.join(","));
    let texts = rows_of(rows).chunks(PAGE).map(page).collect();
    let pages = Arc::new(Pages { rows, texts });
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let pages = Arc::clone(&pages);
            std::thread::spawn(move || serve(connection.unwrap(), &pages));
        }
    });
    socket
}

fn serve(connection: UnixStream, pages: &Pages) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    let mut writer = connection;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let target = line.split(' ').nth(1)?.to_owned();
        // No request has a body.
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).ok()?;
        }
        if target.starts_with("/api/farrier/v1/events") {
            // An event stream without events.
            writer
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n",
                )
                .ok()?;
            return reader.read(&mut [0]).ok().map(drop);
        }
        writer.write_all(answer(&target, pages).as_bytes()).ok()?;
    }
}

fn answer(target: &str, pages: &Pages) -> String {
    let found = target.starts_with("/api/v1/repos/search").then(|| {
        let page =
            target.split("page=").nth(1).and_then(|rest| rest.split('&').next()?.parse().ok()).unwrap_or(1_usize);
        let next = if page < pages.texts.len() {
            format!("link: <http://h/api/v1/repos/search?sort=alpha&page={}&limit={PAGE}>; rel=\"next\"\r\n", page + 1)
        } else {
            String::new()
        };
        (format!("x-total-count: {}\r\n{next}", pages.rows), pages.texts[page - 1].as_str())
    });
    let (headers, body) = match target {
        _ if found.is_some() => found.unwrap_or_default(),
        "/api/farrier/v1/status" => (String::new(), r#"{"version": "0.1.0", "identity": "admin"}"#),
        "/api/healthz" => (String::new(), r#"{"status": "pass"}"#),
        _ => return "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
    };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns repositories, sorted by name. Their fields vary as in real data.
fn rows_of(count: usize) -> Vec<String> {
    const OWNERS: [&str; 6] = ["infra", "data", "mobile", "web", "platform-team", "ops"];
    const NAMES: [&str; 9] =
        ["gateway", "lake", "auth", "billing", "design-system", "docs", "agent", "proxy", "storefront"];
    let row = |id: usize| {
        // Pseudo-random, but the same in each run.
        let odd = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let pick = |of: &[&'static str], by: u64| of[usize::try_from(odd / by).unwrap() % of.len()];
        let name = format!("{}/{}-{id}", pick(&OWNERS, 1), pick(&NAMES, 7));
        let text = serde_json::json!({
            "id": id + 1, "full_name": name, "private": (odd / 3).is_multiple_of(2), "size": odd / 17 % 4_000_000,
            "default_branch": "main", "description": "edge proxy for the CI farm",
            "clone_url": format!("http://forge01.lan/{name}.git"), "created_at": "2026-01-02T03:04:05Z",
            "updated_at": format!("2026-{:02}-{:02}T11:00:00Z", odd / 5 % 11 + 1, odd / 11 % 28 + 1),
        });
        (name, text.to_string())
    };
    let mut rows: Vec<(String, String)> = (0..count).map(row).collect();
    rows.sort();
    rows.into_iter().map(|(_, text)| text).collect()
}
