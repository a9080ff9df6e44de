//! Lists repositories. What the caller may see is determined before rows are read, so that totals count only that.

use farrier_proto::store::{OrgRole, Repository, Visibility};

use super::{
    FoundRepository,
    team_reach::{self, TeamReach},
    with_access_levels,
};
use crate::{
    model::identity::Identity,
    service::{
        Error,
        access::{self, Action},
        viewer::Viewer,
    },
    store::{
        Read, Snapshot, StoreError,
        engine::{Range, Scan},
        keys,
        listings::{self, ListingFilter, ListingQuery, RepositoryList, Sort},
        owners::Owner,
        repositories,
    },
};

/// Names with the text are looked up in the index if there are at most this many. Otherwise the list is scanned.
const NAMED_MAX: u64 = 2_000;
/// Rows to read at a time when descriptions are searched.
const CHUNK: usize = 1_000;

/// Which kinds of repositories to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListMode {
    /// All kinds.
    #[default]
    Any,
    /// Repositories that are not forks.
    Source,
    /// Forks.
    Fork,
    /// Pull mirrors.
    Mirror,
    /// Repositories that no search finds.
    Nothing,
    /// Repositories that the account `uid` collaborates on.
    Collaborative,
}

impl ListMode {
    /// Returns whether the repositories must be forks. `None`: they may be.
    fn fork(self) -> Option<bool> {
        match self {
            Self::Source => Some(false),
            Self::Fork => Some(true),
            Self::Any | Self::Mirror | Self::Nothing | Self::Collaborative => None,
        }
    }

    /// Returns whether the repositories must be pull mirrors. `None`: they may be.
    fn mirror(self) -> Option<bool> {
        match self {
            Self::Source => Some(false),
            Self::Mirror => Some(true),
            Self::Any | Self::Fork | Self::Nothing | Self::Collaborative => None,
        }
    }
}

/// Where a search looks for its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchedText {
    /// In names.
    #[default]
    Names,
    /// In names and descriptions, and as a whole topic.
    NamesAndDescriptions,
    /// The text is a whole topic.
    Topics,
}

/// The filter and order of a search.
#[derive(Clone, Debug, Default)]
pub struct RepositoryQuery {
    /// The text to search for.
    pub text: String,
    /// Where to search for it.
    pub searched: SearchedText,
    /// Only repositories of this owner. 0: any.
    pub owner: u64,
    /// Exclude repositories that the owner only collaborates on.
    pub exclusive: bool,
    /// Only repositories of this team. 0: any.
    pub team: u64,
    /// Kinds of repositories.
    pub mode: ListMode,
    /// Sort order.
    pub sort: Sort,
    /// Sort in descending order.
    pub reverse: bool,
    /// Whether they are private, templates or archived. Its text is not used.
    pub filter: ListingFilter,
}

/// Returns a page of the repositories that `query` matches and `identity` sees, and their total number.
pub async fn list(
    read: &Snapshot,
    identity: &Identity,
    query: &RepositoryQuery,
    skip: u64,
    limit: usize,
) -> Result<(Vec<FoundRepository>, u64), Error> {
    if query.mode == ListMode::Nothing {
        return Ok((Vec::new(), 0));
    }
    let mut listing = ListingQuery {
        sort: query.sort,
        reverse: query.reverse,
        filter: ListingFilter { fork: query.mode.fork(), mirror: query.mode.mirror(), ..query.filter.clone() },
        ..visible(read, identity, query.owner).await?
    };
    let collaborative = query.mode == ListMode::Collaborative;
    if query.owner != 0 && (collaborative || !query.exclusive) {
        let mut others = repositories::collaborations(read, query.owner).await?;
        let mut orgs = Vec::new();
        // Only the account itself: its teams are not visible to everyone who sees the repositories.
        if query.owner == identity.user_id() && !access::is_repository_limited(identity) {
            TeamReach::of(read, identity, Action::Read).await?.add_to(&mut orgs, &mut others);
        }
        let others = others.into_iter().filter(|row| row.owner_id != query.owner && !row.deleted).collect();
        let others = with_access_levels(read, identity, others).await?;
        if collaborative {
            listing.lists.clear();
            listing.singles.clear();
        }
        listing.singles.extend(others.into_iter().map(|found| found.repository));
        listing.lists.extend(lists_of(&orgs));
    }
    if query.team != 0 {
        let of_team = team_reach::of_team(read, identity, query.team).await?;
        let covered = |row: &Repository| covers(&listing, row);
        let of_team = of_team.into_iter().filter(covered).collect();
        listing = ListingQuery { lists: Vec::new(), singles: only_visible(read, identity, of_team).await?, ..listing };
    }
    restrict(identity, &mut listing);
    page(read, identity, with_text(read, identity, query, listing).await?, skip, limit).await
}

