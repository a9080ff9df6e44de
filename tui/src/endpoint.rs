//! Where the daemon is, and who is calling.
//!
//! Owns the search: flags, then the environment, then the sockets where daemons usually are. The
//! order is decided without looking at anything, so that it can be tested; only the usual sockets
//! are tried, because a path that somebody named is meant.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use farrier_common::client::{Client, Endpoint, Token, probe_socket};

use crate::{
    args::Global,
    config::{Config, Server},
    exit::Failure,
};

const SERVICE_SOCKET: &str = "/run/farrier/farrier.sock";

/// Reads an environment variable; an empty one counts as absent.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What the flags and the environment say.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Given(Endpoint),
    Search(Vec<PathBuf>),
}

/// A client for the daemon, with the token that the flags name.
pub(crate) async fn connect(global: &Global) -> Result<Client, Failure> {
    let global = &configured(global, &Config::load(variable).server, variable("FARRIER_SOCKET").is_some());
    let token = match &global.token_file {
        Some(path) => Some(read_token(path)?),
        None => None,
    };
    let client = client(choose(global, None, variable)?, token).await?;
    Ok(if global.read_only { client.read_only() } else { client })
}

/// Adds what the configuration says. A token of the file belongs to the daemon of the file.
fn configured(global: &Global, server: &Server, named: bool) -> Global {
    let mut global = global.clone();
    global.read_only |= server.read_only;
    if !named && global.socket.is_none() && global.url.is_none() {
        global.socket.clone_from(&server.socket);
        if server.socket.is_none() {
            global.url.clone_from(&server.url);
        }
        global.token_file = global.token_file.or_else(|| server.token_file.clone());
    }
    global
}

/// A client for the artifact service of the job that this process runs in.
pub(crate) async fn connect_job(global: &Global, token: Token) -> Result<Client, Failure> {
    let results = variable("ACTIONS_RESULTS_URL").and_then(|url| url.into_string().ok());
    client(choose(global, results.as_deref(), variable)?, Some(token)).await
}

async fn client(choice: Choice, token: Option<Token>) -> Result<Client, Failure> {
    let endpoint = match choice {
        Choice::Given(endpoint) => endpoint,
        Choice::Search(paths) => search(paths).await?,
    };
    Client::new(endpoint, token).map_err(Failure::call("connecting"))
}

/// `results` is the origin that a job's token came with: it yields to what names a daemon for this
/// program, and is passed over when it is one that this program cannot speak to.
fn choose(
    global: &Global,
    results: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Choice, Failure> {
    if let Some(url) = &global.url {
        let endpoint = Endpoint::parse_url(url).map_err(|error| Failure::Usage(format!("--url: {error}")))?;
        return Ok(Choice::Given(endpoint));
    }
    if let Some(path) = &global.socket {
        return Ok(Choice::Given(Endpoint::Unix(path.clone())));
    }
    if let Some(path) = variable("FARRIER_SOCKET") {
        return Ok(Choice::Given(Endpoint::Unix(path.into())));
    }
    if let Some(endpoint) = results.and_then(|url| Endpoint::parse_url(url).ok()) {
        return Ok(Choice::Given(endpoint));
    }
    Ok(Choice::Search(usual_sockets(variable)))
}

/// A daemon of the same user, begun with or without a runtime directory, then the system's.
fn usual_sockets(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // Relative paths in these variables are invalid and to be ignored.
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = directory("XDG_RUNTIME_DIR");
    let data = directory("XDG_DATA_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/share")));
    let user = runtime.into_iter().map(|path| path.join("farrier/farrier.sock"));
    let data = data.into_iter().map(|path| path.join("farrier/farrier.sock"));
    user.chain(data).chain([SERVICE_SOCKET.into()]).collect()
}

