//! Applies changes of branches and tags that were requested through the API.

use std::collections::BTreeMap;

use farrier_proto::store::{Repository, RepositoryVersion};
use tokio::sync::oneshot;

use crate::{
    git::{
        RepositoryLock, TipKind,
        commands::{Commands, Update},
    },
    service::{
        Context, Error, access,
        audit::{Action, Entry, Object, RequestScope},
        browse::Browse,
        file_changes::refused,
        pushes,
        ref_moves::{
            ATOMIC_FAILED, Allow, FAILED, MoveError, Moves, Pusher, RefOutcome, move_refs, preview, version_locked,
        },
        ref_rules::{self, Checked, RefChanger},
    },
};

/// Maximum number of attempts, if rules of the repository change or objects are removed meanwhile.
const TRIES: u32 = 3;

/// A requested change of a ref.
#[derive(Clone, Debug)]
pub(super) struct RefMove {
    name: String,
    /// The expected id. `None`: the ref must not exist.
    old: Option<String>,
    /// The new commit. `None`: delete the ref.
    new: Option<String>,
    /// The text of a tag object for that commit, to which the ref is set instead.
    tag_object: Option<String>,
    /// The objects that were written for this change.
    written: Option<Written>,
}

/// A commit whose objects were written to the repository.
#[derive(Clone, Debug)]
pub(in crate::service) struct Written {
    /// The ID of the commit.
    pub(in crate::service) commit: String,
    /// The size of the new objects in bytes.
    pub(in crate::service) bytes: u64,
    /// The commit whose objects were not written, because the repository had them. `None`: all objects were written.
    pub(in crate::service) base: Option<String>,
}

/// Changes of refs of one repository, all of which are applied or none.
struct Request {
    repository: u64,
    actor: u64,
    moves: Vec<RefMove>,
    entry: Option<Entry>,
}

impl RefMove {
    pub(super) fn new(prefix: &str, name: &str, old: Option<String>, new: Option<String>) -> Self {
        Self { name: format!("{prefix}{name}"), old, new, tag_object: None, written: None }
    }

    pub(super) fn written(prefix: &str, name: &str, old: Option<String>, new: Written) -> Self {
        let change = Self::new(prefix, name, old, Some(new.commit.clone()));
        Self { written: Some(new), ..change }
    }

    /// Sets the ref to a new tag object with this text, which names the new commit.
    #[must_use]
    pub(super) fn with_tag_object(self, tag_object: Option<String>) -> Self {
        Self { tag_object, ..self }
    }

    /// Returns the size of the objects that are written for the change, in bytes.
    fn size(&self) -> u64 {
        let tag_object = self.tag_object.as_ref().map_or(0, String::len) as u64;
        self.written.as_ref().map_or(0, |written| written.bytes).saturating_add(tag_object)
    }

    /// Returns the change as the update of a push.
    fn update(&self) -> Update {
        let digits = self.old.as_ref().or(self.new.as_ref()).map_or(40, String::len);
        let or_zeros = |id: &Option<String>| id.clone().unwrap_or_else(|| "0".repeat(digits));
        Update { name: self.name.clone(), old: or_zeros(&self.old), new: or_zeros(&self.new) }
    }

    /// Returns whether objects that the new commit reaches may be missing, although the commit exists. `closed`: each
    /// object of the repository names only objects that the repository has. `kept`: the values that refs have until
    /// these changes.
    fn may_lack_objects(&self, closed: bool, kept: &[&String]) -> bool {
        match (&self.new, &self.written) {
            (None, _) => false,
            // The objects of the base may have been removed meanwhile, unless a ref kept them.
            (Some(_), Some(written)) => written.base.as_ref().is_some_and(|base| !kept.contains(&base)),
            (Some(new), None) => !closed && !kept.contains(&new),
        }
    }
}

/// Returns the changes as the updates of a push.
pub(super) fn commands(moves: &[RefMove]) -> Commands {
    Commands { updates: moves.iter().map(RefMove::update).collect(), ..Commands::default() }
}

