//! Counts the results of commands on several artifacts. A failure does not stop the others.

use crate::{
    exit::{self, Failure},
    output::Output,
};

/// The results of a command on several artifacts.
#[derive(Debug, Default)]
pub(super) struct BatchResult {
    done: usize,
    failures: Vec<Failure>,
}

impl BatchResult {
    /// Counts a result. Reports a failure on standard error and to the caller.
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
