//! Making a repository: everything is checked first, then its files are made, then its row.

use farrier_common::api::CreateRepository;
use farrier_proto::store::{OrgRole, Repository};

use super::{Found, rules};
use crate::{
    app::App,
    model::identity::Identity,
    service::{
        Error,
        access::{self, AccessLevel},
        events::{Actor, EventKind, EventRecorder, Subject},
        hooks::Copies,
        initial,
        unknown::{Settled, settle},
        viewer,
    },
    store::{
        Read, Tx,
        ids::IdKind,
        owners::{self, Owner},
        repositories,
    },
};

/// Tries of an insertion whose outcome is unknown, while the client waits: less than a second.
const TRIES: u32 = 5;

/// For whom a repository is made.
#[derive(Clone, Copy, Debug)]
pub enum For<'a> {
    /// For the caller.
    Caller,
    /// For any user or organisation, by a site administrator.
    Anyone(&'a str),
    /// For an organisation, by one of its owners.
    Org(&'a str),
    /// For the user or organisation of that name, whichever the caller may do it for.
    Named(&'a str),
}

/// Makes a repository.
pub async fn make(app: &App, identity: &Identity, owner: For<'_>, input: CreateRepository) -> Result<Found, Error> {
    let owner = owner_for(app, identity, owner).await?;
    let content = initial::Content::checked(&input, &owner, app.now_ms())?;
    let row = checked(app, &owner, input)?;
    let new = reserve(app, owner, row).await?;
    let id = new.row.id;
    let sha256 = new.row.sha256;
    app.git.init_bare(id, &new.row.default_branch, sha256).await.map_err(Error::git("making a repository"))?;
    match finish(app, identity, new, content).await {
        Settled::Known(made) => {
            if made.is_err() {
                // Certainly without a row: the directory is the one that was made above, and nobody
                // has heard of it. If this fails, the directory is set aside as one without a row.
                let _ = app.git.remove(id).await;
            }
            made
        }
        Settled::Unknown(error) => {
            // A row may name the directory. If none does, it is set aside.
            tracing::warn!(repository = id, "it is unknown whether the repository was created; its files are kept");
            Err(error)
        }
    }
}

/// Makes the first commit, if there is to be one, and the row.
async fn finish(app: &App, identity: &Identity, mut new: New, content: Option<initial::Content>) -> Settled<Found> {
    if let Some(content) = content {
        let tip = match initial::commit(app, identity, &new.row, &content).await {
            Ok(tip) => tip,
            Err(error) => return Settled::Known(Err(error)),
        };
        new.row.empty = false;
        // A size that cannot be read is measured with the next push.
        new.row.size_bytes = app.git.size_bytes(new.row.id).await.unwrap_or(0);
        new.tips.push((format!("refs/heads/{}", new.row.default_branch), tip));
    }
    insert(app, new, Some(&Actor::of(identity))).await
}

/// A repository that is about to be inserted.
pub(in crate::service) struct New {
    /// Who it will belong to.
    pub(in crate::service) owner: Owner,
    /// The row to be.
    pub(in crate::service) row: Repository,
    /// Refs that it begins with, and where they are.
    pub(in crate::service) tips: Vec<(String, String)>,
}

/// The row that `input` asks for, without a number.
fn checked(app: &App, owner: &Owner, input: CreateRepository) -> Result<Repository, Error> {
    rules::name("name", &input.name)?;
    rules::description(&input.description)?;
    rules::issue_labels(&input.issue_labels)?;
    let branch = match input.default_branch.as_str() {
        "" => rules::DEFAULT_BRANCH.to_owned(),
        branch => {
            rules::branch("default_branch", branch)?;
            branch.to_owned()
        }
    };
    Ok(Repository {
        sha256: rules::sha256(&input.object_format_name)?,
        trust_model: rules::trust_model(&input.trust_model).into(),
        name: input.name,
        description: input.description,
        template: input.template,
        ..fresh(app, owner, input.private, branch)
    })
}

/// A row of `owner` as all begin.
pub(in crate::service) fn fresh(app: &App, owner: &Owner, private: bool, branch: String) -> Repository {
    let now = app.now_ms();
    Repository {
        owner_kind: owner.kind().into(),
        owner_id: owner.id(),
        private,
        listed: repositories::class(owner.visibility(), private).into(),
        default_branch: branch,
        created_ms: now,
        updated_ms: now,
        empty: true,
        ..Repository::default()
    }
}

/// Gives a row its number. What will most likely stop the insertion stops it here, before anything
/// is made.
pub(in crate::service) async fn reserve(app: &App, owner: Owner, row: Repository) -> Result<New, Error> {
    require_room(app, &owner, &row).await?;
    number(app, owner, row).await
}

/// Whether the owner may have one more, and whether its name is free.
pub(in crate::service) async fn require_room(app: &App, owner: &Owner, row: &Repository) -> Result<(), Error> {
    let snapshot = app.store.read().await?;
    check_limit(&snapshot, owner).await?;
    if repositories::name_in_use(&snapshot, row).await? {
        return Err(taken(owner, row));
    }
    Ok(())
}

/// Gives a repository its number.
pub(in crate::service) async fn number(app: &App, owner: Owner, mut row: Repository) -> Result<New, Error> {
    row.id = app.store.next_id(IdKind::Repository).await?;
    Ok(New { owner, row, tips: Vec::new() })
}

/// Whether one more repository is too many for its owner.
async fn check_limit(read: &impl Read, owner: &Owner) -> Result<(), Error> {
    if let Owner::User(user) = owner
        && let Some(Ok(most)) = user.max_repositories.map(u64::try_from)
        && repositories::count_of(read, user.id, most).await? >= most
    {
        return Err(Error::Forbidden { reason: format!("the limit of {most} repositories is reached") });
    }
    Ok(())
}

/// Inserts a repository with its copies of the default hooks. `creator`: who is told to have made
/// it, if that is to be told already.
pub(in crate::service) async fn insert(app: &App, new: New, creator: Option<&Actor>) -> Settled<Found> {
    let prepared = async {
        Ok::<_, Error>((EventRecorder::reserve(app, creator.iter().len()).await?, Copies::prepare(app).await?))
    };
    let (recorder, copies) = match prepared.await {
        Ok(prepared) => prepared,
        Err(error) => return Settled::Known(Err(error)),
    };
    let (recorder, copies, new_ref) = (&recorder, &copies, &new);
    let inserted = settle(app, TRIES, async |tx: Tx| {
        if let Some(row) = repositories::get(&tx, new_ref.row.id).await? {
            // Numbers are used once: an earlier run of this was committed.
            return Ok(Some(row));
        }
        // As it is now: the owner may have gone meanwhile, or be seen by others than before.
        let owner = owners::owner(&tx, new_ref.owner.kind(), new_ref.owner.id()).await?;
        let owner = owner.ok_or(Error::NotFound { what: "the owner" })?;
        check_limit(&tx, &owner).await?;
        let mut row = new_ref.row.clone();
        row.listed = repositories::class(owner.visibility(), row.private).into();
        if !repositories::insert(&tx, &row).await? {
            return Ok(None);
        }
        repositories::put_tips(&tx, row.id, &new_ref.tips);
        // Before the event is recorded: a copied hook may match it.
        copies.insert(&tx, row.id).await?;
        if let Some(actor) = creator {
            let subject = Subject { repository: &row, owner: &owner, actor };
            let created = EventKind::Repository { action: "created", before: Vec::new() };
            recorder.record(&tx, subject, &[created]).await?;
        }
        Ok(Some(row))
    })
    .await;
    match inserted {
        Settled::Known(Ok(Some(repository))) => {
            Settled::Known(Ok(Found { repository, owner: new.owner, access_level: AccessLevel::Owner }))
        }
        Settled::Known(Ok(None)) => Settled::Known(Err(taken(&new.owner, &new.row))),
        Settled::Known(Err(error)) => Settled::Known(Err(error)),
        Settled::Unknown(error) => Settled::Unknown(error),
    }
}

fn taken(owner: &Owner, row: &Repository) -> Error {
    Error::Exists { message: format!("repository name already exists: {}/{}", owner.name(), row.name) }
}

/// The owner-to-be, if the caller may make repositories for it. What was renamed says where it is.
pub(in crate::service) async fn owner_for(app: &App, identity: &Identity, owner: For<'_>) -> Result<Owner, Error> {
    let account = access::require_account(identity)?;
    access::require_more_than_public(identity)?;
    let snapshot = app.store.read().await?;
    let (name, what) = match owner {
        For::Caller => return Ok(Owner::User(account.user.clone())),
        For::Anyone(name) => {
            access::require_site_admin(identity)?;
            (name, "the user")
        }
        For::Org(name) => (name, "the organisation"),
        For::Named(name) => (name, "the owner"),
    };
    let Some(found) = owners::owner_by_name(&snapshot, name).await? else {
        return match viewer::find(&snapshot, identity, name).await {
            Err(renamed @ Error::Renamed { .. }) => Err(renamed),
            _ => Err(Error::NotFound { what }),
        };
    };
    if account.user.admin && !matches!((owner, &found), (For::Org(_), Owner::User(_))) {
        return Ok(found);
    }
    match (&found, owner) {
        (Owner::Org(org), _) => {
            let role = owners::membership(&snapshot, org.id, account.user.id).await?.map(|member| member.role());
            if role == Some(OrgRole::Owner) {
                return Ok(found);
            }
            if !super::list::sees(&snapshot, identity, &found).await? {
                return Err(Error::NotFound { what });
            }
            Err(Error::Forbidden { reason: "only owners of the organisation make repositories in it".into() })
        }
        (Owner::User(_), For::Org(_)) => Err(Error::NotFound { what }),
        (Owner::User(user), _) if user.id == account.user.id => Ok(found),
        (Owner::User(_), _) => {
            Err(Error::Forbidden { reason: "repositories of others are made by administrators".into() })
        }
    }
}
