//! Logs errors of work that is tried again after a short pause.

use std::{borrow::Cow, error::Error as StdError};

use super::{StoreError, engine::EngineError};
use crate::outage::Outage;

/// Work of a background task that is tried again and again. Its errors are logged when they begin, once a minute, and
/// when they end. A store that is not available is left out: the engine logs that, once for all work.
#[derive(Debug)]
pub struct RetriedWork {
    name: Cow<'static, str>,
    outage: Outage,
}

impl RetriedWork {
    /// `name`: what fails, as the subject of a sentence.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), outage: Outage::default() }
    }

    /// Notes an error.
    pub fn failed(&self, error: &(dyn StdError + 'static)) {
        let name = &self.name;
        if is_unavailable(error) {
            tracing::debug!(error, "{name} failed and will be tried again");
        } else if let Some(lasts) = self.outage.failed() {
            tracing::error!(error, for_secs = lasts.as_secs(), "{name} failed and will be tried again");
        }
    }

    /// Notes a success.
    pub fn succeeded(&self) {
        if let Some(lasted) = self.outage.succeeded() {
            tracing::info!(after_secs = lasted.as_secs(), "{} succeeded again", self.name);
        }
    }
}

/// Returns whether an error says that the store is not available at the moment. The engine logs that. The outcome of a
/// commit that is unknown for this reason is another error.
pub fn is_unavailable(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<StoreError>() {
            return matches!(error, StoreError::Engine(EngineError::Unavailable));
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Wrapped {
        #[error("a step failed")]
        Step(#[source] StoreError),
        #[error(transparent)]
        Store(StoreError),
    }

    #[test]
    fn an_unavailable_store_is_recognized_below_other_errors() {
        let away = || StoreError::Engine(EngineError::Unavailable);
        assert!(is_unavailable(&away()) && is_unavailable(&Wrapped::Step(away())));
        assert!(!is_unavailable(&StoreError::Unknown(EngineError::Unavailable)));
        let damaged = || StoreError::Engine(EngineError::Damaged { reason: String::new() });
        assert!(!is_unavailable(&damaged()) && !is_unavailable(&Wrapped::Store(damaged())));
    }
}
