//! Lists of repositories: what a caller sees of them is decided before they are read, so that
//! totals count nothing else.

use farrier_proto::store::{OrgRole, Repository, Visibility};

use super::{Found, with_access_levels};
use crate::{
    model::identity::Identity,
    service::{
        Error,
        access::{self, Action},
        viewer::Viewer,
    },
    store::{
        Read, StoreError,
        engine::{Range, Scan},
        keys,
        listings::{self, ListingFilter, ListingQuery, RepositoryList, Sort},
        owners::Owner,
        repositories,
    },
};

/// A text that so many names may contain is looked up by its characters, not by walking a list.
const NAMED_MAX: u64 = 2_000;
/// Rows whose descriptions are read at a time.
const CHUNK: usize = 1_000;

/// Which kinds of repositories are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All kinds.
    #[default]
    Any,
    /// Neither forks nor mirrors: all that there are.
    Source,
    /// Forks and mirrors: there are none.
    Other,
    /// Those that the account `uid` collaborates on.
    Collaborative,
}

/// What is searched for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// What names contain.
    pub text: String,
    /// Whether it may stand in descriptions as well.
    pub in_descriptions: bool,
    /// Of this owner; 0: of all.
    pub owner: u64,
    /// Without those that the owner only collaborates on.
    pub exclusive: bool,
    /// Kinds.
    pub mode: Mode,
    /// Order.
    pub sort: Sort,
    /// From the last to the first.
    pub reverse: bool,
    /// Private ones, templates, archived ones; its text is not used.
    pub filter: ListingFilter,
}

/// A page of the repositories that `query` means and `identity` sees, and how many there are.
pub async fn list(
    read: &impl Read,
    identity: &Identity,
    query: &Query,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Found>, u64), Error> {
    if query.mode == Mode::Other {
        return Ok((Vec::new(), 0));
    }
    let mut listing = ListingQuery {
        sort: query.sort,
        reverse: query.reverse,
        filter: query.filter.clone(),
        ..visible(read, identity, query.owner).await?
    };
    let collaborative = query.mode == Mode::Collaborative;
    if query.owner != 0 && (collaborative || !query.exclusive) {
        let others = repositories::collaborations(read, query.owner).await?;
        let others = others.into_iter().filter(|row| row.owner_id != query.owner && !row.deleted).collect();
        let others = with_access_levels(read, identity, others).await?;
        if collaborative {
            listing.lists.clear();
            listing.singles.clear();
        }
        listing.singles.extend(others.into_iter().map(|found| found.repository));
    }
    narrow(identity, &mut listing);
    page(read, identity, with_text(read, identity, query, listing).await?, skip, limit).await
}

/// A page of the repositories of one owner by number.
pub async fn of_owner(
    read: &impl Read,
    identity: &Identity,
    owner: &Owner,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Found>, u64), Error> {
    if !sees(read, identity, owner).await? {
        let what = if matches!(owner, Owner::Org(_)) { "the organisation" } else { "the user" };
        return Err(Error::NotFound { what });
    }
    let mut listing = visible(read, identity, owner.id()).await?;
    narrow(identity, &mut listing);
    page(read, identity, listing, skip, limit).await
}

/// A page of the repositories that the caller owns, alone or with an organisation, or works on.
pub async fn reachable(
    read: &impl Read,
    identity: &Identity,
    (sort, reverse): (Sort, bool),
    skip: u64,
    limit: usize,
) -> Result<(Vec<Found>, u64), Error> {
    let account = access::require_account(identity)?;
    let own = own_owners(read, identity).await?;
    let classes = [Visibility::Public, Visibility::Limited, Visibility::Private];
    let mut listing = ListingQuery { sort, reverse, ..ListingQuery::default() };
    listing.lists = own.iter().flat_map(|owner| classes.map(|class| RepositoryList { scope: *owner, class })).collect();
    listing.singles = repositories::collaborations(read, account.user.id).await?;
    listing.singles.retain(|row| !row.deleted && !own.contains(&row.owner_id));
    if is_limited(identity) {
        listing.lists.retain(|list| list.class != Visibility::Private);
        let listed = |row: &Repository| own.contains(&row.owner_id) && row.listed() == Visibility::Private;
        listing.singles.extend(named_by_token(read, identity).await?.into_iter().filter(listed));
        listing.singles = seen(read, identity, listing.singles).await?;
    }
    narrow(identity, &mut listing);
    page(read, identity, listing, skip, limit).await
}

