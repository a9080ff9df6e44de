//! The decision whether a store and the data beside it belong together.

use farrier_proto::store::{ArtifactState, Identity, MigrationState};

use super::{
    file::Found,
    look::{Look, Side, SideKind},
};
use crate::store::{Read, StoreError, artifacts, identity, ids::IdKind, repositories};

/// Rows that are looked at to find one whose data must be there.
const SAMPLE: usize = 200;

/// What the store says of the data beside it. The default stands for a store without a row.
#[derive(Clone, Debug, Default)]
pub struct StoreSide {
    /// Its identity; `None`: it was never paired.
    pub identity: Option<Identity>,
    /// The first id of each kind that is not reserved.
    pub next_ids: Vec<(IdKind, u64)>,
    /// Whether a repository must have a directory. Only known where an identity file is missing.
    pub has_repositories: bool,
    /// Whether an artifact must have bytes. Only known where an identity file is missing.
    pub has_artifacts: bool,
}

impl StoreSide {
    /// Reads it; `rows`: also whether there are rows that need data.
    pub async fn read(read: &impl Read, rows: bool) -> Result<Self, StoreError> {
        let mut side = Self {
            identity: identity::get(read).await?,
            next_ids: identity::next_ids(read).await?,
            has_repositories: false,
            has_artifacts: false,
        };
        if rows {
            let (page, _) = repositories::batch(read, None, SAMPLE).await?;
            side.has_repositories = page.iter().any(|row| {
                let migration = row.migration.as_ref().map(farrier_proto::store::Migration::state);
                // A deleted repository needs its directory until its retention ends.
                (!row.deleted || row.deleted_ms != 0) && migration.is_none_or(|state| state == MigrationState::Done)
            });
            let (page, _) = artifacts::batch(read, None, SAMPLE).await?;
            side.has_artifacts = page.iter().any(|row| {
                let content = row.content.as_ref().filter(|_| row.state() == ArtifactState::Final);
                content.is_some_and(|content| content.blocks > 0)
            });
        }
        Ok(side)
    }

    /// The first id of `kind` that is not reserved.
    pub fn next_id(&self, kind: IdKind) -> u64 {
        self.next_ids.iter().find(|(of, _)| *of == kind).map_or(1, |(_, next)| *next)
    }

    fn has_rows(&self, kind: SideKind) -> bool {
        match kind {
            SideKind::Repositories => self.has_repositories,
            SideKind::Artifacts => self.has_artifacts,
        }
    }
}

/// Why a store and the data beside it do not belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is data and no store.
    NoStore,
    /// The directory has an identity, the store has none.
    NeverPaired(SideKind),
    /// The directory has another identity than the store.
    OtherIdentity(SideKind),
    /// The store is older than the directory.
    StoreOlder(SideKind),
    /// The directory is older than the store.
    DataOlder(SideKind),
    /// The marks are in step, but ids were reserved that the store would give again.
    IdsAhead(SideKind),
    /// The directory holds data without an identity file, though the store has an identity.
    NoIdentityFile(SideKind),
    /// The directory is missing or empty, and the store has rows that need its data.
    Gone(SideKind),
    /// The identity file cannot be read.
    UnreadableFile(SideKind, String),
}

/// Compares the store with each directory. No problem: they belong together.
pub fn judge(store: &StoreSide, look: &Look) -> Vec<Problem> {
    look.sides.iter().filter_map(|side| judge_side(store, side)).collect()
}

fn judge_side(store: &StoreSide, side: &Side) -> Option<Problem> {
    let kind = side.kind;
    let file = match &side.file {
        Found::Unreadable(reason) => return Some(Problem::UnreadableFile(kind, reason.clone())),
        Found::Missing => return judge_without_file(store, side),
        Found::File(file) => file,
    };
    let Some(identity) = &store.identity else { return Some(Problem::NeverPaired(kind)) };
    if file.id != hex::encode(&identity.id) {
        return Some(Problem::OtherIdentity(kind));
    }
    if file.mark > identity.pending {
        return Some(Problem::StoreOlder(kind));
    }
    if file.mark < identity.confirmed {
        return Some(Problem::DataOlder(kind));
    }
    let ahead = IdKind::ALL.iter().any(|ids| file.next_id(*ids) > store.next_id(*ids));
    ahead.then_some(Problem::IdsAhead(kind))
}

