//! The way to the daemon: found when it is first needed, looked for again when it is lost.
//!
//! Owns who is spoken to and as whom, which may change while the program runs, and the start of a
//! daemon where there is none.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use farrier_common::client::{Client, Token};

use super::{Answer, Ask, Problem, Ticket, Told, Turn, fetch};
use crate::{args::Global, endpoint, exit::Failure, ui::starter::Starter};

/// How long a daemon that was started may take until it answers, and how often it is asked.
const STARTED_WITHIN: Duration = Duration::from_secs(20);
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Who is spoken to.
#[derive(Debug)]
pub(super) struct Lane {
    wanted: Mutex<(Global, Option<Token>)>,
    client: tokio::sync::Mutex<Option<Client>>,
}

impl Lane {
    pub(super) fn new(global: &Global) -> Self {
        Self { wanted: Mutex::new((global.clone(), None)), client: tokio::sync::Mutex::new(None) }
    }

    /// Speaks to somebody else, or as somebody else, from now on.
    pub(super) async fn turn(&self, turn: Turn) {
        {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            match turn {
                Turn::To(place) if place.contains("://") => (wanted.0.url, wanted.0.socket) = (Some(place), None),
                Turn::To(place) => (wanted.0.url, wanted.0.socket) = (None, Some(place.into())),
                Turn::With(token) => wanted.1 = Some(token),
                Turn::Bare => (wanted.0.token_file, wanted.1) = (None, None),
            }
        }
        *self.client.lock().await = None;
    }

    fn wanted(&self) -> (Global, Option<Token>) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn client(&self, tell: &impl Fn(Told) -> bool) -> Result<Client, Failure> {
        let mut known = self.client.lock().await;
        if let Some(client) = &*known {
            return Ok(client.clone());
        }
        let (global, typed) = self.wanted();
        let mut client = endpoint::connect(&global).await?;
        if typed.is_some() {
            client = client.with_token(typed.clone());
        }
        tell(Told::Place(client.endpoint().to_string(), words(&global, typed.as_ref())));
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

/// Which token is shown to the daemon, without showing it here.
fn words(global: &Global, typed: Option<&Token>) -> Option<String> {
    if let Some(token) = typed {
        let ending = token.ending().map_or_else(String::new, |ending| format!(" (ends with ...{ending})"));
        return Some(format!("typed{ending}"));
    }
    let path = global.token_file.as_ref()?;
    let token = Token::new(&std::fs::read_to_string(path).ok()?).ok();
    let ending = token.as_ref().and_then(Token::ending);
    let ending = ending.map_or_else(String::new, |ending| format!("  (ends with ...{ending})"));
    Some(format!("from {}{ending}", path.display()))
}
