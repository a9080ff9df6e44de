//! The way to the daemon: found when it is first needed, looked for again when it is lost.
//!
//! Owns who is spoken to and as whom, which may change while the program runs, and the start of a
//! daemon where there is none.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use farrier_common::client::{Client, Token};
use tokio::sync::OnceCell;

use super::{Answer, Ask, Problem, Ticket, Told, Turn, fetch};
use crate::{args::Global, endpoint, exit::Failure, ui::starter::Starter};

/// How long a daemon that was started may take until it answers, and how often it is asked.
const STARTED_WITHIN: Duration = Duration::from_secs(20);
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Which token the daemon is shown.
#[derive(Clone, Debug)]
enum Shown {
    /// The one of flags and configuration.
    Usual,
    Typed(Token),
    Nothing,
}

/// A daemon, the caller's credentials, and the client once it is connected.
#[derive(Clone, Debug)]
struct Route {
    global: Global,
    token: Shown,
    /// All requests of one route wait for one connection attempt. Another route has another cell.
    client: Arc<OnceCell<Client>>,
}

/// The route that requests take.
///
/// The lock is never held across an `await`: changing the route must not wait for a request that connects,
/// because the task that changes the route is also the one that polls all requests.
#[derive(Debug)]
pub(super) struct Lane(Mutex<Route>);

impl Lane {
    pub(super) fn new(global: &Global) -> Self {
        Self(Mutex::new(Route { global: global.clone(), token: Shown::Usual, client: Arc::default() }))
    }

    /// Uses another daemon or other credentials from now on.
    pub(super) fn turn(&self, turn: Turn) {
        let mut route = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match turn {
            Turn::To(place) if place.contains("://") => (route.global.url, route.global.socket) = (Some(place), None),
            Turn::To(place) => (route.global.url, route.global.socket) = (None, Some(place.into())),
            Turn::With(token) => route.token = Shown::Typed(token),
            Turn::Bare => route.token = Shown::Nothing,
        }
        route.client = Arc::default();
    }

    /// Drops the client and with it its idle connections, so that no timer wakes this thread.
    pub(super) fn rest(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).client = Arc::default();
    }

    /// Drops the client of `route`, unless another one has taken its place.
    fn forget(&self, route: &Route) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current.client, &route.client) {
            current.client = Arc::default();
        }
    }

    fn route(&self) -> Route {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers `ask`; parts of the answer are told on the way.
    pub(super) async fn answer(
        &self,
        ticket: Ticket,
        ask: Ask,
        tell: &(impl Fn(Told) -> bool + Clone),
    ) -> Result<Answer, Problem> {
        if let Ask::StartDaemon(starter) = ask {
            return Ok(self.start(&starter).await?);
        }
        let route = self.route();
        let client = route.client(tell, endpoint::connect(&route.global)).await?;
        let part = |answer: Answer| {
            tell(Told::Answer(ticket, Ok(answer)));
        };
        match fetch::answer(&client, ask, &part).await {
            Ok(answer) => Ok(answer),
            Err(failure) => {
                let problem = Problem::from(failure);
                if problem.is_away() {
                    // The daemon may come back on another socket.
                    self.forget(&route);
                }
                Err(problem)
            }
        }
    }

    /// Starts a daemon and waits until it answers, or until it has ended.
    async fn start(&self, starter: &Starter) -> Result<Answer, Failure> {
        let doing = || format!("starting {}", starter.program.display());
        let mut child = starter.start().map_err(|source| Failure::io(doing(), source))?;
        let global = self.route().global;
        let begun = tokio::time::Instant::now();
        loop {
            let Err(waiting) = endpoint::connect(&global).await else {
                return Ok(Answer::Started(starter.log.clone()));
            };
            if let Some(status) = child.try_wait().map_err(|source| Failure::io(doing(), source))? {
                let said = starter.last_words();
                return Err(Failure::Other(format!("farrierd ended with {status}; its log says:\n{said}")));
            }
            if begun.elapsed() > STARTED_WITHIN {
                return Err(waiting);
            }
            tokio::time::sleep(ASKED_EVERY).await;
        }
    }
}

impl Route {
    /// The client of this route; the first request connects, the others wait for it.
    async fn client(
        &self,
        tell: &impl Fn(Told) -> bool,
        connect: impl Future<Output = Result<Client, Failure>>,
    ) -> Result<Client, Failure> {
        let connected = async {
            let usual = connect.await?;
            let (client, words) = match &self.token {
                Shown::Usual => (usual, self.global.token_file.as_deref().and_then(from_file)),
                Shown::Typed(token) => (usual.with_token(Some(token.clone())), Some(format!("typed{}", ending(token)))),
                Shown::Nothing => (usual.with_token(None), None),
            };
            tell(Told::Place(client.endpoint().to_string(), words));
            if client.exposes_token() {
                tell(Told::ExposedToken(client.endpoint().to_string()));
            }
            Ok(client)
        };
        self.client.get_or_try_init(|| connected).await.cloned()
    }
}

/// Where a token is from and how it ends, without showing it.
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
    async fn a_connection_attempt_that_hangs_holds_up_no_other_route() {
        let lane = Lane::new(&Global::default());
        let tell = |_| true;
        let first = lane.route();
        let mut hanging = std::pin::pin!(first.client(&tell, std::future::pending()));
        assert!(hanging.as_mut().now_or_never().is_none(), "it still connects");
        // The attempt is not polled any more. Neither call may wait for it.
        lane.rest();
        lane.turn(Turn::To("/other/socket".into()));
        let other = lane.route();
        let connected = other.client(&tell, std::future::ready(Ok(client()))).now_or_never();
        assert!(connected.is_some_and(|result| result.is_ok()));
    }

    #[tokio::test]
    async fn a_token_that_is_sent_unencrypted_to_another_machine_is_reported() {
        let token = Token::new(&"f".repeat(40)).unwrap();
        for (url, is_reported) in [("http://forge.example.net:3000", true), ("http://127.0.0.1:3000", false)] {
            let lane = Lane::new(&Global::default());
            let client = Client::new(Endpoint::parse_url(url).unwrap(), Some(token.clone())).unwrap();
            let told = std::cell::RefCell::new(Vec::new());
            let tell = |one: Told| {
                told.borrow_mut().push(matches!(one, Told::ExposedToken(place) if place.contains("forge.example.net")));
                true
            };
            lane.route().client(&tell, std::future::ready(Ok(client))).await.unwrap();
            assert_eq!(told.borrow().contains(&true), is_reported, "{url}");
        }
    }

    #[tokio::test]
    async fn requests_of_one_route_share_one_connection_attempt() {
        let lane = Lane::new(&Global::default());
        let tell = |_| true;
        lane.route().client(&tell, std::future::ready(Ok(client()))).await.unwrap();
        let again = lane.route();
        assert!(again.client(&tell, std::future::pending()).now_or_never().is_some(), "it is connected");
        // A late failure of an earlier route does not close the connection of the present one.
        lane.turn(Turn::Bare);
        lane.route().client(&tell, std::future::ready(Ok(client()))).await.unwrap();
        lane.forget(&again);
        assert!(lane.route().client.initialized());
        lane.forget(&lane.route());
        assert!(!lane.route().client.initialized());
    }
}
