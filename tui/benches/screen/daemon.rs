//! A fake daemon whose responses are in memory.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::kinds::Listing;

/// The pages of a list.
struct Pages {
    path: &'static str,
    page: usize,
    rows: usize,
    texts: Vec<String>,
}

/// Starts the daemon in `directory` and returns its socket. It runs until the process ends.
#[expect(clippy::disallowed_methods, reason = "the daemon needs threads beside the measurement")]
pub(crate) fn start(directory: &Path, listings: Vec<Listing>) -> PathBuf {
    let socket = directory.join("farrier.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let pages = listings.into_iter().map(|Listing { path, page, around: [before, after], rows }| {
        let text = |rows: &[String]| format!("{before}{}{after}", rows.join(","));
        Pages { path, page, rows: rows.len(), texts: rows.chunks(page).map(text).collect() }
    });
    let lists: Arc<[Pages]> = pages.collect();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let lists = Arc::clone(&lists);
            std::thread::spawn(move || serve(connection.unwrap(), &lists));
        }
    });
    socket
}

fn serve(connection: UnixStream, lists: &[Pages]) -> Option<()> {
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
        writer.write_all(answer(&target, lists).as_bytes()).ok()?;
    }
}

fn answer(target: &str, lists: &[Pages]) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // The lists of one hook or run, and the artifacts that are being uploaded, are empty.
    let is_part = ["hook=", "run=", "state=", "after="].iter().any(|part| query.contains(part));
    let found = lists.iter().find(|list| list.path == path && !is_part).map(|list| {
        let page = query.split('&').find_map(|pair| pair.strip_prefix("page=")?.parse().ok()).unwrap_or(1_usize);
        let next = if page < list.texts.len() {
            format!("link: <http://h{path}?page={}&limit={}>; rel=\"next\"\r\n", page + 1, list.page)
        } else {
            String::new()
        };
        (format!("x-total-count: {}\r\n{next}", list.rows), list.texts[page - 1].as_str())
    });
    let (headers, body) = match path {
        _ if found.is_some() => found.unwrap_or_default(),
        "/api/farrier/v1/status" => (String::new(), r#"{"version": "0.1.0", "identity": "admin"}"#),
        "/api/healthz" => (String::new(), r#"{"status": "pass"}"#),
        "/api/v1/repos/search" => (String::new(), r#"{"ok": true, "data": []}"#),
        "/api/farrier/v1/tasks" => (String::new(), r#"{"tasks": []}"#),
        "/api/farrier/v1/logs" => (String::new(), "{}"),
        "/api/farrier/v1/hooks"
        | "/api/farrier/v1/hooks/events"
        | "/api/farrier/v1/deliveries"
        | "/api/farrier/v1/artifacts"
        | "/api/farrier/v1/runs"
        | "/api/farrier/v1/caches/usage" => (String::new(), "[]"),
        _ => return "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
    };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
