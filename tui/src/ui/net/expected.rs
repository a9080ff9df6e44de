//! Checks that a name still belongs to the repository that a form or a question was opened for.
//!
//! Almost all routes of the API address repositories by name. While a form or a question is open, the repository can be
//! renamed or deleted, and another one can get its name. The change must not apply to that one.

use farrier_common::client::{Client, HookOwner, RepositoryPath};

use super::{Problem, ProblemKind, Request};
use crate::exit::Failure;

/// A repository by its name and its ID, when a form or a question about it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedRepository {
    pub(crate) path: RepositoryPath,
    pub(crate) id: i64,
}

impl Request {
    /// Returns the repositories that it changes and addresses by name. Requests about hooks that exist are not among
    /// them, because the ID of a hook is unique.
    pub(crate) fn changed_repositories(&self) -> Vec<&RepositoryPath> {
        match self {
            Self::EditRepository(path, _)
            | Self::DeleteRepository(path)
            | Self::CreateBranch(path, _)
            | Self::DeleteBranch(path, _)
            | Self::CreateTag(path, _)
            | Self::DeleteTag(path, _) => vec![path],
            Self::Manage(path, request) if request.changes() => vec![path],
            Self::SaveRepository(save) => vec![&save.path],
            Self::CreateHook(new) => match &new.owner {
                HookOwner::Repository(path) => vec![path],
                _ => Vec::new(),
            },
            Self::Batch(batch) => batch.items.iter().flat_map(|(_, request)| request.changed_repositories()).collect(),
            _ => Vec::new(),
        }
    }
}

/// Returns an error if a name belongs to another repository now, or if the repository cannot be read. If there is none
/// with this name, the change itself reports that.
pub(super) async fn check(client: &Client, expected: &[ExpectedRepository]) -> Result<(), Problem> {
    for ExpectedRepository { path, id } in expected {
        let found = match client.repository(path).await {
            Ok(found) => found,
            Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => continue,
            Err(error) => {
                return Err(Problem::from(Failure::call(format!("checking {path} before the change"))(error)));
            }
        };
        if found.id != *id {
            let text = format!(
                "Nothing was changed: {path} is another repository now (ID {}, not {id}). The earlier one was renamed \
                 or deleted.",
                found.id
            );
            return Err(Problem { kind: ProblemKind::Invalid, text, request: None });
        }
    }
    Ok(())
}
