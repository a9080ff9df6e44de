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
    store::{
        Read,
        mirrors::{self, DueMirror},
    },
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

/// A position in the list of mirrors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorPosition {
    /// After the remote with this name of a repository; the name is empty for the source of a pull mirror.
    Remote(u64, String),
    /// Among the pull mirrors without a remote, after one in the list of due mirrors.
    Due(DueMirror),
}

/// The filter and position of a list.
#[derive(Clone, Debug, Default)]
pub struct MirrorQuery {
    /// Only mirrors whose runs end like this.
    pub health: Option<MirrorHealth>,
    /// Only mirrors after this position.
    pub after: Option<MirrorPosition>,
    /// Maximum number of items.
    pub limit: usize,
}

/// A page of mirrors.
#[derive(Clone, Debug, Default)]
pub struct MirrorPage {
    /// The mirrors.
    pub entries: Vec<FoundMirror>,
    /// The position of the next page; `None` after the last page.
    pub next: Option<MirrorPosition>,
}

/// A page that is being filled.
struct Filling<'a> {
    query: &'a MirrorQuery,
    identity: &'a Identity,
    entries: Vec<FoundMirror>,
    examined: usize,
    /// Several push mirrors of one repository follow each other.
    known: (u64, Option<FoundRepository>),
}

impl Filling<'_> {
    fn is_full(&self) -> bool {
        self.entries.len() == self.query.limit || self.examined == EXAMINED_MAX
    }

    /// Adds the mirror of `repository` that `build` returns, if it matches and the caller administers the repository.
    async fn add(
        &mut self,
        read: &impl Read,
        repository: u64,
        build: impl FnOnce(&FoundRepository) -> Option<FoundMirror>,
    ) -> Result<(), Error> {
        self.examined += 1;
        if self.known.0 != repository {
            let found = repositories::allowing(read, self.identity, repository, Action::Administer).await?;
            self.known = (repository, found);
        }
        let found = self.known.1.as_ref().and_then(build);
        self.entries.extend(found.filter(|found| self.query.health.is_none_or(|health| health == found.health())));
        Ok(())
    }
}

/// Returns a page of the matching mirrors of the repositories that the caller administers: by repository, and then, by
/// the time at which they are due, pull mirrors whose source is not stored because an earlier release imported them
/// without credentials.
pub async fn page(read: &impl Read, identity: &Identity, query: &MirrorQuery) -> Result<MirrorPage, Error> {
    let mut page = Filling { query, identity, entries: Vec::new(), examined: 0, known: (0, None) };
    let mut after_due = match &query.after {
        Some(MirrorPosition::Due(due)) => Some(due.clone()),
        after => {
            let mut after = after.clone();
            loop {
                let position = match &after {
                    Some(MirrorPosition::Remote(repository, name)) => Some((*repository, name.as_str())),
                    _ => None,
                };
                let rows = mirrors::remotes_after(read, position, STEP).await?;
                let is_full_batch = rows.len() == STEP;
                for (repository, remote) in rows {
                    if page.is_full() {
                        return Ok(MirrorPage { entries: page.entries, next: after });
                    }
                    after = Some(MirrorPosition::Remote(repository, remote.name.clone()));
                    page.add(read, repository, |found| of_remote(found, remote)).await?;
                }
                if !is_full_batch {
                    break None;
                }
            }
        }
    };
    loop {
        let rows = mirrors::due_after(read, after_due.as_ref(), STEP).await?;
        let is_full_batch = rows.len() == STEP;
        for due in rows {
            if page.is_full() {
                let last = after_due.unwrap_or(DueMirror { due_ms: 0, repository: 0, name: String::new() });
                return Ok(MirrorPage { entries: page.entries, next: Some(MirrorPosition::Due(last)) });
            }
            let repository = due.repository;
            let is_pull = due.name.is_empty();
            after_due = Some(due);
            if is_pull && mirrors::remote(read, repository, "").await?.is_none() {
                page.add(read, repository, of_source).await?;
            }
        }
        if !is_full_batch {
            return Ok(MirrorPage { entries: page.entries, next: None });
        }
    }
}

/// Returns the mirror of a remote; `None` if it is the source of a repository that is no pull mirror any more.
fn of_remote(found: &FoundRepository, remote: MirrorRemote) -> Option<FoundMirror> {
    if remote.name.is_empty() {
        return of_source(found);
    }
    Some(FoundMirror::push(found.path(), found.repository.id, remote))
}

/// Returns the pull mirror that a repository is.
fn of_source(found: &FoundRepository) -> Option<FoundMirror> {
    let row = &found.repository;
    let mirror = row.mirror.clone().filter(|_| access::is_mirror(row))?;
    Some(FoundMirror::pull(found.path(), row.id, row.original_url.clone(), mirror))
}
