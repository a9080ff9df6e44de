//! The connection to the daemon: opened by the first request, and again after it is lost.
//!
//! Owns the address, the context and the credentials, which may change while the program runs, and the start of a
//! daemon.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use farrier_common::client::{Client, Token};
use tokio::sync::OnceCell;

use super::{Answer, ExpectedRepository, NetworkEvent, Problem, Reconnect, Request, Ticket, expected, fetch};
use crate::{args::Global, config::Context, endpoint, exit::Failure, ui::starter::Starter};

/// How long a started daemon may take until it responds, and how often it is tried.
const STARTED_WITHIN: Duration = Duration::from_secs(20);
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Which token is sent.
#[derive(Clone, Debug)]
enum TokenSource {
    /// The token of flags and configuration.
    Usual,
    Typed(Token),
    Nothing,
}

/// An address, credentials, and the client once it is connected.
#[derive(Clone, Debug)]
struct Route {
    global: Global,
    token: TokenSource,
    /// All requests of one route share one connection attempt. Another route has another cell.
    client: Arc<OnceCell<Client>>,
    /// Number of reconnections before this route.
    reconnections: u64,
}

/// The current route of requests.
///
/// The lock is never held across an `await`: changing the route must not wait for a request that connects,
/// because the task that changes the route also polls all requests.
#[derive(Debug)]
pub(super) struct Connection {
    /// The options of the program, without the context that was selected at the start.
    flags: Global,
    route: Mutex<Route>,
}

impl Connection {
    /// Creates the connection to the daemon of the options, or of the selected context.
    pub(super) fn new(flags: &Global, context: Option<&Context>) -> Self {
        let global = context.map_or_else(|| flags.clone(), |context| endpoint::in_context(flags, context));
        let route = Route { global, token: TokenSource::Usual, client: Arc::default(), reconnections: 0 };
        Self { flags: Global { context: None, ..flags.clone() }, route: Mutex::new(route) }
    }

    fn lock(&self) -> MutexGuard<'_, Route> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses another daemon or other credentials from now on. A typed token and the token of a context are only used for
    /// their daemon.
    pub(super) fn reconnect(&self, target: Reconnect) {
        let mut route = self.lock();
        match target {
            Reconnect::To(address) => {
                let (socket, url) =
                    if address.contains("://") { (None, Some(address)) } else { (Some(address.into()), None) };
                route.global = Global { socket, url, ..self.flags.clone() };
                route.token = TokenSource::Usual;
            }
            Reconnect::Context(context) => {
                let flags = Global { token_file: None, ..self.flags.clone() };
                route.global = endpoint::in_context(&flags, &context);
                route.token = TokenSource::Usual;
            }
            Reconnect::WithToken(token) => route.token = TokenSource::Typed(token),
            Reconnect::WithoutToken => route.token = TokenSource::Nothing,
        }
        route.client = Arc::default();
        route.reconnections += 1;
    }

    /// Drops the client and with it its idle connections, so that no timer wakes this thread.
    pub(super) fn rest(&self) {
        self.lock().client = Arc::default();
    }

    /// Drops the client of `route`, unless the route has changed.
    fn forget(&self, route: &Route) {
        let mut current = self.lock();
        if Arc::ptr_eq(&current.client, &route.client) {
            current.client = Arc::default();
        }
    }

    fn route(&self) -> Route {
        self.lock().clone()
    }

    /// Sends a request, unless a name belongs to another repository than expected. Pages and progress go to `send`
    /// before the final response is returned.
    ///
    /// The names are checked by the same client: after a reconnection, the request must not go to a daemon whose
    /// repositories were not checked.
    pub(super) async fn answer(
        &self,
        ticket: Ticket,
        request: Request,
        expected: &[ExpectedRepository],
        send: &(impl Fn(NetworkEvent) -> bool + Clone),
    ) -> Result<Answer, Problem> {
        if let Request::StartDaemon(starter) = request {
            return Ok(self.start(&starter).await?);
        }
        let route = self.route();
        let client = route.client(send, endpoint::connect(&route.global)).await?;
        let part = |answer: Answer| {
            send(NetworkEvent::Answer(ticket, Ok(answer)));
        };
        let work = async {
            expected::check(&client, expected).await?;
            Ok::<Answer, Problem>(fetch::answer(&client, request, &part).await?)
        };
        let answered = work.await;
        if answered.as_ref().is_err_and(Problem::is_unreachable) {
            // After a restart the daemon may listen on another socket.
            self.forget(&route);
        }
        answered
    }

    /// Starts a daemon and waits until it responds or ends.
    async fn start(&self, starter: &Starter) -> Result<Answer, Failure> {
        let doing = || format!("starting {}", starter.program.display());
        let mut child = starter.start().map_err(|source| Failure::io(doing(), source))?;
        let global = self.route().global;
        let started = tokio::time::Instant::now();
        loop {
            let Err(waiting) = endpoint::connect(&global).await else {
                return Ok(Answer::Started(starter.log.clone()));
            };
            if let Some(status) = child.try_wait().map_err(|source| Failure::io(doing(), source))? {
                let log = starter.last_words();
                return Err(Failure::Other(format!("farrierd ended with {status}; end of its log:\n{log}")));
            }
            if started.elapsed() > STARTED_WITHIN {
                return Err(waiting);
            }
            tokio::time::sleep(TRY_EVERY).await;
        }
    }
}

