//! Validates the fields of a hook other than its `config`.

use crate::{
    model::{
        branch_filter::BranchFilter,
        hook_config::ConfigError,
        hook_event::{self, EventSelection},
    },
    service::Error,
};

/// Longest name, in characters.
const NAME_MAX_CHARS: usize = 255;
/// Longest value of the header `Authorization`, in bytes.
const AUTHORIZATION_MAX_BYTES: usize = 2_048;

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Invalid(reason) => Self::Unusable { reason },
            ConfigError::InvalidWith400(reason) => Self::Body { reason },
        }
    }
}

pub(super) fn branch_filter(text: &str) -> Result<(), Error> {
    match BranchFilter::parse(text) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Error::invalid("branch_filter", reason)),
    }
}

/// Returns the name without surrounding whitespace.
pub(super) fn name(text: &str) -> Result<String, Error> {
    let text = text.trim();
    if text.chars().count() > NAME_MAX_CHARS {
        return Err(Error::invalid("name", "MaxSize"));
    }
    Ok(text.to_owned())
}

/// Checks that the text is a valid header value.
pub(super) fn authorization(text: &str) -> Result<(), Error> {
    let is_valid = text.len() <= AUTHORIZATION_MAX_BYTES && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_valid { Ok(()) } else { Err(Error::invalid("authorization_header", "is not valid as the value of a header")) }
}

/// Reads the two lists of event names. If both are empty, returns the default events. Returns an error if no name is
/// valid: a hook without events is probably a typing error.
pub(super) fn events(events: &[String], exact: &[String]) -> Result<EventSelection, Error> {
    let (given, selection) = match (events, exact) {
        ([], []) => return Ok(hook_event::read(&[hook_event::DEFAULT])),
        (events, []) => (events, hook_event::read(events)),
        (_, exact) => (exact, hook_event::read_exact(exact)),
    };
    if selection.events.is_empty() {
        let names = given.iter().take(10).map(|name| name.chars().take(50).collect::<String>());
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Error::invalid("events", format!("none of these is an event: {names}")));
    }
    Ok(selection)
}
