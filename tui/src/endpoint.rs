//! Finds the daemon and the credentials for it.
//!
//! The daemon is selected by the flags, then the environment, then the configuration file. Without any of them,
//! the usual sockets are tried in order; a socket that the user named is never replaced by another one. The
//! order is decided without I/O, so that it can be tested.
//!
//! A context of the configuration file stands for the flags of its daemon.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use farrier_common::client::{Client, ClientError, Endpoint, Token, Trust, probe_socket};

use crate::{
    args::Global,
    config::{self, Config, Context, Server},
    exit::Failure,
};

const SERVICE_SOCKET: &str = "/run/farrier/farrier.sock";

/// Reads an environment variable; an empty one counts as absent.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The daemon that the flags and the environment select.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Given(Endpoint),
    Search(Vec<PathBuf>),
}

/// Variables that name a daemon. If one is set, the daemon and the token of the configuration file are ignored.
const NAMED_BY: [&str; 2] = ["FARRIER_URL", "FARRIER_SOCKET"];

/// Returns a client for the daemon, with the token of the flags, the environment or the configuration file.
pub(crate) async fn connect(global: &Global) -> Result<Client, Failure> {
    let is_named = NAMED_BY.into_iter().any(|name| variable(name).is_some());
    let global = &configured(global, &Config::load(variable).server, is_named, variable);
    let token = match (&global.token_file, variable("FARRIER_TOKEN")) {
        (Some(path), _) => Some(read_token(path)?),
        // The variable may belong to another daemon than the context.
        (None, Some(text)) if global.context.is_none() => Some(token_of(&text)?),
        (None, _) => None,
    };
    let client = client(choose(global, None, variable)?, token, global).await?;
    Ok(if global.read_only { client.read_only() } else { client })
}

/// Returns the context that `--context` or `FARRIER_CONTEXT` selects, if there is one.
///
/// # Errors
///
/// Returns a usage error if the context is unknown or has a mistake, or if variables name two daemons.
pub(crate) fn selected_context(global: &Global) -> Result<Option<Context>, Failure> {
    let Some(name) = context_name(global, variable)? else { return Ok(None) };
    let text = config::text(variable).map_err(|source| Failure::io("reading the configuration file", source))?;
    let (config, problems) = Config::parse(&text);
    match config::named(&config.contexts, &name) {
        Ok(context) => Ok(Some(context.clone())),
        // A file with a syntax error has no contexts.
        Err(unknown) => Err(Failure::Usage(match problems.iter().find(|problem| !problem.is_warning) {
            Some(problem) if config.contexts.is_empty() => {
                format!("{unknown}; config.toml line {}: {}", problem.line, problem.text)
            }
            _ => unknown,
        })),
    }
}

/// Returns the options with the address, the credentials and the limits of the selected context.
pub(crate) fn in_selected_context(global: &Global) -> Result<Global, Failure> {
    Ok(selected_context(global)?.map_or_else(|| global.clone(), |context| in_context(global, &context)))
}

/// Returns the options with the address, the credentials and the limits of a context. `--token-file`, `--ca` and
/// `--read-only` take precedence over the context.
pub(crate) fn in_context(global: &Global, context: &Context) -> Global {
    let Server { socket, url, token_file, ca, read_only } = context.server.clone();
    Global {
        context: Some(context.name.clone()),
        socket,
        url,
        token_file: global.token_file.clone().or(token_file),
        ca: global.ca.clone().or(ca),
        read_only: global.read_only || read_only,
        ..global.clone()
    }
}

