//! Artifacts across repositories and runs: what the caller may read of all that there are.
//!
//! A page is read along the keys of the order that is asked for. What the caller may not read and what
//! a filter leaves out is passed over, only so much for a page: it may hold less than was asked for and
//! lead on.

use farrier_proto::store::{Artifact, Job, Run};

use super::{MISSING, rows, visible};
use crate::{
    app::App,
    clock::Millis,
    model::identity::Identity,
    service::{
        Error,
        access::{self, Action},
        repositories::{self, Found, Judged},
    },
    store::{
        Read, StoreError,
        artifacts::{ArtifactOrder, ArtifactPosition, next_page},
        runs,
    },
};

/// Rows that are read at a time.
const STEP: usize = 100;
/// Rows that one page passes over.
const PASSED_MAX: usize = 4_096;

/// How far an artifact is, as readers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being uploaded for the first time.
    Uploading,
    /// It can be read.
    Ready,
    /// Its time is over.
    Expired,
}

impl State {
    /// What `row` is at `now`.
    pub fn of(row: &Artifact, now: Millis) -> Self {
        match row.content {
            None => Self::Uploading,
            Some(_) if visible(row, now).is_some() => Self::Ready,
            Some(_) => Self::Expired,
        }
    }

    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Uploading => "uploading",
            Self::Ready => "ready",
            Self::Expired => "expired",
        }
    }
}

/// Which artifacts are wanted.
#[derive(Clone, Debug, Default)]
pub struct ArtifactQuery {
    /// Of this repository, which the caller may read.
    pub repository: Option<u64>,
    /// Of this run.
    pub run: Option<u64>,
    /// Of this name; empty: of any.
    pub name: String,
    /// In this state; `None`: finalized and expired ones.
    pub state: Option<State>,
    /// By the time at which they expire instead of the newest first; then only those that can be read.
    pub by_expiry: bool,
    /// Only those that expire before this time.
    pub expires_before_ms: Option<Millis>,
    /// Behind this one.
    pub after: Option<ArtifactPosition>,
    /// Most items.
    pub limit: usize,
}

/// An artifact with what it belongs to.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The artifact.
    pub row: Artifact,
    /// Its run.
    pub run: Run,
    /// Its job.
    pub job: Job,
    /// Its repository, `owner/name`.
    pub path: String,
}

/// A page.
#[derive(Debug, Default)]
pub struct Page {
    /// The artifacts.
    pub entries: Vec<Entry>,
    /// Where the next page begins; `None`: there is none.
    pub next: Option<ArtifactPosition>,
}

impl ArtifactQuery {
    /// The keys that serve the wanted order and leave out the most.
    fn walk(&self) -> ArtifactOrder {
        match (self.state, self.run, self.repository) {
            (Some(State::Uploading), ..) => ArtifactOrder::Uploads,
            _ if self.by_expiry || self.expires_before_ms.is_some() => ArtifactOrder::Expiry {
                until_ms: self.expires_before_ms.map_or(Millis::MAX, |before| before.saturating_sub(1)),
            },
            (_, Some(run), _) => ArtifactOrder::Run(run),
            (_, None, Some(repository)) => ArtifactOrder::Repository(repository),
            (_, None, None) => ArtifactOrder::All,
        }
    }

    fn takes(&self, row: &Artifact, now: Millis) -> bool {
        let state = State::of(row, now);
        row.deleted_ms == 0
            && self.repository.is_none_or(|id| id == row.repository_id)
            && self.run.is_none_or(|id| id == row.run_id)
            && (self.name.is_empty() || self.name == row.name)
            && self.state.map_or(state != State::Uploading, |query| query == state)
    }
}

/// A page of what is wanted, as far as the caller may read it.
pub async fn page(app: &App, read: &impl Read, identity: &Identity, query: &ArtifactQuery) -> Result<Page, Error> {
    let (walk, now) = (query.walk(), app.now_ms());
    let mut surroundings = Surroundings { judged: Judged::new(identity, Action::ReadActions), last: None };
    let (mut page, mut passed) = (Page::default(), 0);
    let mut after = query.after;
    loop {
        let rows = next_page(read, walk, after, STEP).await?;
        let whole = rows.len() == STEP;
        for row in rows {
            let full = page.entries.len() == query.limit;
            if full || passed == PASSED_MAX {
                page.next = after;
                return Ok(page);
            }
            after = Some(walk.position(&row));
            if !query.takes(&row, now) {
                passed += 1;
                continue;
            }
            match surroundings.entry(read, row).await? {
                Some(entry) => page.entries.push(entry),
                None => passed += 1,
            }
        }
        if !whole {
            return Ok(page);
        }
    }
}

/// The finalized or expired artifact `id`, if the caller may do `action` with it.
pub async fn get(read: &impl Read, identity: &Identity, id: u64, action: Action) -> Result<(Entry, Found), Error> {
    let row = rows::get(read, id).await?;
    let row = row.filter(|row| row.content.is_some() && row.deleted_ms == 0).ok_or(MISSING)?;
    // Who may not read it must not learn that there is something.
    let found = repositories::allowing(read, identity, row.repository_id, Action::ReadActions).await?.ok_or(MISSING)?;
    access::require(identity, found.access_level, action)?;
    let path = found.path();
    let run = runs::run(read, row.run_id).await?.unwrap_or_default();
    let job = runs::job(read, row.run_id, row.job_id).await?.unwrap_or_default();
    Ok((Entry { row, run, job, path }, found))
}

/// What the artifacts of a page belong to: neighbours mostly share their run and job.
struct Surroundings<'a> {
    judged: Judged<'a>,
    last: Option<(Run, Job)>,
}

impl Surroundings<'_> {
    /// `row` with what it belongs to; `None`: the caller may not read it.
    async fn entry(&mut self, read: &impl Read, row: Artifact) -> Result<Option<Entry>, StoreError> {
        let Some(path) = self.judged.path(read, row.repository_id).await? else { return Ok(None) };
        let (run, job) = match &self.last {
            Some((run, job)) if run.id == row.run_id && job.id == row.job_id => (run.clone(), job.clone()),
            _ => {
                let run = runs::run(read, row.run_id).await?.unwrap_or_default();
                (run, runs::job(read, row.run_id, row.job_id).await?.unwrap_or_default())
            }
        };
        self.last = Some((run.clone(), job.clone()));
        Ok(Some(Entry { row, run, job, path }))
    }
}
