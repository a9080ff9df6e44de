//! Moves repositories to other owners: at once if the caller is or owns the new owner, otherwise as an offer that the
//! new owner accepts or rejects.
//!
//! A repository is found by its number everywhere else. So a move changes its row, its entries in lists of owners and
//! its redirect, and takes the teams of the previous owner from it and from its rules, in one transaction. Nothing else
//! has to follow.

use farrier_common::api::TransferRepository;
use farrier_proto::store::{Permission, Repository, TransferOffer, User};

use super::{FoundRepository, MISSING, create, find, list};
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry, Object},
        events::{Actor, EventKind, EventRecorder, Subject},
        migrations,
    },
    store::{
        Read, Tx, lfs,
        owners::{self, Owner},
        ref_rules,
        repositories::{self, offers},
        teams,
    },
};

/// How long an offer is valid.
const OFFER_MS: Millis = 30 * 24 * 60 * 60 * 1_000;
/// Offers to end per step of the sweep.
const SWEEP_MAX: usize = 100;
const NO_OFFER: Error = Error::NotFound { what: "the transfer" };

/// The result of a request to transfer a repository.
#[derive(Clone, Debug)]
pub enum Transferred {
    /// The repository has moved.
    Done(FoundRepository),
    /// The repository was offered to the new owner.
    Offered(FoundRepository),
}

/// A pending offer with the accounts that it names.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The account that made the offer.
    pub doer: User,
    /// The owner to whom the repository is offered.
    pub recipient: Owner,
    /// IDs and names of the teams that get the repository.
    pub teams: Vec<(u64, String)>,
}

/// Moves the repository `owner`/`name` to another owner, or offers it to that owner.
pub async fn transfer(
    context: &Context,
    identity: &Identity,
    owner: &str,
    name: &str,
    input: &TransferRepository,
) -> Result<Transferred, Error> {
    let snapshot = context.store.read().await?;
    let found = find(&snapshot, identity, owner, name, Action::Own).await?;
    access::require_whole_account(identity)?;
    let doer = access::require_account(identity)?.user.id;
    if let Some(reason) = migrations::pending(&found.repository) {
        return Err(Error::Conflict { reason: reason.into() });
    }
    let recipient = new_owner(&snapshot, identity, &input.new_owner).await?;
    if recipient.id() == found.owner.id() {
        return Err(Error::invalid("new_owner", "already owns the repository"));
    }
    let teams = team_ids(&snapshot, &recipient, &input.team_ids).await?;
    let is_immediate = access::owns(&snapshot, identity, &recipient).await?;
    drop(snapshot);
    if is_immediate {
        return move_to(context, identity, found, &recipient, &teams, None).await.map(Transferred::Done);
    }
    let now = context.now_ms();
    let offer = &TransferOffer {
        doer_id: doer,
        recipient_kind: recipient.kind().into(),
        recipient_id: recipient.id(),
        team_ids: teams,
        expires_ms: now + OFFER_MS,
    };
    let audit = &AuditRecorder::new(context);
    let (found_ref, recipient_ref) = (&found, &recipient);
    let repository = context
        .store
        .write(async |tx: Tx| {
            let before = current(&tx, found_ref).await?;
            if offers::live(&before, now).is_some() {
                return Err(Error::Conflict { reason: "the repository is already offered to an owner".into() });
            }
            owners::owner(&tx, recipient_ref.kind(), recipient_ref.id()).await?.ok_or(NO_OWNER)?;
            let row = Repository { transfer: Some(offer.clone()), ..before.clone() };
            let elsewhere = Repository { owner_id: recipient_ref.id(), ..row.clone() };
            if repositories::name_in_use(&tx, &elsewhere).await? {
                return Err(name_in_use(recipient_ref, &row));
            }
            repositories::put(&tx, Some(&before), &row);
            let entry = Entry::new(audit::Action::RepositoryOffer, Object::repository(&row, found_ref.owner.name()));
            audit.record(&tx, entry.set("new_owner", recipient_ref.name())).await?;
            Ok(row)
        })
        .await?;
    context.sweep.due_at(offer.expires_ms);
    Ok(Transferred::Offered(FoundRepository { repository, ..found }))
}

const NO_OWNER: Error = Error::NotFound { what: "the new owner" };

/// Returns the row of a repository that still has the owner of `found`.
async fn current(read: &impl Read, found: &FoundRepository) -> Result<Repository, Error> {
    let row = repositories::get(read, found.repository.id).await?.filter(|row| !row.deleted).ok_or(MISSING)?;
    if row.owner_id == found.owner.id() { Ok(row) } else { Err(MISSING) }
}

/// Returns the account or organization `name`, if the caller sees it.
async fn new_owner(read: &impl Read, identity: &Identity, name: &str) -> Result<Owner, Error> {
    let found = if name.is_empty() { None } else { owners::owner_by_name(read, name).await? };
    let found = found.ok_or(NO_OWNER)?;
    let sees = list::sees(read, identity, &found).await? || access::owns(read, identity, &found).await?;
    if sees { Ok(found) } else { Err(NO_OWNER) }
}