/// Returns the audit entry of a change. The ID of a new tag object is added when the object is written.
pub(super) fn entry(action: Action, browse: &Browse, change: &RefMove) -> Entry {
    let found = &browse.found;
    let path = format!("{}/{}", found.owner.name(), found.repository.name);
    let entry = Entry::new(action, Object::reference(&change.name, found.repository.id, &path));
    let entry = match &change.old {
        Some(old) => entry.had("tip", old.as_str()),
        None => entry,
    };
    match change.new.as_ref().filter(|_| change.tag_object.is_none()) {
        Some(new) => entry.set("tip", new.as_str()),
        None => entry,
    }
}

/// Applies all changes or none, and records them. Continues if the caller disconnects.
pub(super) async fn apply(
    context: &Context,
    repository: &Repository,
    actor: u64,
    moves: Vec<RefMove>,
    entry: Option<Entry>,
) -> Result<(), Error> {
    access::require_writable(repository)?;
    let commands = commands(&moves);
    if let Some(refusal) = pushes::refusals(repository, &commands).into_iter().next() {
        return Err(Error::Forbidden { reason: refusal.reason });
    }
    let passed = ref_rules::require(context, repository.id, actor, &commands).await?;
    let request = Request { repository: repository.id, actor, moves, entry };
    let (sender, result) = oneshot::channel();
    let task_context = context.clone();
    context.tasks.short(RequestScope::inherit(async move {
        let _ = sender.send(request.run(&task_context, &commands, passed).await);
        if request.moves.iter().any(|change| change.size() > 0) {
            pushes::tidy(&task_context, request.repository).await;
        }
    }));
    result.await.unwrap_or(Err(Error::Busy))
}

impl Request {
    /// Applies and records the changes. `passed`: the checks of rules that they have passed.
    async fn run(&self, context: &Context, commands: &Commands, mut passed: Checked) -> Result<(), Error> {
        for _ in 0..TRIES {
            let lock = context.git.lock(self.repository).await;
            let moved = self.run_locked(context, &passed, &lock).await;
            drop(lock);
            match moved {
                Ok(outcomes) => return result(&outcomes),
                // A rule was added or changed since, so that a change is refused or needs other checks.
                Err(MoveError::Protected) => {
                    passed = ref_rules::require(context, self.repository, self.actor, commands).await?;
                }
                Err(MoveError::Pruned) => {}
                Err(MoveError::Gone) => return Err(Error::NotFound { what: "the repository" }),
                Err(MoveError::Service(error) | MoveError::Unknown(error)) => return Err(error),
            }
        }
        Err(Error::Busy)
    }

    /// Everything that the decision depends on is read under the lock: no ref moves and no object is removed meanwhile.
    async fn run_locked(
        &self,
        context: &Context,
        passed: &Checked,
        lock: &RepositoryLock,
    ) -> Result<Vec<RefOutcome>, MoveError> {
        let version = version_locked(context, self.repository, lock).await?;
        self.require_objects(context, &version).await?;
        let (pusher, requested) =
            (Pusher::from(self.actor), self.moves.iter().map(RefMove::update).collect::<Vec<_>>());
        let allowed = Allow::Rules { changer: RefChanger::Account(self.actor), passed: passed.clone() };
        let none = BTreeMap::new();
        let moves = Moves {
            repository: self.repository,
            pusher: &pusher,
            updates: &requested,
            atomic: true,
            allowed: &allowed,
            epoch: version.prune_epoch,
            peeled: &none,
            grew_by: self.moves.iter().map(RefMove::size).sum(),
            entry: None,
            mirror_depth: 0,
        };
        if self.moves.iter().any(|change| change.tag_object.is_some()) {
            // A tag that is refused leaves no object.
            let expected = preview(&context.store.read().await.map_err(Error::from)?, &moves).await?;
            if expected.iter().any(|outcome| matches!(outcome, RefOutcome::Refused(_))) {
                return Ok(expected);
            }
        }
        let (mut updates, mut peeled, mut entry) = (requested.clone(), BTreeMap::new(), self.entry.clone());
        for (update, change) in updates.iter_mut().zip(&self.moves) {
            if let Some(text) = &change.tag_object {
                let id = write_tag(context, self.repository, (text, &update.new), lock).await?;
                entry = entry.map(|entry| entry.set("tip", id.as_str()));
                peeled.insert(id.clone(), std::mem::replace(&mut update.new, id));
            }
        }
        let moves = Moves { updates: &updates, peeled: &peeled, entry, ..moves };
        move_refs(context, &moves, lock).await
    }

