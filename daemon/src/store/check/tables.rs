//! Defines which index entries each kind of row needs, and to which row an index entry belongs.

use bytes::Bytes;
use farrier_proto::store::{
    Artifact, AssetReference, AuditEntry, CacheEntry, CommitStatus, DroppedPack, Interest, Job, Org, OwnerKind,
    OwnerName, Reference, Release, ReleaseAsset, Repository, Run, Token, TokenReference, User,
};
use prost::Message;

use super::{
    super::{
        StoreError, audit,
        engine::{Key, Range},
        keys, releases, repositories, value,
    },
    gpg_keys, hooks, lfs, mirrors, runs, ssh_keys, teams,
};

/// A key and its value.
pub(super) type IndexEntry = (Key, Bytes);

/// The keys with one tag.
#[derive(Debug)]
pub enum Table {
    /// Rows that need index entries or other rows.
    Rows(RowTable),
    /// Index entries.
    Index(IndexTable),
    /// Rows that belong to other rows.
    Dependents(DependentTable),
}

/// A table of rows.
#[derive(Debug)]
pub struct RowTable {
    tag: &'static str,
    /// Returns the index entries that a row needs.
    pub(super) entries: fn(&[u8], &Bytes) -> Result<Vec<IndexEntry>, StoreError>,
    /// Returns index entries of which a row needs at least one. The first is written as the fix.
    pub(super) one_of: fn(&[u8], &Bytes) -> Result<Vec<IndexEntry>, StoreError>,
    /// Returns the keys of rows that must exist for this row to be valid.
    pub(super) required: fn(&[u8], &Bytes) -> Result<Vec<Key>, StoreError>,
    /// Whether the rows are redirects.
    pub(super) redirects: bool,
}

/// A table of index entries.
#[derive(Debug)]
pub struct IndexTable {
    tag: &'static str,
    /// Returns the key of the row to which an entry belongs.
    pub(super) row: fn(&[u8], &Bytes) -> Option<Key>,
}

/// A table of rows that have no meaning without the row to which they belong.
#[derive(Debug)]
pub struct DependentTable {
    tag: &'static str,
    /// Returns a range of keys of which one must exist.
    pub(super) owner: fn(&[u8]) -> Option<Range>,
}

impl Table {
    /// Returns the tag of the table's keys.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Rows(rows) => rows.tag,
            Self::Index(index) => index.tag,
            Self::Dependents(dependents) => dependents.tag,
        }
    }
}

/// Returns the row table of `key`.
pub(super) fn rows_of(key: &[u8]) -> Option<&'static RowTable> {
    TABLES.iter().find_map(|table| match table {
        Table::Rows(rows) if keys::has_tag(key, rows.tag) => Some(rows),
        _ => None,
    })
}

/// Returns the index table of `key`.
pub(super) fn index_of(key: &[u8]) -> Option<&'static IndexTable> {
    TABLES.iter().find_map(|table| match table {
        Table::Index(index) if keys::has_tag(key, index.tag) => Some(index),
        _ => None,
    })
}

type Entries = fn(&[u8], &Bytes) -> Result<Vec<IndexEntry>, StoreError>;
type RequiredKeys = fn(&[u8], &Bytes) -> Result<Vec<Key>, StoreError>;

const NONE: Entries = |_, _| Ok(Vec::new());

const fn rows(tag: &'static str, entries: Entries, required: RequiredKeys) -> Table {
    Table::Rows(RowTable { tag, entries, one_of: NONE, required, redirects: false })
}

const fn redirects(tag: &'static str, required: RequiredKeys) -> Table {
    Table::Rows(RowTable { tag, entries: NONE, one_of: NONE, required, redirects: true })
}

const fn dependents(tag: &'static str, owner: fn(&[u8]) -> Option<Range>) -> Table {
    Table::Dependents(DependentTable { tag, owner })
}

const fn index(tag: &'static str, row: fn(&[u8], &Bytes) -> Option<Key>) -> Table {
    Table::Index(IndexTable { tag, row })
}

