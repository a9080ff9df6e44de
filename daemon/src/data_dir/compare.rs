//! Decides whether a store and the data directories belong together.

use farrier_proto::store::{ArtifactState, Identity, MigrationState};

use super::{
    disk::{DirectoryKind, DirectoryState, DiskState},
    file::FileState,
};
use crate::store::{Read, StoreError, artifacts, identity, ids::IdKind, packs::bucket, repositories};

/// Maximum number of rows to check until a row requires data on disk.
const SAMPLE: usize = 200;

/// The pairing state in the store. The default is the state of a store that does not exist.
#[derive(Clone, Debug, Default)]
pub struct StoreState {
    /// The identity of the store. `None`: it was never paired.
    pub identity: Option<Identity>,
    /// The first id of each kind that is not reserved.
    pub next_ids: Vec<(IdKind, u64)>,
    /// Whether a repository must have a directory. Determined only if an identity file is missing.
    pub has_repositories: bool,
    /// Whether an artifact must have files. Determined only if an identity file is missing.
    pub has_artifacts: bool,
    /// The directories that can be created from the bucket. They may be empty, or older than the store.
    pub copies: Vec<DirectoryKind>,
}

impl StoreState {
    /// Reads the state. `rows`: also determine whether rows require data on disk. `bucket`: the daemon has a bucket.
    ///
    /// With a bucket, blocks are never in the data directory. The bucket itself is compared with the store later.
    pub async fn read(read: &impl Read, rows: bool, bucket: bool) -> Result<Self, StoreError> {
        let mut copies = Vec::new();
        if bucket {
            copies.push(DirectoryKind::Artifacts);
            if bucket::place(read).await?.is_some_and(|place| place.complete) {
                copies.push(DirectoryKind::Repositories);
            }
        }
        let mut directory = Self {
            identity: identity::get(read).await?,
            next_ids: identity::next_ids(read).await?,
            has_repositories: false,
            has_artifacts: false,
            copies,
        };
        if rows {
            let (page, _) = repositories::batch(read, None, SAMPLE).await?;
            directory.has_repositories = page.iter().any(|row| {
                let migration = row.migration.as_ref().map(farrier_proto::store::Migration::state);
                // A deleted repository needs its directory until its retention ends.
                (!row.deleted || row.deleted_ms != 0) && migration.is_none_or(|state| state == MigrationState::Done)
            });
            let (page, _) = artifacts::batch(read, None, SAMPLE).await?;
            directory.has_artifacts = page.iter().any(|row| {
                let content = row.content.as_ref().filter(|_| row.state() == ArtifactState::Final);
                content.is_some_and(|content| content.blocks > 0)
            });
        }
        Ok(directory)
    }

    /// Returns the first id of `kind` that is not reserved.
    pub fn next_id(&self, kind: IdKind) -> u64 {
        self.next_ids.iter().find(|(of, _)| *of == kind).map_or(1, |(_, next)| *next)
    }

    /// Returns whether rows require data in a directory.
    fn has_rows(&self, kind: DirectoryKind) -> bool {
        match kind {
            _ if self.copies.contains(&kind) => false,
            DirectoryKind::Repositories => self.has_repositories,
            DirectoryKind::Artifacts => self.has_artifacts,
        }
    }
}

/// Why a store and the data beside it do not belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairingProblem {
    /// There is data but no store.
    NoStore,
    /// The directory has an identity, but the store has none.
    NeverPaired(DirectoryKind),
    /// The directory has another identity than the store.
    OtherIdentity(DirectoryKind),
    /// The store is older than the directory.
    StoreOlder(DirectoryKind),
    /// The directory is older than the store.
    DataOlder(DirectoryKind),
    /// The marks agree, but the directory has ids that the store would assign again.
    IdsAhead(DirectoryKind),
    /// The directory contains data but no identity file, although the store has an identity.
    NoIdentityFile(DirectoryKind),
    /// The directory is missing or empty, although rows of the store require its data.
    Gone(DirectoryKind),
    /// The identity file cannot be read.
    UnreadableFile(DirectoryKind, String),
}

/// Compares the store with each directory. Returns no problems if they belong together.
pub fn compare(store: &StoreState, disk: &DiskState) -> Vec<PairingProblem> {
    disk.directories.iter().filter_map(|directory| compare_directory(store, directory)).collect()
}

fn compare_directory(store: &StoreState, directory: &DirectoryState) -> Option<PairingProblem> {
    let kind = directory.kind;
    let file = match &directory.file {
        FileState::Unreadable(reason) => return Some(PairingProblem::UnreadableFile(kind, reason.clone())),
        FileState::Missing => return compare_without_file(store, directory),
        FileState::File(file) => file,
    };
    let Some(identity) = &store.identity else { return Some(PairingProblem::NeverPaired(kind)) };
    if file.id != hex::encode(&identity.id) {
        return Some(PairingProblem::OtherIdentity(kind));
    }
    if file.mark > identity.pending {
        return Some(PairingProblem::StoreOlder(kind));
    }
    // After another daemon has used the store with a directory of its own.
    if file.mark < identity.confirmed && !store.copies.contains(&kind) {
        return Some(PairingProblem::DataOlder(kind));
    }
    let ahead = IdKind::ALL.iter().any(|ids| file.next_id(*ids) > store.next_id(*ids));
    ahead.then_some(PairingProblem::IdsAhead(kind))
}

