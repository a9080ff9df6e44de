//! The filters of range counts.

use farrier_proto::store::{
    Artifact, ArtifactEntry, AuditEntry, CommitStatus, LfsObject, Reference, ReleaseAsset, ReleaseEntry, Repository,
    StatusState,
};

use crate::store::{audit::AuditFilter, keys, listings::ListingFilter, releases::ReleaseFilter, value};

/// Decides which entries of a range are counted, and with what size. A plain value without code, so that filters can
/// be compared and stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFilter {
    /// All entries, with size 0.
    All,
    /// The entries of a repository list (`rl`) that pass a filter, with size 0.
    Listings(ListingFilter),
    /// All entries of a repository list that is sorted by size, with the size in the key.
    ListingSizes,
    /// Artifacts with content (`a`), with the size of the content.
    Artifacts {
        /// Only deleted artifacts, or only others.
        deleted: bool,
    },
    /// The artifacts of a repository (`ar`), with the size of their content. [`u64::MAX`] for entries without a size,
    /// so that no sum with such an entry is smaller.
    StoredArtifacts,
    /// Statuses of a commit (`cs`) with this state, with size 0.
    Statuses(StatusState),
    /// All entries of `cz`, with the size in the key.
    CacheSizes,
    /// All entries of `ck`, with size 0 and the ID in the value.
    CacheKeys,
    /// Releases of a repository (`lf`) that pass a filter, with size 0.
    Releases(ReleaseFilter),
    /// Files of releases (`la`), with their size.
    ReleaseAssets,
    /// LFS objects (`lo`), with their size.
    LfsObjects,
    /// Deleted repositories (`r`) that can be restored, with the size of their git data.
    DeletedRepositories,
    /// Entries of the audit log (`al`) that pass a filter, with size 0.
    Audit(AuditFilter),
}

impl KeyFilter {
    /// Returns the size of an entry that passes, bytes; `None` if the entry does not pass.
    pub fn size(&self, key: &[u8], bytes: &[u8]) -> Option<u64> {
        match self {
            Self::All | Self::CacheKeys => Some(0),
            // An unreadable entry passes, so that reading the page returns the error.
            Self::Listings(filter) => {
                value::decode(key, bytes).map_or(true, |listing| filter.passes(&listing)).then_some(0)
            }
            Self::StoredArtifacts => {
                let entry: Option<ArtifactEntry> = value::decode(key, bytes).ok();
                Some(entry.and_then(|entry| entry.stored_bytes).unwrap_or(u64::MAX))
            }
            Self::Statuses(state) => {
                let row: CommitStatus = value::decode(key, bytes).ok()?;
                (row.state() == *state).then_some(0)
            }
            Self::Releases(filter) => {
                let entry: ReleaseEntry = value::decode(key, bytes).ok()?;
                filter.passes(&entry).then_some(0)
            }
            Self::ReleaseAssets => Some(value::decode::<ReleaseAsset>(key, bytes).ok()?.size),
            Self::LfsObjects => Some(value::decode::<LfsObject>(key, bytes).ok()?.size),
            Self::ListingSizes => Some(keys::listed_size(key).unwrap_or(0)),
            Self::Artifacts { deleted } => {
                let row: Artifact = value::decode(key, bytes).ok()?;
                let content = row.content.filter(|_| (row.deleted_ms != 0) == *deleted)?;
                Some(content.size)
            }
            Self::CacheSizes => Some(keys::cached_size(key).unwrap_or(0)),
            Self::DeletedRepositories => {
                let row: Repository = value::decode(key, bytes).ok()?;
                (row.deleted_ms != 0).then_some(row.size_bytes)
            }
            Self::Audit(filter) => {
                value::decode(key, bytes).map_or(true, |row: AuditEntry| filter.passes(&row)).then_some(0)
            }
        }
    }

    /// Returns the ID in the value of an entry; 0 if the filter reads no IDs.
    pub fn id(&self, key: &[u8], bytes: &[u8]) -> u64 {
        match self {
            Self::CacheKeys => value::decode(key, bytes).map_or(0, |reference: Reference| reference.id),
            _ => 0,
        }
    }

    /// Returns whether an entry passes.
    pub fn passes(&self, key: &[u8], bytes: &[u8]) -> bool {
        self.size(key, bytes).is_some()
    }
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::{Content, Listing};

    use super::*;

    #[test]
    fn artifacts_are_filtered_by_content_and_deletion() {
        let row = |size: Option<u64>, deleted_ms| {
            let content = size.map(|size| Content { size, ..Content::default() });
            value::encode(&Artifact { content, deleted_ms, ..Artifact::default() })
        };
        let cases = [
            (row(Some(7), 0), Some(7), None),
            (row(Some(7), 5), None, Some(7)),
            (row(Some(0), 0), Some(0), None),
            (row(None, 0), None, None),
            ("unreadable".into(), None, None),
        ];
        for (bytes, kept, deleted) in cases {
            assert_eq!(KeyFilter::Artifacts { deleted: false }.size(b"a", &bytes), kept, "{bytes:?}");
            assert_eq!(KeyFilter::Artifacts { deleted: true }.size(b"a", &bytes), deleted, "{bytes:?}");
        }
    }

    #[test]
    fn only_restorable_repositories_count_as_deleted() {
        let row = |deleted, deleted_ms| {
            value::encode(&Repository { deleted, deleted_ms, size_bytes: 30, ..Repository::default() })
        };
        let sizes =
            [row(false, 0), row(true, 0), row(true, 5)].map(|row| KeyFilter::DeletedRepositories.size(b"r", &row));
        assert_eq!(sizes, [None, None, Some(30)]);
    }

    #[test]
    fn listings_are_filtered_by_fields_and_sized_by_their_key() {
        let archived = KeyFilter::Listings(ListingFilter { archived: Some(true), ..ListingFilter::default() });
        let row = |archived| value::encode(&Listing { archived, ..Listing::default() });
        assert_eq!(archived.size(b"rl", &row(true)), Some(0));
        assert!(!archived.passes(b"rl", &row(false)));
        assert!(archived.passes(b"rl", b"unreadable"), "reading the page returns the error");
        let key = keys::listing(
            0,
            crate::store::listings::Sort::Size,
            &Repository { size_bytes: 9, ..Repository::default() },
        );
        assert_eq!(KeyFilter::ListingSizes.size(&key, &row(false)), Some(9));
    }
}
