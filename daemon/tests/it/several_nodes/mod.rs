//! Several daemons that use one store at the same time.

mod access;
mod audit;
mod clocks;
mod deliveries;
mod hints;
mod mirrors;
mod processes;
mod quotas;
mod status;
mod tasks;

use std::{fs, sync::Arc};

use farrierd::{
    clock::Clock,
    config::Config,
    store::{
        Store,
        engine::{Faults, MemoryEngine},
    },
};

use crate::support::TestDaemon;

/// Two daemons in this process on one store in memory, each with a data directory of its own.
pub struct TwoNodes {
    pub one: TestDaemon,
    pub other: TestDaemon,
    pub store: Store,
    pub faults: Faults,
}

impl TwoNodes {
    /// Starts both with the default configuration after `change` has edited it.
    pub async fn start(change: impl Fn(&mut Config)) -> Self {
        let engine = MemoryEngine::shared();
        let faults = engine.faults();
        let store = Store::open(Arc::new(engine)).await.expect("a store");
        let one = TestDaemon::over_store_with(store.clone(), |config| {
            config.webhook.allowed_hosts = "external, loopback".into();
            change(config);
        })
        .await;
        let other = beside(&one, store.clone(), change).await;
        Self { one, other, store, faults }
    }
}

/// Starts another daemon on the store of `first`. Its data directory belongs to the same store.
pub async fn beside(first: &TestDaemon, store: Store, change: impl FnOnce(&mut Config)) -> TestDaemon {
    beside_with_clock(first, store, Clock::system(), change).await
}

/// Like [`beside`], with the clock of its machine.
pub async fn beside_with_clock(
    first: &TestDaemon,
    store: Store,
    clock: Clock,
    change: impl FnOnce(&mut Config),
) -> TestDaemon {
    TestDaemon::start_with(clock, Some(store), |config| {
        for directory in ["repositories", "artifacts"] {
            fs::create_dir_all(config.data_dir.join(directory)).expect("a directory");
        }
        for file in ["repositories/farrier-data.json", "artifacts/farrier-data.json", "secrets.key"] {
            fs::copy(first.data_dir().join(file), config.data_dir.join(file)).expect("a file");
        }
        config.webhook.allowed_hosts = "external, loopback".into();
        config.node.name = Some("beside".into());
        change(config);
    })
    .await
}
