//! Runs one migration, from the first request to the source until its result is recorded.

use std::sync::Arc;

use super::{
    TRIES, WhenFailed, mark_failed,
    record::{ImportedRepository, record},
    registry::MigrationTask,
};
use crate::{
    git::{GitError, ImportSource, Imported, Staged},
    model::identity::Identity,
    service::{
        Context, Error,
        commit_outcome::run_until_known,
        events::Actor,
        lfs::{self, BatchObject, ImportedObjects, LfsSource},
        pushes,
        repositories::{FoundRepository, create},
        tasks::TaskResult,
    },
    shares::Holder,
    store::{Tx, repositories},
};

/// A running migration.
pub(super) struct MigrationRun {
    pub(super) context: Context,
    pub(super) identity: Identity,
    pub(super) found: FoundRepository,
    pub(super) source: Arc<ImportSource>,
    pub(super) lfs: Option<LfsSource>,
    pub(super) running: Arc<MigrationTask>,
    pub(super) when_failed: WhenFailed,
}

/// Why a migration ended without a repository.
pub(super) enum MigrationError {
    /// It was cancelled, or the repository was deleted.
    Cancelled,
    /// The daemon is stopping.
    Stopped,
    /// It exceeded the time limit.
    Time,
    /// The source or git failed.
    Git(GitError),
    /// The objects of Git LFS could not be copied.
    Lfs(Error),
    /// The directory is in its final location, but the row is not written yet.
    Unrecorded(Error),
}

/// The fetched data and the source's `HEAD`.
struct Fetched {
    head: String,
    sha256: bool,
    imported: Imported,
}

impl MigrationRun {
    pub(super) async fn run(self) -> Result<FoundRepository, Error> {
        let id = self.found.repository.id;
        let (result, recorded) = match self.import().await {
            Ok(found) => (Ok(found), TaskResult::Done),
            Err(failed) => {
                let cancelled = matches!(failed, MigrationError::Cancelled);
                let error = self.clean_up(failed).await;
                let recorded = if cancelled { TaskResult::Cancelled } else { TaskResult::Failed(reason(&error)) };
                (Err(error), recorded)
            }
        };
        self.context.migrations.end(id, recorded, self.context.now_ms());
        // A deletion of the repository waits for this.
        self.context.sweep.now();
        result
    }

    async fn import(&self) -> Result<FoundRepository, MigrationError> {
        let (context, limits) = (&self.context, &self.context.config.migration);
        self.running.enter("waiting", context.now_ms());
        let staged = context.git.stage(self.found.repository.id, self.holder());
        let fetched = tokio::select! {
            () = self.running.cancel.cancelled() => Err(MigrationError::Cancelled),
            () = context.tasks.stop().cancelled() => Err(MigrationError::Stopped),
            () = tokio::time::sleep(limits.timeout) => Err(MigrationError::Time),
            fetched = self.fetch(&staged) => fetched,
        };
        match fetched {
            Ok(fetched) => {
                self.running.enter("recording", context.now_ms());
                staged.publish().await.map_err(MigrationError::Git)?;
                self.finish(fetched).await
            }
            Err(failed) => {
                staged.discard().await;
                Err(failed)
            }
        }
    }

    fn holder(&self) -> Holder {
        Holder::caller(&self.identity, None)
    }

    async fn fetch(&self, staged: &Staged) -> Result<Fetched, MigrationError> {
        let waiting = self.context.work.imports.wait(self.holder(), self.context.config.migration.timeout);
        let _share = waiting.await.map_err(GitError::from).map_err(MigrationError::Git)?;
        let fetched = self.fetch_git(staged).await.map_err(MigrationError::Git)?;
        if let Some(source) = &self.lfs {
            self.running.enter("copying LFS objects", self.context.now_ms());
            let refs = fetched.imported.refs.iter().map(|new| (new.name.clone(), new.id.clone()));
            let pointers = staged.lfs_pointers(&refs.collect::<Vec<_>>()).await.map_err(MigrationError::Git)?;
            let objects: Vec<BatchObject> = pointers
                .iter()
                .filter_map(|pointer| Some(BatchObject { oid: lfs::parse_oid(&pointer.oid)?, size: pointer.size }))
                .collect();
            let (id, added_by) = (self.found.repository.id, self.identity.user_id());
            let copied = lfs::import(&self.context, id, added_by, source, &objects).await;
            let ImportedObjects { copied, missing } = copied.map_err(MigrationError::Lfs)?;
            tracing::info!(repository = id, copied, missing, "the LFS objects of an import were copied");
        }
        Ok(fetched)
    }

    async fn fetch_git(&self, staged: &Staged) -> Result<Fetched, GitError> {
        self.running.enter("connecting", self.context.now_ms());
        let advertised = staged.advertised(&self.source).await?;
        let head = advertised.head.unwrap_or_else(|| self.found.repository.default_branch.clone());
        let max_bytes = self.context.config.migration.max_bytes;
        let report = |line: &str, size| self.running.update(line, size, self.context.now_ms());
        let imported = staged.fetch(&self.source, &head, advertised.sha256, max_bytes, report).await?;
        Ok(Fetched { head, sha256: advertised.sha256, imported })
    }

