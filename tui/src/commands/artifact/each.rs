//! Commands about several artifacts: one that fails keeps none of the others back.

use crate::{
    exit::{self, Failure},
    output::Output,
};

/// What came of all of them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: usize,
    failures: Vec<Failure>,
}

impl Tally {
    /// Counts one. Says why it failed, if it did, on stderr and to the caller.
    pub(super) fn count<T>(&mut self, result: Result<T, Failure>, output: &Output) -> Result<T, String> {
        match result {
            Ok(done) => {
                self.done += 1;
                Ok(done)
            }
            Err(failure) => {
                let _ = output.error(&failure);
                let report = failure.report();
                self.failures.push(failure);
                Err(report)
            }
        }
    }

    pub(super) fn code(&self) -> u8 {
        match self.failures.first() {
            None => exit::OK,
            Some(_) if self.done > 0 => exit::PARTLY,
            Some(first) => first.code(),
        }
    }
}
