//! Checks of the signed addresses of LFS objects.

use super::NOW_MS;
use crate::model::{
    lfs_address::{LfsCaller, LfsGrant, LfsOperation},
    secret::SigningKey,
};

const OID: [u8; 32] = [7; 32];
const OPERATIONS: [LfsOperation; 3] = [LfsOperation::Download, LfsOperation::Upload, LfsOperation::Verify];

/// The grants whose addresses are signed with the key of [`lfs_address`].
const GRANTS: [LfsGrant; 2] = [
    LfsGrant {
        operation: LfsOperation::Upload,
        repository: 12,
        oid: OID,
        size: 3,
        expires_secs: 99_999_999_999,
        caller: LfsCaller::Key { account: 5, key: 6 },
    },
    LfsGrant {
        operation: LfsOperation::Download,
        repository: 7,
        oid: OID,
        size: 0,
        expires_secs: 99_999_999_999,
        caller: LfsCaller::DeployKey(9),
    },
];

/// Checks the queries of signed addresses: an accepted one grants exactly what was signed. The query of every grant is
/// accepted.
pub fn lfs_address(input: &[u8]) {
    let key = SigningKey::derive(b"fuzzing", "lfs-address");
    for grant in GRANTS {
        assert_eq!(LfsGrant::verify(&key, grant.operation, &OID, &grant.query(&key), NOW_MS), Ok(grant));
    }
    let Ok(query) = std::str::from_utf8(input) else { return };
    for operation in OPERATIONS {
        let Ok(grant) = LfsGrant::verify(&key, operation, &OID, query, NOW_MS) else { continue };
        assert!(GRANTS.contains(&grant) && grant.operation == operation, "{query:?} grants {grant:?}");
    }
}