    /// Records the repository and its event. Retries until the store confirms it, because a repository in its final
    /// location must not be lost.
    async fn finish(&self, fetched: Fetched) -> Result<FoundRepository, MigrationError> {
        let (context, id) = (&self.context, self.found.repository.id);
        let Fetched { head, sha256, imported } = fetched;
        let imported = ImportedRepository { head, sha256, refs: imported.refs, bytes: imported.bytes };
        let actor = Actor::of(&self.identity);
        let recorded = record(context, id, &self.found.owner, &actor, &imported, u32::MAX).await;
        let repository = recorded.result().map_err(MigrationError::Unrecorded)?.ok_or(MigrationError::Cancelled)?;
        create::note_version(context, id).await;
        let tidy_context = context.clone();
        context.tasks.short(async move { pushes::tidy(&tidy_context, id).await });
        Ok(FoundRepository { repository, ..self.found.clone() })
    }

    /// Removes the row or records the failure in it. Returns the error for the caller.
    ///
    /// Removes no files itself. The fetched data was discarded, and the repository has no directory in its final
    /// location unless its row was deleted (then the sweep removes the files) or could not be written (then the next
    /// start finishes the migration).
    async fn clean_up(&self, failed: MigrationError) -> Error {
        let (context, id) = (&self.context, self.found.repository.id);
        // A cancelled migration leaves no row.
        let keeps_row = self.when_failed == WhenFailed::Keep && !matches!(failed, MigrationError::Cancelled);
        let error = match failed {
            MigrationError::Unrecorded(error) => return error,
            failed => to_error(failed, &self.source.secrets()),
        };
        let removes_objects = self.lfs.is_some() && !keeps_row;
        if removes_objects && let Err(error) = lfs::forget_import(context, id).await {
            return error;
        }
        let written = if keeps_row {
            mark_failed(context, id, &reason(&error)).await
        } else {
            run_until_known(context, TRIES, async |tx: Tx| {
                if let Some(row) = repositories::get(&tx, id).await?.filter(|row| !row.deleted) {
                    repositories::discard(&tx, &row).await?;
                }
                Ok(())
            })
            .await
            .result()
        };
        // A transaction that was under way may have added another object before the row was removed.
        if removes_objects
            && written.is_ok()
            && let Err(error) = lfs::forget_import(context, id).await
        {
            return error;
        }
        written.err().unwrap_or(error)
    }
}

/// Returns the message of an error without the name of the field.
fn reason(error: &Error) -> String {
    match error {
        Error::Invalid { reason, .. } => reason.clone(),
        error => error.to_string(),
    }
}

/// Converts the reason for the caller. `secrets`: texts that a hostile server could have copied into its messages. The
/// text is stored, and everyone who sees the repository can read it.
pub(super) fn to_error(failed: MigrationError, secrets: &[String]) -> Error {
    let invalid = |reason: String| Error::invalid("clone_addr", reason);
    match failed {
        MigrationError::Cancelled => Error::Exists { message: "the migration was cancelled".into() },
        MigrationError::Stopped => Error::Exists { message: "the daemon was stopped during the migration".into() },
        MigrationError::Time => invalid("the migration took too long".into()),
        MigrationError::Unrecorded(error) | MigrationError::Lfs(error) => error,
        MigrationError::Git(GitError::Failed { stderr, .. }) if is_refusal(&stderr) => {
            invalid("authentication failed at the source".into())
        }
        MigrationError::Git(GitError::Failed { stderr, .. }) => {
            invalid(format!("the source cannot be fetched: {}", short_without(&stderr, secrets)))
        }
        MigrationError::Git(GitError::TooMuch { limit, .. }) => {
            invalid(format!("the repository is larger than {limit} bytes"))
        }
        MigrationError::Git(GitError::Timeout { .. }) => invalid("the source does not respond".into()),
        MigrationError::Git(source) => Error::git("fetching a repository")(source),
    }
}

/// Returns whether the source required other credentials.
pub(in crate::service) fn is_refusal(stderr: &str) -> bool {
    ["Authentication failed", "could not read Username", "could not read Password", "error: 401", "error: 403"]
        .iter()
        .any(|text| stderr.contains(text))
}

/// Returns git's last error without `secrets`. The lines before it are hints and progress.
pub(in crate::service) fn short_without(stderr: &str, secrets: &[String]) -> String {
    const MAX_CHARS: usize = 300;
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    // First, because the end of the text may cut a secret.
    let redacted = secrets.fold(stderr.to_owned(), |text, secret| text.replace(secret.as_str(), "***"));
    let fatal = redacted.rfind("fatal: ").map_or(redacted.as_str(), |at| &redacted[at + "fatal: ".len()..]);
    fatal.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_migration_does_not_show_the_credentials() {
        let failed = |stderr: String| {
            MigrationError::Git(GitError::Failed { command: "fetch".into(), status: Some(128), stderr })
        };
        let secrets = ["s3cret".to_owned()];
        let shown = |stderr: String| reason(&to_error(failed(stderr), &secrets));
        assert_eq!(shown("x; fatal: remote: s3cret".into()), "the source cannot be fetched: remote: ***");
        let cut = shown(format!("fatal: {}s3cret", "x".repeat(297)));
        assert!(cut.ends_with("xxx***"), "{cut}");
    }

    #[test]
    fn a_busy_server_and_a_full_disk_are_the_reasons_that_are_shown() {
        let failed = |error: GitError| to_error(MigrationError::Git(error), &[]);
        assert!(matches!(failed(GitError::Busy), Error::Busy));
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(matches!(failed(GitError::Io { doing: "writing refs", source: full }), Error::NoSpace));
    }
}