/// Returns the name of the selected context. Flags take precedence over variables.
fn context_name(global: &Global, variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<String>, Failure> {
    let has_address = global.socket.is_some() || global.url.is_some();
    if global.context.is_some() && has_address {
        // The parser notices this only if both flags are on the same side of the command.
        return Err(Failure::Usage("--context cannot be used with --socket or --url; remove one of them".to_owned()));
    }
    if global.context.is_some() || has_address {
        return Ok(global.context.clone());
    }
    let Some(name) = variable("FARRIER_CONTEXT") else { return Ok(None) };
    if let Some(other) = NAMED_BY.into_iter().find(|name| variable(name).is_some()) {
        return Err(Failure::Usage(format!("FARRIER_CONTEXT and {other} both name a daemon; unset one of them")));
    }
    Ok(Some(name.to_string_lossy().into_owned()))
}

fn token_of(text: &OsStr) -> Result<Token, Failure> {
    Token::new(&text.to_string_lossy()).map_err(|error| Failure::Usage(format!("FARRIER_TOKEN: {error}")))
}

/// Adds the settings of the configuration file. Its token is only used for its daemon.
fn configured(global: &Global, server: &Server, is_named: bool, variable: impl Fn(&str) -> Option<OsString>) -> Global {
    let mut global = global.clone();
    global.read_only |= server.read_only;
    if !is_named && global.socket.is_none() && global.url.is_none() {
        global.socket.clone_from(&server.socket);
        if server.socket.is_none() {
            global.url.clone_from(&server.url);
        }
        if variable("FARRIER_TOKEN").is_none() {
            global.token_file = global.token_file.or_else(|| server.token_file.clone());
        }
    }
    if global.ca.is_none() && variable("FARRIER_CA").is_none() {
        global.ca.clone_from(&server.ca);
    }
    global
}

/// Returns the file of certificate authorities named by the flags, the environment or the configuration.
pub(crate) fn authorities(global: &Global) -> Option<PathBuf> {
    let named = global.ca.clone().or_else(|| variable("FARRIER_CA").map(PathBuf::from));
    named.or_else(|| Config::load(variable).server.ca)
}

fn trust(global: &Global) -> Result<Trust, Failure> {
    let Some(path) = authorities(global) else { return Ok(Trust::default()) };
    let pem = std::fs::read(&path).map_err(|source| Failure::io(format!("reading {}", path.display()), source))?;
    Trust::with_ca(&pem).map_err(|error| Failure::Usage(format!("--ca: {} {error}", path.display())))
}

/// Returns an error if the options or the configuration file refuse changes. Commands that may use [`connect_job`] call
/// this before changes.
pub(crate) fn check_writable(global: &Global, doing: &str) -> Result<(), Failure> {
    let is_read_only = global.read_only || Config::load(variable).server.read_only;
    if is_read_only { Err(Failure::call(doing)(ClientError::ReadOnly)) } else { Ok(()) }
}

/// Returns a client for the artifact service of the job in which this process runs. It does not refuse changes, because
/// this service also lists with POST.
pub(crate) async fn connect_job(global: &Global, token: Token) -> Result<Client, Failure> {
    let results = variable("ACTIONS_RESULTS_URL").and_then(|url| url.into_string().ok());
    client(choose(global, results.as_deref(), variable)?, Some(token), global).await
}

async fn client(choice: Choice, token: Option<Token>, global: &Global) -> Result<Client, Failure> {
    let endpoint = match choice {
        Choice::Given(endpoint) => endpoint,
        Choice::Search(paths) => search(paths).await?,
    };
    // The file is only read if it is needed.
    let is_https = matches!(&endpoint, Endpoint::Http(url) if url.scheme() == "https");
    let trust = if is_https { trust(global)? } else { Trust::default() };
    Client::trusting(endpoint, token, &trust).map_err(Failure::call("connecting"))
}

/// Selects the daemon. `results` is the origin from the job's environment. It is used only if nothing else
/// names a daemon, and ignored if it is not a valid URL.
fn choose(
    global: &Global,
    results: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Choice, Failure> {
    if let Some(url) = &global.url {
        let endpoint = Endpoint::parse_url(url).map_err(|error| Failure::Usage(format!("--url {error}")))?;
        return Ok(Choice::Given(endpoint));
    }
    if let Some(path) = &global.socket {
        return Ok(Choice::Given(Endpoint::Unix(path.clone())));
    }
    if let Some(url) = variable("FARRIER_URL") {
        let endpoint = Endpoint::parse_url(&url.to_string_lossy());
        return endpoint.map(Choice::Given).map_err(|error| Failure::Usage(format!("FARRIER_URL {error}")));
    }
    if let Some(path) = variable("FARRIER_SOCKET") {
        return Ok(Choice::Given(Endpoint::Unix(path.into())));
    }
    if let Some(endpoint) = results.and_then(|url| Endpoint::parse_url(url).ok()) {
        return Ok(Choice::Given(endpoint));
    }
    Ok(Choice::Search(usual_sockets(variable)))
}

/// Returns the sockets where daemons usually listen: those of the same user (with and without a runtime directory),
/// then the system service's.
fn usual_sockets(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // Relative paths in these variables are invalid and must be ignored (XDG Base Directory Specification).
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = directory("XDG_RUNTIME_DIR");
    let data = directory("XDG_DATA_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/share")));
    let user = runtime.into_iter().map(|path| path.join("farrier/farrier.sock"));
    let data = data.into_iter().map(|path| path.join("farrier/farrier.sock"));
    user.chain(data).chain([SERVICE_SOCKET.into()]).collect()
}

