//! A fake daemon whose responses are in memory.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::kinds::Listing;

/// The largest page of the real daemon.
const PAGE_MAX: usize = 50;

/// Starts the daemon in `directory` and returns its socket. It runs until the process ends.
#[expect(clippy::disallowed_methods, reason = "the daemon needs threads beside the measurement")]
pub(crate) fn start(directory: &Path, listings: Vec<Listing>) -> PathBuf {
    let socket = directory.join("farrier.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let lists: Arc<[Listing]> = listings.into();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let lists = Arc::clone(&lists);
            std::thread::spawn(move || serve(connection.unwrap(), &lists));
        }
    });
    socket
}

fn serve(connection: UnixStream, lists: &[Listing]) -> Option<()> {
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

fn answer(target: &str, lists: &[Listing]) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // The lists of one hook or run, and the artifacts that are being uploaded, are empty.
    let is_part = ["hook=", "run=", "state=", "after="].iter().any(|part| query.contains(part));
    let found = lists.iter().find(|list| list.path == path && !is_part).map(|list| page_of(list, query));
    let (headers, body) = match path {
        _ if found.is_some() => found.as_ref().map(|(headers, body)| (headers.clone(), &**body)).unwrap_or_default(),
        "/api/farrier/v1/status" => (String::new(), r#"{"version": "0.1.0", "identity": "admin"}"#),
        "/api/healthz" => (String::new(), r#"{"status": "pass"}"#),
        "/api/v1/repos/search" => (String::new(), r#"{"ok": true, "data": []}"#),
        "/api/farrier/v1/tasks" => (String::new(), r#"{"tasks": []}"#),
        "/api/farrier/v1/logs" => (String::new(), "{}"),
        "/api/v1/admin/users"
        | "/api/farrier/v1/hooks"
        | "/api/farrier/v1/hooks/events"
        | "/api/farrier/v1/deliveries"
        | "/api/farrier/v1/artifacts"
        | "/api/farrier/v1/runs"
        | "/api/farrier/v1/caches/usage" => (String::new(), "[]"),
        path if path.ends_with("/teams") => (String::new(), "[]"),
        _ => return "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
    };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns the headers and the body of a page.
fn page_of(list: &Listing, query: &str) -> (String, String) {
    let number = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse::<usize>().ok());
    let [before, after] = list.around;
    let rows = list.rows.len();
    let body = |rows: &[String]| format!("{before}{}{after}", rows.join(","));
    if !list.has_pages {
        return (format!("x-total-count: {rows}\r\n"), body(&list.rows));
    }
    let limit = number("limit=").unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let page = number("page=").unwrap_or(1).max(1);
    let begin = rows.min((page - 1) * limit);
    let end = rows.min(begin + limit);
    let next = if end < rows {
        format!("link: <http://h{}?page={}&limit={limit}>; rel=\"next\"\r\n", list.path, page + 1)
    } else {
        String::new()
    };
    (format!("x-total-count: {rows}\r\n{next}"), body(&list.rows[begin..end]))
}