/// Returns the lists of all repositories of these owners.
fn lists_of(owners: &[u64]) -> impl Iterator<Item = RepositoryList> {
    let classes = [Visibility::Public, Visibility::Limited, Visibility::Private];
    owners.iter().flat_map(move |scope| classes.map(|class| RepositoryList { scope: *scope, class }))
}

/// Returns whether a repository is in one of the lists or is a single one.
fn covers(listing: &ListingQuery, row: &Repository) -> bool {
    listing.lists.iter().any(|list| list_covers(list, row)) || listing.singles.iter().any(|single| single.id == row.id)
}

fn list_covers(list: &RepositoryList, row: &Repository) -> bool {
    list.class == row.listed() && (list.scope == 0 || list.scope == row.owner_id)
}

/// Returns a page of the repositories of one owner, by id.
pub async fn of_owner(
    read: &Snapshot,
    identity: &Identity,
    owner: &Owner,
    skip: u64,
    limit: usize,
) -> Result<(Vec<FoundRepository>, u64), Error> {
    if !sees(read, identity, owner).await? {
        let what = if matches!(owner, Owner::Org(_)) { "the organization" } else { "the user" };
        return Err(Error::NotFound { what });
    }
    let mut listing = visible(read, identity, owner.id()).await?;
    restrict(identity, &mut listing);
    page(read, identity, listing, skip, limit).await
}

/// Returns a page of the repositories that the caller owns, alone or through an organization, collaborates on, or
/// reaches through a team.
pub async fn reachable(
    read: &Snapshot,
    identity: &Identity,
    (sort, reverse): (Sort, bool),
    skip: u64,
    limit: usize,
) -> Result<(Vec<FoundRepository>, u64), Error> {
    let account = access::require_account(identity)?;
    let mut own = own_owners(read, identity).await?;
    let mut listing = ListingQuery { sort, reverse, ..ListingQuery::default() };
    listing.singles = repositories::collaborations(read, account.user.id).await?;
    TeamReach::of(read, identity, Action::Read).await?.add_to(&mut own, &mut listing.singles);
    listing.lists = lists_of(&own).collect();
    listing.singles.retain(|row| !row.deleted && !own.contains(&row.owner_id));
    if access::is_repository_limited(identity) {
        // A restricted account also needs a right in the repositories that others see without one.
        let needs_right = |class: Visibility| class == Visibility::Private || account.user.restricted;
        listing.lists.retain(|list| !needs_right(list.class));
        let listed = |row: &Repository| own.contains(&row.owner_id) && needs_right(row.listed());
        listing.singles.extend(named_by_token(read, identity).await?.into_iter().filter(listed));
        listing.singles = only_visible(read, identity, listing.singles).await?;
    }
    restrict(identity, &mut listing);
    page(read, identity, listing, skip, limit).await
}

/// Returns all repositories of an owner.
pub(super) async fn owned(
    read: &impl Read,
    identity: &Identity,
    owner: &Owner,
) -> Result<Vec<FoundRepository>, StoreError> {
    let ids = ids_of(read, owner.id()).await?;
    with_access_levels(read, identity, repositories::many(read, &ids).await?).await
}

