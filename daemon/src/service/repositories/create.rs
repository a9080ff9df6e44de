//! Creates repositories: checks everything, then creates the files, then the row.

use farrier_common::api::CreateRepository;
use farrier_proto::store::{OrgRole, Permission, Repository};

use super::{FoundRepository, generate::TemplateCopies, rules};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, AccessLevel, Action},
        audit::{self, AuditRecorder, Entry, Object},
        bucket_packs,
        commit_outcome::{CommitOutcome, run_until_known},
        events::{Actor, EventKind, EventRecorder, Subject},
        hooks::DefaultHookCopies,
        initial, packs, viewer,
    },
    store::{
        Read, Tx,
        ids::IdKind,
        interests::{self, InterestKind},
        owners::{self, Owner},
        packs::{self as pack_rows, NewPacks, Packs},
        refs::{self, Ref},
        repositories,
    },
};

/// Attempts for an insertion whose outcome is unknown, while the client waits. They take less than a second.
pub(in crate::service) const TRIES: u32 = 5;

/// The owner of a new repository.
#[derive(Clone, Copy, Debug)]
pub enum OwnerChoice<'a> {
    /// The caller.
    Caller,
    /// Any user or organization. Requires a site administrator.
    Anyone(&'a str),
    /// An organization. Requires one of its owners, or a member of a team that may create repositories.
    Org(&'a str),
    /// A user or organization for which the caller may create repositories.
    Named(&'a str),
}

/// Creates a repository.
pub async fn create(
    context: &Context,
    identity: &Identity,
    owner: OwnerChoice<'_>,
    input: CreateRepository,
) -> Result<FoundRepository, Error> {
    let owner = owner_for(context, identity, owner).await?;
    let content = initial::Content::from_input(&input, &owner, context.now_ms())?;
    let row = checked_row(context, &owner, input)?;
    let new = reserve(context, owner, row).await?;
    let id = new.row.id;
    let sha256 = new.row.sha256;
    context.git.init_bare(id, &new.row.default_branch, sha256).await.map_err(Error::git("creating a repository"))?;
    let created = finish(context, identity, new, content).await;
    conclude(context, id, created).await
}

/// Completes the directory of a created repository, or removes the files if it was not created.
pub(super) async fn conclude(
    context: &Context,
    id: u64,
    created: CommitOutcome<FoundRepository>,
) -> Result<FoundRepository, Error> {
    match created {
        CommitOutcome::Known(Ok(found)) => {
            note_version(context, id).await;
            Ok(found)
        }
        CommitOutcome::Known(Err(error)) => {
            // Safe to remove: no row was committed, and the directory was created for it and never used.
            // If removing fails, the directory is set aside later as one without a row.
            let _ = context.git.remove(id).await;
            Err(error)
        }
        CommitOutcome::Unknown(error) => {
            // A row may refer to the directory, so it is kept. If there is none, the directory is set aside.
            tracing::warn!(repository = id, "it is unknown whether the repository was created; its files are kept");
            Err(error)
        }
    }
}

/// Brings the directory of a new repository to the version of its rows, so that no later request has to write its refs.
/// If that fails, the next request does.
pub(in crate::service) async fn note_version(context: &Context, id: u64) {
    if let Err(error) = context.copies.current(id).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(repository = id, error, "the refs of a new repository are written at its next use");
    }
}

/// Creates the first commit, if one is requested, and inserts the row.
async fn finish(
    context: &Context,
    identity: &Identity,
    mut new: NewRepository,
    content: Option<initial::Content>,
) -> CommitOutcome<FoundRepository> {
    if let Some(content) = content {
        let tip = match initial::commit(context, identity, &new.row, &content).await {
            Ok(tip) => tip,
            Err(error) => return CommitOutcome::Known(Err(error)),
        };
        new.row.empty = false;
        new.row.branches = Some(1);
        // If the size cannot be read, the next push measures it.
        new.row.size_bytes = context.git.size_bytes(new.row.id).await.unwrap_or(0);
        new.tips.push((format!("refs/heads/{}", new.row.default_branch), Ref { tip, peeled: None }));
    }
    // It has no objects, or those of one commit that git has just written with everything that the commit names.
    new.closed = true;
    new.packs = match packs::of_new(context, new.row.id, new.row.sha256, Packs::new()).await {
        Ok(packs) => packs,
        Err(error) => return CommitOutcome::Known(Err(error)),
    };
    insert(context, new, Some(&Actor::of(identity))).await
}

/// A repository that is ready to be inserted.
pub(in crate::service) struct NewRepository {
    /// Its owner.
    pub(in crate::service) owner: Owner,
    /// Its row.
    pub(in crate::service) row: Repository,
    /// Its initial refs, as name and value.
    pub(in crate::service) tips: Vec<(String, Ref)>,
    /// Whether the repository is closed: its objects name only objects that it has. `false` if that is unknown; then
    /// git searches for missing objects with each push.
    pub(in crate::service) closed: bool,
    /// The manifest. `None`: it is written at the first use.
    pub(in crate::service) packs: Option<NewPacks>,
    /// What is copied from a template in the transaction that inserts the row.
    pub(in crate::service) from_template: Option<TemplateCopies>,
}

/// Returns the row for `input`, without an id.
fn checked_row(context: &Context, owner: &Owner, input: CreateRepository) -> Result<Repository, Error> {
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
        ..default_row(context, owner, input.private, branch)
    })
}