    /// Returns an error if the repository does not have the new commits and what they reach. A commit that no ref
    /// reaches may have been removed since it was requested.
    async fn require_objects(&self, context: &Context, version: &RepositoryVersion) -> Result<(), Error> {
        const DOING: &str = "looking for a commit";
        let missing = || Error::NotFound { what: "the commit" };
        let new: Vec<String> = self.moves.iter().filter_map(|change| change.new.clone()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let kinds = context.git.kinds(self.repository, None, &new).await.map_err(Error::git(DOING))?;
        if !kinds.iter().all(|kind| *kind == Some(TipKind::Commit)) {
            return Err(missing());
        }
        let kept: Vec<&String> = self.moves.iter().filter_map(|change| change.old.as_ref()).collect();
        if !self.moves.iter().any(|change| change.may_lack_objects(version.closed, &kept)) {
            return Ok(());
        }
        let connected = context.git.is_connected(self.repository, None, &new, None).await.map_err(Error::git(DOING))?;
        if connected { Ok(()) } else { Err(missing()) }
    }
}

/// Writes a tag object for the commit `commit` as a pack, and returns its ID. Git checks that the commit exists.
async fn write_tag(
    context: &Context,
    repository: u64,
    (text, commit): (&str, &str),
    lock: &RepositoryLock,
) -> Result<String, Error> {
    let failed = || Error::git("writing a tag");
    let workspace = context.git.reader(repository).workspace().await.map_err(failed())?;
    let written = async {
        let id = workspace.write_tag(text).await.map_err(failed())?;
        let packed = workspace.pack(&id, Some(commit)).await.map_err(refused)?;
        packed.install(lock).await.map_err(failed())?;
        Ok(id)
    };
    let written = written.await;
    workspace.remove().await;
    written
}

/// Returns the outcome of changes that are applied all or none.
fn result(outcomes: &[RefOutcome]) -> Result<(), Error> {
    let refused: Vec<&str> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            RefOutcome::Refused(reason) => Some(*reason),
            RefOutcome::Moved | RefOutcome::Absent => None,
        })
        .collect();
    match refused.iter().find(|reason| **reason != ATOMIC_FAILED).or(refused.first()) {
        None => Ok(()),
        Some(reason) if [FAILED, ATOMIC_FAILED].contains(reason) => Err(Error::Conflict {
            reason: "it conflicts with another branch or tag, or a ref was moved meanwhile".into(),
        }),
        Some(reason) => Err(Error::Forbidden { reason: (*reason).to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_that_was_moved_meanwhile_is_a_conflict_and_other_reasons_are_shown() {
        let of = |outcomes: &[RefOutcome]| match result(outcomes) {
            Ok(()) => "moved".to_owned(),
            Err(Error::Conflict { .. }) => "conflict".to_owned(),
            Err(error) => error.to_string(),
        };
        let [failed, rest, hidden] = [FAILED, ATOMIC_FAILED, "deny updating a hidden ref"].map(RefOutcome::Refused);
        assert_eq!(of(&[RefOutcome::Moved, RefOutcome::Absent]), "moved");
        assert_eq!(of(&[rest, failed]), "conflict");
        assert_eq!(of(&[rest, rest]), "conflict");
        assert_eq!(of(&[rest, hidden]), "deny updating a hidden ref");
    }

    #[test]
    fn objects_are_searched_unless_a_ref_kept_them() {
        let id = |text: &str| Some(text.to_owned());
        let written = |base: Option<String>| Written { commit: "c".into(), bytes: 9, base };
        let old = "b".to_owned();
        for (change, closed, expected) in [
            (RefMove::new("", "x", id("b"), None), false, false),
            (RefMove::new("", "x", None, id("b")), false, false),
            (RefMove::new("", "x", None, id("a")), false, true),
            (RefMove::new("", "x", None, id("a")), true, false),
            (RefMove::written("", "x", None, written(None)), false, false),
            (RefMove::written("", "x", id("b"), written(id("b"))), false, false),
            (RefMove::written("", "x", None, written(id("a"))), true, true),
        ] {
            assert_eq!(change.may_lack_objects(closed, &[&old]), expected, "{change:?} {closed}");
        }
    }
}
