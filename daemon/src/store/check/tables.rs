//! Which index entries each kind of row needs, and how an entry leads back to its row.

use bytes::Bytes;
use farrier_proto::store::{
    Artifact, Job, Org, OwnerKind, OwnerName, Reference, Repository, Run, RunStatus, Token, TokenReference, User,
};
use prost::Message;

use super::{
    super::{
        StoreError, artifacts,
        engine::{Key, Range},
        keys, repositories, value,
    },
    hooks,
};

/// A key with its value.
pub(super) type Entry = (Key, Bytes);

/// One tag of the key layout.
#[derive(Debug)]
pub enum Table {
    /// Rows that need index entries, or other rows.
    Rows(Rows),
    /// Index entries.
    Index(Index),
    /// Rows that are parts of others.
    Parts(Parts),
}

/// Rows of one kind.
#[derive(Debug)]
pub struct Rows {
    tag: &'static str,
    /// The index entries that a row needs.
    pub(super) entries: fn(&[u8], &Bytes) -> Result<Vec<Entry>, StoreError>,
    /// Index entries of which a row needs one, whichever; the first is what mends.
    pub(super) one_of: fn(&[u8], &Bytes) -> Result<Vec<Entry>, StoreError>,
    /// Keys of rows that must be there for this one to make sense.
    pub(super) needs: fn(&[u8], &Bytes) -> Result<Vec<Key>, StoreError>,
    /// Rows that only lead somewhere.
    pub(super) redirects: bool,
}

/// Index entries of one kind.
#[derive(Debug)]
pub struct Index {
    tag: &'static str,
    /// The key of the row that an entry belongs to.
    pub(super) row: fn(&[u8], &Bytes) -> Option<Key>,
}

/// Rows that say nothing without what they are part of.
#[derive(Debug)]
pub struct Parts {
    tag: &'static str,
    /// The keys of which one must be there.
    pub(super) whole: fn(&[u8]) -> Option<Range>,
}

impl Table {
    /// The tag that its keys begin with.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Rows(rows) => rows.tag,
            Self::Index(index) => index.tag,
            Self::Parts(parts) => parts.tag,
        }
    }
}

/// The table of rows that `key` is in.
pub(super) fn rows_of(key: &[u8]) -> Option<&'static Rows> {
    TABLES.iter().find_map(|table| match table {
        Table::Rows(rows) if keys::has_tag(key, rows.tag) => Some(rows),
        _ => None,
    })
}

/// The index that `key` is in.
pub(super) fn index_of(key: &[u8]) -> Option<&'static Index> {
    TABLES.iter().find_map(|table| match table {
        Table::Index(index) if keys::has_tag(key, index.tag) => Some(index),
        _ => None,
    })
}

type Entries = fn(&[u8], &Bytes) -> Result<Vec<Entry>, StoreError>;
type RequiredKeys = fn(&[u8], &Bytes) -> Result<Vec<Key>, StoreError>;

const NONE: Entries = |_, _| Ok(Vec::new());

const fn rows(tag: &'static str, entries: Entries, needs: RequiredKeys) -> Table {
    Table::Rows(Rows { tag, entries, one_of: NONE, needs, redirects: false })
}

const fn redirects(tag: &'static str, needs: RequiredKeys) -> Table {
    Table::Rows(Rows { tag, entries: NONE, one_of: NONE, needs, redirects: true })
}

const fn parts(tag: &'static str, whole: fn(&[u8]) -> Option<Range>) -> Table {
    Table::Parts(Parts { tag, whole })
}

const fn index(tag: &'static str, row: fn(&[u8], &Bytes) -> Option<Key>) -> Table {
    Table::Index(Index { tag, row })
}