/// All repositories of an owner.
pub(super) async fn owned(read: &impl Read, identity: &Identity, owner: &Owner) -> Result<Vec<Found>, StoreError> {
    let ids = numbers_of(read, owner.id()).await?;
    with_access_levels(read, identity, repositories::many(read, &ids).await?).await
}

/// Numbers of the repositories of an owner.
pub async fn numbers_of(read: &impl Read, owner: u64) -> Result<Vec<u64>, StoreError> {
    let range = Range::prefix(keys::owner_repositories(owner));
    let pairs = read.scan_bytes(&Scan::of(range, usize::MAX)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Numbers of the repositories whose settings the caller may change: owned alone or with an organisation, worked on as
/// an administrator, and of these only what the caller's token allows. What site administrators may do besides is left
/// out.
pub async fn administered(read: &impl Read, identity: &Identity) -> Result<Vec<u64>, StoreError> {
    let account = access::require_account(identity).map(|account| account.user.id).unwrap_or_default();
    let narrow = is_limited(identity) || access::is_public_only(identity);
    let mut owned = Vec::new();
    let mut rows;
    if is_limited(identity) {
        rows = named_by_token(read, identity).await?;
    } else {
        for owner in own_owners(read, identity).await? {
            owned.append(&mut numbers_of(read, owner).await?);
        }
        rows = repositories::collaborations(read, account).await?;
        if narrow {
            rows.append(&mut repositories::many(read, &std::mem::take(&mut owned)).await?);
        }
    }
    rows.retain(|row| !row.deleted);
    let found = with_access_levels(read, identity, rows).await?.into_iter();
    owned.extend(found.filter(|found| found.access_level.allows(Action::Administer)).map(|found| found.repository.id));
    owned.sort_unstable();
    owned.dedup();
    Ok(owned)
}

/// Whether the caller may know of an owner.
pub(super) async fn sees(read: &impl Read, identity: &Identity, owner: &Owner) -> Result<bool, StoreError> {
    Ok(Viewer::of(read, identity).await?.sees(owner))
}

/// What the caller sees of all repositories (`owner` 0) or of those of one owner.
async fn visible(read: &impl Read, identity: &Identity, owner: u64) -> Result<ListingQuery, StoreError> {
    let list = |class| RepositoryList { scope: owner, class };
    let mut listing = ListingQuery { lists: vec![list(Visibility::Public)], ..ListingQuery::default() };
    let Some(account) = identity.account() else { return Ok(listing) };
    if account.user.restricted && !account.user.admin {
        return given(read, identity, owner).await;
    }
    listing.lists.push(list(Visibility::Limited));
    if is_limited(identity) {
        listing.singles = named_by_token(read, identity).await?;
    } else if account.user.admin {
        listing.lists.push(list(Visibility::Private));
    } else {
        let own = own_owners(read, identity).await?;
        let scopes = own.iter().filter(|own| owner == 0 || **own == owner);
        listing.lists.extend(scopes.map(|own| RepositoryList { scope: *own, class: Visibility::Private }));
        listing.singles = repositories::collaborations(read, account.user.id).await?;
        listing.singles.retain(|row| !own.contains(&row.owner_id));
    }
    listing.singles.retain(|row| row.listed() == Visibility::Private && (owner == 0 || row.owner_id == owner));
    listing.singles = seen(read, identity, listing.singles).await?;
    Ok(listing)
}

/// What a restricted account sees: what it or its organisations own, and what it works on.
async fn given(read: &impl Read, identity: &Identity, owner: u64) -> Result<ListingQuery, StoreError> {
    if is_limited(identity) {
        let mut singles = named_by_token(read, identity).await?;
        singles.retain(|row| owner == 0 || row.owner_id == owner);
        return Ok(ListingQuery { singles: seen(read, identity, singles).await?, ..ListingQuery::default() });
    }
    let own = own_owners(read, identity).await?;
    let scopes = own.iter().filter(|own| owner == 0 || **own == owner);
    let classes = [Visibility::Public, Visibility::Limited, Visibility::Private];
    let lists = scopes.flat_map(|owner| classes.map(|class| RepositoryList { scope: *owner, class })).collect();
    let mut singles = repositories::collaborations(read, identity.user_id()).await?;
    singles.retain(|row| !own.contains(&row.owner_id) && (owner == 0 || row.owner_id == owner));
    Ok(ListingQuery { lists, singles: seen(read, identity, singles).await?, ..ListingQuery::default() })
}

/// Owners whose repositories are all the caller's to see.
pub async fn own_owners(read: &impl Read, identity: &Identity) -> Result<Vec<u64>, StoreError> {
    let Some(account) = identity.account() else { return Ok(Vec::new()) };
    let range = Range::prefix(keys::user_orgs(account.user.id));
    let member = read.scan::<farrier_proto::store::Membership>(&Scan::of(range, usize::MAX)).await?;
    let owned = member.iter().filter(|(_, row)| row.role() == OrgRole::Owner);
    Ok([account.user.id].into_iter().chain(owned.filter_map(|(key, _)| keys::trailing_id(key))).collect())
}

/// Whether the caller's token is for certain repositories only.
fn is_limited(identity: &Identity) -> bool {
    identity.token().is_some_and(|token| !token.repositories.is_empty())
}

async fn named_by_token(read: &impl Read, identity: &Identity) -> Result<Vec<Repository>, StoreError> {
    let ids = identity.token().map(|token| token.repositories.as_slice()).unwrap_or_default();
    let mut rows = repositories::many(read, ids).await?;
    rows.retain(|row| !row.deleted);
    Ok(rows)
}

async fn seen(read: &impl Read, identity: &Identity, rows: Vec<Repository>) -> Result<Vec<Repository>, StoreError> {
    let found = with_access_levels(read, identity, rows).await?;
    Ok(found.into_iter().map(|found| found.repository).collect())
}

/// A token for public things sees nothing private, whatever is asked for. Nothing is there twice.
fn narrow(identity: &Identity, listing: &mut ListingQuery) {
    if identity.token().is_some_and(|token| token.scopes.public_only()) {
        if listing.filter.private == Some(true) {
            listing.lists.clear();
            listing.singles.clear();
        }
        listing.filter.private = Some(false);
    }
    listing.singles.sort_by_key(|row| row.id);
    listing.singles.dedup_by_key(|row| row.id);
    let lists = &listing.lists;
    listing.singles.retain(|row| {
        let covers =
            |list: &RepositoryList| list.class == row.listed() && (list.scope == 0 || list.scope == row.owner_id);
        !lists.iter().any(covers)
    });
}

/// Leaves what contains the text. Few names with it are looked up; otherwise the walk over the
/// lists compares it. Descriptions are in no index.
async fn with_text(
    read: &impl Read,
    identity: &Identity,
    query: &Query,
    mut listing: ListingQuery,
) -> Result<ListingQuery, StoreError> {
    let text = query.text.to_lowercase();
    if text.is_empty() {
        return Ok(listing);
    }
    if query.in_descriptions {
        let (ids, _) = listings::page(read, &listing, 0, usize::MAX).await?;
        let mut rows = Vec::new();
        for ids in ids.chunks(CHUNK) {
            let fits = |row: &Repository| {
                row.name.to_lowercase().contains(&text) || row.description.to_lowercase().contains(&text)
            };
            rows.extend(repositories::many(read, ids).await?.into_iter().filter(fits));
        }
        return Ok(ListingQuery { lists: Vec::new(), singles: rows, ..listing });
    }
    if let Some(rows) = listings::named(read, &text, NAMED_MAX).await? {
        let covered = |row: &Repository| {
            let covers =
                |list: &RepositoryList| list.class == row.listed() && (list.scope == 0 || list.scope == row.owner_id);
            listing.lists.iter().any(covers) || listing.singles.iter().any(|single| single.id == row.id)
        };
        let rows = rows.into_iter().filter(covered).collect();
        listing = ListingQuery { lists: Vec::new(), singles: seen(read, identity, rows).await?, ..listing };
        return Ok(listing);
    }
    listing.filter.text = text;
    Ok(listing)
}

async fn page(
    read: &impl Read,
    identity: &Identity,
    listing: ListingQuery,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Found>, u64), Error> {
    let (ids, total) = listings::page(read, &listing, skip, limit).await?;
    Ok((with_access_levels(read, identity, repositories::many(read, &ids).await?).await?, total))
}
