//! Records forced pushes in the audit log. git does not report whether a push was forced, so the history is checked
//! after the request.

use crate::{
    git::ref_name::HEADS,
    service::{
        Context, Error,
        audit::{self, Action, Entry, Object, RequestScope},
        bundles,
        ref_moves::Change,
        repositories::prune,
    },
};

/// Maximum number of branches to check per push.
const BRANCHES_MAX: usize = 64;

/// Records every branch that was moved to a commit that does not contain its former tip.
///
/// The entries are written after the push, because a check of the history would delay every push. If the daemon is
/// killed in between, they are missing; the events of the push exist.
pub(in crate::service) fn record(context: &Context, repository: u64, changes: Vec<Change>) {
    let moved = changes.into_iter().filter_map(|change| {
        let name = change.name.strip_prefix(HEADS)?.to_owned();
        Some((name, change.before?, change.after?))
    });
    let moved: Vec<_> = moved.take(BRANCHES_MAX).collect();
    if moved.is_empty() {
        return;
    }
    let app_of_task = context.clone();
    context.tasks.short(RequestScope::inherit(async move {
        for (branch, before, after) in moved {
            match lost_commit(&app_of_task, repository, &before, &after).await {
                Ok(true) => {
                    bundles::compare(&app_of_task, repository).await;
                    record_one(&app_of_task, repository, &branch, &before, &after).await;
                    prune::plan_after_loss(&app_of_task, repository).await;
                }
                Ok(false) => {}
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(repository, branch, error, "checking whether a push was forced failed");
                }
            }
        }
    }));
}

async fn record_one(context: &Context, repository: u64, branch: &str, before: &str, after: &str) {
    let path = match context.store.read().await {
        Ok(snapshot) => audit::path_of(&snapshot, repository).await.unwrap_or_default(),
        Err(_) => String::new(),
    };
    let object = Object::reference(&format!("{HEADS}{branch}"), repository, &path);
    audit::record_after(context, Entry::new(Action::RefForcePush, object).field("tip", before, after)).await;
}

/// Returns whether `before` has a commit that `after` lacks.
async fn lost_commit(context: &Context, repository: u64, before: &str, after: &str) -> Result<bool, Error> {
    context.copies.current(repository).await?;
    let call = context.git.call(repository, ["rev-list", "--max-count=1"]);
    let found = call.operands([before.to_owned(), format!("^{after}")]).run().await?;
    Ok(!found.stdout.is_empty())
}
