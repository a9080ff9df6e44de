//! The way to the daemon: found when it is first needed, looked for again when it is lost.
//!
//! Owns who is spoken to and as whom, which may change while the program runs, and the start of a
//! daemon where there is none.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use farrier_common::client::{Client, Token};

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

/// Who is spoken to.
#[derive(Debug)]
pub(super) struct Lane {
    wanted: Mutex<(Global, Shown)>,
    client: tokio::sync::Mutex<Option<Client>>,
}

impl Lane {
    pub(super) fn new(global: &Global) -> Self {
        Self { wanted: Mutex::new((global.clone(), Shown::Usual)), client: tokio::sync::Mutex::new(None) }
    }

    /// Speaks to somebody else, or as somebody else, from now on.
    pub(super) async fn turn(&self, turn: Turn) {
        {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            match turn {
                Turn::To(place) if place.contains("://") => (wanted.0.url, wanted.0.socket) = (Some(place), None),
                Turn::To(place) => (wanted.0.url, wanted.0.socket) = (None, Some(place.into())),
                Turn::With(token) => wanted.1 = Shown::Typed(token),
                Turn::Bare => wanted.1 = Shown::Nothing,
            }
        }
        *self.client.lock().await = None;
    }

    /// Closes what is not used, so that nothing wakes this thread until something is asked.
    pub(super) async fn rest(&self) {
        *self.client.lock().await = None;
    }

    fn wanted(&self) -> (Global, Shown) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn client(&self, tell: &impl Fn(Told) -> bool) -> Result<Client, Failure> {
        let mut known = self.client.lock().await;
        if let Some(client) = &*known {
            return Ok(client.clone());
        }
        let (global, shown) = self.wanted();
        let usual = endpoint::connect(&global).await?;
        let (client, words) = match shown {
            Shown::Usual => (usual, global.token_file.as_deref().and_then(from_file)),
            Shown::Typed(token) => {
                let words = format!("typed{}", ending(&token));
                (usual.with_token(Some(token)), Some(words))
            }
            Shown::Nothing => (usual.with_token(None), None),
        };
        tell(Told::Place(client.endpoint().to_string(), words));
        *known = Some(client.clone());
        Ok(client)
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
        let client = self.client(tell).await?;
        let part = |answer: Answer| {
            tell(Told::Answer(ticket, Ok(answer)));
        };
        match fetch::answer(&client, ask, &part).await {
            Ok(answer) => Ok(answer),
            Err(failure) => {
                let problem = Problem::from(failure);
                if problem.is_away() {
                    // It may come back somewhere else.
                    *self.client.lock().await = None;
                }
                Err(problem)
            }
        }
    }

    /// Starts a daemon and waits until it answers, or until it has ended.
    async fn start(&self, starter: &Starter) -> Result<Answer, Failure> {
        let doing = || format!("starting {}", starter.program.display());
        let mut child = starter.start().map_err(|source| Failure::io(doing(), source))?;
        let (global, _) = self.wanted();
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

/// Where a token is from and how it ends, without showing it.
fn from_file(path: &Path) -> Option<String> {
    let token = Token::new(&std::fs::read_to_string(path).ok()?).ok();
    Some(format!("from {}{}", path.display(), token.as_ref().map(ending).unwrap_or_default()))
}

fn ending(token: &Token) -> String {
    token.ending().map_or_else(String::new, |ending| format!("  (ends with ...{ending})"))
}