/// Returns a new row of `owner` with default values. `private`: as in the request.
pub(in crate::service) fn default_row(
    context: &Context,
    owner: &Owner,
    private: Option<bool>,
    branch: String,
) -> Repository {
    let now = context.now_ms();
    let private = private.unwrap_or(context.config.repositories.default_private);
    Repository {
        owner_kind: owner.kind().into(),
        owner_id: owner.id(),
        private,
        listed: repositories::class(owner.visibility(), private).into(),
        default_branch: branch,
        created_ms: now,
        updated_ms: now,
        empty: true,
        branches: Some(0),
        ..Repository::default()
    }
}

/// Assigns an id to the row. Checks first what the insertion checks again, so that most errors occur before files are
/// created.
pub(in crate::service) async fn reserve(
    context: &Context,
    owner: Owner,
    row: Repository,
) -> Result<NewRepository, Error> {
    check_insertion(context, &owner, &row).await?;
    assign_id(context, owner, row).await
}

/// Returns an error if the owner cannot have another repository or the name is in use.
pub(in crate::service) async fn check_insertion(
    context: &Context,
    owner: &Owner,
    row: &Repository,
) -> Result<(), Error> {
    let snapshot = context.store.read().await?;
    check_limit(&snapshot, owner).await?;
    if repositories::name_in_use(&snapshot, row).await? {
        return Err(name_in_use(owner, row));
    }
    Ok(())
}

/// Assigns an id to a repository.
pub(in crate::service) async fn assign_id(
    context: &Context,
    owner: Owner,
    mut row: Repository,
) -> Result<NewRepository, Error> {
    row.id = context.store.next_id(IdKind::Repository).await?;
    Ok(NewRepository { owner, row, tips: Vec::new(), closed: false, packs: None, from_template: None })
}

/// Returns an error if the owner has reached the limit on repositories.
pub(in crate::service) async fn check_limit(read: &impl Read, owner: &Owner) -> Result<(), Error> {
    if let Owner::User(user) = owner
        && let Some(Ok(most)) = user.max_repositories.map(u64::try_from)
        && repositories::count_of(read, user.id, most).await? >= most
    {
        return Err(Error::Forbidden { reason: format!("the limit of {most} repositories is reached") });
    }
    Ok(())
}

/// Inserts a repository with its copies of the default hooks. `creator`: the actor of the "created" event. `None`:
/// record no event.
pub(in crate::service) async fn insert(
    context: &Context,
    new: NewRepository,
    creator: Option<&Actor>,
) -> CommitOutcome<FoundRepository> {
    let prepared = async { Ok::<_, Error>((DefaultHookCopies::prepare(context).await?, AuditRecorder::new(context))) };
    let (copies, audit) = match prepared.await {
        Ok(prepared) => prepared,
        Err(error) => return CommitOutcome::Known(Err(error)),
    };
    let recorder = &EventRecorder::new(context);
    let (copies, audit, new_ref) = (&copies, &audit, &new);
    let inserted = run_until_known(context, TRIES, async |tx: Tx| {
        if let Some(row) = repositories::get(&tx, new_ref.row.id).await? {
            // Ids are used once, so an earlier attempt was committed.
            return Ok(Some(row));
        }
        // Read again: the owner may have been deleted, or its visibility changed.
        let owner = owners::owner(&tx, new_ref.owner.kind(), new_ref.owner.id()).await?;
        let owner = owner.ok_or(Error::NotFound { what: "the owner" })?;
        check_limit(&tx, &owner).await?;
        let mut row = new_ref.row.clone();
        row.listed = repositories::class(owner.visibility(), row.private).into();
        if repositories::name_in_use(&tx, &row).await? {
            return Ok(None);
        }
        if let Some(copies) = &new_ref.from_template {
            copies.insert(context, &tx, &owner, &mut row).await?;
        }
        if !repositories::insert(&tx, &row).await? {
            return Ok(None);
        }
        // The refs of an import are written when it ends.
        if row.migration.is_none() {
            refs::create(&tx, row.id, row.sha256, new_ref.closed, &new_ref.tips);
            if let Some(packs) = &new_ref.packs {
                bucket_packs::require_recent(context, &tx, packs).await?;
                pack_rows::replace(&tx, row.id, packs).await?;
            }
        }
        let mut created = entry(&row, &owner);
        let creator_id = creator.map_or(0, Actor::id).max(row.migration.as_ref().map_or(0, |started| started.actor_id));
        if give_to_creator(&tx, &owner, &row, creator_id).await? {
            created = created.set("administrator", creator_id);
        }
        audit.record(&tx, created).await?;
        // Before the event is recorded, since a copied hook may match it.
        copies.insert(&tx, row.id).await?;
        if let Some(Actor::User(user)) = creator {
            // The account may have been deleted since.
            if let Some(user) = owners::user(&tx, user.id).await? {
                interests::add(&tx, &user, InterestKind::Watch, &row, row.created_ms).await?;
                row = repositories::get(&tx, row.id).await?.unwrap_or(row);
            }
        }
        if let Some(actor) = creator {
            let subject = Subject { repository: &row, owner: &owner, actor };
            let created = EventKind::Repository { action: "created", before: Vec::new() };
            recorder.record(&tx, subject, &[created]).await?;
        }
        Ok(Some(row))
    })
    .await;
    match inserted {
        CommitOutcome::Known(Ok(Some(repository))) => {
            CommitOutcome::Known(Ok(FoundRepository { repository, owner: new.owner, access_level: AccessLevel::Owner }))
        }
        CommitOutcome::Known(Ok(None)) => CommitOutcome::Known(Err(name_in_use(&new.owner, &new.row))),
        CommitOutcome::Known(Err(error)) => CommitOutcome::Known(Err(error)),
        CommitOutcome::Unknown(error) => CommitOutcome::Unknown(error),
    }
}

