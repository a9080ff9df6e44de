//! Tests a branch filter against the branches that were pushed last.

use std::collections::HashSet;

use farrier_common::api::{CheckBranchFilter, CheckedBranch, CheckedBranchFilter};

use crate::{
    git::ref_name::HEADS,
    model::{branch_filter::BranchFilter, identity::Identity},
    service::{
        Context, Error,
        access::Action,
        events::{self, EventFilter},
        repositories,
    },
};

const BRANCHES: usize = 5;

/// Returns which of the last pushed branches that the caller may read match a pattern.
pub async fn try_filter(
    context: &Context,
    identity: &Identity,
    input: &CheckBranchFilter,
) -> Result<CheckedBranchFilter, Error> {
    let pattern =
        BranchFilter::parse(&input.branch_filter).map_err(|reason| Error::invalid("branch_filter", reason))?;
    let repository = match input.repository.split_once('/') {
        None if input.repository.is_empty() => None,
        None => return Err(Error::invalid("repository", "must be OWNER/NAME")),
        Some((owner, name)) => {
            let snapshot = context.store.read().await?;
            Some(repositories::find(&snapshot, identity, owner, name, Action::Read).await?.repository.id)
        }
    };
    let filter = EventFilter { repository, kinds: vec!["push".to_owned()] };
    let mut known = HashSet::new();
    let mut branches = Vec::new();
    for event in events::newest(context, identity, &filter, usize::MAX).await?.events.into_iter().rev() {
        let Some(change) = &event.ref_change else { continue };
        let Some(name) = change.r#ref.strip_prefix(HEADS) else { continue };
        if branches.len() < BRANCHES && known.insert((event.repository_id, name.to_owned())) {
            let passes = pattern.passes(&change.r#ref);
            branches.push(CheckedBranch { repository: event.repository_path.clone(), name: name.to_owned(), passes });
        }
    }
    Ok(CheckedBranchFilter { branches })
}