/// The first socket that somebody answers on: a daemon that was killed leaves its socket behind.
async fn search(paths: Vec<PathBuf>) -> Result<Endpoint, Failure> {
    let mut looked = Vec::new();
    for path in paths {
        match probe_socket(&path).await {
            Ok(()) => return Ok(Endpoint::Unix(path)),
            Err(error) => looked.push((path, error)),
        }
    }
    Err(Failure::Nowhere(looked))
}

fn read_token(path: &Path) -> Result<Token, Failure> {
    let doing = || format!("reading the token in {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|source| Failure::io(doing(), source))?;
    Token::new(&text).map_err(|error| Failure::Other(format!("{}: {error}", doing())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(set: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        |name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value))
    }

    fn paths(set: &'static [(&str, &str)]) -> Vec<String> {
        usual_sockets(environment(set)).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn the_users_own_daemon_comes_before_the_systems() {
        assert_eq!(
            paths(&[("XDG_RUNTIME_DIR", "/run/user/7"), ("HOME", "/home/a")]),
            ["/run/user/7/farrier/farrier.sock", "/home/a/.local/share/farrier/farrier.sock", SERVICE_SOCKET]
        );
        assert_eq!(paths(&[("XDG_DATA_HOME", "/d"), ("HOME", "/home/a")]), ["/d/farrier/farrier.sock", SERVICE_SOCKET]);
        assert_eq!(paths(&[("XDG_RUNTIME_DIR", "relative"), ("HOME", "also")]), [SERVICE_SOCKET]);
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_a_jobs_origin() {
        let set: &[_] = &[("FARRIER_SOCKET", "/env.sock")];
        let socket = Global { socket: Some("/flag.sock".into()), ..Global::default() };
        let url = Global { url: Some("http://h".into()), ..Global::default() };
        let none = Global::default();
        let unix = |path: &str| Choice::Given(Endpoint::Unix(path.into()));
        let http = |url: &str| Choice::Given(Endpoint::parse_url(url).unwrap());
        let origin = Some("http://origin:3000");
        assert_eq!(choose(&socket, origin, environment(set)).unwrap(), unix("/flag.sock"));
        assert_eq!(choose(&url, origin, environment(set)).unwrap(), http("http://h"));
        assert_eq!(choose(&none, origin, environment(set)).unwrap(), unix("/env.sock"));
        assert_eq!(choose(&none, origin, environment(&[])).unwrap(), http("http://origin:3000"));
        for other in [None, Some("https://origin"), Some("nonsense")] {
            assert!(matches!(choose(&none, other, environment(&[])).unwrap(), Choice::Search(_)));
        }
        let https = Global { url: Some("https://h".into()), ..Global::default() };
        assert_eq!(choose(&https, None, environment(&[])).unwrap_err().code(), crate::exit::USAGE);
    }

    #[test]
    fn the_file_names_the_daemon_that_nobody_else_names() {
        let server = Server {
            url: Some("http://h".into()),
            token_file: Some("/token".into()),
            read_only: true,
            ..Server::default()
        };
        let none = Global::default();
        let from_file = configured(&none, &server, false);
        assert_eq!((from_file.url.as_deref(), from_file.token_file.is_some()), (Some("http://h"), true));
        let flag = Global { socket: Some("/s".into()), ..Global::default() };
        for other in [configured(&none, &server, true), configured(&flag, &server, false)] {
            assert_eq!((other.url, other.token_file, other.read_only), (None, None, true));
        }
    }

    #[tokio::test]
    async fn a_socket_that_nobody_listens_on_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let (stale, live) = (dir.path().join("stale"), dir.path().join("live"));
        drop(tokio::net::UnixListener::bind(&stale).unwrap());
        let _listener = tokio::net::UnixListener::bind(&live).unwrap();
        let missing = dir.path().join("missing");
        let found = search(vec![missing.clone(), stale.clone(), live.clone()]).await.unwrap();
        assert_eq!(found, Endpoint::Unix(live));
        let Err(Failure::Nowhere(looked)) = search(vec![missing.clone(), stale.clone()]).await else { panic!() };
        assert_eq!(looked.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&missing, &stale]);
    }
}