impl Route {
    /// Returns the client of this route; the first request connects, the others wait for it.
    async fn client(
        &self,
        send: &impl Fn(NetworkEvent) -> bool,
        connect: impl Future<Output = Result<Client, Failure>>,
    ) -> Result<Client, Failure> {
        let connected = async {
            let usual = connect.await?.of_full_screen();
            let (client, token) = match &self.token {
                TokenSource::Usual => (usual, self.global.token_file.as_deref().and_then(from_file)),
                TokenSource::Typed(token) => {
                    (usual.with_token(Some(token.clone())), Some(format!("typed{}", ending(token))))
                }
                TokenSource::Nothing => (usual.with_token(None), None),
            };
            send(NetworkEvent::Endpoint(self.reconnections, client.endpoint().to_string(), token));
            if client.exposes_token() {
                send(NetworkEvent::ExposedToken(self.reconnections, client.endpoint().to_string()));
            }
            Ok(client)
        };
        self.client.get_or_try_init(|| connected).await.cloned()
    }
}

/// Describes the token of a file by its path and its last characters.
fn from_file(path: &Path) -> Option<String> {
    let token = Token::new(&std::fs::read_to_string(path).ok()?).ok();
    Some(format!("from {}{}", path.display(), token.as_ref().map(ending).unwrap_or_default()))
}

fn ending(token: &Token) -> String {
    token.ending().map_or_else(String::new, |ending| format!("  (ends with ...{ending})"))
}

#[cfg(test)]
mod tests {
    use farrier_common::client::Endpoint;
    use futures_util::FutureExt as _;

    use super::*;

    fn client() -> Client {
        Client::new(Endpoint::Unix("/nonexistent/s".into()), None).unwrap()
    }

    #[tokio::test]
    async fn a_connection_attempt_that_hangs_does_not_block_another_route() {
        let connection = Connection::new(&Global::default(), None);
        let send = |_| true;
        let first = connection.route();
        let mut hanging = std::pin::pin!(first.client(&send, std::future::pending()));
        assert!(hanging.as_mut().now_or_never().is_none(), "the attempt is still pending");
        // The attempt is no longer polled. Neither of the next calls may wait for it.
        connection.rest();
        connection.reconnect(Reconnect::To("/other/socket".into()));
        let other = connection.route();
        let connected = other.client(&send, std::future::ready(Ok(client()))).now_or_never();
        assert!(connected.is_some_and(|result| result.is_ok()));
    }

    #[test]
    fn another_daemon_gets_no_token_and_no_limit_of_the_previous_context() {
        let of = |text: &str| crate::config::Config::parse(text).0.contexts.remove(0);
        let prod = of("[contexts.prod]\nurl = \"https://prod\"\ntoken_file = \"/prod\"\nread_only = true\n");
        let lab = of("[contexts.lab]\nsocket = \"/lab.sock\"\n");
        let flags = Global { token_file: Some("/flag".into()), context: Some("prod".into()), ..Global::default() };
        let connection = Connection::new(&flags, Some(&prod));
        let route = connection.route();
        assert_eq!((route.global.token_file, route.global.read_only), (Some("/flag".into()), true));
        connection.reconnect(Reconnect::WithToken(Token::new("typed").unwrap()));
        connection.reconnect(Reconnect::Context(Box::new(lab)));
        let Route { global, token, reconnections, .. } = connection.route();
        assert_eq!((global.context.as_deref(), global.url, global.token_file), (Some("lab"), None, None));
        assert!(!global.read_only && matches!(token, TokenSource::Usual) && reconnections == 2);
        connection.reconnect(Reconnect::Context(Box::new(prod)));
        let global = connection.route().global;
        assert_eq!((global.socket, global.token_file, global.read_only), (None, Some("/prod".into()), true));
        connection.reconnect(Reconnect::To("https://other".into()));
        let global = connection.route().global;
        assert_eq!((global.context, global.url.as_deref()), (None, Some("https://other")));
        assert!(global.token_file == Some("/flag".into()) && !global.read_only);
    }

    #[tokio::test]
    async fn a_token_that_is_sent_unencrypted_to_another_host_is_reported() {
        let token = Token::new(&"f".repeat(40)).unwrap();
        for (url, is_reported) in [("http://forge.example.net:3000", true), ("http://127.0.0.1:3000", false)] {
            let connection = Connection::new(&Global::default(), None);
            let client = Client::new(Endpoint::parse_url(url).unwrap(), Some(token.clone())).unwrap();
            let events = std::cell::RefCell::new(Vec::new());
            let send = |one: NetworkEvent| {
                events.borrow_mut().push(
                    matches!(one, NetworkEvent::ExposedToken(_, address) if address.contains("forge.example.net")),
                );
                true
            };
            connection.route().client(&send, std::future::ready(Ok(client))).await.unwrap();
            assert_eq!(events.borrow().contains(&true), is_reported, "{url}");
        }
    }

    #[tokio::test]
    async fn requests_of_one_route_share_one_connection_attempt() {
        let connection = Connection::new(&Global::default(), None);
        let send = |_| true;
        connection.route().client(&send, std::future::ready(Ok(client()))).await.unwrap();
        let again = connection.route();
        assert!(again.client(&send, std::future::pending()).now_or_never().is_some(), "the connection is reused");
        // A late failure of an earlier route does not close the connection of the current one.
        connection.reconnect(Reconnect::WithoutToken);
        connection.route().client(&send, std::future::ready(Ok(client()))).await.unwrap();
        connection.forget(&again);
        assert!(connection.route().client.initialized());
        connection.forget(&connection.route());
        assert!(!connection.route().client.initialized());
    }
}
