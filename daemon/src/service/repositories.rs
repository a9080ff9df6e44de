//! Repositories, as far as runs and artifacts need them: a row, a name, an owner.

use farrier_common::{api::CreateRepository, names};
use farrier_proto::store::{OrgRole, Repository};

use super::{
    Error,
    access::{self, Action, Standing},
};
use crate::{
    app::App,
    model::identity::Identity,
    store::{
        Read, Tx,
        ids::Kind,
        owners::{self, Owner},
        repositories,
    },
};

const DESCRIPTION_MAX_CHARS: usize = 2_048;
const DEFAULT_BRANCH: &str = "main";

/// A repository that the caller may do something with.
#[derive(Clone, Debug)]
pub struct Found {
    /// The repository.
    pub repository: Repository,
    /// Its owner.
    pub owner: Owner,
    /// How the caller stands to it.
    pub standing: Standing,
}

impl Found {
    /// `owner/name`, as both are spelled.
    pub fn path(&self) -> String {
        format!("{}/{}", self.owner.name(), self.repository.name)
    }
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
    let owner = owners::owner_by_name(read, owner).await?.ok_or_else(missing)?;
    let repository = repositories::by_name(read, owner.id(), name).await?.ok_or_else(missing)?;
    let standing = access::standing(read, identity, &owner, &repository).await?;
    access::require(identity, standing, action)?;
    Ok(Found { repository, owner, standing })
}

/// For whom a repository is made.
#[derive(Clone, Copy, Debug)]
pub enum For<'a> {
    /// For the caller.
    Caller,
    /// For any user or organisation, by a site administrator.
    Anyone(&'a str),
    /// For an organisation, by one of its owners.
    Org(&'a str),
}

/// Makes a repository.
pub async fn create(app: &App, identity: &Identity, owner: For<'_>, input: CreateRepository) -> Result<Found, Error> {
    let owner = owner_for(app, identity, owner).await?;
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
        owner_kind: owner.kind().into(),
        owner_id: owner.id(),
        name: input.name,
        description: input.description,
        private: input.private,
        default_branch: branch,
        created_ms: now,
        updated_ms: now,
        empty: true,
        ..Repository::default()
    };
    // Files come before rows: a directory without a row is swept at the next start.
    let id = repository.id;
    let made = app.git.init_bare(id, &repository.default_branch, repository.sha256).await;
    made.map_err(Error::git("making a repository"))?;
    let row = &repository;
    if app.store.write(async |tx: Tx| Ok::<_, Error>(repositories::insert(&tx, row).await?)).await? {
        Ok(Found { repository, owner, standing: Standing::Owner })
    } else {
        app.git.remove(id).await.map_err(Error::git("removing a repository"))?;
        let path = format!("{}/{}", owner.name(), repository.name);
        Err(Error::Exists { message: format!("repository name already exists: {path}") })
    }
}

/// The owner-to-be, if the caller may make repositories for it.
async fn owner_for(app: &App, identity: &Identity, owner: For<'_>) -> Result<Owner, Error> {
    let account = access::require_account(identity)?;
    let snapshot = app.store.read().await?;
    match owner {
        For::Caller => Ok(Owner::User(account.user.clone())),
        For::Anyone(name) => {
            access::require_site_admin(identity)?;
            owners::owner_by_name(&snapshot, name).await?.ok_or(Error::NotFound { what: "the user" })
        }
        For::Org(name) => {
            let found = owners::owner_by_name(&snapshot, name).await?;
            let Some(Owner::Org(org)) = found else { return Err(Error::NotFound { what: "the organisation" }) };
            let role = owners::membership(&snapshot, org.id, account.user.id).await?.map(|member| member.role());
            if role == Some(OrgRole::Owner) || account.user.admin {
                return Ok(Owner::Org(org));
            }
            Err(Error::Forbidden { reason: "only owners of the organisation make repositories in it".into() })
        }
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
