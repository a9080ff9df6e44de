//! `farrier artifact`: uploads, lists, downloads and deletes artifacts.

mod delete;
mod deleted;
mod download;
mod expire;
mod list;
mod source;
mod upload;

use crate::{
    args::{Artifact, Global},
    exit::{self, Failure},
    output::Output,
};

pub(super) async fn run(command: Artifact, global: &Global, output: &Output) -> Result<u8, Failure> {
    match command {
        Artifact::Upload(args) => upload::run(args, global, output).await,
        Artifact::List(args) if args.deleted => {
            deleted::list(args.scope.repo.as_ref(), args.limit.items(), global, output).await
        }
        Artifact::List(args) => list::run(args, global, output).await,
        Artifact::Download(args) => download::run(args, global, output).await,
        Artifact::Expire(args) => expire::run(args, global, output).await,
        Artifact::Delete(args) => delete::run(args, global, output).await,
        Artifact::Restore { id } => deleted::restore(id, global, output).await,
        Artifact::Purge { id, yes } => deleted::purge(id, yes, global, output).await,
    }
}

/// Counts the results of a command on several artifacts. A failure does not stop the others.
#[derive(Debug, Default)]
struct BatchResult {
    done: usize,
    failures: Vec<Failure>,
}

impl BatchResult {
    /// Counts a result. Reports a failure on standard error and to the caller.
    fn count<T>(&mut self, result: Result<T, Failure>, output: &Output) -> Result<T, String> {
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

    /// Returns the exit code of the command.
    fn code(&self) -> u8 {
        match self.failures.first() {
            None => exit::OK,
            Some(_) if self.done > 0 => exit::PARTLY,
            Some(first) => first.code(),
        }
    }
}
