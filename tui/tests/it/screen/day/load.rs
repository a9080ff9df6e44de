//! Writes many rows into the store of a stopped daemon.

use std::{path::Path, sync::Arc};

use farrier_proto::store::{
    Attempt, Delivery, DeliveryTrigger, Hook, HookScope, OwnerKind, Payload, Repository, Visibility,
};
use farrierd::{
    model::revision::Revision,
    store::{
        Store, StoreError, Tx, deliveries,
        engine::{RedbEngine, RedbOptions},
        hooks,
        ids::IdKind,
        repositories,
    },
};

/// Rows per transaction.
const BATCH: usize = 1_000;
/// Number of hooks that have deliveries.
const HOOKS: u64 = 10;
const HOUR_MS: i64 = 3_600_000;

/// Writes this number of the administrator's repositories and of deliveries into the store in `file`.
pub(super) fn load(file: &Path, repositories: u64, deliveries: u64) {
    // Recent enough that retention keeps the deliveries.
    let start_ms = farrierd::clock::Clock::system().now_ms() - 3 * HOUR_MS;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = RedbEngine::open(file, RedbOptions::default()).unwrap();
        let store = Store::open(Arc::new(engine)).await.unwrap();
        for first in (0..repositories).step_by(BATCH) {
            insert_repositories(&store, start_ms, first..repositories.min(first + BATCH as u64)).await.unwrap();
        }
        let hooks = insert_hooks(&store, start_ms).await.unwrap();
        for first in (0..deliveries).step_by(BATCH) {
            insert_deliveries(&store, start_ms, &hooks, first..deliveries.min(first + BATCH as u64)).await.unwrap();
        }
    });
}

async fn insert_repositories(store: &Store, start_ms: i64, numbers: std::ops::Range<u64>) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for number in numbers {
        let at_ms = start_ms - 10_000 * HOUR_MS + i64::try_from(number).unwrap() * 1_000;
        rows.push(Repository {
            id: store.next_id(IdKind::Repository).await?,
            owner_kind: OwnerKind::User.into(),
            owner_id: 1,
            name: format!("repository-{number:06}"),
            listed: Visibility::Public.into(),
            default_branch: "main".into(),
            created_ms: at_ms,
            updated_ms: at_ms,
            empty: true,
            ..Repository::default()
        });
    }
    let rows = &rows;
    store
        .write(async |tx: Tx| {
            for row in rows {
                repositories::insert(&tx, row).await?;
            }
            Ok(())
        })
        .await
}

/// Creates inactive hooks, so that they get no new deliveries.
async fn insert_hooks(store: &Store, start_ms: i64) -> Result<Vec<Hook>, StoreError> {
    let mut rows = Vec::new();
    for number in 0..HOOKS {
        rows.push(Hook {
            id: store.next_id(IdKind::Hook).await?,
            scope: HookScope::System.into(),
            r#type: "farrier".into(),
            url: format!("https://receiver-{number}.example.net/in"),
            events: vec!["push".into()],
            created_ms: start_ms,
            updated_ms: start_ms,
            ..Hook::default()
        });
    }
    let new = &rows;
    store
        .write(async |tx: Tx| {
            for row in new {
                hooks::insert(&tx, row);
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(rows)
}

/// Creates deliveries. One in fifty has failed.
async fn insert_deliveries(
    store: &Store,
    start_ms: i64,
    hooks: &[Hook],
    numbers: std::ops::Range<u64>,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for number in numbers {
        let event = number + 1;
        let id = event << 10;
        rows.push(Delivery {
            id,
            uuid: deliveries::uuid(id, [number.to_le_bytes()[0]; 10]).to_vec(),
            hook_id: hooks[usize::try_from(number % HOOKS).unwrap()].id,
            event_id: event,
            event: "push".into(),
            repository_id: number + 1,
            trigger: DeliveryTrigger::Event.into(),
            state: farrier_proto::store::DeliveryState::Pending.into(),
            created_ms: start_ms + i64::try_from(number).unwrap() * 100,
            ..Delivery::default()
        });
    }
    let new = &rows;
    store
        .write(async |tx: Tx| {
            for row in new {
                deliveries::enqueue(&tx, row);
                let json = format!(r#"{{"ref":"refs/heads/main","number":{}}}"#, row.id).into_bytes();
                deliveries::put_initial_payload(
                    &tx,
                    row.event_id,
                    &Payload { json: json.into(), ..Payload::default() },
                );
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    let outcomes: Vec<_> = rows.iter().map(|row| outcome(row, hooks)).collect();
    let outcomes = &outcomes;
    store
        .write(async |tx: Tx| {
            deliveries::record(&tx, &outcomes.iter().collect::<Vec<_>>(), start_ms, 0).await.map(drop)
        })
        .await
}

fn outcome(row: &Delivery, hooks: &[Hook]) -> deliveries::Outcome {
    let failed = row.event_id.is_multiple_of(50);
    let word = |text: &str| if failed { text.to_owned() } else { String::new() };
    deliveries::Outcome {
        delivery: row.id,
        hook: row.hook_id,
        revision: Revision::of_hook(hooks.iter().find(|hook| hook.id == row.hook_id).unwrap()),
        payload_bytes: 60,
        next_trigger: DeliveryTrigger::Unspecified,
        attempt: Some(Attempt {
            number: 1,
            trigger: DeliveryTrigger::Event.into(),
            started_ms: row.created_ms,
            duration_ms: 38,
            status_code: if failed { 0 } else { 200 },
            error_class: word("connect"),
            error: word("connection refused"),
            url: "https://receiver.example.net/in".into(),
            ..Attempt::default()
        }),
        next: if failed { deliveries::NextStep::GiveUp } else { deliveries::NextStep::Done },
    }
}