/// All tables. Rows come first, so that an index is complete when it is checked after its entries were
/// restored.
pub static TABLES: &[Table] = &[
    rows("u", user, |_, _| Ok(Vec::new())),
    rows("o", org, |_, _| Ok(Vec::new())),
    rows(
        "om",
        |key, bytes| Ok(mirrored(key, bytes, keys::user_org)),
        |key, _| Ok(ids(key).map(|(org, user)| vec![keys::org(org), keys::user(user)]).unwrap_or_default()),
    ),
    rows("ya", teams::team, teams::org),
    rows("ym", teams::member, teams::team_and_user),
    rows("yr", teams::repository, teams::team_and_repository),
    rows("t", token, |key, bytes| Ok(vec![keys::user(value::decode::<Token>(key, bytes)?.user_id)])),
    rows("r", repository, |key, bytes| {
        let row: Repository = value::decode(key, bytes)?;
        // A deleted repository may be kept after its owner is deleted.
        Ok(if row.deleted { Vec::new() } else { vec![owner_key(row.owner_kind(), row.owner_id)] })
    }),
    rows(
        "rc",
        |key, bytes| Ok(mirrored(key, bytes, keys::collaboration)),
        |key, _| {
            Ok(ids(key)
                .map(|(repository, user)| vec![keys::repository(repository), keys::user(user)])
                .unwrap_or_default())
        },
    ),
    rows("g", dropped_pack, |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect())),
    rows("rf", |_, _| Ok(Vec::new()), |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect())),
    rows(
        "cs",
        |key, bytes| {
            let row: CommitStatus = value::decode(key, bytes)?;
            let entry = keys::commit_of_status(key)
                .map(|(repository, commit)| keys::status_of_context(repository, commit, &row.context, row.id));
            Ok(references(entry, row.id))
        },
        |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect()),
    ),
    rows(
        "su",
        |key, bytes| {
            let row: Interest = value::decode(key, bytes)?;
            let Some((user, (kind, repository))) = keys::first_id(key).zip(keys::interest_parts(key)) else {
                return Ok(Vec::new());
            };
            Ok(references([keys::interested(repository, kind, row.class(), user)], user))
        },
        |key, _| {
            let user = keys::first_id(key).map(keys::user);
            Ok(user.into_iter().chain(keys::interest_parts(key).map(|(_, id)| keys::repository(id))).collect())
        },
    ),
    rows(
        "le",
        |key, bytes| {
            let row: Release = value::decode(key, bytes)?;
            let mut all = references([keys::release_tag(row.repository_id, &row.tag)], row.id);
            all.push(entry(keys::release_entry(row.repository_id, row.id), &releases::entry(&row)));
            Ok(all)
        },
        |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect()),
    ),
    rows(
        "la",
        |key, bytes| {
            let row: ReleaseAsset = value::decode(key, bytes)?;
            let place = AssetReference { repository_id: row.repository_id, release_id: row.release_id, id: row.id };
            Ok(releases::assets::index_keys(&row).map(|key| entry(key, &place)).into())
        },
        |key, bytes| {
            let row: ReleaseAsset = value::decode(key, bytes)?;
            Ok(vec![keys::release(row.repository_id, row.release_id)])
        },
    ),
    rows("mp", mirrors::remote, mirrors::required),
    rows("k", ssh_keys::key, ssh_keys::account),
    rows("kd", ssh_keys::deploy_key, ssh_keys::required),
    rows("gk", gpg_keys::key, gpg_keys::account),
    // The users and teams of a rule may be deleted.
    rows("bp", |_, _| Ok(Vec::new()), |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect())),
    rows("bt", |_, _| Ok(Vec::new()), |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect())),
    rows("lo", lfs::object, |_, _| Ok(Vec::new())),
    rows("lr", lfs::entry, lfs::required),
    rows("ll", lfs::lock, |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect())),
    rows("j", runs::run, |key, bytes| Ok(vec![keys::repository(value::decode::<Run>(key, bytes)?.repository_id)])),
    rows("jj", runs::job, |key, bytes| Ok(vec![keys::run(value::decode::<Job>(key, bytes)?.run_id)])),
    rows("js", runs::summary, |key, _| {
        Ok(keys::first_ids(key).map(|(run, job)| keys::job(run, job)).into_iter().collect())
    }),
    rows("a", runs::artifact, |key, bytes| {
        let row: Artifact = value::decode(key, bytes)?;
        Ok(vec![keys::repository(row.repository_id), keys::run(row.run_id)])
    }),
    rows("ce", runs::cache_entry, |key, bytes| {
        Ok(vec![keys::repository(value::decode::<CacheEntry>(key, bytes)?.repository_id)])
    }),
    rows("h", hooks::hook, hooks::target),
    Table::Rows(RowTable {
        tag: "d",
        entries: hooks::delivery,
        one_of: hooks::queued,
        required: hooks::payload,
        redirects: false,
    }),
    rows("ef", |_, _| Ok(Vec::new()), hooks::fan_out),
    // The objects and the actor of an entry may be deleted.
    rows("al", audit_entry, |_, _| Ok(Vec::new())),
    redirects("rr", |key, bytes| Ok(vec![keys::repository(value::decode::<Reference>(key, bytes)?.id)])),
    redirects("wr", |key, bytes| {
        let to: OwnerName = value::decode(key, bytes)?;
        Ok(vec![owner_key(to.kind(), to.id)])
    }),
    index("ow", |key, bytes| {
        let to: OwnerName = value::decode(key, bytes).ok()?;
        Some(owner_key(to.kind(), to.id))
    }),
    index("ue", |key, bytes| reference_id(key, bytes).map(keys::user)),
    index("ou", |key, _| ids(key).map(|(user, org)| keys::org_member(org, user))),
    index("yb", |key, bytes| reference_id(key, bytes).map(keys::team)),
    index("yu", |key, _| Some(keys::team_member(keys::trailing_id(key)?, keys::first_id(key)?))),
    index("yx", |key, _| ids(key).map(|(repository, team)| keys::team_repository(team, repository))),
    index("tu", |key, bytes| {
        let to: TokenReference = value::decode(key, bytes).ok()?;
        Some(keys::token(to.hash.as_slice().try_into().ok()?))
    }),
    index("rn", |key, bytes| reference_id(key, bytes).map(keys::repository)),
    index("ro", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rl", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rg", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("lf", |key, _| ids(key).map(|(repository, release)| keys::release(repository, release))),
    index("lt", |key, bytes| {
        let reference: Reference = value::decode(key, bytes).ok()?;
        Some(keys::release(keys::first_id(key)?, reference.id))
    }),
    index("mq", mirrors::row_of_due),
    index("st", |key, _| keys::interest_of_interested(key)),
    index("kf", |key, bytes| reference_id(key, bytes).map(keys::ssh_key)),
    index("ka", |key, _| keys::trailing_id(key).map(keys::ssh_key)),
    index("ke", |key, bytes| Some(keys::deploy_key(keys::trailing_id(key)?, reference_id(key, bytes)?))),
    index("gf", gpg_keys::row_of_part),
    index("lk", asset_of_place),
    index("lu", asset_of_place),
    index("li", lfs::object_of_place),
    index("lg", lfs::object_of_place),
    index("lx", |key, _| keys::lfs_holder_parts(key).map(|(oid, repository)| keys::lfs_entry(repository, &oid))),
    index("lp", |key, bytes| Some(keys::lfs_lock(keys::first_id(key)?, reference_id(key, bytes)?))),
    index("tp", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("ct", |key, _| {
        let (repository, commit) = keys::commit_of_status(key)?;
        Some(keys::status(repository, commit, keys::trailing_id(key)?))
    }),
    index("gx", |key, _| keys::dropped_pack_of_due(key).map(|(repository, name)| keys::dropped_pack(repository, name))),
    index("fk", |key, _| keys::trailing_newest(key).map(keys::repository)),
    index("rx", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rz", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rk", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("ry", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("of", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("cu", |key, _| ids(key).map(|(user, repository)| keys::collaborator(repository, user))),
    index("jr", |key, _| keys::trailing_newest(key).map(keys::run)),
    index("ji", |key, bytes| Some(keys::job(reference_id(key, bytes)?, keys::trailing_id(key)?))),
    index("jx", |key, bytes| Some(keys::job(reference_id(key, bytes)?, keys::trailing_id(key)?))),
    index("jt", |key, _| keys::trailing_step(key).map(keys::summary)),
    index("an", |key, bytes| reference_id(key, bytes).map(keys::artifact)),
    index("ar", |key, _| keys::trailing_newest(key).map(keys::artifact)),
    index("aj", |key, _| keys::trailing_newest(key).map(keys::artifact)),
    index("ax", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("az", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("aw", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("ux", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("ck", |key, bytes| reference_id(key, bytes).map(keys::cache_entry)),
    index("cp", |key, bytes| reference_id(key, bytes).map(keys::cache_entry)),
    index("ca", |key, _| keys::trailing_id(key).map(keys::cache_entry)),
    index("cc", |key, _| keys::trailing_id(key).map(keys::cache_entry)),
    index("cz", |key, _| keys::trailing_id(key).map(keys::cache_entry)),
    index("cx", |key, _| keys::trailing_id(key).map(keys::cache_entry)),
    index("cq", |key, _| keys::trailing_id(key).map(keys::cache_entry)),
    index("hs", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("hd", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("hr", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("ho", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("hz", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("dh", |key, _| keys::trailing_newest(key).map(keys::delivery)),
    index("de", |key, _| keys::trailing_id(key).map(keys::delivery)),
    index("df", |key, _| keys::trailing_newest(key).map(keys::delivery)),
    index("qf", |key, _| keys::trailing_id(key).map(keys::delivery)),
    index("qu", |key, _| keys::trailing_id(key).map(keys::delivery)),
    index("qr", |key, _| keys::trailing_id(key).map(keys::delivery)),
    dependents("ec", hooks::fan_out_of_cursor),
    index("au", |key, _| keys::trailing_newest(key).map(keys::audit_entry)),
    dependents("cl", |key| {
        let (repository, commit) = keys::commit_of_status(key)?;
        Some(Range::prefix(keys::statuses(repository, commit)))
    }),
    dependents("jp", |key| keys::step_of_part(key).map(|step| Range::prefix(keys::summary(step)))),
    dependents("hx", |key| keys::first_id(key).map(|hook| Range::prefix(keys::hook(hook)))),
    dependents("da", |key| keys::first_id(key).map(|delivery| Range::prefix(keys::delivery(delivery)))),
    dependents("ep", hooks::payload_deliveries),
];

/// Returns the two ids of a key with two ids.
fn ids(key: &[u8]) -> Option<(u64, u64)> {
    keys::trailing_ids(key)
}

fn reference_id(key: &[u8], bytes: &Bytes) -> Option<u64> {
    Some(value::decode::<Reference>(key, bytes).ok()?.id)
}

fn owner_key(kind: OwnerKind, id: u64) -> Key {
    match kind {
        OwnerKind::Org => keys::org(id),
        OwnerKind::User | OwnerKind::Unspecified => keys::user(id),
    }
}

pub(super) fn entry(key: Key, row: &impl Message) -> IndexEntry {
    (key, value::encode(row))
}

pub(super) fn references(all: impl IntoIterator<Item = Key>, id: u64) -> Vec<IndexEntry> {
    all.into_iter().map(|key| entry(key, &Reference { id })).collect()
}

fn user(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: User = value::decode(key, bytes)?;
    let mut all = vec![entry(keys::owner_name(&row.name), &OwnerName { kind: OwnerKind::User.into(), id: row.id })];
    if !row.email.is_empty() {
        all.push(entry(keys::user_email(&row.email), &Reference { id: row.id }));
    }
    Ok(all)
}

/// A dropped pack is listed by the time at which its files may be removed. Other rows of refs and packs need no entry.
fn dropped_pack(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let (Some(repository), Some(name)) = (keys::first_id(key), keys::dropped_pack_name(key)) else {
        return Ok(Vec::new());
    };
    let row: DroppedPack = value::decode(key, bytes)?;
    Ok(references([keys::dropped_pack_due(row.due_ms, repository, name)], repository))
}

fn org(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Org = value::decode(key, bytes)?;
    Ok(vec![entry(keys::owner_name(&row.name), &OwnerName { kind: OwnerKind::Org.into(), id: row.id })])
}

/// Returns the same value under the key with the two ids swapped.
fn mirrored(key: &[u8], bytes: &Bytes, other: fn(u64, u64) -> Key) -> Vec<IndexEntry> {
    ids(key).map(|(first, second)| (other(second, first), bytes.clone())).into_iter().collect()
}

fn token(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Token = value::decode(key, bytes)?;
    let hash = key.get(keys::tag("t").len()..).unwrap_or_default().to_vec();
    Ok(vec![entry(keys::user_token(row.user_id, row.id), &TokenReference { hash })])
}

fn repository(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Repository = value::decode(key, bytes)?;
    let mut all = references(repositories::references(&row), row.id);
    all.extend(repositories::listings(&row).into_iter().map(|(key, listing)| entry(key, &listing)));
    Ok(all)
}

fn asset_of_place(key: &[u8], bytes: &Bytes) -> Option<Key> {
    let place: AssetReference = value::decode(key, bytes).ok()?;
    Some(keys::release_asset(place.repository_id, place.release_id, place.id))
}

fn audit_entry(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: AuditEntry = value::decode(key, bytes)?;
    Ok(references(audit::index_key(&row), row.id))
}