/// Returns the ids of the repositories of an owner.
pub async fn ids_of(read: &impl Read, owner: u64) -> Result<Vec<u64>, StoreError> {
    let range = Range::prefix(keys::owner_repositories(owner));
    let pairs = read.scan_bytes(&Scan::of(range, usize::MAX)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns the ids of the repositories whose settings the caller may change: owned alone or through an organization, or
/// administered as a collaborator or through a team, and allowed by the caller's token. Rights of site administrators
/// are not considered.
pub async fn administered(read: &impl Read, identity: &Identity) -> Result<Vec<u64>, StoreError> {
    let account = access::require_account(identity).map(|account| account.user.id).unwrap_or_default();
    let is_restricted = access::is_repository_limited(identity) || access::is_public_only(identity);
    let mut owned = Vec::new();
    let mut rows;
    if access::is_repository_limited(identity) {
        rows = named_by_token(read, identity).await?;
    } else {
        for owner in own_owners(read, identity).await? {
            owned.append(&mut ids_of(read, owner).await?);
        }
        rows = repositories::collaborations(read, account).await?;
        let reach = TeamReach::of(read, identity, Action::Administer).await?;
        for org in reach.orgs {
            owned.append(&mut ids_of(read, org).await?);
        }
        rows.extend(reach.repositories);
        if is_restricted {
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

/// Returns whether the caller can see an owner.
pub(super) async fn sees(read: &impl Read, identity: &Identity, owner: &Owner) -> Result<bool, StoreError> {
    Ok(Viewer::of(read, identity).await?.sees(owner))
}

/// Returns what the caller sees of all repositories (`owner` 0) or of those of one owner.
pub(super) async fn visible(read: &impl Read, identity: &Identity, owner: u64) -> Result<ListingQuery, StoreError> {
    let list = |class| RepositoryList { scope: owner, class };
    let mut listing = ListingQuery { lists: vec![list(Visibility::Public)], ..ListingQuery::default() };
    let Some(account) = identity.account() else { return Ok(listing) };
    // A token that is limited to repositories gives an administrator no rights in others.
    if account.user.restricted && (!account.user.admin || access::is_repository_limited(identity)) {
        return visible_to_restricted(read, identity, owner).await;
    }
    listing.lists.push(list(Visibility::Limited));
    if access::is_repository_limited(identity) {
        listing.singles = named_by_token(read, identity).await?;
    } else if account.user.admin {
        listing.lists.push(list(Visibility::Private));
    } else {
        let mut own = own_owners(read, identity).await?;
        listing.singles = repositories::collaborations(read, account.user.id).await?;
        TeamReach::of(read, identity, Action::Read).await?.add_to(&mut own, &mut listing.singles);
        let scopes = own.iter().filter(|own| owner == 0 || **own == owner);
        listing.lists.extend(scopes.map(|own| RepositoryList { scope: *own, class: Visibility::Private }));
        listing.singles.retain(|row| !own.contains(&row.owner_id));
    }
    listing.singles.retain(|row| row.listed() == Visibility::Private && (owner == 0 || row.owner_id == owner));
    listing.singles = only_visible(read, identity, listing.singles).await?;
    Ok(listing)
}

/// Returns what a restricted account sees: what it or its organizations own, what it collaborates on, and what it
/// reaches through teams.
async fn visible_to_restricted(read: &impl Read, identity: &Identity, owner: u64) -> Result<ListingQuery, StoreError> {
    if access::is_repository_limited(identity) {
        let mut singles = named_by_token(read, identity).await?;
        singles.retain(|row| owner == 0 || row.owner_id == owner);
        return Ok(ListingQuery { singles: only_visible(read, identity, singles).await?, ..ListingQuery::default() });
    }
    let mut own = own_owners(read, identity).await?;
    let mut singles = repositories::collaborations(read, identity.user_id()).await?;
    TeamReach::of(read, identity, Action::Read).await?.add_to(&mut own, &mut singles);
    let scopes: Vec<u64> = own.iter().copied().filter(|own| owner == 0 || *own == owner).collect();
    let lists = lists_of(&scopes).collect();
    singles.retain(|row| !own.contains(&row.owner_id) && (owner == 0 || row.owner_id == owner));
    Ok(ListingQuery { lists, singles: only_visible(read, identity, singles).await?, ..ListingQuery::default() })
}

/// Returns the owners that the caller is or owns.
pub async fn own_owners(read: &impl Read, identity: &Identity) -> Result<Vec<u64>, StoreError> {
    let Some(account) = identity.account() else { return Ok(Vec::new()) };
    let range = Range::prefix(keys::user_orgs(account.user.id));
    let member = read.scan::<farrier_proto::store::Membership>(&Scan::of(range, usize::MAX)).await?;
    let owned = member.iter().filter(|(_, row)| row.role() == OrgRole::Owner);
    Ok([account.user.id].into_iter().chain(owned.filter_map(|(key, _)| keys::trailing_id(key))).collect())
}

async fn named_by_token(read: &impl Read, identity: &Identity) -> Result<Vec<Repository>, StoreError> {
    let ids = identity.token().map(|token| token.repositories.as_slice()).unwrap_or_default();
    let mut rows = repositories::many(read, ids).await?;
    rows.retain(|row| !row.deleted);
    Ok(rows)
}

async fn only_visible(
    read: &impl Read,
    identity: &Identity,
    rows: Vec<Repository>,
) -> Result<Vec<Repository>, StoreError> {
    let found = with_access_levels(read, identity, rows).await?;
    Ok(found.into_iter().map(|found| found.repository).collect())
}

/// Excludes repositories that not everyone sees if the token is limited to public ones. Removes duplicates.
pub(super) fn restrict(identity: &Identity, listing: &mut ListingQuery) {
    if access::is_public_only(identity) {
        listing.lists.retain(|list| list.class == Visibility::Public);
        listing.singles.retain(|row| row.listed() == Visibility::Public);
    }
    listing.singles.sort_by_key(|row| row.id);
    listing.singles.dedup_by_key(|row| row.id);
    let lists = &listing.lists;
    listing.singles.retain(|row| !lists.iter().any(|list| list_covers(list, row)));
}

/// Keeps repositories that contain the text. If few names contain it, they are looked up; otherwise the scan of the
/// lists compares it. Descriptions are not indexed.
async fn with_text(
    read: &Snapshot,
    identity: &Identity,
    query: &RepositoryQuery,
    mut listing: ListingQuery,
) -> Result<ListingQuery, StoreError> {
    let text = query.text.to_lowercase();
    if text.is_empty() {
        return Ok(listing);
    }
    if query.searched == SearchedText::NamesAndDescriptions {
        let (ids, _) = listings::page(read, &listing, 0, usize::MAX).await?;
        let mut rows = Vec::new();
        for ids in ids.chunks(CHUNK) {
            let fits = |row: &Repository| {
                row.name.to_lowercase().contains(&text)
                    || row.description.to_lowercase().contains(&text)
                    || row.topics.contains(&text)
            };
            rows.extend(repositories::many(read, ids).await?.into_iter().filter(fits));
        }
        return Ok(ListingQuery { lists: Vec::new(), singles: rows, ..listing });
    }
    let indexed = if query.searched == SearchedText::Topics {
        Some(repositories::with_topic(read, &text).await?)
    } else {
        listings::named(read, &text, NAMED_MAX).await?
    };
    if let Some(rows) = indexed {
        let rows = rows.into_iter().filter(|row| covers(&listing, row)).collect();
        listing = ListingQuery { lists: Vec::new(), singles: only_visible(read, identity, rows).await?, ..listing };
        return Ok(listing);
    }
    listing.filter.text = text;
    Ok(listing)
}

async fn page(
    read: &Snapshot,
    identity: &Identity,
    listing: ListingQuery,
    skip: u64,
    limit: usize,
) -> Result<(Vec<FoundRepository>, u64), Error> {
    let (ids, total) = listings::page(read, &listing, skip, limit).await?;
    Ok((with_access_levels(read, identity, repositories::many(read, &ids).await?).await?, total))
}
