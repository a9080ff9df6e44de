//! Records the refs on disk of repositories that have rows. Only with these commands of an operator the disk decides,
//! because the data may be newer than the store.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{MigrationState, RefStep, Repository, RepositoryVersion};

use super::{CheckError, PAGE, Pairing};
use crate::{
    git::{
        GitError,
        ref_name::{self, RefKind},
    },
    model::secret,
    store::{
        Read, StoreError, Tx, packs,
        refs::{self, Ref},
        repositories,
    },
};

/// Refs to record per transaction.
const TIPS_AT_ONCE: usize = 1_000;

impl Pairing {
    /// Records the refs on disk of all repositories that have rows.
    pub(super) async fn sync_known_repositories(&mut self) -> Result<(), CheckError> {
        let mut after = None;
        loop {
            let (page, next) = repositories::batch(&self.store.read().await?, after.as_deref(), PAGE).await?;
            for row in page {
                // A deleted repository that can still be restored is included.
                let has_files = !row.deleted || row.deleted_ms != 0;
                if has_files && self.git.repositories_at_start().contains(&row.id) {
                    self.sync_tips(&row).await?;
                }
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn sync_tips(&mut self, row: &Repository) -> Result<(), CheckError> {
        // The packs on disk decide as well. The daemon records them when it runs.
        self.store.write(async |tx: Tx| packs::suspend(&tx, row.id).await).await?;
        let (found, copy_version) = match self.read_refs(row.id).await {
            Ok(read) => read,
            Err(error) => {
                self.done.push(format!("repository {} ({}): its refs cannot be read: {error}", row.id, row.name));
                return self.leave_undecided(row).await;
            }
        };
        let snapshot = self.store.read().await?;
        let recorded = recorded(&snapshot, row.id).await?;
        let version = refs::version(&snapshot, row.id).await?;
        drop(snapshot);
        let changes = changes(&recorded, &found);
        let has_branch = found.keys().any(|name| name.starts_with("refs/heads/"));
        // The import is done: its directory exists, although it was running when this older store was copied. The
        // daemon would remove the directory of an interrupted import.
        let running = |row: &Repository| row.migration.as_ref().is_some_and(|m| m.state() == MigrationState::Running);
        // If `farrier-copy` has a later version than the row, the row must get at least that version.
        let is_decided = version.is_some_and(|version| !version.from_disk && version.version >= copy_version);
        let is_known = !running(row) && (!row.empty || !has_branch);
        if changes.is_empty() && is_known && is_decided {
            return Ok(());
        }
        let sha256 = self.git.is_sha256(row.id).await;
        let parts = changes.chunks(TIPS_AT_ONCE).chain(changes.is_empty().then_some(&[][..]));
        for part in parts {
            let number = u64::from_be_bytes(secret::random_bytes());
            let write = async |tx: Tx| {
                let Some(before) = repositories::get(&tx, row.id).await? else { return Ok(()) };
                let version = refs::version(&tx, row.id).await?.unwrap_or_default();
                let version = RepositoryVersion {
                    version: version.version.max(copy_version),
                    sha256,
                    // It is unknown whether objects in this directory name missing ones.
                    closed: false,
                    from_disk: false,
                    ..version
                };
                for change in part {
                    refs::set(&tx, row.id, &change.name, change.after.as_ref());
                }
                refs::advance(&tx, row.id, &version, number, part.iter().map(RowChange::step).collect()).await?;
                let branches = before.branches.filter(|_| part.is_empty());
                let mut after = Repository { empty: before.empty && !has_branch, branches, ..before.clone() };
                if let Some(migration) = after.migration.as_mut().filter(|_| running(&before)) {
                    migration.set_state(MigrationState::Done);
                }
                repositories::put(&tx, Some(&before), &after);
                Ok::<_, StoreError>(())
            };
            self.store.write(write).await?;
        }
        let moved = changes.iter().filter(|change| change.is_move() && ref_name::kind(&change.name) != RefKind::Other);
        let moved = moved.count();
        if moved > 0 || !is_known {
            self.done.push(format!(
                "repository {} ({}): {moved} branches and tags recorded as they are on disk",
                row.id, row.name
            ));
        }
        Ok(())
    }

    /// Makes the daemon compare the files of refs, which may be newer than the rows, before it writes any of them.
    async fn leave_undecided(&self, row: &Repository) -> Result<(), CheckError> {
        let number = u64::from_be_bytes(secret::random_bytes());
        let write = async |tx: Tx| {
            let version = refs::version(&tx, row.id).await?.unwrap_or_default();
            let version = RepositoryVersion { from_disk: true, closed: false, sha256: row.sha256, ..version };
            refs::advance(&tx, row.id, &version, number, Vec::new()).await?;
            Ok::<_, StoreError>(())
        };
        Ok(self.store.write(write).await?)
    }

    /// Returns the refs in a directory, and the version of the rows that they follow; 0 if they follow none. Fails if a
    /// ref cannot become a row.
    pub(super) async fn read_refs(&self, id: u64) -> Result<(BTreeMap<String, Ref>, u64), UnreadableRefs> {
        let mut tips = self.git.every_ref(id).await?;
        tips.retain(|name, _| !ref_name::is_internal(name));
        if let Some(name) = tips.keys().find(|name| name.len() > ref_name::NAME_MAX_BYTES) {
            return Err(UnreadableRefs::Name(name.clone()));
        }
        let ids: Vec<String> = tips.values().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        let peeled = self.git.peeled_tips(id, &ids).await?;
        let found = tips.into_iter().map(|(name, tip)| {
            let peeled = peeled.get(&tip).cloned();
            (name, Ref { tip, peeled })
        });
        let copy = self.git.read_copy(id).await?;
        Ok((found.collect(), copy.map_or(0, |copy| copy.version)))
    }
}

/// Why the refs in a directory cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnreadableRefs {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the name of the ref {0} is too long")]
    Name(String),
}

/// A ref whose row must change.
struct RowChange {
    name: String,
    before: Option<Ref>,
    after: Option<Ref>,
}

impl RowChange {
    /// Returns whether the ref has another value. Otherwise only the object to which its tag object leads was not
    /// recorded.
    fn is_move(&self) -> bool {
        self.before.as_ref().map(|before| &before.tip) != self.after.as_ref().map(|after| &after.tip)
    }

    fn step(&self) -> RefStep {
        let bytes = |value: &Option<Ref>| {
            let id = value.as_ref().map(|value| value.tip.as_str()).unwrap_or_default();
            hex::decode(id).unwrap_or_default()
        };
        RefStep { name: self.name.clone(), before: bytes(&self.before), after: bytes(&self.after) }
    }
}

/// Returns the rows of all refs.
async fn recorded(read: &impl Read, id: u64) -> Result<BTreeMap<String, Ref>, StoreError> {
    let mut recorded: BTreeMap<String, Ref> = BTreeMap::new();
    loop {
        let last = recorded.last_key_value().map(|(name, _)| name.clone());
        let page = refs::page(read, id, last.as_deref(), PAGE).await?;
        if page.is_empty() {
            return Ok(recorded);
        }
        recorded.extend(page);
    }
}

/// Returns how the rows must change to have the refs of a directory.
fn changes(recorded: &BTreeMap<String, Ref>, found: &BTreeMap<String, Ref>) -> Vec<RowChange> {
    let names: BTreeSet<&String> = recorded.keys().chain(found.keys()).collect();
    let names = names.into_iter().filter(|name| recorded.get(*name) != found.get(*name));
    let change = |name: &String| RowChange {
        name: name.clone(),
        before: recorded.get(name).cloned(),
        after: found.get(name).cloned(),
    };
    names.map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_the_refs_on_disk_and_unrecorded_targets_of_tags_are_not_moves() {
        let of = |refs: &[(&str, &str, Option<&str>)]| -> BTreeMap<String, Ref> {
            let one = |(name, tip, peeled): &(&str, &str, Option<&str>)| {
                ((*name).to_owned(), Ref { tip: tip.repeat(40), peeled: peeled.map(|id| id.repeat(40)) })
            };
            refs.iter().map(one).collect()
        };
        let recorded = of(&[
            ("refs/heads/gone", "1", None),
            ("refs/heads/main", "1", None),
            ("refs/heads/same", "2", None),
            ("refs/tags/v1", "3", None),
        ]);
        let found = of(&[
            ("refs/heads/main", "2", None),
            ("refs/heads/same", "2", None),
            ("refs/notes/commits", "4", None),
            ("refs/tags/v1", "3", Some("1")),
        ]);
        let changes = changes(&recorded, &found);
        let names: Vec<(&str, bool)> = changes.iter().map(|change| (change.name.as_str(), change.is_move())).collect();
        let expected = [
            ("refs/heads/gone", true),
            ("refs/heads/main", true),
            ("refs/notes/commits", true),
            ("refs/tags/v1", false),
        ];
        assert_eq!(names, expected);
        let step = changes[0].step();
        assert_eq!((step.before.len(), step.after.len()), (20, 0), "a ref that was removed has no value after it");
    }
}