/// Makes the creator an administrator of the new repository, if it created the repository of an organization through a
/// team that does not administer it. Returns whether it was necessary.
pub(in crate::service) async fn give_to_creator(
    tx: &Tx,
    owner: &Owner,
    row: &Repository,
    creator: u64,
) -> Result<bool, Error> {
    let Owner::Org(org) = owner else { return Ok(false) };
    let membership = owners::membership(tx, org.id, creator).await?;
    if membership.is_none_or(|member| member.role() == OrgRole::Owner)
        || access::through_teams(tx, org.id, creator, row.id).await?.allows(Action::Administer)
    {
        return Ok(false);
    }
    repositories::set_collaborator(tx, row.id, creator, Permission::Admin);
    Ok(true)
}

/// Returns the audit entry of a new repository.
fn entry(row: &Repository, owner: &Owner) -> Entry {
    let object = Object::repository(row, owner.name());
    let entry = match &row.migration {
        None => Entry::new(audit::Action::RepositoryCreate, object),
        Some(_) => Entry::new(audit::Action::RepositoryMigrate, object).url("source", "", &row.original_url).created(),
    };
    entry.set("private", row.private).set("default_branch", row.default_branch.as_str())
}

pub(in crate::service) fn name_in_use(owner: &Owner, row: &Repository) -> Error {
    Error::Exists { message: format!("repository name already exists: {}/{}", owner.name(), row.name) }
}

/// Returns the owner of a new repository, if the caller may create repositories for it. A renamed owner gives
/// [`Error::Renamed`].
pub(in crate::service) async fn owner_for(
    context: &Context,
    identity: &Identity,
    owner: OwnerChoice<'_>,
) -> Result<Owner, Error> {
    let account = access::require_account(identity)?;
    access::require_whole_account(identity)?;
    let snapshot = context.store.read().await?;
    let (name, what) = match owner {
        OwnerChoice::Caller => return Ok(Owner::User(account.user.clone())),
        OwnerChoice::Anyone(name) => {
            access::require_site_admin(identity)?;
            (name, "the user")
        }
        OwnerChoice::Org(name) => (name, "the organization"),
        OwnerChoice::Named(name) => (name, "the owner"),
    };
    let Some(found) = owners::owner_by_name(&snapshot, name).await? else {
        return match viewer::find(&snapshot, identity, name).await {
            Err(renamed @ Error::Renamed { .. }) => Err(renamed),
            _ => Err(Error::NotFound { what }),
        };
    };
    if account.user.admin && !matches!((owner, &found), (OwnerChoice::Org(_), Owner::User(_))) {
        return Ok(found);
    }
    match (&found, owner) {
        (Owner::Org(org), _) => {
            if access::may_create_in(&snapshot, org.id, account.user.id).await? {
                return Ok(found);
            }
            if !super::list::sees(&snapshot, identity, &found).await? {
                return Err(Error::NotFound { what });
            }
            let reason =
                "only owners of the organization and members of teams with this right may create repositories in it";
            Err(Error::Forbidden { reason: reason.into() })
        }
        (Owner::User(_), OwnerChoice::Org(_)) => Err(Error::NotFound { what }),
        (Owner::User(user), _) if user.id == account.user.id => Ok(found),
        (Owner::User(_), _) => {
            Err(Error::Forbidden { reason: "only administrators may create repositories for other users".into() })
        }
    }
}
