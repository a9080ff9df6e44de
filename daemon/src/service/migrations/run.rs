//! The work of one migration, from the first question to the source until the row says "done".

use std::sync::Arc;

use super::{
    TRIES, WhenFailed, mark_failed,
    record::{Placed, record},
    registry::{Outcome, Running},
};
use crate::{
    app::App,
    git::{GitError, ImportSource, Imported, Staged},
    model::identity::Identity,
    service::{Error, events::Actor, pushes, repositories::Found, unknown::settle},
    store::{Tx, repositories},
};

/// Everything that the work needs.
pub(super) struct Work {
    pub(super) app: App,
    pub(super) identity: Identity,
    pub(super) found: Found,
    pub(super) source: Arc<ImportSource>,
    pub(super) running: Arc<Running>,
    pub(super) when_failed: WhenFailed,
}

/// Why there is no repository at the end.
pub(super) enum Failed {
    /// Nobody wants the repository any more.
    Cancelled,
    /// The daemon stops.
    Stopped,
    /// It took too long.
    Time,
    /// The source or git said no.
    Git(GitError),
    /// The repository is in its place, and the row does not say so yet.
    Unrecorded(Error),
}

/// What came over and where its `HEAD` points.
struct Fetched {
    head: String,
    sha256: bool,
    imported: Imported,
}

impl Work {
    pub(super) async fn run(self) -> Result<Found, Error> {
        let id = self.found.repository.id;
        let (result, outcome) = match self.work().await {
            Ok(found) => (Ok(found), Outcome::Done),
            Err(failed) => {
                let cancelled = matches!(failed, Failed::Cancelled);
                let error = self.clean_up(failed).await;
                let outcome = if cancelled { Outcome::Cancelled } else { Outcome::Failed(reason(&error)) };
                (Err(error), outcome)
            }
        };
        self.app.migrations.end(id, outcome, self.app.now_ms());
        // A deletion waits for this.
        self.app.sweep.now();
        result
    }

    async fn work(&self) -> Result<Found, Failed> {
        let (app, limits) = (&self.app, &self.app.config.migration);
        self.running.enter("waiting", app.now_ms());
        let staged = app.git.stage(self.found.repository.id);
        let fetched = tokio::select! {
            () = self.running.cancel.cancelled() => Err(Failed::Cancelled),
            () = app.tasks.stop().cancelled() => Err(Failed::Stopped),
            () = tokio::time::sleep(limits.timeout) => Err(Failed::Time),
            fetched = self.fetch(&staged) => fetched.map_err(Failed::Git),
        };
        match fetched {
            Ok(fetched) => {
                self.running.enter("recording", app.now_ms());
                staged.publish().await.map_err(Failed::Git)?;
                self.finish(fetched).await
            }
            Err(failed) => {
                staged.discard().await;
                Err(failed)
            }
        }
    }

    async fn fetch(&self, staged: &Staged) -> Result<Fetched, GitError> {
        let _slot = self.app.migrations.slots.acquire().await.map_err(|_| GitError::Busy)?;
        self.running.enter("connecting", self.app.now_ms());
        let about = staged.advertised(&self.source).await?;
        let head = about.head.unwrap_or_else(|| self.found.repository.default_branch.clone());
        let max_bytes = self.app.config.migration.max_bytes;
        let said = |line: &str, size| self.running.hear(line, size, self.app.now_ms());
        let imported = staged.fetch(&self.source, &head, about.sha256, max_bytes, said).await?;
        Ok(Fetched { head, sha256: about.sha256, imported })
    }

    /// Makes the row say that the repository is there, and the event with it. Goes on until the store
    /// says that it is recorded: a repository that is in its place is not given up.
    async fn finish(&self, fetched: Fetched) -> Result<Found, Failed> {
        let (app, id) = (&self.app, self.found.repository.id);
        let Fetched { head, sha256, imported } = fetched;
        let placed = Placed { head, sha256, refs: imported.refs, bytes: imported.bytes };
        let actor = Actor::of(&self.identity);
        let recorded = record(app, id, &self.found.owner, &actor, &placed, u32::MAX).await;
        let repository = recorded.result().map_err(Failed::Unrecorded)?.ok_or(Failed::Cancelled)?;
        let tidied = app.clone();
        app.tasks.short(async move { pushes::tidy(&tidied, id).await });
        Ok(Found { repository, ..self.found.clone() })
    }

    /// Leaves nothing, or a row that says why. Gives what the caller hears.
    ///
    /// Removes no files itself: what was fetched beside the repository's place is gone, and nothing has
    /// come into the place, unless the row was deleted (the sweep removes the files) or could not be
    /// written (the next start finishes the migration).
    async fn clean_up(&self, failed: Failed) -> Error {
        let (app, id) = (&self.app, self.found.repository.id);
        // What somebody gave up is of use to nobody, not even as a row that says so.
        let keeps = self.when_failed == WhenFailed::Keep && !matches!(failed, Failed::Cancelled);
        let error = match failed {
            Failed::Unrecorded(error) => return error,
            failed => told(failed),
        };
        let written = if keeps {
            mark_failed(app, id, &reason(&error)).await
        } else {
            settle(app, TRIES, async |tx: Tx| {
                if let Some(row) = repositories::get(&tx, id).await?.filter(|row| !row.deleted) {
                    repositories::discard(&tx, &row).await?;
                }
                Ok(())
            })
            .await
            .result()
        };
        written.err().unwrap_or(error)
    }
}

/// The sentence without the name of a field.
fn reason(error: &Error) -> String {
    match error {
        Error::Invalid { reason, .. } => reason.clone(),
        error => error.to_string(),
    }
}

pub(super) fn told(failed: Failed) -> Error {
    let invalid = |reason: String| Error::invalid("clone_addr", reason);
    match failed {
        Failed::Cancelled => Error::Exists { message: "the migration was cancelled".into() },
        Failed::Stopped => Error::Exists { message: "the daemon was stopped meanwhile".into() },
        Failed::Time => invalid("the migration took too long".into()),
        Failed::Unrecorded(error) => error,
        Failed::Git(GitError::Failed { stderr, .. }) if is_refusal(&stderr) => {
            invalid("authentication failed at the source".into())
        }
        Failed::Git(GitError::Failed { stderr, .. }) => {
            invalid(format!("the source cannot be fetched: {}", short(&stderr)))
        }
        Failed::Git(GitError::TooMuch { limit, .. }) => invalid(format!("the repository is larger than {limit} bytes")),
        Failed::Git(GitError::Timeout { .. }) => invalid("the source does not answer".into()),
        Failed::Git(source) => Error::Git { doing: "fetching a repository", source },
    }
}

/// Whether git was turned away for want of credentials.
fn is_refusal(stderr: &str) -> bool {
    ["Authentication failed", "could not read Username", "could not read Password", "error: 401", "error: 403"]
        .iter()
        .any(|text| stderr.contains(text))
}

/// The last of what git complained about: the rest leads up to it.
fn short(stderr: &str) -> String {
    const MAX_CHARS: usize = 300;
    let fatal = stderr.rfind("fatal: ").map_or(stderr, |at| &stderr[at + "fatal: ".len()..]);
    fatal.chars().take(MAX_CHARS).collect()
}