/// Returns the ids of the teams in a request, if they belong to the new owner.
async fn team_ids(read: &impl Read, recipient: &Owner, ids: &[i64]) -> Result<Vec<u64>, Error> {
    if !ids.is_empty() && !matches!(recipient, Owner::Org(_)) {
        return Err(Error::invalid("team_ids", "only an organization has teams"));
    }
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let team = match u64::try_from(*id) {
            Ok(id) => teams::get(read, id).await?.filter(|team| team.org_id == recipient.id()),
            Err(_) => None,
        };
        let team = team.ok_or_else(|| Error::invalid("team_ids", format!("the new owner has no team {id}")))?;
        found.push(team.id);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn name_in_use(owner: &Owner, row: &Repository) -> Error {
    Error::in_use("new_owner", format!("repository name already exists: {}/{}", owner.name(), row.name))
}

/// Moves a repository to `recipient`. `accepted`: the offer that is accepted.
async fn move_to(
    context: &Context,
    identity: &Identity,
    found: FoundRepository,
    recipient: &Owner,
    team_ids: &[u64],
    accepted: Option<&TransferOffer>,
) -> Result<FoundRepository, Error> {
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    let audit = &AuditRecorder::new(context);
    let (now, found) = (context.now_ms(), &found);
    let moved = context.store.write(async |tx: Tx| {
        let before = current(&tx, found).await?;
        if accepted.is_some_and(|offer| offers::live(&before, now) != Some(offer)) {
            return Err(NO_OFFER);
        }
        if accepted.is_none() && offers::live(&before, now).is_some() {
            return Err(Error::Conflict { reason: "the repository is already offered to an owner".into() });
        }
        // Read again: the new owner may have been deleted, or its visibility changed.
        let owner = owners::owner(&tx, recipient.kind(), recipient.id()).await?.ok_or(NO_OWNER)?;
        create::check_limit(&tx, &owner).await?;
        check_lfs_quota(context, &tx, &owner, &before).await?;
        let row = Repository {
            owner_kind: owner.kind().into(),
            owner_id: owner.id(),
            listed: repositories::class(owner.visibility(), before.private).into(),
            transfer: None,
            updated_ms: now,
            ..before.clone()
        };
        if !repositories::rename(&tx, &before, &row).await? {
            return Err(name_in_use(&owner, &row));
        }
        // An owner is no collaborator.
        repositories::set_collaborator(&tx, row.id, owner.id(), Permission::None);
        teams::remove_repository(&tx, row.id).await?;
        ref_rules::remove_teams(&tx, row.id).await?;
        for team in team_ids {
            // A team may have been deleted since it was named.
            if teams::get(&tx, *team).await?.is_some_and(|team| team.org_id == owner.id()) {
                teams::add_repository(&tx, *team, row.id, now);
            }
        }
        let subject = Subject { repository: &row, owner: &owner, actor };
        let from = vec![("owner", found.owner.name().to_owned())];
        let event = EventKind::Repository { action: "transferred", before: from };
        recorder.record_for(&tx, subject, Some(before.owner_id), &[event]).await?;
        let entry = Entry::new(audit::Action::RepositoryTransfer, Object::repository(&row, owner.name()));
        audit.record(&tx, entry.field("owner", found.owner.name(), owner.name())).await?;
        Ok(FoundRepository { repository: row, owner, access_level: found.access_level })
    });
    let moved = moved.await?;
    let snapshot = context.store.read().await?;
    let access_level = access::access_level(&snapshot, identity, &moved.owner, &moved.repository).await?;
    Ok(FoundRepository { access_level, ..moved })
}

/// Returns an error if the new owner would have more bytes of LFS objects than allowed.
async fn check_lfs_quota(context: &Context, read: &impl Read, owner: &Owner, row: &Repository) -> Result<(), Error> {
    let quota = context.config.lfs.quota_bytes;
    if quota == 0 || row.lfs_size == 0 {
        return Ok(());
    }
    if lfs::size_of_owner(read, owner.id()).await?.saturating_add(row.lfs_size) <= quota {
        return Ok(());
    }
    let reason = format!("the repositories of {} may have at most {quota} bytes of LFS objects", owner.name());
    Err(Error::Quota { reason })
}

/// Accepts the offer of the repository `owner`/`name`.
pub async fn accept(context: &Context, identity: &Identity, owner: &str, name: &str) -> Result<FoundRepository, Error> {
    let snapshot = context.store.read().await?;
    let (found, offer, is_recipient) = offered(context, &snapshot, identity, owner, name).await?;
    access::require_whole_account(identity)?;
    let recipient = owners::owner(&snapshot, offer.recipient_kind(), offer.recipient_id).await?.ok_or(NO_OFFER)?;
    drop(snapshot);
    if !is_recipient {
        return Err(Error::Forbidden { reason: "only the new owner may accept the transfer".into() });
    }
    move_to(context, identity, found, &recipient, &offer.team_ids, Some(&offer)).await
}

/// Rejects the offer of the repository `owner`/`name`, or withdraws it.
pub async fn reject(context: &Context, identity: &Identity, owner: &str, name: &str) -> Result<FoundRepository, Error> {
    let snapshot = context.store.read().await?;
    let (found, offer, is_recipient) = offered(context, &snapshot, identity, owner, name).await?;
    access::require_whole_account(identity)?;
    drop(snapshot);
    if !is_recipient && !found.access_level.allows(Action::Own) {
        return Err(Error::Forbidden { reason: "only the new owner and the owner may end the transfer".into() });
    }
    let audit = &AuditRecorder::new(context);
    let (found_ref, offer, now) = (&found, &offer, context.now_ms());
    let repository = context
        .store
        .write(async |tx: Tx| {
            let before = current(&tx, found_ref).await?;
            if offers::live(&before, now) != Some(offer) {
                return Err(NO_OFFER);
            }
            let row = Repository { transfer: None, ..before.clone() };
            repositories::put(&tx, Some(&before), &row);
            let object = Object::repository(&row, found_ref.owner.name());
            audit
                .record(&tx, Entry::new(audit::Action::RepositoryOfferEnd, object).set("by_recipient", is_recipient))
                .await?;
            Ok(row)
        })
        .await?;
    Ok(FoundRepository { repository, ..found })
}

/// Returns a repository with its pending offer, and whether it is offered to the caller. The recipient finds it without
/// the right to read it.
async fn offered(
    context: &Context,
    read: &impl Read,
    identity: &Identity,
    owner: &str,
    name: &str,
) -> Result<(FoundRepository, TransferOffer, bool), Error> {
    access::require_account(identity)?;
    let now = context.now_ms();
    if let Some(found) = owners::owner_by_name(read, owner).await?
        && let Some(repository) = repositories::by_name(read, found.id(), name).await?
        && let Some(offer) = offers::live(&repository, now).cloned()
        && let Some(recipient) = owners::owner(read, offer.recipient_kind(), offer.recipient_id).await?
        && access::owns(read, identity, &recipient).await?
    {
        // The offer ends when the account that made it may no longer give the repository away.
        if !is_valid(read, &found, &repository, &offer).await? {
            return Err(NO_OFFER);
        }
        let access_level = access::access_level(read, identity, &found, &repository).await?;
        return Ok((FoundRepository { repository, owner: found, access_level }, offer, true));
    }
    let found = find(read, identity, owner, name, Action::Read).await?;
    let offer = offers::live(&found.repository, now).cloned().ok_or(NO_OFFER)?;
    Ok((found, offer, false))
}

/// Returns whether the account that made an offer exists and still has full control over the repository.
async fn is_valid(
    read: &impl Read,
    owner: &Owner,
    repository: &Repository,
    offer: &TransferOffer,
) -> Result<bool, Error> {
    let Some(user) = owners::user(read, offer.doer_id).await? else { return Ok(false) };
    let doer = Identity::Account(Box::new(crate::model::identity::Account {
        user,
        proof: crate::model::identity::Proof::Password,
    }));
    Ok(access::access_level(read, &doer, owner, repository).await?.allows(Action::Own))
}

/// Returns the pending offer of a repository, if the caller may see it: the account that made it, the recipient, and
/// site administrators.
pub async fn visible_offer(
    context: &Context,
    read: &impl Read,
    identity: &Identity,
    row: &Repository,
) -> Result<Option<Offer>, Error> {
    let Some(offer) = offers::live(row, context.now_ms()) else { return Ok(None) };
    let Some(account) = identity.account() else { return Ok(None) };
    let doer = owners::user(read, offer.doer_id).await?;
    let recipient = owners::owner(read, offer.recipient_kind(), offer.recipient_id).await?;
    let Some((doer, recipient)) = doer.zip(recipient) else { return Ok(None) };
    let sees = account.user.id == doer.id || access::owns(read, identity, &recipient).await?;
    if !sees {
        return Ok(None);
    }
    let mut named = Vec::new();
    for id in &offer.team_ids {
        named.extend(teams::get(read, *id).await?.map(|team| (team.id, team.name)));
    }
    Ok(Some(Offer { doer, recipient, teams: named }))
}

/// Ends a few offers that were not accepted in time. Returns whether there may be more. Repositories stay where they
/// are.
pub(super) async fn end_offers(context: &Context) -> Result<bool, Error> {
    let now = context.now_ms();
    let ended = offers::ended(&context.store.read().await?, now, SWEEP_MAX).await?;
    for row in &ended {
        context.store.write(async |tx: Tx| offers::end(&tx, row.id, now).await).await?;
    }
    Ok(ended.len() == SWEEP_MAX)
}

/// Returns when the next offer ends.
pub(super) async fn next_offer_end_ms(context: &Context) -> Result<Option<Millis>, Error> {
    Ok(offers::first_end_ms(&context.store.read().await?).await?)
}