/// Returns the first socket on which a process accepts connections. A killed daemon leaves its socket file
/// behind.
async fn search(paths: Vec<PathBuf>) -> Result<Endpoint, Failure> {
    let mut tried = Vec::new();
    for path in paths {
        match probe_socket(&path).await {
            Ok(()) => return Ok(Endpoint::Unix(path)),
            Err(error) => tried.push((path, error)),
        }
    }
    Err(Failure::NoDaemon(tried))
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
    fn user_sockets_are_tried_before_the_system_socket() {
        assert_eq!(
            paths(&[("XDG_RUNTIME_DIR", "/run/user/7"), ("HOME", "/home/a")]),
            ["/run/user/7/farrier/farrier.sock", "/home/a/.local/share/farrier/farrier.sock", SERVICE_SOCKET]
        );
        assert_eq!(paths(&[("XDG_DATA_HOME", "/d"), ("HOME", "/home/a")]), ["/d/farrier/farrier.sock", SERVICE_SOCKET]);
        assert_eq!(paths(&[("XDG_RUNTIME_DIR", "relative"), ("HOME", "also")]), [SERVICE_SOCKET]);
    }

    #[test]
    fn flags_override_the_environment_and_the_environment_overrides_the_origin() {
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
        assert_eq!(choose(&none, Some("https://origin"), environment(&[])).unwrap(), http("https://origin"));
        let both: &[_] = &[("FARRIER_SOCKET", "/env.sock"), ("FARRIER_URL", "https://env")];
        assert_eq!(choose(&none, origin, environment(both)).unwrap(), http("https://env"));
        assert_eq!(choose(&socket, origin, environment(both)).unwrap(), unix("/flag.sock"));
        for other in [None, Some("nonsense")] {
            assert!(matches!(choose(&none, other, environment(&[])).unwrap(), Choice::Search(_)));
        }
        let invalid = Global { url: Some("ftp://h".into()), ..Global::default() };
        assert_eq!(choose(&invalid, None, environment(&[])).unwrap_err().code(), crate::exit::USAGE);
    }

    #[test]
    fn the_configuration_file_has_the_lowest_priority() {
        let server = Server {
            url: Some("http://h".into()),
            token_file: Some("/token".into()),
            ca: Some("/ca.pem".into()),
            read_only: true,
            ..Server::default()
        };
        let none = Global::default();
        let from_file = configured(&none, &server, false, environment(&[]));
        assert_eq!((from_file.url.as_deref(), from_file.token_file.is_some()), (Some("http://h"), true));
        assert_eq!(from_file.ca.as_deref(), Some(Path::new("/ca.pem")));
        let own = configured(&none, &server, false, environment(&[("FARRIER_TOKEN", "t"), ("FARRIER_CA", "/c")]));
        assert_eq!((own.url.as_deref(), own.token_file, own.ca), (Some("http://h"), None, None));
        let flag = Global { socket: Some("/s".into()), ..Global::default() };
        for other in
            [configured(&none, &server, true, environment(&[])), configured(&flag, &server, false, environment(&[]))]
        {
            assert_eq!((other.url, other.token_file, other.read_only), (None, None, true));
        }
    }

    #[test]
    fn a_context_sets_the_options_of_its_daemon_and_flags_override_it() {
        let server = Server {
            url: Some("https://prod".into()),
            token_file: Some("/prod".into()),
            ca: Some("/ca.pem".into()),
            read_only: true,
            ..Server::default()
        };
        let prod = Context { name: "prod".into(), server, ..Context::default() };
        let plain = in_context(&Global::default(), &prod);
        assert_eq!((plain.context.as_deref(), plain.url.as_deref()), (Some("prod"), Some("https://prod")));
        assert_eq!((plain.token_file.as_deref(), plain.read_only), (Some(Path::new("/prod")), true));
        // The file's own daemon adds no token to that of a context.
        let default = Server { token_file: Some("/default".into()), ..Server::default() };
        let bare = Context { server: Server { token_file: None, ..prod.server.clone() }, ..prod.clone() };
        let bare = in_context(&Global::default(), &bare);
        assert_eq!(configured(&bare, &default, false, environment(&[])).token_file, None);
        let flags = Global { token_file: Some("/flag".into()), ca: Some("/flag.pem".into()), ..Global::default() };
        let flagged = in_context(&flags, &prod);
        assert_eq!(flagged.token_file.as_deref(), Some(Path::new("/flag")));
        assert_eq!(flagged.ca.as_deref(), Some(Path::new("/flag.pem")));
    }

    #[test]
    fn two_variables_that_name_a_daemon_are_refused_and_flags_override_both() {
        let none = Global::default();
        let named = |global: &Global, set| context_name(global, environment(set));
        assert_eq!(named(&none, &[]).unwrap(), None);
        assert_eq!(named(&none, &[("FARRIER_CONTEXT", "lab")]).unwrap().as_deref(), Some("lab"));
        let both: &[_] = &[("FARRIER_CONTEXT", "lab"), ("FARRIER_SOCKET", "/s")];
        let refused = named(&none, both).unwrap_err();
        assert_eq!(refused.code(), crate::exit::USAGE);
        assert!(refused.to_string().contains("FARRIER_CONTEXT and FARRIER_SOCKET both name a daemon"), "{refused}");
        let url = Global { url: Some("http://h".into()), ..Global::default() };
        assert_eq!(named(&url, both).unwrap(), None);
        let flag = Global { context: Some("prod".into()), ..Global::default() };
        assert_eq!(named(&flag, both).unwrap().as_deref(), Some("prod"));
        let two = Global { socket: Some("/s".into()), ..flag };
        assert_eq!(named(&two, &[]).unwrap_err().code(), crate::exit::USAGE);
    }

    #[tokio::test]
    async fn a_socket_without_a_listener_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let (stale, live) = (dir.path().join("stale"), dir.path().join("live"));
        drop(tokio::net::UnixListener::bind(&stale).unwrap());
        let _listener = tokio::net::UnixListener::bind(&live).unwrap();
        let missing = dir.path().join("missing");
        let found = search(vec![missing.clone(), stale.clone(), live.clone()]).await.unwrap();
        assert_eq!(found, Endpoint::Unix(live));
        let Err(Failure::NoDaemon(tried)) = search(vec![missing.clone(), stale.clone()]).await else { panic!() };
        assert_eq!(tried.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&missing, &stale]);
    }
}
