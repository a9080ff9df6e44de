//! What the daemon answered, typed.

use std::path::PathBuf;

use farrier_common::api::{
    Artifact, BackgroundTask, Branch, Delivery, DeliveryDetail, Event, Health, Hook, HookEvent, MetricsSeries,
    Repository, RestorableArtifact, RestorableRepository, Status,
};

use farrier_common::client::Tagged;

use super::Facts;
use crate::ui::{repo::RepositorySummary, runs::RunsBatch};

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// How many there are in all, as far as the daemon says.
    pub(crate) total: Option<i64>,
    /// Whether nothing follows.
    pub(crate) last: bool,
}

/// An answer, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Status(Box<(Status, Health)>),
    Series(Box<MetricsSeries>),
    /// A daemon answers now; the path is its log.
    Started(PathBuf),
    Repositories(Page<RepositorySummary>),
    Repository(Box<Repository>),
    Branches(Page<Branch>),
    Facts(Box<Facts>),
    ArtifactsOf(Page<Artifact>),
    /// Names of the organisations that the caller belongs to.
    Organizations(Vec<String>),
    DeletedRepositories(Page<RestorableRepository>),
    DeletedArtifacts(Page<RestorableArtifact>),
    /// The youngest first.
    Tasks(Vec<BackgroundTask>),
    Hooks(Vec<Hook>),
    HookEvents(Vec<HookEvent>),
    Hook(Box<Hook>),
    LoadedHook(Box<Tagged<Hook>>),
    LoadedRepository(Box<Tagged<Repository>>),
    /// How many repositories have a copy now, and how many were passed over.
    Applied {
        copied: i64,
        skipped: i64,
    },
    Deliveries(Page<Delivery>),
    LastDeliveries(Vec<Delivery>),
    Delivery(Box<DeliveryDetail>),
    /// How many deliveries are in line again.
    Recovered(i64),
    /// How many deliveries could be put in line again.
    Recoverable(i64),
    /// What came of each of several wishes, in their order: nothing, or why not.
    Many(Vec<Option<String>>),
    Event(Box<Event>),
    /// Runs and artifacts, or a part of them.
    Runs(Box<RunsBatch>),
    /// Path and query of a signed address.
    Signed(String),
    /// Lines about what is inside of something.
    Content(Vec<String>),
    /// How far a download is.
    Progress {
        have: u64,
        /// Unknown for what is made while it is sent.
        size: Option<u64>,
    },
    /// A download that is complete and checked.
    Saved(PathBuf),
    /// What came of each of several things, in their order: nothing, or why not.
    Each(Vec<(i64, Option<String>)>),
    /// The same, for things that have identifiers.
    EachOf(Vec<(String, Option<String>)>),
    /// When each of several artifacts expires now, in seconds since 1970, or why that was not set.
    Expiring(Vec<(i64, Result<i64, String>)>),
    /// A hook was made or is there, and was tested: the delivery, or why there is none.
    Tested {
        hook: i64,
        delivery: Result<String, String>,
    },
    /// Whether something that was asked about is good, and what is to be said of it.
    Verdict(bool, String),
    /// It is done.
    Done,
}