fn compare_without_file(store: &StoreState, directory: &DirectoryState) -> Option<PairingProblem> {
    let kind = directory.kind;
    let was_written = store.identity.as_ref().is_some_and(|identity| identity.confirmed > 0);
    match directory.highest {
        Some(_) if was_written => Some(PairingProblem::NoIdentityFile(kind)),
        // Data of a release without identities: the store must have reserved its ids.
        Some(highest) => (highest >= store.next_id(kind.ids())).then_some(PairingProblem::StoreOlder(kind)),
        None => store.has_rows(kind).then_some(PairingProblem::Gone(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::MarkFile, *};
    use crate::store::identity::Mark;

    fn store(confirmed: u64, pending: u64) -> StoreState {
        StoreState {
            identity: Some(Identity { id: vec![1; 16], confirmed, pending }),
            next_ids: vec![(IdKind::Repository, 65), (IdKind::Artifact, 65)],
            has_repositories: true,
            has_artifacts: true,
            copies: Vec::new(),
        }
    }

    fn file(id: u8, mark: u64, next: u64) -> FileState {
        FileState::File(MarkFile::new(&Mark { id: vec![id; 16], mark, next_ids: vec![(IdKind::Repository, next)] }, 0))
    }

    fn directory(file: FileState, highest: Option<u64>) -> DirectoryState {
        DirectoryState { kind: DirectoryKind::Repositories, path: "/x".into(), file, highest }
    }

    #[test]
    fn both_marks_of_an_interrupted_advance_are_accepted() {
        for mark in [4, 5] {
            assert_eq!(compare_directory(&store(4, 5), &directory(file(1, mark, 65), None)), None);
        }
        let kind = DirectoryKind::Repositories;
        for (found, problem) in [
            (file(1, 6, 65), PairingProblem::StoreOlder(kind)),
            (file(1, 3, 65), PairingProblem::DataOlder(kind)),
            (file(1, 5, 66), PairingProblem::IdsAhead(kind)),
            (file(2, 5, 65), PairingProblem::OtherIdentity(kind)),
            (FileState::Unreadable("x".into()), PairingProblem::UnreadableFile(kind, "x".into())),
            (FileState::Missing, PairingProblem::Gone(kind)),
        ] {
            assert_eq!(compare_directory(&store(4, 5), &directory(found, None)), Some(problem));
        }
        assert_eq!(
            compare_directory(&store(4, 5), &directory(FileState::Missing, Some(1))),
            Some(PairingProblem::NoIdentityFile(kind))
        );
    }

    #[test]
    fn a_directory_whose_content_is_in_the_bucket_may_be_empty_or_older_than_the_store() {
        let store = StoreState { copies: vec![DirectoryKind::Repositories], ..store(4, 5) };
        for accepted in [directory(FileState::Missing, None), directory(file(1, 3, 65), None)] {
            assert_eq!(compare_directory(&store, &accepted), None);
            let of_artifacts = DirectoryState { kind: DirectoryKind::Artifacts, ..accepted };
            assert!(compare_directory(&store, &of_artifacts).is_some(), "another directory");
        }
        let kind = DirectoryKind::Repositories;
        for (found, highest, problem) in [
            (file(2, 5, 65), None, PairingProblem::OtherIdentity(kind)),
            (file(1, 6, 65), None, PairingProblem::StoreOlder(kind)),
            (FileState::Missing, Some(1), PairingProblem::NoIdentityFile(kind)),
        ] {
            assert_eq!(compare_directory(&store, &directory(found, highest)), Some(problem));
        }
    }

    #[test]
    fn an_unconfirmed_file_may_be_missing() {
        let directory = |highest| directory(FileState::Missing, highest);
        let kind = DirectoryKind::Repositories;
        for unpaired in [StoreState { identity: None, ..store(0, 1) }, store(0, 1)] {
            assert_eq!(compare_directory(&unpaired, &directory(Some(64))), None);
            assert_eq!(compare_directory(&unpaired, &directory(Some(65))), Some(PairingProblem::StoreOlder(kind)));
            assert_eq!(compare_directory(&unpaired, &directory(None)), Some(PairingProblem::Gone(kind)));
            let fresh = StoreState { has_repositories: false, ..unpaired };
            assert_eq!(compare_directory(&fresh, &directory(None)), None);
        }
        let emptied = StoreState { has_repositories: false, ..store(4, 5) };
        assert_eq!(compare_directory(&emptied, &directory(None)), None, "nothing is missing from an empty directory");
    }

    #[test]
    fn a_store_without_rows_requires_no_data() {
        let fresh = StoreState::default();
        assert_eq!(compare_directory(&fresh, &directory(FileState::Missing, None)), None);
        let kind = DirectoryKind::Repositories;
        assert_eq!(
            compare_directory(&fresh, &directory(FileState::Missing, Some(1))),
            Some(PairingProblem::StoreOlder(kind))
        );
        assert_eq!(compare_directory(&fresh, &directory(file(1, 1, 1), None)), Some(PairingProblem::NeverPaired(kind)));
    }
}
