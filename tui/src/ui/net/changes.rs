//! The content of requests that change objects and need more than the body of the API.

use farrier_common::{
    api::{CreateHook, EditHook, EditRepository},
    client::{EntityTag, HookOwner, RepositoryPath},
};

use super::Request;
use crate::ui::redacted::Redacted;

/// A hook to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewHook {
    pub(crate) owner: HookOwner,
    pub(crate) request: CreateHook,
    /// Whether to test it after it is created.
    pub(crate) test: bool,
    /// Set when the response to an earlier attempt was lost: a hook like this one with a higher ID is the
    /// result of that attempt.
    pub(crate) unless_above: Option<i64>,
    /// A generated secret that is shown once when the hook is created.
    pub(crate) shown_once: Option<Redacted>,
}

/// The changed fields of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaveHook {
    pub(crate) owner: HookOwner,
    pub(crate) id: i64,
    pub(crate) request: EditHook,
    /// The version that the form was filled with; the daemon refuses the change if it has another one.
    pub(crate) tag: Option<EntityTag>,
    /// A generated secret that is shown once when the hook is saved.
    pub(crate) shown_once: Option<Redacted>,
}

/// The changed fields of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaveRepository {
    pub(crate) path: RepositoryPath,
    pub(crate) request: EditRepository,
    /// The version that the form was filled with; the daemon refuses the change if it has another one.
    pub(crate) tag: Option<EntityTag>,
}

/// Several requests of one kind, sent one after the other: a failure does not stop the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Singular noun of the objects: `hook`.
    pub(crate) noun: &'static str,
    /// Present participle of the action: `deleting`.
    pub(crate) doing: &'static str,
    /// Past participle of the action: `deleted`.
    pub(crate) done: &'static str,
    /// The name of each object and its request.
    pub(crate) items: Vec<(String, Request)>,
}
