//! Lists the mirrors of all repositories that the caller administers.

use farrier_proto::store::{Mirror, MirrorRemote};

use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Error,
        access::{self, Action},
        repositories::{self, FoundRepository},
    },
    store::{Read, mirrors},
};

/// Rows to read per scan.
const STEP: usize = 100;
/// Maximum number of rows that one page reads. A page with few matches is short and continues.
const EXAMINED_MAX: usize = 4_096;

/// How the runs of a mirror end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorHealth {
    /// The last run succeeded.
    Ok,
    /// The last run failed.
    Failing,
    /// It never ran.
    Unused,
}

impl MirrorHealth {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Ok, Self::Failing, Self::Unused];

    /// Returns the word in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failing => "failing",
            Self::Unused => "unused",
        }
    }
}

/// A mirror with its repository.
#[derive(Clone, Debug)]
pub struct FoundMirror {
    /// The repository, `owner/name`.
    pub path: String,
    /// The number of the repository.
    pub repository: u64,
    /// The name of a push mirror; empty for a pull mirror.
    pub name: String,
    /// URL without credentials.
    pub address: String,
    /// When the last run ended; 0 before the first.
    pub updated_ms: Millis,
    /// When the next run is due; 0 if none is planned.
    pub next_ms: Millis,
    /// Number of failed runs since the last success.
    pub failures: u32,
    /// When the first of them ended; 0 if it is not known.
    pub failing_since_ms: Millis,
    /// Why the last run failed; empty if it succeeded.
    pub last_error: String,
}

impl FoundMirror {
    fn push(path: String, repository: u64, row: MirrorRemote) -> Self {
        let MirrorRemote { name, address, updated_ms, next_ms, failures, failing_since_ms, last_error, .. } = row;
        Self { path, repository, name, address, updated_ms, next_ms, failures, failing_since_ms, last_error }
    }

    fn pull(path: String, repository: u64, address: String, row: Mirror) -> Self {
        let Mirror { updated_ms, next_ms, failures, failing_since_ms, last_error, .. } = row;
        let name = String::new();
        Self { path, repository, name, address, updated_ms, next_ms, failures, failing_since_ms, last_error }
    }

    /// Returns how its runs end.
    pub fn health(&self) -> MirrorHealth {
        match (self.last_error.is_empty(), self.updated_ms) {
            (false, _) => MirrorHealth::Failing,
            (true, 0) => MirrorHealth::Unused,
            (true, _) => MirrorHealth::Ok,
        }
    }
}

/// The filter and position of a list.
#[derive(Clone, Debug, Default)]
pub struct MirrorQuery {
    /// Only mirrors whose runs end like this.
    pub health: Option<MirrorHealth>,
    /// Only mirrors after this one: its repository and its name.
    pub after: Option<(u64, String)>,
    /// Maximum number of items.
    pub limit: usize,
}

/// A page of mirrors.
#[derive(Clone, Debug, Default)]
pub struct MirrorPage {
    /// The mirrors, by repository.
    pub entries: Vec<FoundMirror>,
    /// The last mirror that was read before the next page; `None` after the last page.
    pub next: Option<(u64, String)>,
}

/// Returns a page of the matching mirrors of the repositories that the caller administers.
pub async fn page(read: &impl Read, identity: &Identity, query: &MirrorQuery) -> Result<MirrorPage, Error> {
    let (mut entries, mut examined, mut after) = (Vec::new(), 0, query.after.clone());
    // Several push mirrors of one repository follow each other.
    let mut known: (u64, Option<FoundRepository>) = (0, None);
    loop {
        let position = after.as_ref().map(|(repository, name)| (*repository, name.as_str()));
        let rows = mirrors::remotes_after(read, position, STEP).await?;
        let is_full_batch = rows.len() == STEP;
        for (repository, remote) in rows {
            if entries.len() == query.limit || examined == EXAMINED_MAX {
                return Ok(MirrorPage { entries, next: after });
            }
            examined += 1;
            after = Some((repository, remote.name.clone()));
            if known.0 != repository {
                known = (repository, repositories::allowing(read, identity, repository, Action::Administer).await?);
            }
            let found = known.1.as_ref().and_then(|found| of_remote(found, remote));
            entries.extend(found.filter(|found| query.health.is_none_or(|health| health == found.health())));
        }
        if !is_full_batch {
            return Ok(MirrorPage { entries, next: None });
        }
    }
}

/// Returns the mirror of a remote; `None` if it is the source of a repository that is no pull mirror any more.
fn of_remote(found: &FoundRepository, remote: MirrorRemote) -> Option<FoundMirror> {
    let row = &found.repository;
    if !remote.name.is_empty() {
        return Some(FoundMirror::push(found.path(), row.id, remote));
    }
    let mirror = row.mirror.clone().filter(|_| access::is_mirror(row))?;
    Some(FoundMirror::pull(found.path(), row.id, row.original_url.clone(), mirror))
}
