//! Repositories, as far as runs and artifacts need them: a row, a name, an owner.

use farrier_common::{api::CreateRepository, names};
use farrier_proto::store::{OwnerKind, Repository, User};

use super::{
    Error,
    access::{self, Action},
};
use crate::{
    app::App,
    model::identity::Identity,
    store::{Read, Tx, ids::Kind, owners, repositories},
};

const DESCRIPTION_MAX_CHARS: usize = 2_048;
const DEFAULT_BRANCH: &str = "main";

/// A repository and its owner, found and allowed.
pub struct Found {
    /// The repository.
    pub repository: Repository,
    /// Its owner.
    pub owner: User,
}

/// The repository `owner`/`name`, if `identity` may do `action` with it.
pub async fn find(
    read: &impl Read,
    identity: &Identity,
    owner: &str,
    name: &str,
    action: Action,
) -> Result<Found, Error> {
    let missing = || Error::NotFound { what: "the repository" };
    let owner = owners::user_by_name(read, owner).await?.ok_or_else(missing)?;
    let repository = repositories::by_name(read, owner.id, name).await?.ok_or_else(missing)?;
    access::check(identity, &repository, action)?;
    Ok(Found { repository, owner })
}

/// Makes a repository for the caller, or for `owner` as a site administrator.
pub async fn create(
    app: &App,
    identity: &Identity,
    owner: Option<&str>,
    input: CreateRepository,
) -> Result<Found, Error> {
    let caller = identity.account().ok_or_else(|| Error::Unauthenticated { reason: "token is required".into() })?;
    let owner = match owner {
        None => caller.user.clone(),
        Some(name) => {
            access::require_site_admin(identity)?;
            let snapshot = app.store.read().await?;
            owners::user_by_name(&snapshot, name).await?.ok_or(Error::NotFound { what: "the user" })?
        }
    };
    names::check_repository(&input.name).map_err(|e| Error::invalid("name", format!("name {e}")))?;
    if input.description.chars().count() > DESCRIPTION_MAX_CHARS {
        return Err(Error::invalid("description", format!("is longer than {DESCRIPTION_MAX_CHARS} characters")));
    }
    if input.auto_init {
        return Err(Error::invalid("auto_init", "is not offered yet: begin with a push"));
    }
    let branch = if input.default_branch.is_empty() { DEFAULT_BRANCH.to_owned() } else { input.default_branch };
    check_branch(&branch)?;
    let now = app.now_ms();
    let repository = Repository {
        id: app.store.next_id(Kind::Repository).await?,
        owner_kind: OwnerKind::User.into(),
        owner_id: owner.id,
        name: input.name,
        description: input.description,
        private: input.private,
        default_branch: branch,
        created_ms: now,
        updated_ms: now,
    };
    let row = &repository;
    if app.store.write(async |tx: Tx| Ok::<_, Error>(repositories::insert(&tx, row).await?)).await? {
        Ok(Found { repository, owner })
    } else {
        let path = format!("{}/{}", owner.name, repository.name);
        Err(Error::Exists { message: format!("repository name already exists: {path}") })
    }
}

/// Checks a branch name as git does for a ref.
fn check_branch(name: &str) -> Result<(), Error> {
    let parts_fine = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"));
    let chars_fine = name.chars().all(|c| !c.is_control() && !" ~^:?*[\\\u{7f}".contains(c));
    let fine = parts_fine && chars_fine && !name.contains("..") && !name.contains("@{") && name != "@";
    if fine && !name.ends_with('.') && !name.starts_with('-') && name.chars().count() <= 100 {
        Ok(())
    } else {
        Err(Error::invalid("default_branch", "is no name of a branch"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names() {
        for good in ["main", "feature/x", "v1.0", "a-b"] {
            assert!(check_branch(good).is_ok(), "{good}");
        }
        for bad in ["-x", "a..b", "a b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "@", "a@{b", "a~1", "a\0"] {
            assert!(check_branch(bad).is_err(), "{bad}");
        }
    }
}
