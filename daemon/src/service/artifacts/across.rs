//! Lists artifacts across repositories and runs, limited to those that the caller may read.
//!
//! A page is read along the index of the requested order. Rows that the caller may not read or that a filter excludes
//! are skipped, up to a limit per page. A page can therefore contain fewer items than requested and still have a
//! next page.

use farrier_proto::store::{Artifact, Job, Run};

use super::{MISSING, rows, visible};
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, Action},
        repositories::{self, AccessCache, FoundRepository},
    },
    store::{
        Read, StoreError,
        artifacts::{ArtifactOrder, ArtifactPosition, next_page},
        runs,
    },
};

/// Rows to read per scan.
const STEP: usize = 100;
/// Maximum number of rows that one page skips.
const SKIPPED_MAX: usize = 4_096;

/// The state of an artifact as the API shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The first upload is not finalized.
    Uploading,
    /// It can be downloaded.
    Ready,
    /// It has expired.
    Expired,
}

impl Availability {
    /// Returns the state of `row` at `now`.
    pub fn of(row: &Artifact, now: Millis) -> Self {
        match row.content {
            None => Self::Uploading,
            Some(_) if visible(row, now).is_some() => Self::Ready,
            Some(_) => Self::Expired,
        }
    }

    /// Returns the API's name of the state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Uploading => "uploading",
            Self::Ready => "ready",
            Self::Expired => "expired",
        }
    }
}

/// The filters, order and position of a list.
#[derive(Clone, Debug, Default)]
pub struct ArtifactQuery {
    /// Only artifacts of this repository, which the caller may read.
    pub repository: Option<u64>,
    /// Only artifacts of this run.
    pub run: Option<u64>,
    /// Only artifacts with this name. Empty: any name.
    pub name: String,
    /// Only artifacts in this state. `None`: finalized and expired ones.
    pub state: Option<Availability>,
    /// Sort by expiry time instead of newest first. Then only artifacts that can be downloaded are listed.
    pub by_expiry: bool,
    /// Only artifacts that expire before this time.
    pub expires_before_ms: Option<Millis>,
    /// Start after this position.
    pub after: Option<ArtifactPosition>,
    /// Maximum number of items.
    pub limit: usize,
}

/// An artifact with its repository, run and job.
#[derive(Clone, Debug)]
pub struct FoundArtifact {
    /// The artifact.
    pub row: Artifact,
    /// Its run.
    pub run: Run,
    /// Its job.
    pub job: Job,
    /// Its repository, `owner/name`.
    pub path: String,
}

/// A page of artifacts.
#[derive(Debug, Default)]
pub struct ArtifactPage {
    /// The artifacts.
    pub entries: Vec<FoundArtifact>,
    /// The position of the next page. `None`: this is the last page.
    pub next: Option<ArtifactPosition>,
}

impl ArtifactQuery {
    /// Returns the index that gives the requested order and skips the most rows.
    fn order(&self) -> ArtifactOrder {
        match (self.state, self.run, self.repository) {
            (Some(Availability::Uploading), ..) => ArtifactOrder::Uploads,
            _ if self.by_expiry || self.expires_before_ms.is_some() => ArtifactOrder::Expiry {
                until_ms: self.expires_before_ms.map_or(Millis::MAX, |before| before.saturating_sub(1)),
            },
            (_, Some(run), _) => ArtifactOrder::Run(run),
            (_, None, Some(repository)) => ArtifactOrder::Repository(repository),
            (_, None, None) => ArtifactOrder::All,
        }
    }

    fn matches(&self, row: &Artifact, now: Millis) -> bool {
        let state = Availability::of(row, now);
        row.deleted_ms == 0
            && self.repository.is_none_or(|id| id == row.repository_id)
            && self.run.is_none_or(|id| id == row.run_id)
            && (self.name.is_empty() || self.name == row.name)
            && self.state.map_or(state != Availability::Uploading, |query| query == state)
    }
}

/// Returns a page of the matching artifacts that the caller may read.
pub async fn page(
    context: &Context,
    read: &impl Read,
    identity: &Identity,
    query: &ArtifactQuery,
) -> Result<ArtifactPage, Error> {
    let (order, now) = (query.order(), context.now_ms());
    let mut loader = EntryLoader { access_cache: AccessCache::new(identity, Action::ReadActions), last: None };
    let (mut page, mut skipped) = (ArtifactPage::default(), 0);
    let mut after = query.after;
    loop {
        let rows = next_page(read, order, after, STEP).await?;
        let is_full_batch = rows.len() == STEP;
        for row in rows {
            let is_full_page = page.entries.len() == query.limit;
            if is_full_page || skipped == SKIPPED_MAX {
                page.next = after;
                return Ok(page);
            }
            after = Some(order.position(&row));
            if !query.matches(&row, now) {
                skipped += 1;
                continue;
            }
            match loader.entry(read, row).await? {
                Some(entry) => page.entries.push(entry),
                None => skipped += 1,
            }
        }
        if !is_full_batch {
            return Ok(page);
        }
    }
}

/// Returns the finalized or expired artifact `id`, if the caller may do `action` with it.
pub async fn get(
    read: &impl Read,
    identity: &Identity,
    id: u64,
    action: Action,
) -> Result<(FoundArtifact, FoundRepository), Error> {
    let row = rows::get(read, id).await?;
    let row = row.filter(|row| row.content.is_some() && row.deleted_ms == 0).ok_or(MISSING)?;
    // Callers who may not read it must not learn that it exists.
    let found = repositories::allowing(read, identity, row.repository_id, Action::ReadActions).await?.ok_or(MISSING)?;
    access::require(identity, found.access_level, action)?;
    let path = found.path();
    let run = runs::run(read, row.run_id).await?.unwrap_or_default();
    let job = runs::job(read, row.run_id, row.job_id).await?.unwrap_or_default();
    Ok((FoundArtifact { row, run, job, path }, found))
}

/// Loads run and job of each artifact. Keeps the last ones, since neighboring artifacts usually share them.
struct EntryLoader<'a> {
    access_cache: AccessCache<'a>,
    last: Option<(Run, Job)>,
}

impl EntryLoader<'_> {
    /// Adds run and job to `row`. Returns `None` if the caller may not read it.
    async fn entry(&mut self, read: &impl Read, row: Artifact) -> Result<Option<FoundArtifact>, StoreError> {
        let Some(path) = self.access_cache.path(read, row.repository_id).await? else { return Ok(None) };
        let (run, job) = match &self.last {
            Some((run, job)) if run.id == row.run_id && job.id == row.job_id => (run.clone(), job.clone()),
            _ => {
                let run = runs::run(read, row.run_id).await?.unwrap_or_default();
                (run, runs::job(read, row.run_id, row.job_id).await?.unwrap_or_default())
            }
        };
        self.last = Some((run.clone(), job.clone()));
        Ok(Some(FoundArtifact { row, run, job, path }))
    }
}
