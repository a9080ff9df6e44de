//! Creates a small store for the tests that open old data. See `docs/storage.md`.
//!
//! Usage: `cargo run -p farrierd --example store-fixture -- <new file>`

use std::{path::PathBuf, sync::Arc};

use farrier_proto::store::User;
use farrierd::store::{
    Store, StoreError, Tx,
    engine::{RedbEngine, RedbOptions},
    ids, keys,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: store-fixture <new file>")?);
    let store = Store::open(Arc::new(RedbEngine::open(&path, RedbOptions::default())?)).await?;
    let id = store.next_id(ids::IdKind::Owner).await?;
    store
        .write(async |tx: Tx| {
            let user = User {
                id,
                name: "octo".into(),
                email: "octo@example.org".into(),
                admin: true,
                created_ms: 1_700_000_000_000,
                ..User::default()
            };
            tx.put(keys::user(id), &user);
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(())
}