fn judge_without_file(store: &StoreSide, side: &Side) -> Option<Problem> {
    let kind = side.kind;
    let was_written = store.identity.as_ref().is_some_and(|identity| identity.confirmed > 0);
    match side.highest {
        Some(_) if was_written => Some(Problem::NoIdentityFile(kind)),
        // Data of a release without identities: its ids must be known to the store.
        Some(highest) => (highest >= store.next_id(kind.ids())).then_some(Problem::StoreOlder(kind)),
        None => store.has_rows(kind).then_some(Problem::Gone(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::MarkFile, *};
    use crate::store::identity::Mark;

    fn store(confirmed: u64, pending: u64) -> StoreSide {
        StoreSide {
            identity: Some(Identity { id: vec![1; 16], confirmed, pending }),
            next_ids: vec![(IdKind::Repository, 65), (IdKind::Artifact, 65)],
            has_repositories: true,
            has_artifacts: true,
        }
    }

    fn file(id: u8, mark: u64, next: u64) -> Found {
        Found::File(MarkFile::new(&Mark { id: vec![id; 16], mark, next_ids: vec![(IdKind::Repository, next)] }, 0))
    }

    fn side(file: Found, highest: Option<u64>) -> Side {
        Side { kind: SideKind::Repositories, path: "/x".into(), file, highest }
    }

    #[test]
    fn either_mark_of_an_advance_that_was_cut_off_is_in_step() {
        for mark in [4, 5] {
            assert_eq!(judge_side(&store(4, 5), &side(file(1, mark, 65), None)), None);
        }
        let kind = SideKind::Repositories;
        for (found, problem) in [
            (file(1, 6, 65), Problem::StoreOlder(kind)),
            (file(1, 3, 65), Problem::DataOlder(kind)),
            (file(1, 5, 66), Problem::IdsAhead(kind)),
            (file(2, 5, 65), Problem::OtherIdentity(kind)),
            (Found::Unreadable("x".into()), Problem::UnreadableFile(kind, "x".into())),
            (Found::Missing, Problem::Gone(kind)),
        ] {
            assert_eq!(judge_side(&store(4, 5), &side(found, None)), Some(problem));
        }
        assert_eq!(judge_side(&store(4, 5), &side(Found::Missing, Some(1))), Some(Problem::NoIdentityFile(kind)));
    }

    #[test]
    fn a_file_that_was_not_confirmed_yet_may_be_missing() {
        let side = |highest| side(Found::Missing, highest);
        let kind = SideKind::Repositories;
        for unpaired in [StoreSide { identity: None, ..store(0, 1) }, store(0, 1)] {
            assert_eq!(judge_side(&unpaired, &side(Some(64))), None);
            assert_eq!(judge_side(&unpaired, &side(Some(65))), Some(Problem::StoreOlder(kind)));
            assert_eq!(judge_side(&unpaired, &side(None)), Some(Problem::Gone(kind)));
            let fresh = StoreSide { has_repositories: false, ..unpaired };
            assert_eq!(judge_side(&fresh, &side(None)), None);
        }
        let emptied = StoreSide { has_repositories: false, ..store(4, 5) };
        assert_eq!(judge_side(&emptied, &side(None)), None, "nothing is missing from an empty directory");
    }

    #[test]
    fn a_store_without_a_row_has_no_data() {
        let fresh = StoreSide::default();
        assert_eq!(judge_side(&fresh, &side(Found::Missing, None)), None);
        let kind = SideKind::Repositories;
        assert_eq!(judge_side(&fresh, &side(Found::Missing, Some(1))), Some(Problem::StoreOlder(kind)));
        assert_eq!(judge_side(&fresh, &side(file(1, 1, 1), None)), Some(Problem::NeverPaired(kind)));
    }
}
