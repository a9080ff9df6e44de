//! What hooks of any place may be told beside their `config`.

use crate::{
    model::{
        branch_filter::BranchFilter,
        hook_config::Refusal,
        hook_event::{self, EventSelection},
    },
    service::Error,
};

/// Longest name, characters.
const NAME_MAX_CHARS: usize = 255;
/// Longest value of the header `Authorization`, bytes.
const AUTHORIZATION_MAX_BYTES: usize = 2_048;

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unusable(reason) => Self::Unusable { reason },
            Refusal::Bad(reason) => Self::Body { reason },
        }
    }
}

pub(super) fn branch_filter(text: &str) -> Result<(), Error> {
    match BranchFilter::parse(text) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Error::invalid("branch_filter", reason)),
    }
}

/// The name without spaces around it.
pub(super) fn name(text: &str) -> Result<String, Error> {
    let text = text.trim();
    if text.chars().count() > NAME_MAX_CHARS {
        return Err(Error::invalid("name", "MaxSize"));
    }
    Ok(text.to_owned())
}

/// What the header can hold.
pub(super) fn authorization(text: &str) -> Result<(), Error> {
    let fits = text.len() <= AUTHORIZATION_MAX_BYTES && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if fits { Ok(()) } else { Err(Error::invalid("authorization_header", "cannot be the value of a header")) }
}

/// What the two lists of names come to; empty ones mean the default. A list that means nothing at
/// all is refused: a hook that hears of nothing is a typing error.
pub(super) fn events(events: &[String], exact: &[String]) -> Result<EventSelection, Error> {
    let (given, asked) = match (events, exact) {
        ([], []) => return Ok(hook_event::read(&[hook_event::DEFAULT])),
        (events, []) => (events, hook_event::read(events)),
        (_, exact) => (exact, hook_event::read_exact(exact)),
    };
    if asked.events.is_empty() {
        let names = given.iter().take(10).map(|name| name.chars().take(50).collect::<String>());
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Error::invalid("events", format!("none of these is an event: {names}")));
    }
    Ok(asked)
}
