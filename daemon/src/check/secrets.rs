//! Checks that the encrypted secrets of the store can be decrypted.

use super::{Check, CheckError, Class};
use crate::{
    config::Config,
    data_dir::{self, DataDirError},
    store::{check as store, sealing},
};

/// Checks the key of the store, and every encrypted row.
pub(super) async fn check(check: &mut Check, config: &Config) -> Result<(), CheckError> {
    match data_dir::keyring_for_reading(config, &check.store).await {
        Ok(Some(keyring)) => check.store.set_keyring(keyring),
        Ok(None) => return Ok(()),
        Err(error @ (DataDirError::KeyMissing { .. } | DataDirError::KeyUnusable { .. })) => {
            check.add_finding(Class::Damage, "secrets", error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    for (key, error) in sealing::unreadable(&check.store).await? {
        check.add_finding(Class::Damage, format!("key {}", store::show(&key)), error);
    }
    Ok(())
}