/// All of them: rows first, so that an index that is mended from its rows is whole when it is
/// walked itself.
pub static TABLES: &[Table] = &[
    rows("u", user, |_, _| Ok(Vec::new())),
    rows("o", org, |_, _| Ok(Vec::new())),
    rows(
        "om",
        |key, bytes| Ok(mirrored(key, bytes, keys::user_org)),
        |key, _| Ok(ids(key).map(|(org, user)| vec![keys::org(org), keys::user(user)]).unwrap_or_default()),
    ),
    rows("t", token, |key, bytes| Ok(vec![keys::user(value::decode::<Token>(key, bytes)?.user_id)])),
    rows("r", repository, |key, bytes| {
        let row: Repository = value::decode(key, bytes)?;
        // What is deleted may outlive its owner.
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
    rows("rf", |_, _| Ok(Vec::new()), |key, _| Ok(keys::first_id(key).map(keys::repository).into_iter().collect())),
    rows("j", run, |key, bytes| Ok(vec![keys::repository(value::decode::<Run>(key, bytes)?.repository_id)])),
    rows("jj", job, |key, bytes| Ok(vec![keys::run(value::decode::<Job>(key, bytes)?.run_id)])),
    rows("a", artifact, |key, bytes| {
        let row: Artifact = value::decode(key, bytes)?;
        Ok(vec![keys::repository(row.repository_id), keys::run(row.run_id)])
    }),
    rows("h", hooks::hook, hooks::target),
    Table::Rows(Rows {
        tag: "d",
        entries: hooks::delivery,
        one_of: hooks::waits,
        needs: hooks::says,
        redirects: false,
    }),
    redirects("rr", |key, bytes| Ok(vec![keys::repository(value::decode::<Reference>(key, bytes)?.id)])),
    redirects("wr", |key, bytes| {
        let to: OwnerName = value::decode(key, bytes)?;
        Ok(vec![owner_key(to.kind(), to.id)])
    }),
    index("ow", |key, bytes| {
        let to: OwnerName = value::decode(key, bytes).ok()?;
        Some(owner_key(to.kind(), to.id))
    }),
    index("ue", |key, bytes| referred(key, bytes).map(keys::user)),
    index("ou", |key, _| ids(key).map(|(user, org)| keys::org_member(org, user))),
    index("tu", |key, bytes| {
        let to: TokenReference = value::decode(key, bytes).ok()?;
        Some(keys::token(to.hash.as_slice().try_into().ok()?))
    }),
    index("rn", |key, bytes| referred(key, bytes).map(keys::repository)),
    index("ro", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rl", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rg", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rx", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rz", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("rk", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("ry", |key, _| keys::trailing_id(key).map(keys::repository)),
    index("cu", |key, _| ids(key).map(|(user, repository)| keys::collaborator(repository, user))),
    index("jr", |key, _| keys::trailing_newest(key).map(keys::run)),
    index("ji", |key, bytes| Some(keys::job(referred(key, bytes)?, keys::trailing_id(key)?))),
    index("jx", |key, bytes| Some(keys::job(referred(key, bytes)?, keys::trailing_id(key)?))),
    index("an", |key, bytes| referred(key, bytes).map(keys::artifact)),
    index("ar", |key, _| keys::trailing_newest(key).map(keys::artifact)),
    index("aj", |key, _| keys::trailing_newest(key).map(keys::artifact)),
    index("ax", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("az", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("aw", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("ux", |key, _| keys::trailing_id(key).map(keys::artifact)),
    index("hs", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("hd", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("hr", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("ho", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("hz", |key, _| keys::trailing_id(key).map(keys::hook)),
    index("dh", |key, _| keys::trailing_newest(key).map(keys::delivery)),
    index("df", |key, _| keys::trailing_newest(key).map(keys::delivery)),
    index("qf", |key, _| keys::trailing_id(key).map(keys::delivery)),
    index("qu", |key, _| keys::trailing_id(key).map(keys::delivery)),
    index("qr", |key, _| keys::trailing_id(key).map(keys::delivery)),
    parts("hx", |key| keys::first_id(key).map(|hook| Range::prefix(keys::hook(hook)))),
    parts("da", |key| keys::first_id(key).map(|delivery| Range::prefix(keys::delivery(delivery)))),
    parts("ep", hooks::told),
];

/// The two ids of a key of two ids.
fn ids(key: &[u8]) -> Option<(u64, u64)> {
    keys::place_parts(key)
}

fn referred(key: &[u8], bytes: &Bytes) -> Option<u64> {
    Some(value::decode::<Reference>(key, bytes).ok()?.id)
}

fn owner_key(kind: OwnerKind, id: u64) -> Key {
    match kind {
        OwnerKind::Org => keys::org(id),
        OwnerKind::User | OwnerKind::Unspecified => keys::user(id),
    }
}

pub(super) fn entry(key: Key, row: &impl Message) -> Entry {
    (key, value::encode(row))
}

fn references(all: impl IntoIterator<Item = Key>, id: u64) -> Vec<Entry> {
    all.into_iter().map(|key| entry(key, &Reference { id })).collect()
}

fn user(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: User = value::decode(key, bytes)?;
    let mut all = vec![entry(keys::owner_name(&row.name), &OwnerName { kind: OwnerKind::User.into(), id: row.id })];
    if !row.email.is_empty() {
        all.push(entry(keys::user_email(&row.email), &Reference { id: row.id }));
    }
    Ok(all)
}

fn org(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Org = value::decode(key, bytes)?;
    Ok(vec![entry(keys::owner_name(&row.name), &OwnerName { kind: OwnerKind::Org.into(), id: row.id })])
}

/// The same value under the key that turns two ids around.
fn mirrored(key: &[u8], bytes: &Bytes, other: fn(u64, u64) -> Key) -> Vec<Entry> {
    ids(key).map(|(first, second)| (other(second, first), bytes.clone())).into_iter().collect()
}

fn token(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Token = value::decode(key, bytes)?;
    let hash = key.get(keys::tag("t").len()..).unwrap_or_default().to_vec();
    Ok(vec![entry(keys::user_token(row.user_id, row.id), &TokenReference { hash })])
}

fn repository(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Repository = value::decode(key, bytes)?;
    let mut all = references(repositories::references(&row), row.id);
    all.extend(repositories::listings(&row).into_iter().map(|(key, listing)| entry(key, &listing)));
    Ok(all)
}

fn run(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Run = value::decode(key, bytes)?;
    Ok(references([keys::repository_run(row.repository_id, row.id)], row.id))
}

fn job(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Job = value::decode(key, bytes)?;
    let mut all = vec![keys::job_run(row.id)];
    if row.status() != RunStatus::Completed {
        all.push(keys::job_deadline(row.deadline_ms, row.id));
    }
    Ok(references(all, row.run_id))
}

fn artifact(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Artifact = value::decode(key, bytes)?;
    Ok(references(artifacts::index_keys(&row), row.id))
}
