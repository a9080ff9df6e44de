//! Checks the store and the data directory before a daemon uses them.

use crate::{
    clock::{Clock, Millis},
    config::Config,
    data_dir::{self, DataDirError, KeySources},
    service::accounts,
    store::{Store, StoreError, deliveries, keyring::Keyring, order, packs, refs, repositories::orders, sealing},
};

/// Checks that the store and the data directory belong together and that other nodes accept this daemon, pairs them,
/// and brings the rows to the present form.
pub(super) async fn prepare(store: &Store, config: &Config, clock: &Clock) -> Result<(), DataDirError> {
    let pair_failed = |error| DataDirError::from_pair(config, error);
    // Before anything is created or changed in the data directory. A store of other data usually has another key, so
    // the data is compared first.
    data_dir::check(store, config).await.map_err(pair_failed)?;
    let keys = KeySources::read(config).await?;
    keys.check(store, &data_dir::store_location(config)).await?;
    data_dir::check_other_nodes(store, config, clock, &keys).await?;
    data_dir::pair(store, config, clock).await.map_err(pair_failed)?;
    let keyring = keys.keyring_or_create(config).await?;
    let completed = complete_rows(store, keyring, clock.now_ms()).await;
    completed.map_err(|source| DataDirError::from_store(config, source).refined(config))?;
    data_dir::raise_format_level(store, config, clock).await
}

/// Brings rows of an earlier release to the present form, and creates the first administrator if there is none.
async fn complete_rows(store: &Store, keyring: Keyring, now: Millis) -> Result<(), StoreError> {
    let encrypted = sealing::encrypt_all(store, keyring).await?;
    if encrypted.rows > 0 {
        tracing::info!(rows = encrypted.rows, "secrets in the store were encrypted with the current key");
    }
    orders::add_missing(store).await?;
    // Before anything reads a ref.
    refs::convert(store).await?;
    deliveries::index_all(store).await?;
    order::raise(store).await?;
    packs::prepare(store).await?;
    accounts::ensure_administrator(store, now).await
}
